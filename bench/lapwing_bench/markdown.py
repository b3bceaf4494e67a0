"""The tables of a text in Markdown are made from results; all else in it is its author's. In the text a comment stands
right above each table that is ours, and says which it is:

    <!-- latency-shm -->
    | shared memory, µs | Lapwing | ...

The name is that of a question and a transport, or "targets".

A whole text can be made, too: a report of one machine and one day, with nothing in it that is written by hand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from . import results, sweep, verdicts
from .questions import QUESTIONS, has_cells
from .results import Results, Series
from .table import number, point, ratio_text

KIB, MIB = 1 << 10, 1 << 20
LIBRARIES = {"lapwing": "Lapwing", "mpich": "MPICH", "intel": "Intel MPI", "openmpi": "Open MPI"}
OTHERS = {"lapwing polling": "… polling", "lapwing ether": "… raw Ethernet", "openmpi thread": "Open MPI, thread", "raw": "raw sockets"}
PLACES = {"shm": "shared memory", "tcp": "TCP", "lab": "two hosts", "default": "any transport"}
UNITS = {"us": "µs", "M/s": "million/s"}


@dataclass(frozen=True)
class Table:
    series: Tuple[str, ...]
    points: Tuple[Optional[float], ...]
    more: Tuple[str, ...] = ()  # of OTHERS
    libraries: Tuple[str, ...] = tuple(LIBRARIES)
    against: str = ""  # the ratio is to this candidate less its transport; empty: to the best peer


OPERATIONS = ("exchange", "Ibcast", "Iallreduce", "Iallgather", "Ialltoall")
COLLECTIVES = ("in its calls beside computing", "added to computing", "share not hidden", "whole over the longer of both")
ENGINE = ("one direction", "window", "both directions")
TABLES = {
    "latency": Table(("one way",), (8, KIB, 64 * KIB, MIB, 4 * MIB), ("lapwing polling", "lapwing ether", "raw")),
    "calls": Table(
        (
            "MPI_Send, MPI_Recv",
            "MPI_Ssend",
            "MPI_Bsend",
            "MPI_Recv from any source, any tag",
            "MPI_Probe, MPI_Recv",
            "MPI_Mprobe, MPI_Mrecv",
            "MPI_Iprobe until it is there",
            "MPI_Test until it is there",
            "a column of four",
            "MPI_Sendrecv",
            "MPI_Sendrecv_replace",
            "MPI_Irecv, MPI_Isend, MPI_Waitall",
            "four of them",
            "four of them, MPI_Waitany",
            "256 messages, MPI_Waitany",
            "256 messages, MPI_Waitsome",
            "MPI_Startall, MPI_Waitall",
            "MPI_Neighbor_alltoall",
            "16 messages, the last tag first",
            "to itself",
        ),
        (8, KIB, 16 * KIB),
        ("lapwing polling",),
    ),
    "derived_types": Table(
        tuple(
            f"{shape}, {use}"
            for shape in (
                "a face across the rows",
                "a face of rows",
                "the inside of a cube",
                "five numbers at a time",
                "columns of a matrix",
                "structures",
                "single numbers",
                "triples",
                "two arrays",
            )
            for use in ("one way", "MPI_Pack", "MPI_Unpack")
        ),
        (2 * KIB, 32 * KIB, 128 * KIB),
    ),
    "places": Table(
        tuple(
            f"{call}, {place}"
            for call in ("one way", "to itself", "MPI_Allgather", "MPI_Alltoall")
            for place in ("alike", "16 B behind", "48 B before", "1000 B behind")
        ),
        (16 * KIB, 64 * KIB, MIB),
    ),
    "bandwidth": Table(
        ("one direction", "window 64", "both directions"),
        (4 * KIB, 64 * KIB, MIB, 4 * MIB),
        ("lapwing polling", "lapwing ether", "raw"),
    ),
    "message_rate": Table(("window 64", "blocking sends"), (8, KIB), ("lapwing polling", "lapwing ether", "raw")),
    "overlap_receive": Table(
        ("wait, 20 ms", "total over computing alone, 20 ms"), (8, 64 * KIB, MIB), ("openmpi thread",)
    ),
    "overlap_collectives": Table(
        tuple(f"{operation}, {what}" for what in COLLECTIVES for operation in OPERATIONS),
        (64 * KIB, MIB),
        ("openmpi thread",),
    ),
    "busy_receiver": Table(
        ("MPI_Ssend", "MPI_Send", "MPI_Ssend, receiver idle"), (KIB, 64 * KIB, MIB, 8 * MIB), ("openmpi thread",)
    ),
    "trickle": Table(
        ("computing taken, per message", "MPI_Send", "MPI_Waitall"), (8, KIB, 16 * KIB, 64 * KIB), ("openmpi thread",)
    ),
    "engine_cost": Table(
        ("latency", *(f"bandwidth, {way}" for way in ENGINE), "message rate, window", "message rate, blocking sends"),
        (8, KIB, 4 * KIB, 64 * KIB, MIB, 4 * MIB),
        ("lapwing polling",),
        ("lapwing",),
        "lapwing polling",
    ),
    "progress_cost": Table(
        (
            "MPI_Test that finds nothing",
            "MPI_Iprobe that finds nothing",
            "wake-up of a rank asleep in MPI_Recv",
            "100 M increments, before MPI_Init",
            "100 M increments, nothing in flight",
            "wake-ups, nothing in flight",
        ),
        (None,),
        ("lapwing polling", "openmpi thread"),
    ),
    "phases": Table(
        (
            "allreduce 8 B x 1, jitter 10 %",
            "allreduce 8 B x 5",
            "sendrecv 1 KiB x 1, jitter 10 %",
            "sendrecv 1 KiB x 5",
            "allreduce 8 B x 5, 4096 KiB",
            "sendrecv 1 KiB x 5, 4096 KiB",
            "allreduce 8 B x 5, 4 ranks",
            "sendrecv 1 KiB x 5, 4 ranks",
        ),
        (100, 2000, 10000),
        ("lapwing polling",),
    ),
    "halo": Table(
        ("MPI_Sendrecv", "MPI_Isend, MPI_Irecv, MPI_Waitall", "computing in between"),
        (16, 32, 64, 128),
        ("lapwing polling",),
    ),
    "conjugate_gradient": Table(("27 points, Jacobi", "27 points, Jacobi, pipelined"), (16, 32), ("lapwing polling",)),
    "elimination": Table(
        ("by columns, blocking", "by columns, double-buffered", "as printed, blocking", "as printed, double-buffered"),
        (128, 256, 512, 1024),
        ("lapwing polling",),
    ),
    "skew": Table(
        tuple(
            f"{operation}, {delay}, {form} over ideal"
            for operation in ("allreduce 64 KiB", "bcast 64 KiB", "alltoall 64 KiB", "barrier")
            for delay in ("random", "one late")
            for form in ("blocking", "pipelined")
        ),
        (0, 30, 100),
        ("lapwing polling",),
    ),
    "idle": Table(("MPI_Recv", "MPI_Barrier"), (None,)),
    "oversubscribe": Table(("barrier", "allreduce 8 B", "allreduce 64 KiB", "alltoall 1 KiB", "ring by Testall", "ring by Iprobe"), (4, 8, 16, 32)),
    "busy_cores": Table(("ring, 8 B", "ring, 64 KiB", "ring by Iprobe, 8 B", "barrier", "allreduce, 8 B"), (2, 4, 8)),
    "connections": Table(
        (
            "latency, the others idle",
            "latency, over that with few connections",
            "bandwidth, the others idle",
            "time of a stream, over that with few connections",
            "processor time per message, the others idle",
            "processor time per message, all active",
            "memory per connection",
            "memory of the kernel per connection, both ends",
        ),
        (1, 64, 1024, 4096),
    ),
    "threads": Table(("own tag", "own communicator"), (1, 2, 4)),
    "startup": Table(("mpiexec", "MPI_Init_thread and MPI_Finalize", "memory per rank"), (2, 16, 64)),
}


def unit_text(unit: str) -> str:
    return UNITS.get(unit, unit)


def lines(rows: List[List[str]]) -> str:
    """The first row is the head."""
    rule = "|---|" + "---:|" * (len(rows[0]) - 1)
    texts = ["| " + " | ".join(text.replace("|", "\\|") for text in row) + " |" for row in rows]
    return "\n".join([texts[0], rule, *texts[1:]]) + "\n"


def candidate(words: str, transport: str) -> str:
    library, _, variant = words.partition(" ")
    return "-".join(filter(None, (library, transport, variant)))


def columns(table: Table, transport: str, all_series: List[Series]) -> Dict[str, str]:
    """The candidates that were asked, with their titles."""
    wanted = sorted((*table.libraries, *table.more), key=lambda words: not words.startswith("lapwing"))
    asked = {name for series in all_series for name in series.names()}
    names = {candidate(words, transport): {**LIBRARIES, **OTHERS}[words] for words in wanted}
    return {name: title for name, title in names.items() if name in asked}


def label(series: Series, x: Optional[float], unit: str) -> str:
    words = [series.name]
    if x is not None:
        one_word = " " not in series.x_name
        here = f"{x:g} {series.x_name}" if one_word else f"{series.x_name}: {x:g}"
        words.append(point(x, series.x_unit) if series.x_unit == "B" else here)
    if series.unit not in (unit, "ratio"):
        words.append(unit_text(series.unit))
    return ", ".join(words)


def row_of(table: Table, series: Series, x: Optional[float], names: List[str], unit: str) -> List[str]:
    cells = series.points[x]
    own = candidate("lapwing", series.transport)
    libraries = [name for name in names if name in cells and not name.startswith(("raw", own + "-"))]
    values = {name: cells[name].value for name in libraries if series.better != "none"}
    best = (max if series.better == "higher" else min) if series.better != "none" else None
    row = [label(series, x, unit)]
    for name in names:
        text = number(cells[name].value) if name in cells else "–"
        row.append(f"**{text}**" if len(values) > 1 and values.get(name) == best(values.values()) else text)
    peers = {name: value for name, value in values.items() if name != own}
    other = candidate(table.against, series.transport) if table.against else best(peers, key=peers.get) if peers else ""
    return [*row, ratio_text(results.ratio(series, x, own, other)).replace("-", "–")]


def table_of(name: str, transport: str, found: Results) -> Optional[str]:
    """None: it was not measured."""
    table = TABLES[name]
    measured = {each.name: each for each in results.gather(found) if each.place == (name, transport)}
    chosen = [measured[each] for each in table.series if each in measured]
    titles = columns(table, transport, chosen)
    if not chosen or not titles:
        return None
    unit = chosen[0].unit
    rows = [
        row_of(table, series, x, list(titles), unit)
        for series in chosen
        for x in table.points
        if any(candidate in series.points.get(x, {}) for candidate in titles)
    ]
    against = OTHERS.get(table.against, "best peer")
    head = [f"{PLACES[transport]}, {unit_text(unit)}", *titles.values(), f"Lapwing / {against}"]
    return lines([head, *rows])


def shares_of(question: str, transport: str, found: Results) -> Optional[str]:
    """Of a sample there are too many cells for a text."""
    group = [cell for cell in sweep.cells(found) if cell.series.place == (question, transport)]
    if not group:
        return None
    return lines([[PLACES[transport], *sweep.SHARES_HEAD[1:]], *sweep.share_rows(group)])


def named(name: str, found: Results) -> Optional[str]:
    if name == "targets":
        rows = verdicts.rows(found)
        return lines([verdicts.HEAD, *rows]) if rows else None
    question, _, transport = name.rpartition("-")
    if transport not in PLACES or question not in QUESTIONS:
        return None
    return (shares_of if has_cells(question) else table_of)(question, transport, found)


def tables_of(found: Results) -> Dict[str, str]:
    names = ["targets"] + [f"{question}-{transport}" for question in QUESTIONS for transport in PLACES]
    tables = {name: named(name, found) for name in names}
    return {name: text for name, text in tables.items() if text}


def all_tables(found: Results) -> str:
    """Every table, with its comment: where a text begins."""
    return "\n".join(f"<!-- {name} -->\n{text}" for name, text in tables_of(found).items())


OURS = re.compile(r"^<!-- ([a-z_]+(?:-[a-z]+)?) -->\n((?:\|.*\n)*)", re.MULTILINE)


def refresh(text: str, found: Results):
    """(the text with new tables, names of tables that were not measured and stay as they are)"""
    kept = []

    def new(match):
        made = named(match.group(1), found)
        if made is None:
            kept.append(match.group(1))
            return match.group(0)
        return f"<!-- {match.group(1)} -->\n{made}"

    return OURS.sub(new, text), kept
