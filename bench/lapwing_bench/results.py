"""Result lines, runs, the JSON file they are kept in, medians over rounds, and ratios.

A measuring program prints one JSON object per result (a Figure). A Run is one execution of a program under one
candidate. Results are all runs of a session, or of several that were merged; tables, plots and the page are made from
Results alone.
"""

from __future__ import annotations

import json
import math
import os
import statistics
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from .errors import BenchError
from .questions import has_cells

FORMAT = 1
BETTER = ("lower", "higher", "none")


@dataclass
class Figure:
    bench: str
    series: str
    value: float
    unit: str
    better: str
    x: Optional[float] = None
    x_name: str = ""
    x_unit: str = ""
    low: Optional[float] = None
    high: Optional[float] = None
    samples: int = 1


@dataclass
class Run:
    question: str
    candidate: str
    round: int
    ranks: int
    turn: int = 0  # within the round, where candidates alternate in short runs
    command: List[str] = field(default_factory=list)
    environment: Dict[str, str] = field(default_factory=dict)
    started: str = ""
    seconds: float = 0
    load: float = 0  # the system's load average just before
    others: float = 0  # cores that other programs used meanwhile
    failure: Optional[str] = None
    figures: List[Figure] = field(default_factory=list)


@dataclass
class Results:
    machines: List[dict] = field(default_factory=list)  # one for each session
    candidates: Dict[str, dict] = field(default_factory=dict)
    left_out: List[str] = field(default_factory=list)  # what could not be asked, and why
    runs: List[Run] = field(default_factory=list)


def is_number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def figure_from(entry) -> Figure:
    """Checks one decoded result line. ValueError says what is wrong with it."""
    if not isinstance(entry, dict):
        raise ValueError("it is not a JSON object")
    known = {each.name for each in fields(Figure)}
    unknown = sorted(set(entry) - known)
    if unknown:
        raise ValueError(f"it has an unknown field '{unknown[0]}'")
    for name in ("bench", "series", "unit", "better"):
        if not isinstance(entry.get(name), str):
            raise ValueError(f"its field '{name}' is missing or no text")
    if entry["better"] not in BETTER:
        raise ValueError(f"its field 'better' is '{entry['better']}', not one of {', '.join(BETTER)}")
    if not is_number(entry.get("value")):
        raise ValueError("its value is missing or no finite number")
    for name in ("x", "low", "high"):
        if entry.get(name) is not None and not is_number(entry[name]):
            raise ValueError(f"its field '{name}' is no finite number")
    for name in ("x_name", "x_unit"):
        if not isinstance(entry.get(name) or "", str):
            raise ValueError(f"its field '{name}' is no text")
    if not isinstance(entry.get("samples", 1), int):
        raise ValueError("its field 'samples' is no whole number")
    return Figure(**{**entry, "x_name": entry.get("x_name") or "", "x_unit": entry.get("x_unit") or ""})


def parse_output(text: str):
    """(figures, problem): the result lines of a program's output, and what is wrong with the first bad one, or None."""
    figures, problem = [], None
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line.startswith("{"):  # launchers have their say on standard output, too
            continue
        try:
            figures.append(figure_from(json.loads(line)))
        except ValueError as error:  # also what the JSON decoder raises
            problem = problem or f"line {number} of the output is no result ({error}): {line[:120]}"
    return figures, problem


def save(results: Results, path: Path) -> None:
    """Complete or not at all: an interruption leaves the file as it was."""
    unfinished = path.with_suffix(".json.part")
    unfinished.write_text(json.dumps({"format": FORMAT, **asdict(results)}, indent=1) + "\n")
    os.replace(unfinished, path)


def load(path: Path) -> Results:
    try:
        data = json.loads(path.read_text())
    except OSError as error:
        raise BenchError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise BenchError(f"{path} is not a file of results: {error}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise BenchError(f"{path} is not a file of results of format {FORMAT}")
    try:
        runs = []
        for entry in data["runs"]:
            figures = [figure_from(figure) for figure in entry["figures"]]
            runs.append(Run(**{**entry, "figures": figures}))
        return Results(data["machines"], data["candidates"], data["left_out"], runs)
    except (KeyError, TypeError, ValueError) as error:
        raise BenchError(f"{path} is damaged: {error!r}") from None


def last_round(results: Results) -> int:
    return max((run.round for run in results.runs), default=0)


def merge(parts: List[Results]) -> Results:
    """All runs of all parts; rounds are numbered on, so that those of one round were made close to each other."""
    merged = Results()
    for part in parts:
        offset = last_round(merged)
        merged.machines += part.machines
        merged.left_out += [text for text in part.left_out if text not in merged.left_out]
        for name, description in part.candidates.items():
            known = merged.candidates.setdefault(name, description)
            versions = dict.fromkeys(known["version"].split("; ") + description["version"].split("; "))
            merged.candidates[name] = {**known, "version": "; ".join(versions)}
        for run in part.runs:
            merged.runs.append(Run(**{**vars(run), "round": run.round + offset}))
    return merged


def interval(values) -> Tuple[float, float]:
    """Where the median of all that could be measured lies, with 95 % confidence, whatever the noise looks like: by the
    sign test, that is, from the k-th lowest to the k-th highest value, k as large as may be. For fewer than six values
    it is only what lies between the lowest and the highest."""
    ordered = sorted(values)
    count, k, below = len(ordered), 1, 1.0  # below: in how many of 2^count cases fewer than k are under the median
    while 2 * (below + math.comb(count, k)) <= 0.05 * 2**count:
        below += math.comb(count, k)
        k += 1
    return ordered[k - 1], ordered[count - k]


def bootstrap_interval(values) -> Tuple[float, float]:
    """The same by the bootstrap: the 2.5th and the 97.5th percentile of the medians of all samples of as many values that
    can be drawn from these ones. It is exact, because the median of a sample is at most the k-th lowest value when at
    least half of the sample is: a binomial probability, so nothing need be drawn."""
    ordered = sorted(values)
    count = len(ordered)

    def percentile(part: float, half: int) -> float:
        for k in range(1, count):
            below = sum(math.comb(count, j) * k**j * (count - k) ** (count - j) for j in range(half, count + 1))
            if below >= part * count**count:
                return ordered[k - 1]
        return ordered[-1]

    return percentile(0.025, (count + 1) // 2), percentile(0.975, count // 2 + 1)


# What one candidate says about one point of one series: a value for each round, and each turn of it.
@dataclass
class Cell:
    rounds: Dict[Tuple[int, int], float] = field(default_factory=dict)
    # The 90th percentiles, where they were reported.
    high_rounds: Dict[Tuple[int, int], float] = field(default_factory=dict)
    lows: List[float] = field(default_factory=list)
    highs: List[float] = field(default_factory=list)

    @property
    def value(self) -> float:
        return statistics.median(self.rounds.values())

    @property
    def low(self) -> float:
        return statistics.median(self.lows) if self.lows else self.value

    @property
    def high(self) -> float:
        return statistics.median(self.highs) if self.highs else self.value


# One series of one question over one transport: points[x][candidate].
@dataclass
class Series:
    question: str
    transport: str
    name: str
    unit: str
    better: str
    x_name: str
    x_unit: str
    points: Dict[Optional[float], Dict[str, Cell]] = field(default_factory=dict)

    @property
    def single(self) -> bool:
        return set(self.points) == {None}

    @property
    def place(self) -> tuple:
        return self.question, self.transport

    def xs(self) -> list:
        return sorted(self.points, key=lambda x: -math.inf if x is None else x)

    def names(self) -> list:
        found = []
        for cells in self.points.values():
            found += [name for name in cells if name not in found]
        return found


def gather(results: Results) -> List[Series]:
    """All series, in the order in which questions, transports and names first appear."""
    found: Dict[tuple, Series] = {}
    for run in results.runs:
        transport = results.candidates[run.candidate]["transport"]
        samples: Dict[tuple, List[Figure]] = {}
        for figure in run.figures:
            samples.setdefault((figure.series, figure.x), []).append(figure)
        for (name, x), figures in samples.items():
            first = figures[0]
            series = found.setdefault(
                (run.question, transport, name),
                Series(run.question, transport, name, first.unit, first.better, first.x_name, first.x_unit),
            )
            cell = series.points.setdefault(x, {}).setdefault(run.candidate, Cell())
            cell.rounds[run.round, run.turn] = statistics.median(figure.value for figure in figures)
            highs = [figure.high for figure in figures if figure.high is not None]
            if highs:
                cell.high_rounds[run.round, run.turn] = statistics.median(highs)
            cell.lows += [figure.low for figure in figures if figure.low is not None]
            cell.highs += highs
    order = {}
    for question, transport, _ in found:
        order.setdefault(question, {}).setdefault(transport, None)
    return [
        series
        for question, transports in order.items()
        for transport in transports
        for series in found.values()
        if (series.question, series.transport) == (question, transport)
    ]


@dataclass
class Ratio:
    """How one candidate stands to another; below 1 it is better, whatever better means for the series."""

    other: str
    value: float
    least: float  # its interval
    most: float
    rounds: int  # and turns


def quotient(better: str, own: float, other: float) -> Optional[float]:
    above, below = (own, other) if better == "lower" else (other, own)
    return above / below if better != "none" and above >= 0 and below > 0 else None


def ratio_of(better: str, own: Cell, other: Cell, name: str, how=interval) -> Optional[Ratio]:
    """The median over the rounds in which both were measured, and its interval."""
    each = [
        quotient(better, value, other.rounds[number]) for number, value in own.rounds.items() if number in other.rounds
    ]
    each = [value for value in each if value is not None]
    return Ratio(name, statistics.median(each), *how(each), len(each)) if each else None


def ratio(series: Series, x, own: str, other: str, high: bool = False) -> Optional[Ratio]:
    """Of the medians, or of the 90th percentiles: what a program meets at bad moments."""
    cells = series.points.get(x, {})
    if own not in cells or other not in cells:
        return None
    how = bootstrap_interval if has_cells(series.question) else interval
    pair = [Cell(cell.high_rounds) if high else cell for cell in (cells[own], cells[other])]
    return ratio_of(series.better, *pair, other, how)


def best_peer(found: Results, series: Series, x, threads: bool = True) -> Optional[str]:
    """The name of the best candidate of another library; without `threads` among those that have no progress thread."""
    if series.better == "none":
        return None
    values = {}
    for name, cell in series.points.get(x, {}).items():
        candidate = found.candidates[name]
        if candidate["library"] not in ("lapwing", "raw") and (threads or candidate["variant"] != "thread"):
            values[name] = cell.value
    if not values:
        return None
    return (min if series.better == "lower" else max)(values, key=values.get)


def failures(results: Results) -> List[Run]:
    return [run for run in results.runs if run.failure]
