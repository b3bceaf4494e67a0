#!/usr/bin/env python3
"""Checks which rooms include which: for each room the lists of other rooms, and of single headers, that it may include, besides itself;
and that a source includes the header of its own name first, which proves that this header compiles alone.

usage: check_includes.py REPOSITORY
       check_includes.py --self-test

A room is a folder under src/, or launch/ and its folders; a folder that has an entry of its own is a room of its own, with its parent's
rights only if the entry says so.
"""
import pathlib
import re
import sys
import tempfile

# In the order of the house (docs/architecture.md): a room may name only rooms before it.
ALLOWED = {
    "base": [],
    "wire": ["base"],
    "engine": ["base", "wire"],
    "runtime": ["base", "wire"],
    "net": ["base", "wire", "engine"],
    "datatype": ["base"],
    "comm": ["base"],
    "request": ["base", "wire", "engine", "comm"],
    "p2p": ["base", "wire", "engine", "net", "datatype", "comm", "request"],
    "coll": ["base", "wire", "engine", "net", "datatype", "comm", "request", "p2p"],
    "process": ["base", "wire", "engine", "net", "comm", "request", "p2p", "coll", "runtime"],
    "mpi": ["base", "wire", "engine", "net", "datatype", "comm", "request", "p2p", "coll", "runtime", "process"],
    "launch": ["base", "runtime"],
    "launch/mpiexec": ["base", "wire", "launch"],
    "launch/accelerator": ["base", "wire", "launch"],
    "launch/tool": ["base", "wire", "runtime", "launch", "launch/mpiexec", "launch/accelerator"],
    "launch/probe": ["base", "runtime"],
}
# Single headers of rooms that it may not name as a whole.
HEADERS = {
    "net": [
        "runtime/process_table.h",
        "runtime/one_job_for_tests.h",
    ],
    "p2p": [
        "runtime/process_table.h",
    ],
    "launch/mpiexec": [
        "net/ether/interface.h",
        "net/ether/queue_service.h",
    ],
    "launch/accelerator": [
        "net/bpf/bpf.h",
        "net/ether/attached_program.h",
        "net/ether/nic_rules.h",
        "net/ether/steering.h",
        "net/ether/steering_maps.h",
        "net/ether/xdp_socket.h",
        "net/kernel/area.h",
        "net/kernel/intake.h",
        "net/kernel/local_message.h",
        "net/kernel/own_loader.h",
        "net/kernel/service_loader.h",
        "net/kernel/zone.h",
    ],
    "launch/tool": [
        "net/tcp/congestion_control.h",
        "net/tcp/interfaces.h",
        "net/kernel/intakes.h",
        "net/kernel/own_loader.h",
        "net/ether/attached_program.h",
        "net/ether/framings.h",
        "net/ether/interface.h",
        "net/ether/nic_rules.h",
        "net/ether/queue_choice.h",
        "net/ether/queue_service.h",
        "net/ether/rights.h",
        "net/ether/steering.h",
        "coll/model/store.h",
        "coll/selection.h",
        "mpi/coverage.inc",
    ],
    "launch/probe": [
        "coll/model/store.h",
    ],
}
# A transport knows nothing of the others; only what chooses among them (net/*.cc) includes a transport.
TRANSPORTS = ["net/self", "net/shm", "net/ether", "net/tcp"]

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def room_of(path, rooms):
    """The longest room that `path` ("net/shm/ring.h") lies in; None: in none."""
    parts = path.split("/")
    for length in range(len(parts), 0, -1):
        room = "/".join(parts[:length])
        if room in rooms:
            return room
    return None


def may_include(source, header):
    """Whether a file may include a header; both as paths below src/, or with launch/ before them."""
    target = room_of(header, ALLOWED)
    room = room_of(source, ALLOWED)
    if target is None or room is None:
        return True
    own, other = room_of(source, TRANSPORTS), room_of(header, TRANSPORTS)
    if own is not None and other is not None and own != other:
        return False
    return target == room or target in ALLOWED[room] or header in HEADERS.get(room, [])


def sources(repository):
    """Pairs of a file and its name for may_include()."""
    for root, prefix in (("src", ""), ("launch", "launch/")):
        folder = repository / root
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".h", ".cc", ".inc"):
                yield path, prefix + path.relative_to(folder).as_posix()


def header_name(repository, source, text):
    """The name of an included header for may_include(): launch/ includes its own without that prefix."""
    if source.startswith("launch/") and (repository / "launch" / text).exists():
        return "launch/" + text
    return text


def own_header_first(path, source):
    """Whether a source that has a header of its name includes that before any other."""
    if path.suffix != ".cc" or not path.with_suffix(".h").exists():
        return True
    included = re.search(r'^\s*#\s*include\s+["<]([^">]+)[">]', path.read_text(), re.MULTILINE)
    own = source.removesuffix(".cc") + ".h"
    return included is not None and included.group(1) in (own, own.removeprefix("launch/"))


def violations(repository):
    for path, source in sources(repository):
        if not own_header_first(path, source):
            yield f"{path}:1: includes something before the header of its own name"
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if match and not may_include(source, header_name(repository, source, match.group(1))):
                yield f"{path}:{number}: room {room_of(source, ALLOWED)} must not include {match.group(1)}"


def upward():
    """Rooms whose list names one that comes after them."""
    seen = []
    for room, allowed in ALLOWED.items():
        yield from (f"{room} is allowed {other}, a later room" for other in allowed if other not in seen)
        seen.append(room)


def self_test():
    assert list(upward()) == []
    assert may_include("p2p/sending.cc", "net/transport.h")
    assert not may_include("net/network.cc", "p2p/messenger.h")
    assert not may_include("comm/group.h", "engine/engine.h")  # before it in the order, and still not allowed
    assert may_include("net/network.cc", "net/shm/layout.h")
    assert not may_include("net/shm/ring.h", "net/tcp/address.h")
    assert may_include("launch/tool/doctor_network.cc", "net/tcp/interfaces.h")
    assert not may_include("launch/tool/doctor_network.cc", "net/tcp/link.h")
    assert not may_include("launch/mpiexec/main.cc", "runtime/job.h")
    with tempfile.TemporaryDirectory() as folder:
        repository = pathlib.Path(folder)
        for name, text in {"src/base/a.h": '#include "wire/b.h"\n', "launch/tool/t.h": "",
                           "launch/mpiexec/m.cc": '#include "base/a.h"\n#include "tool/t.h"\n'}.items():
            (repository / name).parent.mkdir(parents=True, exist_ok=True)
            (repository / name).write_text(text)
        assert len(list(violations(repository))) == 2
        (repository / "src/base/a.cc").write_text('#include <vector>\n#include "base/a.h"\n')
        assert len(list(violations(repository))) == 3
        (repository / "src/base/a.cc").write_text('#include "base/a.h"\n#include <vector>\n')
        assert len(list(violations(repository))) == 2
    return 0


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    found = list(upward()) + list(violations(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "all includes are of rooms that are allowed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
