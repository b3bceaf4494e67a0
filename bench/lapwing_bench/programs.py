"""The measuring programs: those that were installed, or compiled here.

Lapwing, MPICH and Intel MPI run the same binary, which is linked to the standard ABI and gets its library through
LD_LIBRARY_PATH; Open MPI has no standard ABI, so it gets a second one.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from .errors import BenchError
from .peers import BENCH, TITLES, Installation

OPTIONS = ["-std=c11", "-O2", "-D_GNU_SOURCE"]


def sources_of(name: str) -> list:
    main = BENCH / f"{name}.c"
    if not main.exists():
        raise BenchError(f"the program of this question is missing: {main}")
    common = BENCH / "common.c"
    return [main] + ([common] if common.exists() else [])


def newer(binary: Path, sources: list) -> bool:
    headers = list(BENCH.glob("*.h"))
    return binary.exists() and all(binary.stat().st_mtime >= each.stat().st_mtime for each in sources + headers)


def compile_program(compiler: list, sources: list, binary: Path) -> None:
    command = compiler + OPTIONS + [str(each) for each in sources] + ["-o", str(binary), "-lm", "-lpthread"]
    binary.parent.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BenchError(f"{command[0]} cannot be started: {error.strerror}") from None
    if done.returncode:
        raise BenchError(f"{' '.join(command)}\n{done.stderr.strip()}")


class Programs:
    """Finds each binary once, and compiles it if it must."""

    def __init__(self, folder: Path, installations: dict):
        self.folder = folder  # for what is compiled here
        self.installations = installations
        self.known = {}

    def path(self, name: str, library: str) -> str:
        kind = library if library in ("openmpi", "raw") else "abi"
        key = ("raw_sockets" if kind == "raw" else name, kind)
        if key not in self.known:
            self.known[key] = str(self.find(*key))
        return self.known[key]

    def installed(self, name: str) -> str:
        """One that is installed or, where Lapwing was built without what it needs, cannot be run."""
        return str(self.installations["lapwing"].folder / "libexec" / "lapwing" / "bench" / name)

    def find(self, name: str, kind: str) -> Path:
        sources = sources_of(name)
        lapwing: Installation = self.installations["lapwing"]
        installed = Path(self.installed(name))
        if kind != "openmpi" and newer(installed, sources):
            return installed
        binary = self.folder / kind / name
        if not newer(binary, sources):
            compiler = {"raw": ["cc"], "abi": [str(lapwing.folder / "bin" / "mpicc")]}.get(kind)
            if compiler is None:
                compiler = [str(self.installations[kind].folder / "bin" / "mpicc")]
            compile_program(compiler, sources, binary)
        return binary


def check_library(program: str, installation: Installation, environment: dict) -> None:
    """The dynamic linker must find the candidate's own library, or one would be measured under the name of another."""
    try:
        said = subprocess.run(["ldd", program], capture_output=True, text=True, env=environment, check=False).stdout
    except OSError:
        return  # no ldd on this machine
    for line in said.splitlines():
        name, _, rest = line.strip().partition(" => ")
        if name.startswith(("libmpi.so", "libmpi_abi.so")):
            path = rest.split(" (")[0]
            if installation.folder.resolve() not in Path(path).resolve().parents:
                raise BenchError(
                    f"{TITLES[installation.library]} would be measured with the library {path}, "
                    f"which is not in {installation.folder}"
                )
