"""A sample of cells: how Lapwing stands to the best peer in each, as a grid, in shares, and as a list of what is lost.

A cell is a point of a series of a question that has cells. The series of "sweep" are named after pattern, buffers, and cores if
there are near and far ones; those of "collectives" and "ascending" after collective, mode and number of ranks. This module turns
results into rows of text, which the terminal and the page show, and the plot into colours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable, Dict, List, Optional, Tuple

from . import results, table
from .candidates import PLACES
from .questions import has_cells
from .results import Ratio, Results, Series
from .table import number, point, ratio_text

MOST_COLUMNS = 24  # of one grid
LEVEL, FAR = 1.0, 1.15  # a ratio up to this is no loss; above that one wants to know why
KIB, MIB = 1 << 10, 1 << 20
SIZES = (("below 1 KiB", KIB), ("1 KiB to 32 KiB", 32 * KIB), ("32 KiB to 1 MiB", MIB), ("1 MiB and more", math.inf))
SHARES_HEAD = ["", "cells", "at most 1.00", "beyond doubt", "geometric mean", "above 1.15", "beyond doubt"]


Place = Tuple[str, str]  # question, transport


@dataclass
class Cell:
    series: Series
    size: float
    value: float  # Lapwing's
    peer: float
    ratio: Ratio

    @property
    def pattern(self) -> str:
        return self.series.name.split(", ")[0]

    @property
    def buffers(self) -> str:
        return self.series.name.split(", ")[1]

    @property
    def cores(self) -> str:
        return ", ".join(self.series.name.split(", ")[2:])

    @property
    def habit(self) -> str:
        """All but the pattern."""
        return self.series.name.partition(", ")[2]

    @property
    def sizes(self) -> str:
        return next(name for name, end in SIZES if self.size < end)


def cells(found: Results) -> List[Cell]:
    return [
        Cell(series, x, cell.value, series.points[x][ratio.other].value, ratio)
        for series, x, cell, ratio in table.ratio_entries(found)
        if has_cells(series.question)
    ]


def by(key: Callable, every: List[Cell]) -> dict:
    groups: dict = {}
    for cell in every:
        groups.setdefault(key(cell), []).append(cell)
    return groups


def places(every: List[Cell]) -> Dict[Place, List[Cell]]:
    return by(lambda cell: cell.series.place, every)


def name_of(place: Place) -> str:
    question, transport = place
    return f"{question}, {PLACES[transport]}"


# ---- Shares ----


def count(group: List[Cell], holds: Callable) -> str:
    """How many, and which part of all."""
    those = sum(1 for cell in group if holds(cell))
    return f"{those} ({those / len(group):.0%})".replace("%", " %")


def share_row(name: str, group: List[Cell]) -> List[str]:
    logarithms = [math.log(cell.ratio.value) for cell in group if cell.ratio.value > 0]
    return [
        name,
        str(len(group)),
        count(group, lambda cell: cell.ratio.value <= LEVEL),
        count(group, lambda cell: cell.ratio.most <= LEVEL),
        f"{math.exp(sum(logarithms) / max(1, len(logarithms))):.2f}",
        count(group, lambda cell: cell.ratio.value > FAR),
        count(group, lambda cell: cell.ratio.least > FAR),
    ]


def share_rows(group: List[Cell]) -> List[List[str]]:
    """Of all cells of a transport, and by each of what makes a cell."""
    order = [name for name, _ in SIZES]
    rows = [share_row("all", group)]
    for key in (lambda cell: cell.pattern, lambda cell: cell.buffers, lambda cell: cell.cores, lambda cell: cell.sizes):
        parts = by(key, group)
        if len(parts) > 1:
            names = sorted(parts, key=lambda name: order.index(name) if name in order else -1)
            rows += [share_row(name, parts[name]) for name in names]
    return rows


# ---- The grid and the list ----


def grids(group: List[Cell]) -> Dict[str, List[Cell]]:
    """One grid with a column for each series, or, where these are too many, one for each habit, with its patterns."""
    return {"": group} if len(columns_of(group)) <= MOST_COLUMNS else by(lambda cell: cell.habit, group)


def columns_of(group: List[Cell]) -> List[str]:
    return list(dict.fromkeys(cell.series.name for cell in group))


def grid_of(group: List[Cell]) -> Dict[float, Dict[str, Cell]]:
    """Cells by size and series name."""
    grid: Dict[float, Dict[str, Cell]] = {}
    for cell in sorted(group, key=lambda cell: cell.size):
        grid.setdefault(cell.size, {})[cell.series.name] = cell
    return grid


def head(name: str, habit: str) -> str:
    """A column's, in the grid of a habit."""
    return name[: -len(habit) - 2] if habit else name


def size_text(size: float) -> str:
    return point(size, "B") if size else "0 B"


def lost_rows(every: List[Cell], found: Results) -> List[List[str]]:
    """What is above 1.15, worst first."""
    lost = sorted((cell for cell in every if cell.ratio.value > FAR), key=lambda cell: -cell.ratio.value)
    return [
        [
            f"{PLACES[cell.series.transport]}: {cell.series.name}, {size_text(cell.size)}",
            f"{number(cell.value)} {cell.series.unit}",
            number(cell.peer),
            found.candidates[cell.ratio.other]["title"],
            ratio_text(cell.ratio),
        ]
        for cell in lost
    ]


LOST_HEAD = ["above 1.15", "Lapwing", "best peer", "", "ratio (interval)"]


def grid_text(habit: str, group: List[Cell]) -> str:
    names = columns_of(group)
    heads = [head(name, habit).replace("rewritten", "rewr.").replace(", ", " ") for name in names]
    rows = [["size", *heads]]
    for size, row in grid_of(group).items():
        rows.append([size_text(size)] + [f"{row[name].ratio.value:.2f}" if name in row else "" for name in names])
    return (f"{habit}\n" if habit else "") + table.align(rows)


def text(found: Results) -> str:
    every = cells(found)
    parts = []
    for place, group in places(every).items():
        parts.append(f"{name_of(place)}: Lapwing over the best peer (below 1: Lapwing is faster)")
        parts += [grid_text(habit, part) for habit, part in grids(group).items()]
        parts.append(table.align([SHARES_HEAD] + share_rows(group)))
    lost = lost_rows(every, found)
    if lost:
        parts.append(table.align([LOST_HEAD] + lost))
    return "\n\n".join(parts)


# ---- Colours ----


def colour(ratio: Optional[float]) -> str:
    """From green (half the best peer's time and less) over white (level) to red (twice its time and more)."""
    if ratio is None or ratio <= 0:
        return "#ffffff"
    depth = max(-1.0, min(1.0, math.log2(ratio)))
    red, green, blue = (0, 121, 107) if depth < 0 else (183, 28, 28)
    part = 0.75 * abs(depth)
    return "#" + "".join(f"{round(255 + part * (shade - 255)):02x}" for shade in (red, green, blue))
