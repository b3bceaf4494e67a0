"""The verdicts on all targets as rows of text, which the terminal and the page show."""

from __future__ import annotations

from typing import List

from . import targets
from .candidates import PLACES
from .questions import has_cells
from .results import Results, Series
from .table import align, number, point, ratio_text

HEAD = ["target", "limit", "worst point", "Lapwing", "ratio there (interval)", "points", ""]
AGAINST = {
    "peer": "the best peer",
    "polling peer": "the best peer without a progress thread",
    "raw": "raw sockets",
    "lapwing polling": "without the event thread",
    "lapwing before": "before",
    "openmpi thread": "Open MPI with its thread",
}


def where(series: Series, x) -> str:
    text = f"{series.question}, {PLACES[series.transport]}: {series.name}"
    return text if x is None else f"{text}, {point(x, series.x_unit)}"


def limit_text(target: targets.Target) -> str:
    if target.against == "value":
        return number(target.limit)
    against = AGAINST.get(target.against, target.against.replace("series ", ""))
    where_enough = "" if target.share == 1 else f", at {target.share:.0%} of the points".replace("%", " %")
    return f"{number(target.limit)} × {against}{where_enough}"


def row_of(verdict: targets.Verdict) -> List[str]:
    worst = verdict.worst
    return [
        verdict.target.what,
        limit_text(verdict.target),
        where(worst.series, worst.x),
        f"{number(worst.value)} {worst.series.unit}",
        ratio_text(worst.ratio) if worst.ratio else number(worst.value),
        ", ".join(f"{verdict.count(state)} {state}" for state in targets.STATES if verdict.count(state)),
        verdict.state,
    ]


def points_of(verdict: targets.Verdict) -> List[List[str]]:
    """Those that are not met, worst first; cells of a sample have a table of their own."""
    return [
        [
            where(each.series, each.x),
            f"{number(each.value)} {each.series.unit}",
            ratio_text(each.ratio) if each.ratio else number(each.value),
            limit_text(verdict.target),
            each.state,
        ]
        for each in sorted(
            [] if has_cells(verdict.target.question) else verdict.findings, key=targets.badness, reverse=True
        )
        if each.state != targets.MET
    ]


def rows(found: Results) -> List[List[str]]:
    return [row_of(verdict) for verdict in targets.judge_all(found)]


def text(found: Results) -> str:
    """All verdicts, then the points at which a target is not met."""
    verdicts = targets.judge_all(found)
    if not verdicts:
        return ""
    tables = [[HEAD] + rows(found)]
    points = [row for verdict in verdicts for row in points_of(verdict)]
    if points:
        tables.append([["not met at", "Lapwing", "ratio (interval)", "limit", ""]] + points)
    return "\n\n".join(map(align, tables))
