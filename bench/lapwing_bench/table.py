"""Results as text for the terminal, and how numbers read everywhere."""

from __future__ import annotations

import math
import statistics
from typing import List, Optional

from . import results
from .candidates import PLACES, WORDS
from .questions import has_cells
from .results import Results, Series

DIRECTION = {"lower": " (lower is better)", "higher": " (higher is better)", "none": ""}


def number(value: float) -> str:
    """Three digits that count, thousands apart, no exponents: 0.240, 12.3, 40 100."""
    if value == 0:
        return "0"
    value = float(f"{value:.3g}")
    size = math.floor(math.log10(abs(value)))
    if size >= 2:
        return f"{value:,.0f}".replace(",", " ")
    if size < -6:
        return f"{value:.2g}"
    return f"{value:.{2 - size}f}"


def point(x: Optional[float], unit: str) -> str:
    if x is None:
        return "-"
    if unit == "B":
        for factor, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
            if x >= factor and x % factor == 0:
                return f"{x // factor:g} {name}"
    return f"{x:g} {unit}" if unit not in ("", "count") else f"{x:g}"


def ratio_text(ratio: Optional[results.Ratio]) -> str:
    if ratio is None:
        return "-"
    median, least, most = (
        f"{value:.2f}" if value >= 0.1 else number(value) for value in (ratio.value, ratio.least, ratio.most)
    )
    return median if ratio.rounds < 2 else f"{median} ({least}-{most})"


def align(rows: List[List[str]]) -> str:
    """The first column to the left, the others to the right; a rule below the head."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if not column else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths))
        ]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def best_value(series: Series, x) -> Optional[float]:
    cells = series.points[x]
    if series.better == "none" or len(cells) < 2:
        return None
    return (min if series.better == "lower" else max)(cell.value for cell in cells.values())


def row_of(series: Series, x, label: str, names: List[str]) -> List[str]:
    best, cells = best_value(series, x), series.points[x]
    marked = {name: number(cell.value) + ("*" if cell.value == best else " ") for name, cell in cells.items()}
    return [label] + [marked.get(name, "- ") for name in names]


def blocks(found: Results) -> List[List[Series]]:
    """Series that share a table: one by itself, or all single figures of a question over a transport."""
    result: List[List[Series]] = []
    for series in results.gather(found):
        last = result[-1][-1] if result else None
        if last and last.single and series.single and last.place == series.place:
            result[-1].append(series)
        else:
            result.append([series])
    return result


def block_text(block: List[Series]) -> str:
    first = block[0]
    names = list(dict.fromkeys(name for series in block for name in series.names()))
    head = f"{first.question}, {PLACES[first.transport]}"
    if first.single:
        rows = [row_of(series, None, f"{series.name}, {series.unit}", names) for series in block]
        label = ""
    else:
        rows = [row_of(first, x, point(x, first.x_unit), names) for x in first.xs()]
        head += f": {first.name}, {first.unit}" + DIRECTION[first.better]
        label = first.x_name
    return head + "\n" + align([[label] + [name.replace(f"-{first.transport}", "") + " " for name in names]] + rows)


def tables(found: Results) -> str:
    """Every series with all its candidates; * marks the best."""
    return "\n\n".join(block_text(block) for block in blocks(found) if not has_cells(block[0].question))


def entries(found: Results, other_of, variant: str = ""):
    """(series, x, Lapwing's cell, Ratio against what other_of(series, x) names) wherever both were measured."""
    for series in results.gather(found):
        own = "-".join(filter(None, ("lapwing", series.transport, variant)))
        for x in series.xs():
            other = other_of(series, x)
            against = results.ratio(series, x, own, other) if other else None
            if against:
                yield series, x, series.points[x][own], against


def ratio_entries(found: Results, variant: str = ""):
    return entries(found, lambda series, x: results.best_peer(found, series, x), variant)


def before_entries(found: Results):
    return entries(found, lambda series, x: f"lapwing-{series.transport}-before")


def ratios(found: Results, variant: str = "") -> str:
    those = [entry for entry in ratio_entries(found, variant) if not has_cells(entry[0].question)]
    return ratio_table("the best peer", "best peer", those, " ".join(filter(None, ("Lapwing", WORDS.get(variant)))))


def ratios_to_before(found: Results) -> str:
    return ratio_table("what it was before", "before", before_entries(found))


def ratio_table(beside: str, head: str, those, own: str = "Lapwing") -> str:
    rows = [[f"{own} beside {beside}", "", "Lapwing", head, "", "ratio (interval)"]]
    for series, x, cell, against in those:
        theirs = series.points[x][against.other].value
        rows.append(
            [
                f"{series.question} {series.transport}: {series.name}",
                point(x, series.x_unit) if x is not None else "",
                f"{number(cell.value)} {series.unit}",
                number(theirs),
                against.other,
                ratio_text(against),
            ]
        )
    if len(rows) == 1:
        return ""
    return align(rows) + "\n(a ratio below 1: Lapwing is better)"


def busy_line(found: Results) -> str:
    """A warning where other programs had a part of the machine that matters."""
    others = [run.others for run in found.runs]
    if not others or statistics.median(others) < 0.1:
        return ""
    return (
        f"The machine was busy: other programs used {statistics.median(others):.2f} cores in the median of the runs, and"
        f" {max(others):.2f} at most. Ask again when it is not."
    )


def failure_lines(found: Results) -> str:
    lines = [
        f"round {run.round}  {run.question}  {run.candidate}  {run.ranks} ranks: {run.failure}"
        for run in results.failures(found)
    ]
    return "\n".join(["Runs that failed:"] + [f"  {line}" for line in lines]) if lines else ""
