"""What this machine is, and what else it does while we measure."""

from __future__ import annotations

import os
import platform
import resource
import time
from datetime import datetime, timezone
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


def first_line(path: str, key: str) -> str:
    try:
        for line in Path(path).read_text().splitlines():
            name, _, value = line.partition(":" if ":" in line else "=")
            if name.strip() == key:
                return value.strip().strip('"')
    except OSError:
        pass
    return ""


def cores() -> int:
    """Cores that this process, and so the programs it starts, may use; each hardware thread counts."""
    return len(os.sched_getaffinity(0))


def physical_cores() -> int:
    """The same, the hardware threads of a core counted once."""
    return distinct_cores(topology())


def cache_of(processor: int) -> str:
    """The processors that share its last cache, as the kernel lists them."""
    caches = Path(f"/sys/devices/system/cpu/cpu{processor}/cache")
    lists = [first_word(index / "shared_cpu_list") for index in sorted(caches.glob("index*"))]
    return lists[-1] if lists else ""


def first_word(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def topology() -> dict:
    """(package, core) of each processor that this process may use; empty words where the kernel does not say."""
    return {
        each: tuple(
            first_word(Path(f"/sys/devices/system/cpu/cpu{each}/topology/{name}"))
            for name in ("physical_package_id", "core_id")
        )
        for each in sorted(os.sched_getaffinity(0))
    }


def distinct_cores(places: dict) -> int:
    """places: (package, core) of each processor. One whose place is not known is a core of its own."""
    return len({place if all(place) else number for number, place in places.items()})


def core_pairs() -> dict:
    """Pairs of cores, "near" below one last cache and "far" below two, of different packages if possible; empty unless
    there are both. The two hardware threads of a core are no pair."""
    places = topology()
    return pairs_among(places, {each: cache_of(each) for each in places})


def pairs_among(topology: dict, caches: dict) -> dict:
    """topology: (package, core) of each processor. caches: what tells its last cache from others."""
    first, *others = topology
    others = [each for each in others if topology[each] != topology[first]]
    near = [each for each in others if caches[each] == caches[first]]
    far = [each for each in others if caches[each] != caches[first]]
    far.sort(key=lambda each: topology[each][0] == topology[first][0])
    return {"near": (first, near[0]), "far": (first, far[0])} if near and far else {}


def describe() -> dict:
    memory = first_line("/proc/meminfo", "MemTotal").split()
    virtual = "hypervisor" in first_line("/proc/cpuinfo", "flags").split()
    governor = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    description = {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": first_line("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": f"{cores()} usable of {os.cpu_count()}",
        "kind": "a virtual machine" if virtual else "no hypervisor seen",
        "memory": f"{int(memory[0]) / 1048576:.1f} GiB" if memory else "unknown",
        "system": first_line("/etc/os-release", "PRETTY_NAME") or "unknown",
        "kernel": f"{platform.system()} {platform.release()}",
    }
    if governor.exists():
        description["frequency governor"] = governor.read_text().strip()
    return description


def load() -> float:
    return os.getloadavg()[0]


class Busy:
    """How many cores others used since this object was made: what the machine did, less what our own programs used.

    What the machine's cores did comes from /proc/stat; our share is known once our programs have ended and been waited
    for. Time that the host of a virtual machine gave to another one counts as used by others.
    """

    def __init__(self):
        self.started = time.monotonic()
        self.all = self.machine_seconds()
        self.ours = self.own_seconds()

    @staticmethod
    def machine_seconds() -> float:
        try:
            user, nice, system, _, _, irq, softirq, steal = Path("/proc/stat").read_text().split("\n")[0].split()[1:9]
        except (OSError, ValueError):
            return 0.0
        return sum(map(int, (user, nice, system, irq, softirq, steal))) / TICK

    @staticmethod
    def own_seconds() -> float:
        children, own = resource.getrusage(resource.RUSAGE_CHILDREN), resource.getrusage(resource.RUSAGE_SELF)
        return children.ru_utime + children.ru_stime + own.ru_utime + own.ru_stime

    def others(self) -> float:
        elapsed = time.monotonic() - self.started
        used = (self.machine_seconds() - self.all) - (self.own_seconds() - self.ours)
        return max(0.0, used / elapsed) if elapsed > 0 else 0.0
