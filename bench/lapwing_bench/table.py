"""Results as text for the terminal, and how numbers read everywhere."""

from __future__ import annotations

import math
from typing import List, Optional

from . import results
from .results import Results, Series


def number(value: float) -> str:
    """Three digits that count, thousands apart, no exponents: 0.240, 12.3, 40 100."""
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size >= 2:
        return f"{round(value, 2 - size):,.0f}".replace(",", " ")
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
    if ratio.rounds < 2:
        return f"{ratio.value:.2f}"
    return f"{ratio.value:.2f} ({ratio.lowest:.2f}-{ratio.highest:.2f})"


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


def best_name(series: Series, x) -> Optional[str]:
    cells = series.points[x]
    if series.better == "none" or len(cells) < 2:
        return None
    return (min if series.better == "lower" else max)(cells, key=lambda name: cells[name].value)


def series_rows(series: Series, short=lambda name: name) -> List[List[str]]:
    names = series.names()
    rows = [[series.x_name or ""] + [short(name) for name in names]]
    for x in series.xs():
        best = best_name(series, x)
        cells = series.points[x]
        row = [point(x, series.x_unit) if x is not None else ""]
        for name in names:
            row.append((number(cells[name].value) + ("*" if name == best else " ")) if name in cells else "- ")
        rows.append(row)
    return rows


def head(series: Series, found: Results) -> str:
    transport = {"shm": "shared memory", "tcp": "TCP", "lab": "two hosts", "default": "own launcher"}[series.transport]
    better = {"lower": "lower is better", "higher": "higher is better", "none": ""}[series.better]
    return f"{series.question}, {transport}: {series.name}, {series.unit}" + (f" ({better})" if better else "")


def tables(found: Results) -> str:
    """Every series with all its candidates; * marks the best."""
    parts = []
    for series in results.gather(found):
        short = lambda name, transport=f"-{series.transport}": name.replace(transport, "")  # noqa: E731
        parts.append(f"{head(series, found)}\n{align(series_rows(series, short))}")
    return "\n\n".join(parts)


def ratio_entries(found: Results):
    """(series, x, Lapwing's cell, Ratio against the best peer) wherever both were measured."""
    for series in results.gather(found):
        own = f"lapwing-{series.transport}"
        for x in series.xs():
            peer = results.best_peer(found, series, x)
            against = results.ratio(series, x, own, peer) if peer else None
            if against:
                yield series, x, series.points[x][own], against


def ratios(found: Results) -> str:
    rows = [["Lapwing beside the best peer", "", "Lapwing", "best peer", "", "ratio (spread over the rounds)"]]
    for series, x, cell, against in ratio_entries(found):
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


def failure_lines(found: Results) -> str:
    lines = [
        f"round {run.round}  {run.question}  {run.candidate}  {run.ranks} ranks: {run.failure}"
        for run in results.failures(found)
    ]
    return "\n".join(["Runs that failed:"] + [f"  {line}" for line in lines]) if lines else ""
