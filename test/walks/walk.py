#!/usr/bin/env python3
"""The ways of an 8-byte message into shared memory and of 64 KiB out of a TCP connection, as lists of functions.

    walk.py BUILD            prints both
    walk.py BUILD FILE       makes the lists of a text anew (docs/walks.md), each below its comment

BUILD is a folder in which the library was built with every function calling the recorder of walk.c:

    cmake -S . -B BUILD -G Ninja -DCMAKE_BUILD_TYPE=None -DLAPWING_TESTS=OFF -DLAPWING_BENCH=OFF -DLAPWING_DEMO=OFF \\
        "-DCMAKE_CXX_FLAGS=-O1 -g1 -finstrument-functions -finstrument-functions-exclude-file-list=/usr/"
    ninja -C BUILD mpi_abi mpiexec

Inlined functions count as well. A function is listed where it is entered first; what is done over and over while nothing has
come (a receive polls) stands there once. Accessors are counted apart: functions that are hardly more than the calls of the
recorder, such as a field's.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
WALKS = {
    "send-shm-8": ("send", "8", "self,shm"),
    "receive-tcp-65536": ("receive", "65536", "self,tcp"),
}
ACCESSOR = 67  # bytes of code on x86-64, of which the calls of the recorder are 44
RUNS = 7  # a run in which a thread is interrupted goes a longer way


def find(build: Path, name: str) -> Path:
    return next(each for each in sorted(build.rglob(name)) if each.is_file() and "only-built" not in str(each))


def compile_program(build: Path, folder: Path) -> Path:
    program, library = folder / "walk", find(build, "libmpi_abi.so")
    header = find(build, "mpi.h").parent
    command = ["cc", "-O1", "-rdynamic", f"-I{header}", str(HERE / "walk.c"), "-o", str(program), str(library)]
    subprocess.run([*command, f"-Wl,-rpath,{library.parent}", "-ldl"], check=True)
    return program


def functions_of(library: Path) -> dict:
    """Address -> (name, bytes of code)."""
    said = subprocess.run(["nm", "-S", "-C", str(library)], capture_output=True, text=True, check=True).stdout
    found = (re.match(r"([0-9a-f]+) ([0-9a-f]+) [tTwWuV] (.*)", line) for line in said.splitlines())
    return {int(each[1], 16): (short(each[3]), int(each[2], 16)) for each in found if each}


def short(name: str) -> str:
    """Without arguments, return type and what comes with templates."""
    name = re.sub(r"\[clone [^]]*\]|\[abi:[^]]*\]|\(anonymous namespace\)::", "", name).strip()
    while re.search(r"<[^<>]*>", name):
        name = re.sub(r"<[^<>]*>", "", name)
    while re.search(r"\([^()]*\)", name):
        name = re.sub(r"\([^()]*\)( const)?", "", name)
    name = name.replace("::{lambda#1}::operator", "").replace("{lambda}", "lambda").replace("lapwing::", "")
    return name.split(" ")[-1]


def walk(build: Path, program: Path, functions: dict, way: str, size: str, transports: str) -> list:
    """(depth, function, whether it is an accessor) in the order of first entry."""
    environment = {**os.environ, "LAPWING_TRANSPORTS": transports}
    command = [str(find(build, "mpiexec")), "-n", "2", str(program), way, size]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    seen = {}
    for _, depth, address in (line.split() for line in output.splitlines() if line.startswith("walk ")):
        name, code = functions.get(int(address, 16), ("?", 0))
        seen.setdefault(name, (int(depth), name, code <= ACCESSOR))
    return list(seen.values())


def text_of(steps: list) -> str:
    lines = "".join(f"{'  ' * depth}{name}\n" for depth, name, _ in steps)
    accessors = sum(accessor for _, _, accessor in steps)
    return f"{len(steps) - accessors} functions and {accessors} accessors:\n\n```\n{lines}```\n"


def walks(build: Path) -> dict:
    """The shortest of several runs of each: the one in which nothing came between."""
    functions = functions_of(find(build, "libmpi_abi.so").resolve())
    with tempfile.TemporaryDirectory() as folder:
        program = compile_program(build, Path(folder))
        return {
            name: text_of(min((walk(build, program, functions, *what) for _ in range(RUNS)), key=len))
            for name, what in WALKS.items()
        }


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    found = walks(Path(sys.argv[1]).resolve())
    if len(sys.argv) == 2:
        print("\n".join(f"{name}: {text}" for name, text in found.items()))
        return 0
    path = Path(sys.argv[2])
    text = path.read_text("utf-8")
    for name, new in found.items():
        before, after = re.split(rf"<!-- {name} -->\n.*?```\n.*?```\n", text, maxsplit=1, flags=re.DOTALL)
        text = f"{before}<!-- {name} -->\n{new}{after}"
    path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
