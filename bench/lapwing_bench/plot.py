"""Results as SVG: one file for each question and transport, one panel for each series; a band shows the spread of the
rounds.

Drawn by matplotlib. Where the Python that runs us has none, the system's may; without any, everything else is still
there.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Dict, List, Optional

from . import results, sweep, table
from .questions import has_cells
from .results import Results, Series

COLOURS = {"lapwing": "#00796b", "mpich": "#e07b00", "intel": "#1565c0", "openmpi": "#8e24aa", "raw": "#616161"}
MARKERS = {"lapwing": "o", "mpich": "s", "intel": "^", "openmpi": "D", "raw": "x"}
LINES = {"": "-", "polling": "--", "thread": ":", "kernel": (0, (4, 1, 1, 1, 1, 1)), "ether": (0, (6, 2)), "before": "-."}
COLUMNS = 3
NO_MODULE = re.compile(r"^(ImportError|ModuleNotFoundError)\b", re.MULTILINE)  # in the traceback of another Python
MISSING = (
    "no plots: matplotlib is missing (on Debian and Ubuntu: apt-get install python3-matplotlib; then `lapwing bench"
    " page FOLDER`)"
)


def file_name(series: Series) -> str:
    return f"{series.question}-{series.transport}.svg"


def wide_range(values: List[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) / min(values) > 20


class Drawing:
    """Holds matplotlib, which is imported only where it is needed: it takes longer to load than everything else."""

    def __init__(self, found: Results):
        import matplotlib

        matplotlib.use("svg")
        # The same results give the same bytes; text stays text.
        matplotlib.rcParams.update(
            {
                "svg.hashsalt": "lapwing",
                "svg.fonttype": "none",
                "font.size": 9,
                "axes.grid": True,
                "grid.color": "#dddddd",
                "axes.spines.top": False,
                "axes.spines.right": False,
                "axes.axisbelow": True,
                "lines.markersize": 4,
            }
        )
        from matplotlib import pyplot, ticker

        self.pyplot, self.ticker = pyplot, ticker
        self.numbers = ticker.FuncFormatter(lambda y, _: f"{y:g}" if y < 1e4 else table.number(y))
        self.found = found

    def style(self, name: str) -> dict:
        candidate = self.found.candidates[name]
        library = candidate["library"]
        return {
            "color": COLOURS[library],
            "marker": MARKERS[library],
            "linestyle": LINES[candidate["variant"]],
            "linewidth": 2.2 if library == "lapwing" and not candidate["variant"] else 1.2,
        }

    def lines(self, axes, series: Series) -> None:
        every = []
        for name in series.names():
            xs = [x for x in series.xs() if name in series.points[x]]
            cells = [series.points[x][name] for x in xs]
            values = [cell.value for cell in cells]
            every += values
            style = self.style(name)
            axes.plot(xs, values, label=self.found.candidates[name]["title"], **style)
            if any(len(cell.rounds) > 1 for cell in cells):
                lows, highs = zip(*((min(cell.rounds.values()), max(cell.rounds.values())) for cell in cells))
                axes.fill_between(xs, lows, highs, color=style["color"], alpha=0.15, linewidth=0)
        if wide_range([x for x in series.xs() if x]):
            axes.set_xscale("log", base=2)
        if wide_range(every):
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.xaxis.set_major_formatter(self.ticker.FuncFormatter(lambda x, _: table.point(x, series.x_unit)))
        axes.yaxis.set_major_formatter(self.numbers)
        axes.set_xlabel(series.x_name)
        axes.set_ylabel(series.unit)

    def bars(self, axes, series: Series, named: bool) -> None:
        (x,) = series.xs()
        names = list(series.points[x])
        values = [series.points[x][name].value for name in names]
        places = range(len(names))
        axes.barh(
            places,
            values,
            color=[self.style(name)["color"] for name in names],
            hatch=["//" if self.found.candidates[name]["variant"] else "" for name in names],
            edgecolor="white",
        )
        axes.set_yticks(list(places), [self.found.candidates[name]["title"] if named else "" for name in names])
        axes.invert_yaxis()
        if wide_range(values):
            axes.set_xscale("log")
        elif not any(values):
            axes.set_xlim(0, 1)
        for place, value in zip(places, values):
            axes.annotate(f" {table.number(value)}", (max(value, 0), place), va="center", fontsize=8)
        axes.margins(x=0.25)
        axes.xaxis.set_major_formatter(self.numbers)
        axes.set_xlabel(series.unit)

    def panel(self, axes, series: Series, before: Optional[Series]) -> None:
        """before: the series in the panel to the left. Bars of the same candidates are not named again."""
        axes.set_title("\n".join(textwrap.wrap(series.name, 38)), fontsize=9)
        if len(series.points) > 1:
            self.lines(axes, series)
        else:
            self.bars(axes, series, not before or len(before.points) > 1 or before.names() != series.names())

    def figure(self, all_series: List[Series], path: Path) -> None:
        columns = min(COLUMNS, len(all_series))
        rows = -(-len(all_series) // columns)
        height = 3.2 * rows + 0.5
        figure, grid = self.pyplot.subplots(rows, columns, figsize=(max(4.3 * columns, 6), height), squeeze=False)
        labels = {}
        for index, (axes, series) in enumerate(zip(grid.flat, all_series)):
            self.panel(axes, series, all_series[index - 1] if index % columns else None)
            labels.update(zip(*reversed(axes.get_legend_handles_labels())))
        for axes in grid.flat[len(all_series) :]:
            axes.set_visible(False)
        in_a_row = 3 if columns < 3 else 5
        if labels:
            figure.legend(labels.values(), labels.keys(), loc="lower center", ncol=in_a_row, frameon=False, fontsize=8)
        figure.tight_layout(rect=(0, 0.2 * -(-len(labels) // in_a_row) / height, 1, 1))
        figure.savefig(path, format="svg", metadata={"Date": None})
        self.pyplot.close(figure)

    def grid(self, all_series: List[Series], path: Path) -> None:
        """The cells of a sample, coloured by the ratio; nothing where no peer was asked."""
        place = all_series[0].place
        cells = [cell for cell in sweep.cells(self.found) if cell.series.place == place]
        names, sizes = sweep.columns_of(cells), list(sweep.grid_of(cells))
        figure, axes = self.pyplot.subplots(figsize=(max(6, 1.5 + 0.3 * len(sizes)), 1.6 + 0.3 * len(names)))
        for cell in cells:
            at = sizes.index(cell.size), names.index(cell.series.name)
            axes.add_patch(
                self.pyplot.Rectangle(at, 1, 1, facecolor=sweep.colour(cell.ratio.value), edgecolor="#cccccc")
            )
            axes.annotate(f"{cell.ratio.value:.2f}", (at[0] + 0.5, at[1] + 0.5), ha="center", va="center", fontsize=6)
        axes.set_xlim(0, max(1, len(sizes)))
        axes.set_ylim(max(1, len(names)), 0)
        axes.set_xticks([i + 0.5 for i in range(len(sizes))], list(map(sweep.size_text, sizes)), rotation=90)
        axes.set_yticks([i + 0.5 for i in range(len(names))], names)
        axes.grid(False)
        axes.set_title("Lapwing over the best peer (green: Lapwing is faster)", fontsize=9)
        figure.tight_layout()
        figure.savefig(path, format="svg", metadata={"Date": None})
        self.pyplot.close(figure)


def panels(found: Results) -> Dict[str, List[Series]]:
    grouped: Dict[str, List[Series]] = {}
    for series in results.gather(found):
        grouped.setdefault(file_name(series), []).append(series)
    return grouped


def draw(found: Results, folder: Path) -> List[str]:
    """Writes the plots and returns their names. ImportError: there is no matplotlib."""
    drawing = Drawing(found)
    grouped = panels(found)
    for name, all_series in grouped.items():
        draw_one = drawing.grid if has_cells(all_series[0].question) else drawing.figure
        draw_one(all_series, folder / name)
    return list(grouped)


def draw_somehow(found: Results, folder: Path, say) -> List[str]:
    """The same by whichever Python has matplotlib; says so where none has."""
    try:
        return draw(found, folder)
    except ImportError:
        pass
    other = "/usr/bin/python3"
    package = str(Path(__file__).resolve().parent)
    if Path(other).exists() and Path(other).resolve() != Path(sys.executable).resolve():
        handed_over = folder / "plots.json"
        results.save(found, handed_over)
        done = subprocess.run([other, package, "plots", str(folder)], capture_output=True, text=True, check=False)
        handed_over.unlink()
        if done.returncode == 0:
            return list(panels(found))
        if not NO_MODULE.search(done.stderr):
            say(f"no plots: {other} could not draw them:\n{done.stderr.strip()}")
            return []
    say(MISSING)
    return []
