"""Receive in the kernel (paper 2, O2G, done in eBPF) against what it set out to reach: one table, a row for each target, with a verdict for messages
received into memory of MPI_Alloc_mem and into any other. The way by the library (LAPWING_RECEIVE=user), raw sockets that spin, the bare mechanism
(bench/kernel_receive: the same program in the kernel, without MPI) and the peers take turns with it.

A verdict holds against the median over the turns; "met" or "missed" where that of each turn says so, else "not decided". Where the bare mechanism
does not reach a limit in any turn, 1.2 times its best turn is the limit in its place. What cannot be measured says why; a way of which one turn failed
counts as failed, because ratios are built within a turn.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from . import candidates
from .errors import BenchError
from .execution import execute, spared
from .lab import Lab
from .peers import Installation
from .programs import Programs
from .table import number
from .targets import MET, MISSED, UNDECIDED, decide

TIMEOUT = 120  # seconds for one run
MPI, ANY = "receive into MPI_Alloc_mem", "into any buffer"
MEMORY = {MPI: ("--memory", "mpi"), ANY: ("--memory", "heap")}
# Ways to receive: Lapwing's two, raw sockets that spin, the program in the kernel without MPI, and the peers.
KERNEL, USER, RAW, BARE = "kernel", "user", "raw", "bare"
BARE_FACTOR = 1.2  # where the bare mechanism does not reach a limit
TITLES = {USER: "the library", RAW: "raw sockets", BARE: "the bare mechanism", "mpich": "MPICH", "intel": "Intel MPI", "openmpi": "Open MPI"}


@dataclass(frozen=True)
class Place:
    """Where the ranks run: on this machine over TCP or, `lab`, on two emulated hosts; `busy`: a program that computes on each core beside them."""

    lab: bool = False
    busy: bool = False

    @property
    def title(self) -> str:
        return "two hosts" if self.lab else "all cores busy" if self.busy else "one machine"


HERE, BUSY, LAB = Place(), Place(busy=True), Place(lab=True)


@dataclass(frozen=True)
class Row:
    """A target: a figure of a program, and its limit in each column: of the figure itself, or times that of another way."""

    what: str
    program: Tuple[str, ...]  # with its options
    series: str
    x: Optional[int]
    limits: Tuple[float, Optional[float]]  # MPI, ANY; None: no target
    against: str = ""  # a way; empty: the figure itself
    place: Place = HERE
    ranks: int = 2
    high: bool = False  # the 90th percentile
    is_rate: bool = False  # more is better
    bare: Tuple[str, ...] = ()  # what kernel_receive measures of it: its series for MPI, ANY; empty: nothing

    def limit(self, column: str) -> Optional[float]:
        return self.limits[column == ANY]

    def bare_series(self, column: str) -> str:
        return self.bare[column == ANY] if self.bare else ""


LATENCY = ("latency", "--sizes", "8,64K")
STREAM = ("bandwidth", "--sizes", "1M")
BUSY_RECEIVER = ("busy_receiver", "--sizes", "1K,64K,1M")
OVERLAP = ("overlap_receive", "--sizes", "8,4K,16K,64K")
COLLECTIVES = ("overlap_collectives", "--sizes", "1M")
CONNECTIONS = ("connections", "--message", "1K")
ACTIVE = "processor time per message, all active"
NEVER = 0.05  # per message, because other things wake a thread now and then
PLACED, ANSWERED = ("mapped memory", "any memory"), ("answered", "answered")
ROWS = (
    Row("8 B one way", LATENCY, "one way", 8, (1.0, 1.0), RAW, bare=PLACED),
    Row("64 KiB one way", LATENCY, "one way", 65536, (0.6, 0.85), RAW, bare=PLACED),
    Row("stream of 1 MiB messages, the receiver waits", STREAM, "window 64", 1 << 20, (1.0, 1.0), USER, is_rate=True),
    Row("MPI_Ssend of 1 MiB, the receiver computes", BUSY_RECEIVER, "MPI_Ssend", 1 << 20, (1 / 0.9, 1 / 0.8), USER),
    Row("MPI_Ssend of 64 KiB, the receiver computes: median, us", BUSY_RECEIVER, "MPI_Ssend", 65536, (100, 100), bare=ANSWERED),
    Row("the same, 90th percentile", BUSY_RECEIVER, "MPI_Ssend", 65536, (1000, 1000), high=True, bare=ANSWERED),
    Row("the same, every core of the machine busy: median", BUSY_RECEIVER, "MPI_Ssend", 65536, (0.3, 0.3), USER, BUSY),
    Row("the same, against the bare mechanism", BUSY_RECEIVER, "MPI_Ssend", 65536, (BARE_FACTOR, BARE_FACTOR), BARE, BUSY, bare=ANSWERED),
    *(
        Row(f"MPI_Ssend of {size}, the receiver computes", BUSY_RECEIVER, "MPI_Ssend", x, (0.6, 0.6), USER, LAB)
        for size, x in (("1 KiB", 1024), ("64 KiB", 65536))
    ),
    *(
        Row(f"MPI_Irecv, 20 ms of computing, MPI_Wait, {size}: us in MPI_Wait", OVERLAP, "wait, 20 ms", x, (2, 2))
        for size, x in (("8 B", 8), ("4 KiB", 4096))
    ),
    Row("the same, 64 KiB", OVERLAP, "wait, 20 ms", 65536, (2, None)),
    *(
        Row(f"its wake-ups of the event thread, per message of {size}", OVERLAP, "event-thread wake-ups, 20 ms", x, (NEVER, limit))
        for size, x, limit in (("8 B", 8, NEVER), ("16 KiB", 16384, NEVER), ("64 KiB", 65536, None))
    ),
    *(
        Row(f"processor time per message of 1 KiB, {ranks - 1} connections, all active", CONNECTIONS, ACTIVE, ranks - 1,
            (0.7, 0.85), USER, ranks=ranks)
        for ranks in (5, 17, 65)
    ),
    *(
        Row(f"{name} of 1 MiB beside computing, over the longer of both", COLLECTIVES, f"{name}, whole over the longer of both", 1 << 20,
            (1.05, 1.06), place=LAB)
        for name in ("Iallgather", "Ialltoall", "Iallreduce", "Ibcast")
    ),
)
# Of the targets, what no program here measures.
NOT_MEASURED = {
    "idle connections: flat within 5 %": "a target of `connections`, which looks at 1,024 and more: lapwing bench connections --candidates lapwing-tcp-kernel",
}

Key = Tuple[str, Optional[int]]


@dataclass
class Figures:
    """Of one way: by series and x, (median, 90th percentile) of each turn; or why there are none."""

    values: Dict[Key, List[Tuple[float, float]]] = field(default_factory=dict)
    failure: str = ""

    def add(self, output: str) -> None:
        for line in filter(lambda line: line.startswith("{"), output.splitlines()):
            figure = json.loads(line)
            x = figure["x"]
            key = (figure["series"], None if x is None else int(x))
            self.values.setdefault(key, []).append((figure["value"], figure["high"]))

    def of(self, row: Row, series: str = "") -> List[float]:
        """Of the row's own series, or of this one."""
        return [] if self.failure else [pair[row.high] for pair in self.values.get((series or row.series, row.x), [])]


Run = Tuple[Tuple[str, ...], Place, int]  # a program with its options, and where


def run_of(row: Row) -> Run:
    return row.program, row.place, row.ranks


@dataclass(frozen=True)
class Way:
    name: str
    column: str = ""  # of KERNEL: where messages lie

    def candidate(self, place: Place) -> candidates.Candidate:
        transport = "lab" if place.lab else "tcp"
        names = {KERNEL: f"lapwing-{transport}-kernel", USER: f"lapwing-{transport}"}
        return candidates.parse(names.get(self.name, f"{self.name}-{transport}"))


def bare_sizes(run: Run) -> List[int]:
    return sorted({row.x for row in ROWS if run_of(row) == run and row.bare})


def ways_of(run: Run, installations: Dict[str, Installation]) -> List[Way]:
    """Those that take turns."""
    program, place, _ = run
    ways = [Way(KERNEL, MPI), Way(KERNEL, ANY), Way(USER)]
    if program[0] in ("latency", "bandwidth") and not place.lab:
        ways.append(Way(RAW))
    if bare_sizes(run):
        ways.append(Way(BARE))
    return ways + [Way(library) for library in ("mpich", "intel", "openmpi") if library in installations]


class Session:
    def __init__(self, installations: Dict[str, Installation], programs: Programs, quick: bool):
        self.installations, self.programs, self.quick = installations, programs, quick

    def command(self, run: Run, way: Way, lab: Optional[Lab]) -> Tuple[list, dict]:
        """(command line, what is added to the environment)"""
        (name, *options), place, ranks = run
        if way.name == BARE:
            words = [self.programs.installed("kernel_receive"), "--sizes", ",".join(map(str, bare_sizes(run))), "--joins", "1"]
            return words + (["--quick"] if self.quick else []), {}
        candidate = way.candidate(place)
        installation = self.installations[candidate.installation]
        words = [self.programs.path(name, candidate.library), *options]
        words += MEMORY[way.column] if way.column else ()
        words += (["--only", name] if way.name == RAW else []) + (["--quick"] if self.quick else [])
        added = candidates.environment_of(candidate, installation)
        if lab:
            return lab.command(candidate, installation, words), {**added, **lab.environment(candidate)}
        return candidates.command(candidate, installation, ranks, words), added

    def measure(self, run: Run, way: Way, lab: Optional[Lab], into: Figures) -> None:
        command, added = self.command(run, way, lab)
        try:
            done = execute(command, {**candidates.clean_environment(), **added}, TIMEOUT)
            failure = done.failure(TIMEOUT)
        except OSError as error:  # kernel_receive is missing where Lapwing was built without clang
            failure = f"{command[0]} cannot be started: {error.strerror}"
        if failure:
            into.failure = into.failure or failure
        else:
            into.add(done.output)


@contextlib.contextmanager
def busy_cores():
    """A process computes on each core."""
    cores = sorted(os.sched_getaffinity(0))
    computing = [subprocess.Popen(["taskset", "-c", str(core), "sh", "-c", "while :; do :; done"]) for core in cores]
    spared.update(process.pid for process in computing)
    try:
        yield
    finally:
        for process in computing:
            process.kill()
            process.wait()


def verdict(row: Row, column: str, measured: Dict[Way, Figures]) -> str:
    """A cell: state, figure, what it is compared with, limit."""
    way = Way(KERNEL, column)
    own = measured[way].of(row)
    if not own:
        return f"could not run: {measured[way].failure or 'no such figure'}"
    limit = row.limit(column)
    if limit is None:
        return f"no target: {number(statistics.median(own))}"
    if not row.against:
        other, shown = [1.0] * len(own), f"{number(statistics.median(own))} ({number(limit)})"
    else:
        against = measured[Way(row.against)]
        other = against.of(row, row.bare_series(column) if row.against == BARE else "")
        if not other:
            return f"could not run: {TITLES[row.against]}: {against.failure or 'no such figure'}"
        ratios = [theirs / ours if row.is_rate else ours / theirs for ours, theirs in zip(own, other)]
        shown = f"{number(statistics.median(own))}, {statistics.median(ratios):.2f} of {TITLES[row.against]} ({limit:.2f})"
    limits = [theirs / limit if row.is_rate else theirs * limit for theirs in other]
    bare = measured[Way(BARE)].of(row, row.bare_series(column)) if row.bare and Way(BARE) in measured else []
    if bare and min(bare) > statistics.median(limits):
        limits = [BARE_FACTOR * min(bare)] * len(own)
        shown += f"; the bare mechanism at best {number(min(bare))}, so {BARE_FACTOR} times that"
    of_limits = [most / ours if row.is_rate else ours / most for ours, most in zip(own, limits)]
    return f"{decide(min(of_limits), max(of_limits), 1)}: {shown}"


def beside(row: Row, measured: Dict[Way, Figures]) -> str:
    cells = []
    for way, figures in measured.items():
        of_all = [figures.of(row, series) for series in (dict.fromkeys(row.bare) if way.name == BARE else [row.series])]
        medians = [number(statistics.median(values)) for values in of_all if values]
        if way.name != KERNEL and medians:
            cells.append(f"{TITLES[way.name]} {' and '.join(medians)}")
    return ", ".join(cells) or "–"


def text(rows, found: Dict[Run, Dict[Way, Figures]], turns: int) -> str:
    lines = [f"| | | {MPI} | {ANY} | beside it |", "|---|---|---|---|---|"]
    cells = []
    for row in rows:
        measured = found.get(run_of(row))
        if measured is None:
            continue
        verdicts = [verdict(row, column, measured) for column in (MPI, ANY)]
        cells += verdicts
        lines.append(f"| {row.what} | {row.place.title} | " + " | ".join(verdicts) + f" | {beside(row, measured)} |")
    lines += [f"| {what} | | could not run: {why} | the same | – |" for what, why in NOT_MEASURED.items()]
    counts = ", ".join(f"{sum(cell.startswith(state + ':') for cell in cells)} {state}" for state in (MET, UNDECIDED, MISSED, "could not run"))
    head = f"Median of {turns} turns, times in us, rates in MB/s; in brackets the limit, of the figure or of its ratio. Of {len(cells)} cells: {counts}."
    return f"{head}\n\n" + "\n".join(lines) + "\n"


def tables(names: List[str], installations: Dict[str, Installation], folder: Path, options, say) -> str:
    """Measures all rows, or those whose program is named, and writes what was found after each run."""
    programs = sorted({row.program[0] for row in ROWS})
    for name in names:
        if name not in programs:
            raise BenchError(f"'{name}' is no program of receive in the kernel; there are {', '.join(programs)}")
    rows = tuple(row for row in ROWS if not names or row.program[0] in names)
    session = Session(installations, Programs(folder / "programs", installations), options.quick)
    found: Dict[Run, Dict[Way, Figures]] = {}
    shown = ""
    try:
        for run in dict.fromkeys(map(run_of, rows)):
            found[run] = measured = {way: Figures() for way in ways_of(run, installations)}
            (name, *_), place, ranks = run
            hosts = Lab(folder) if place.lab else contextlib.nullcontext()
            with hosts as lab, busy_cores() if place.busy else contextlib.nullcontext():
                for turn, way in ((turn, way) for turn in range(options.rounds) for way in measured):
                    say(f"{name}, {place.title}, {ranks} ranks, turn {turn + 1} of {options.rounds}: {way.name} {way.column}")
                    session.measure(run, way, lab, measured[way])
            shown = text(rows, found, options.rounds)
            (folder / "receive.md").write_text(shown, encoding="utf-8")
    except KeyboardInterrupt:
        say("\ninterrupted; what was measured so far is kept")
    return shown
