#!/usr/bin/env python3
"""Checks what the library exports: each MPI_ function of the version script's tables with its PMPI_ twin, and nothing foreign.

usage: check_exports.py libmpi_abi.so.1 libmpi_abi.map
"""
import re
import subprocess
import sys

ABI_FUNCTIONS = 662  # the C functions of the MPI 5.0 standard ABI
OURS = re.compile(r"^(P?MPI_|P?MPI_T_|LAPWING_|lapwing_ext_)")


def main():
    library = sys.argv[1]
    listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    symbols = {line.split()[-1].split("@")[0]: line.split()[-2] for line in listing.splitlines()}
    # The sanitizers' runtime adds its own to an instrumented library.
    foreign = [name for name in symbols if not OURS.match(name) and not re.match(r"^(__asan|__ubsan|__tsan|__odr_asan|__sanitizer)", name)]
    functions = [name for name in symbols if name.startswith("MPI_")]
    lonely = [name for name in functions if "P" + name not in symbols]
    strong = [name for name in functions if symbols[name] not in ("W", "V")]
    needed = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    soname = re.search(r"SONAME.*\[(.*)\]", needed)
    problems = []
    if foreign:
        problems.append("foreign symbols: " + " ".join(sorted(foreign)[:20]))
    if lonely:
        problems.append("without a PMPI_ twin: " + " ".join(sorted(lonely)[:20]))
    if strong:
        problems.append("MPI_ symbols that a profiling tool cannot override: " + " ".join(sorted(strong)[:20]))
    if len(functions) < ABI_FUNCTIONS:
        problems.append(f"{len(functions)} MPI_ functions instead of {ABI_FUNCTIONS}")
    if not soname or soname.group(1) != "libmpi_abi.so.1":
        problems.append("SONAME is not libmpi_abi.so.1")
    print("\n".join(problems) or f"{len(functions)} functions, each with its PMPI_ twin, and nothing else")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
