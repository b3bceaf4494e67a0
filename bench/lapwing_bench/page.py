"""Everything as one HTML page that needs no other file: plots, tables, the machine, exact commands, targets, and
where Lapwing loses."""

from __future__ import annotations

import base64
import shlex
import statistics
from html import escape
from pathlib import Path
from typing import Dict, List

from . import plot, results, sweep, table, targets
from .candidates import PLACES
from .questions import QUESTIONS, has_cells
from .results import Results, Series
from .table import number, point, ratio_text
from .verdicts import HEAD, where
from .verdicts import row_of as row_of_verdict

STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1c1c1c; background: #fff; max-width: 78rem;
  margin: 2rem auto; padding: 0 1.5rem; }
h1 { margin-bottom: 0; } h3 { margin-bottom: .3rem; }
h2 { margin-top: 2.5rem; border-bottom: 2px solid #00796b; padding-bottom: .2rem; }
p { max-width: 50rem; } .quiet { color: #666; }
code { font-size: 90%; background: #f3f5f4; padding: 0 .2em; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: .6rem 0; font-variant-numeric: tabular-nums; } .wide { overflow-x: auto; }
th, td { padding: .15rem .7rem; text-align: right; border-bottom: 1px solid #e4e4e4; vertical-align: top; }
td { white-space: nowrap; } .left td { white-space: normal; }
th:first-child, td:first-child, .left td, .left th { text-align: left; } th { background: #f3f5f4; font-weight: 600; }
td.best { font-weight: 700; } .yes { color: #00695c; font-weight: 700; } .no { color: #b71c1c; font-weight: 700; }
img { max-width: 100%; display: block; margin: .5rem 0; }
details { margin: .4rem 0 1rem; } summary { cursor: pointer; color: #00695c; }
"""

STATES = {targets.MET: "yes", targets.UNDECIDED: "quiet", targets.MISSED: "no"}


def cell(text: str, tag: str = "td", style: str = "") -> str:
    return f"<{tag}{f' class={style}' if style else ''}>{text}</{tag}>"


def rows_of(head: List[str], body: List[List[str]], style: str = "") -> str:
    """Cells are HTML already; one that begins with <td stays as it is."""
    lines = ["<tr>" + "".join(cell(text, "th") for text in head) + "</tr>"]
    lines += [
        "<tr>" + "".join(text if text.startswith("<td") else cell(text) for text in row) + "</tr>" for row in body
    ]
    return f'<div class="wide"><table{f" class={style}" if style else ""}>' + "\n".join(lines) + "</table></div>"


def targets_part(found: Results) -> str:
    verdicts = targets.judge_all(found)
    if not verdicts:
        return "<p>These results decide none of the targets.</p>"
    body = []
    for verdict in verdicts:
        *row, state = map(escape, row_of_verdict(verdict))
        body.append([*row, cell(state, style=STATES[verdict.state])])
    done = sum(verdict.state == targets.MET for verdict in verdicts)
    return f"<p><b>{done} of {len(verdicts)}</b> targets are met at every point.</p>" + rows_of(HEAD, body, "left")


def losses_part(found: Results) -> str:
    lost = targets.losses(found)
    if not lost:
        return "<p>Nowhere in these results is the best peer better.</p>"
    clear, unsure = (
        [each for each in lost if each.state == state] for state in (targets.MISSED, targets.UNDECIDED)
    )
    parts = [
        (
            f"<p>Where the best of the peers is better, worst first: {len(clear)} points of"
            f" {sum(1 for entry in table.ratio_entries(found) if not has_cells(entry[0].question))}, and {len(unsure)}"
            " more where the rounds do not agree.</p>"
        ),
        losses_table(clear, found),
    ]
    if unsure:
        parts.append(
            f"<details><summary>where the rounds do not agree</summary>{losses_table(unsure, found)}</details>"
        )
    return "".join(parts)


def losses_table(lost: List[targets.Finding], found: Results) -> str:
    body = [
        [
            escape(where(each.series, each.x)),
            f"{number(each.value)} {escape(each.series.unit)}",
            f"{number(each.series.points[each.x][each.ratio.other].value)}",
            escape(found.candidates[each.ratio.other]["title"]),
            ratio_text(each.ratio),
        ]
        for each in lost
    ]
    return rows_of(["", "Lapwing", "best peer", "", "ratio (interval)"], body)


def machine_part(found: Results) -> str:
    parts = []
    for machine in found.machines:
        parts.append(rows_of(["", ""], [[escape(name), escape(str(value))] for name, value in machine.items()], "left"))
    if found.runs:
        others, loads = [run.others for run in found.runs], [run.load for run in found.runs]
        parts.append(
            f"<p>During the {len(found.runs)} runs other programs used {statistics.median(others):.2f} cores in the"
            f" median and {max(others):.2f} at most (on a virtual machine with what its host took away); the load"
            f" average before a run was {min(loads):.1f} to {max(loads):.1f}.</p>"
        )
    return "".join(parts)


def command_text(run: results.Run) -> str:
    return " ".join(
        [*(f"{name}={shlex.quote(value)}" for name, value in run.environment.items()), shlex.join(run.command)]
    )


def candidates_part(found: Results) -> str:
    body = []
    for name, candidate in found.candidates.items():
        settings = "<br>".join(f"<code>{escape(text)}</code>" for text in candidate["settings"]) or "defaults"
        run = next((run for run in found.runs if run.candidate == name and run.command), None)
        body.append(
            [
                escape(candidate["title"]),
                PLACES[candidate["transport"]],
                escape(candidate["version"]),
                settings,
                f"<code>{escape(command_text(run))}</code>" if run else "did not run",
            ]
        )
    return rows_of(["library", "between ranks", "version", "settings", "for example"], body, "left")


def row_of(series: Series, x, label: str, names: List[str], references: List[str], found: Results) -> List[str]:
    best, row = table.best_value(series, x), [escape(label)]
    for name in names:
        each = series.points[x].get(name)
        text = number(each.value) if each else "-"
        spread = f' title="{number(each.low)} to {number(each.high)}, {len(each.rounds)} rounds"' if each else ""
        row.append(f'<td{" class=best" if each and each.value == best else ""}{spread}>{text}</td>')
    own, peer = f"lapwing-{series.transport}", results.best_peer(found, series, x)
    for other in [peer, *references]:
        row.append(ratio_text(results.ratio(series, x, own, other) if other else None))
    return row


def block_table(block: List[Series], found: Results) -> str:
    first = block[0]
    names = list(dict.fromkeys(name for series in block for name in series.names()))
    others = (f"lapwing-{first.transport}-polling", f"lapwing-{first.transport}-before", f"raw-{first.transport}")
    references = [name for name in others if name in names]
    if first.single:
        title, label = "", ""
        body = [row_of(each, None, f"{each.name}, {each.unit}", names, references, found) for each in block]
    else:
        title = f"<p><b>{escape(first.name)}</b>, {escape(first.unit + table.DIRECTION[first.better])}</p>"
        label = first.x_name
        body = [row_of(first, x, point(x, first.x_unit), names, references, found) for x in first.xs()]
    head = [escape(label)] + [escape(found.candidates[name]["title"]) for name in names]
    head += ["Lapwing / best peer"] + [f"/ {escape(found.candidates[name]['title'])}" for name in references]
    return title + rows_of(head, body)


def grid_cell(each: sweep.Cell, found: Results) -> str:
    title = (
        f"{number(each.value)} {each.series.unit}; {found.candidates[each.ratio.other]['title']} {number(each.peer)};"
        f" {ratio_text(each.ratio)}, {each.ratio.rounds} turns"
    )
    return f'<td style="background:{sweep.colour(each.ratio.value)}" title="{escape(title)}">{each.ratio.value:.2f}</td>'


def grid_table(habit: str, group: List[sweep.Cell], found: Results) -> str:
    names = sweep.columns_of(group)
    body = [
        [sweep.size_text(size)] + [grid_cell(row[name], found) if name in row else "" for name in names]
        for size, row in sweep.grid_of(group).items()
    ]
    title = f"<p><b>{escape(habit)}</b></p>" if habit else ""
    return title + rows_of(["size"] + [escape(sweep.head(name, habit)) for name in names], body)


def sweep_part(place: sweep.Place, found: Results) -> str:
    """A sample: shares, the grid of ratios, and what is far above 1."""
    group = sweep.places(sweep.cells(found)).get(place, [])
    if not group:
        return "<p>No peer was asked, so there are no ratios.</p>"
    lost = [list(map(escape, row)) for row in sweep.lost_rows(group, found)]
    return (
        rows_of(list(map(escape, sweep.SHARES_HEAD)), [list(map(escape, row)) for row in sweep.share_rows(group)])
        + "<p>Lapwing over the best peer in each cell: green, Lapwing is faster; red, the peer. The intervals are those"
        " of the bootstrap over the turns.</p>"
        + "".join(grid_table(habit, part, found) for habit, part in sweep.grids(group).items())
        + (rows_of(sweep.LOST_HEAD, lost) if lost else "<p>No cell is above 1.15.</p>")
    )


def figures_part(group: List[List[Series]], found: Results) -> str:
    tables = "".join(block_table(block, found) for block in group)
    return f"<details{' open' if len(group) < 3 else ''}><summary>figures</summary>{tables}</details>"


def asks(name: str) -> str:
    return QUESTIONS[name].asks if name in QUESTIONS else name


def question_part(name: str, blocks: List[List[Series]], found: Results, folder: Path) -> str:
    question = QUESTIONS.get(name)
    parts = [f'<h2 id="{escape(name)}">{escape(asks(name))}</h2>']
    if question:
        parts.append(f"<p><code>{escape(name)}</code>: {escape(question.explains)}</p>")
    transports: Dict[str, List[List[Series]]] = {}
    for block in blocks:
        transports.setdefault(block[0].transport, []).append(block)
    for transport, group in transports.items():
        parts.append(f"<h3>{escape(PLACES[transport])}</h3>")
        picture = folder / plot.file_name(group[0][0])
        if picture.exists():
            data = base64.b64encode(picture.read_bytes()).decode()
            parts.append(
                f'<img alt="{escape(name)}, {escape(PLACES[transport])}" src="data:image/svg+xml;base64,{data}">'
            )
        if has_cells(name):
            parts.append(sweep_part((name, transport), found))
        parts.append(figures_part(group, found))
    return "\n".join(parts)


def failures_part(found: Results) -> str:
    body = [
        [escape(run.question), escape(run.candidate), str(run.ranks), str(run.round), escape(run.failure or "")]
        for run in results.failures(found)
    ]
    parts = [f"<p>{escape(text)}</p>" for text in found.left_out]
    if body:
        parts.append(rows_of(["question", "candidate", "ranks", "round", "what happened"], body, "left"))
    return "".join(parts) or "<p>None.</p>"


def page(found: Results, folder: Path) -> str:
    blocks = table.blocks(found)
    questions = list(dict.fromkeys(block[0].question for block in blocks))
    rounds = len({run.round for run in found.runs})
    dates = ", ".join(dict.fromkeys(machine.get("date", "") for machine in found.machines))
    machine = "; ".join(
        dict.fromkeys(
            ", ".join(each[key] for key in ("processor", "cores", "kernel") if key in each) for each in found.machines
        )
    )
    sections = [
        (
            f"<h1>Lapwing beside other MPI libraries</h1><p class=quiet>{escape(dates)}; {escape(machine)};"
            f" {len(found.runs)} runs in {rounds} rounds</p>"
        ),
        (
            "<p>Candidates follow one another within each round. A figure is the median over the rounds of what the"
            " program itself reports as median. A ratio is built within each round, and its median stands with an"
            " interval in brackets: where the median of all that could be measured lies, with 95 % confidence (sign"
            " test); for fewer than six rounds, or turns within them, the lowest and the highest. A target is met or"
            " missed where the interval is on one side of the limit, and otherwise not decided. A ratio is turned so"
            " that below 1 Lapwing is better, for rates as well as for times. Bold is the best of a row.</p>"
        ),
        "<p>" + " · ".join(f'<a href="#{escape(name)}">{escape(name)}</a>' for name in questions) + "</p>",
        "<h2>Targets</h2>" + targets_part(found),
        "<h2>Where Lapwing loses</h2>" + losses_part(found),
        *(
            question_part(name, [block for block in blocks if block[0].question == name], found, folder)
            for name in questions
        ),
        "<h2>The machine</h2>" + machine_part(found),
        "<h2>The candidates, and how they were asked</h2>" + candidates_part(found),
        "<h2>What failed or was left out</h2>" + failures_part(found),
    ]
    return document("Lapwing beside other MPI libraries", sections)


def document(title: str, sections: List[str]) -> str:
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head><body>\n" + "\n".join(sections) + "\n</body></html>\n"
    )
