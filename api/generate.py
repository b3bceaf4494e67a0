#!/usr/bin/env python3
"""Turns the tables of this folder into the sources that depend on them.

    generate.py OUTPUT_DIRECTORY        write everything (a file that would not change keeps its time stamp)
    generate.py --list                  print the names of the outputs

Written: mpi.h; mpi/implementation.h, what the shims call; shims_N.cc, the C entry points; mpi/coverage.inc, which
functions this version has; libmpi_abi.map, the linker's list of exported names. Needs Python 3.9 and nothing else.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import header  # noqa: E402
import implementation  # noqa: E402
import tables  # noqa: E402


def generate():
    """All outputs: relative path -> text."""
    functions = tables.read_functions()
    sections = tables.read_constants()
    return {"mpi.h": header.write(functions, sections), "mpi/implementation.h": implementation.write(functions)}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    outputs = generate()
    if sys.argv[1] == "--list":
        print("\n".join(outputs))
        return
    target = pathlib.Path(sys.argv[1])
    for name, text in outputs.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    main()
