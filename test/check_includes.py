#!/usr/bin/env python3
"""Checks that the rooms under src/ include only upward: each room may include itself and the rooms before it.

usage: check_includes.py REPOSITORY
"""
import pathlib
import re
import sys

ROOMS = ["base", "wire", "engine", "net", "datatype", "comm", "request", "p2p", "coll", "runtime", "mpi"]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([a-z0-9_]+)/')


def violations(sources):
    for path in sorted(sources.rglob("*")):
        if path.suffix not in (".h", ".cc", ".inc"):
            continue
        room = path.relative_to(sources).parts[0]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match or match.group(1) not in ROOMS:
                continue
            # mpi/implementation.h and its like are generated and belong to the last room.
            if ROOMS.index(match.group(1)) > ROOMS.index(room):
                yield f"{path}:{number}: room {room} must not include room {match.group(1)}"


def main():
    found = list(violations(pathlib.Path(sys.argv[1]) / "src"))
    print("\n".join(found) or "all includes point upward")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
