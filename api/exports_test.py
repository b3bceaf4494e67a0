#!/usr/bin/env python3
"""Checks what the built library offers: every function of the standard under both names, those of earlier standards, and
nothing foreign; and that the library which `mpicc -only-built` links against has all of them that are built.

    exports_test.py LIBRARY ONLY_BUILT_LIBRARY             needs nm and readelf
"""

import re
import subprocess
import sys

import old_names
import tables

# What may be exported beside the standard's functions: Lapwing's own extensions.
OWN = re.compile(r"(LAPWING_|lapwing_ext_)")


def exports(library):
    """Name -> kind, as nm tells it."""
    listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True)
    kinds = {}
    for line in listing.stdout.splitlines():
        *_, kind, name = line.split()
        kinds[name.split("@")[0]] = kind
    return kinds


def soname(library):
    listing = subprocess.run(["readelf", "-dW", library], check=True, capture_output=True, text=True)
    return re.search(r"soname: \[(.*)\]", listing.stdout).group(1)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    exported, only_built = exports(sys.argv[1]), exports(sys.argv[2])
    names = [name for f in tables.read_functions() for _, name in f.forms()]
    problems = [f"{prefix}{name} is missing" for name in names for prefix in ("MPI_", "PMPI_")
                if prefix + name not in exported]
    problems += [f"MPI_{name} is not weak, so a tool cannot take its place" for name in names
                 if exported.get("MPI_" + name, "W") != "W"]
    standard = {prefix + name for name in names for prefix in ("MPI_", "PMPI_")}
    old = {"MPI_" + name for name in old_names.names()}
    problems += [f"{name} is missing" for name in old if name not in exported]
    problems += [f"{name} is exported, and is no function of the standard" for name, kind in exported.items()
                 if name not in standard | old and not OWN.match(name) and kind != "A"]
    lacking = {prefix + name for f in tables.read_functions() if f.lacking for _, name in f.forms()
               for prefix in ("MPI_", "PMPI_")}
    built = {name for name, kind in exported.items() if kind != "A"} - lacking
    problems += [f"{name}: only one of the library and its -only-built form has it"
                 for name in built ^ set(only_built)]
    if soname(sys.argv[1]) != soname(sys.argv[2]):
        problems.append(f"programs linked with -only-built would ask for {soname(sys.argv[2])}")
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
