#!/usr/bin/env python3
"""Checks what the built library offers: every function of the standard under both names, and nothing foreign.

    exports_test.py LIBRARY             needs nm
"""

import re
import subprocess
import sys

import tables

# What may be exported beside the standard's functions: Lapwing's own extensions.
OWN = re.compile(r"(LAPWING_|lapwing_ext_)")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    listing = subprocess.run(["nm", "-D", "--defined-only", sys.argv[1]], check=True, capture_output=True, text=True)
    exported = {}
    for line in listing.stdout.splitlines():
        *_, kind, name = line.split()
        exported[name.split("@")[0]] = kind
    names = [name for f in tables.read_functions() for _, name in f.forms()]
    problems = [f"{prefix}{name} is missing" for name in names for prefix in ("MPI_", "PMPI_")
                if prefix + name not in exported]
    problems += [f"MPI_{name} is not weak, so a tool cannot take its place" for name in names
                 if exported.get("MPI_" + name, "W") != "W"]
    standard = {prefix + name for name in names for prefix in ("MPI_", "PMPI_")}
    problems += [f"{name} is exported, and is no function of the standard" for name, kind in exported.items()
                 if name not in standard and not OWN.match(name) and kind != "A"]
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
