"""What Lapwing set out to reach, and whether these results say it did.

A target compares Lapwing with something by a ratio (below 1: Lapwing is better), or limits the value itself. It is
met or missed where the interval of the median over the rounds (results.interval) is on one side of the limit, and not
decided where the limit is inside.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Callable, List, Optional, Tuple

from . import results
from .questions import QUESTIONS, has_cells
from .results import Ratio, Results, Series

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Target:
    what: str
    question: str
    transports: Tuple[str, ...]
    series: str  # a regular expression for its whole name
    # peer, polling peer, value, "series NAME", or a candidate less its transport
    against: str
    limit: float
    xs: Tuple[float, ...] = ()  # only these points
    most: float = float("inf")  # only points up to this
    least: float = 0
    share: float = 1.0  # of the points; it is enough that so many meet the limit
    high: bool = False  # compares 90th percentiles instead of medians


STATES = MET, UNDECIDED, MISSED = "met", "not decided", "missed"  # from good to bad


@dataclass
class Finding:
    """One point of one series."""

    series: Series
    x: Optional[float]
    ratio: Optional[Ratio]  # or
    value: float  # Lapwing's
    state: str


def badness(finding: Finding) -> tuple:
    return STATES.index(finding.state), finding.ratio.value if finding.ratio else finding.value


@dataclass
class Verdict:
    target: Target
    findings: List[Finding]

    def count(self, state: str) -> int:
        return sum(finding.state == state for finding in self.findings)

    @property
    def state(self) -> str:
        """Met at as many points as the target asks for (every point, as a rule), missed at too many, or neither."""
        needed = self.target.share * len(self.findings)
        if self.count(MET) >= needed:
            return MET
        return MISSED if self.count(MET) + self.count(UNDECIDED) < needed else UNDECIDED

    @property
    def worst(self) -> Finding:
        return max(self.findings, key=badness)


def both(*arguments, **named) -> Target:
    return Target(*arguments[:2], ("shm", "tcp"), *arguments[2:], **named)


EVERYWHERE = ("shm", "tcp", "lab", "default")
STREAMS = r"one direction|window \d+"
SIZES_1K_TO_8M = {"least": KIB, "most": 8 * MIB}
TARGETS = [
    Target(
        "latency in shared memory: no peer is faster", "latency", ("shm",), "one way", "peer", 1.0, (8, 64 * KIB, MIB)
    ),
    Target(
        "small messages in shared memory: no peer sends more", "message_rate", ("shm",), "window 64", "peer", 1.0, (8,)
    ),
    Target("latency over TCP: as raw sockets that spin", "latency", ("tcp",), "one way", "raw", 1.05, (8,)),
    Target("latency over TCP: no peer is faster", "latency", ("tcp",), "one way", "peer", 1.0, (8, 64 * KIB, 4 * MIB)),
    Target("streams over TCP: no peer moves more", "bandwidth", ("tcp",), STREAMS, "peer", 1.0, least=64 * KIB),
    Target(
        "streams over TCP: 95 % of raw sockets", "bandwidth", ("tcp",), "one direction", "raw", 1 / 0.95, least=64 * KIB
    ),
    Target(
        "small messages over TCP: ten times the best peer", "message_rate", ("tcp",), "window 64", "peer", 0.1, (8,)
    ),
    Target(
        "MPI_Ssend between hosts, the receiver waits: no polling peer is faster",
        "busy_receiver",
        ("lab",),
        "MPI_Ssend, receiver idle",
        "polling peer",
        1.0,
        **SIZES_1K_TO_8M,
    ),
    Target(
        "MPI_Ssend between hosts, the receiver computes: no slower than Open MPI with its progress thread",
        "busy_receiver",
        ("lab",),
        "MPI_Ssend",
        "openmpi thread",
        1.0,
        **SIZES_1K_TO_8M,
    ),
    *(
        Target(
            f"the first messages after computing: {what}",
            "phases",
            ("shm", "tcp", "lab"),
            ".*",
            against,
            limit,
        )
        for what, against, limit in (
            ("no peer is faster by more than 15 %", "polling peer", 1.15),
            ("the engine costs at most 3 %", "lapwing polling", 1.03),
        )
    ),
    *(
        Target(
            f"point to point, whatever the size, pattern and buffers: {what}",
            "sweep",
            ("shm", "tcp", "lab"),
            ".*",
            "peer",
            limit,
            share=share,
        )
        for what, limit, share in (
            ("no peer is faster in 90 % of the cells", 1.0, 0.9),
            ("no peer is faster by more than 15 %", 1.15, 1.0),
        )
    ),
    Target(
        "every blocking collective alone: no peer is faster in 85 % of the cells",
        "collectives",
        ("shm", "tcp", "lab"),
        ".*",
        "peer",
        1.0,
        share=0.85,
    ),
    Target(
        "a message by whichever calls: no peer is faster in 85 % of the cells",
        "calls",
        ("shm", "tcp", "lab"),
        ".*",
        "peer",
        1.0,
        share=0.85,
    ),
    Target(
        "data of a derived type: no peer is faster in 85 % of the cells",
        "derived_types",
        ("shm", "lab"),
        ".*",
        "peer",
        1.0,
        share=0.85,
    ),
    *(
        Target(f"{what}: {limits}", question, ("shm", "tcp", "lab"), ".*", against, limit)
        for question, what in (
            ("halo", "a stencil and its halo exchange"),
            ("conjugate_gradient", "a conjugate gradient like HPCG's"),
        )
        for limits, against, limit in (
            ("no peer is faster", "peer", 1.0),
            ("the engine costs at most 3 %", "lapwing polling", 1.03),
        )
    ),
    *(
        Target(
            f"the first messages after computing: {what} in 80 % of the cells",
            "phases",
            ("shm", "tcp", "lab"),
            ".*",
            "polling peer",
            limit,
            share=0.8,
            high=high,
        )
        for what, limit, high in (
            ("no peer is faster", 1.0, False),
            ("no peer's 90th percentile is lower by more than 15 %", 1.15, True),
        )
    ),
    both("the engine costs no latency: at most 3 %", "engine_cost", "latency", "lapwing polling", 1.03),
    both("the engine costs no bandwidth: at most 3 %", "engine_cost", "bandwidth, .*", "lapwing polling", 1.03),
    both("the engine costs no messages: at most 3 %", "engine_cost", "message rate, .*", "lapwing polling", 1.03),
    both("more ranks than cores: no peer is faster", "oversubscribe", ".*", "peer", 1.0, least=4, most=32),
    both("beside work that wants every core: no peer is faster", "busy_cores", ".*", "peer", 1.0, least=2, most=8),
    Target(
        "MPI_Irecv, 20 ms of computing, MPI_Wait between hosts: at most 5 us are left to wait",
        "overlap_receive",
        ("lab",),
        "wait, 20 ms",
        "value",
        5,
        most=MIB,
    ),
    Target(
        "the whole of that takes at most 3 % more than the computing alone",
        "overlap_receive",
        ("lab",),
        "total over computing alone, 20 ms",
        "value",
        1.03,
        most=MIB,
    ),
    Target(
        "collectives between hosts hide behind computing: at most 10 % of their time remains (paper 5)",
        "overlap_collectives",
        ("lab",),
        "I.*, share not hidden",
        "value",
        0.1,
        least=64 * KIB,
    ),
    both(
        "a program that only computes: the engine makes no difference (1 %)",
        "progress_cost",
        "100 M increments, nothing in flight",
        "lapwing polling",
        1.01,
    ),
    both(
        "a program that only computes: no wake-ups per second",
        "progress_cost",
        "wake-ups, nothing in flight",
        "value",
        0,
    ),
    both("a waiting rank takes at most 0.5 % of a core", "idle", "MPI_Recv|MPI_Barrier", "value", 0.5),
    Target(
        "1 024 and more idle connections: latency and bandwidth of few, within 3 %",
        "connections",
        ("tcp",),
        "(latency|time of a stream), over that with few connections",
        "value",
        1.03,
        least=1024,
    ),
    Target(
        "start and end, 2 and 64 ranks: no peer is faster",
        "startup",
        ("default",),
        "mpiexec|MPI_Init_thread and MPI_Finalize",
        "peer",
        1.0,
        (2, 64),
    ),
    both(
        "MPI_THREAD_MULTIPLE costs one thread at most 5 % of latency",
        "threads",
        "latency 8 B, MPI_THREAD_MULTIPLE",
        "series latency 8 B, MPI_THREAD_SINGLE",
        1.05,
    ),
    *(
        Target(f"{name}: nothing is worse than before by more than 3 %", name, EVERYWHERE, ".*", "lapwing before", 1.03)
        for name in QUESTIONS
    ),
]


def wanted(target: Target, series: Series, x: Optional[float]) -> bool:
    if target.xs:
        return x in target.xs
    return x is None or target.least <= x <= target.most


def comparison(target: Target, found: Results, all_series: List[Series]) -> Callable:
    """A function (series, x) -> Ratio or None."""

    def with_candidate(series, x):
        own = f"lapwing-{series.transport}"
        if target.against in ("peer", "polling peer"):
            other = results.best_peer(found, series, x, threads=target.against == "peer")
        else:
            library, _, variant = target.against.partition(" ")
            other = "-".join(filter(None, (library, series.transport, variant)))
        return results.ratio(series, x, own, other, target.high) if other else None

    def with_cell(series, x):
        """Of the same candidate: another series."""
        own = f"lapwing-{series.transport}"
        name = target.against.partition(" ")[2]
        where = next((each for each in all_series if each.place == series.place and each.name == name), None)
        cells = where.points.get(x, {}) if where else {}
        if own not in cells or own not in series.points[x]:
            return None
        return results.ratio_of(series.better, series.points[x][own], cells[own], target.against)

    return with_cell if target.against.startswith("series ") else with_candidate


def decide(least: float, most: float, limit: float) -> str:
    return MET if most <= limit else MISSED if least > limit else UNDECIDED


def judge(target: Target, found: Results, all_series: List[Series]) -> Optional[Verdict]:
    """None: it was not measured."""
    compare = comparison(target, found, all_series)
    findings = []
    for series in all_series:
        if series.question != target.question or series.transport not in target.transports:
            continue
        if not re.fullmatch(target.series, series.name):
            continue
        for x in series.xs():
            cell = series.points[x].get(f"lapwing-{series.transport}")
            if cell is None or not wanted(target, series, x):
                continue
            if target.against == "value":
                state = decide(*results.interval(cell.rounds.values()), target.limit)
                findings.append(Finding(series, x, None, cell.value, state))
                continue
            ratio = compare(series, x)
            if ratio:
                state = decide(ratio.least, ratio.most, target.limit)
                findings.append(Finding(series, x, ratio, cell.value, state))
    return Verdict(target, findings) if findings else None


def judge_all(found: Results) -> List[Verdict]:
    all_series = results.gather(found)
    verdicts = [judge(target, found, all_series) for target in TARGETS]
    return [verdict for verdict in verdicts if verdict]


def losses(found: Results) -> List[Finding]:
    """Where the best peer is better, worst first; not decided where it may be otherwise. Cells of a sample have a table
    of their own."""
    lost = []
    for series in (each for each in results.gather(found) if not has_cells(each.question)):
        for x in series.xs():
            peer = results.best_peer(found, series, x)
            ratio = results.ratio(series, x, f"lapwing-{series.transport}", peer) if peer else None
            if ratio and ratio.value > 1:
                cell = series.points[x][f"lapwing-{series.transport}"]
                lost.append(Finding(series, x, ratio, cell.value, decide(ratio.least, ratio.most, 1)))
    return sorted(lost, key=lambda finding: -finding.ratio.value)
