"""Results of several machines on one page, side by side. They are never merged into one median: what is best differs from
machine to machine, and that is what one wants to see."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Dict, List, Tuple

from . import page, results, sweep, table, targets, verdicts
from .candidates import PLACES
from .results import Results
from .table import number, ratio_text

SAME = ("processor", "cores", "kind")  # where these agree it is one machine, or as good as one


def identity(found: Results) -> tuple:
    return tuple(tuple(machine.get(name, "") for name in SAME) for machine in found.machines[:1])


def by_machine(parts: List[Results]) -> List[Results]:
    """One for each machine; several sessions of one machine are merged."""
    groups: Dict[tuple, List[Results]] = {}
    for part in parts:
        groups.setdefault(identity(part), []).append(part)
    return [results.merge(group) for group in groups.values()]


def name_of(number_of: int, found: Results) -> str:
    machine = found.machines[0] if found.machines else {}
    words = [machine.get(name, "") for name in ("processor", "cores", "kernel")]
    dates = ", ".join(dict.fromkeys(each.get("date", "")[:10] for each in found.machines))
    return f"{number_of}: " + ", ".join(filter(None, [*words, dates]))


def machines_table(machines: List[Results]) -> str:
    names = list(dict.fromkeys(name for found in machines for each in found.machines for name in each))
    body = [
        [escape(name)]
        + ["<br>".join(dict.fromkeys(escape(str(each.get(name, ""))) for each in found.machines)) for found in machines]
        for name in names
    ]
    return page.rows_of([""] + [str(i) for i in range(1, len(machines) + 1)], body, "left")


def targets_table(machines: List[Results]) -> str:
    judged = [{verdict.target: verdict for verdict in targets.judge_all(found)} for found in machines]
    body = []
    for target in targets.TARGETS:
        verdicts_here = [each.get(target) for each in judged]
        if not any(verdicts_here):
            continue
        row = [escape(target.what), escape(verdicts.limit_text(target))]
        for verdict in verdicts_here:
            if verdict is None:
                row.append("-")
                continue
            points = ", ".join(f"{verdict.count(state)} {state}" for state in targets.STATES if verdict.count(state))
            row.append(page.cell(f"{verdict.state} ({escape(points)})", style=page.STATES[verdict.state]))
        body.append(row)
    return page.rows_of(["target", "limit", *map(str, range(1, len(machines) + 1))], body, "left")


def shares_table(machines: List[Results]) -> str:
    body = []
    for i, found in enumerate(machines, 1):
        for place, group in sweep.places(sweep.cells(found)).items():
            body.append([f"{i}", sweep.name_of(place), *map(escape, sweep.share_row("all", group)[1:])])
    return page.rows_of(["machine", "", *sweep.SHARES_HEAD[1:]], body) if body else ""


Place = Tuple[str, str, str, object]  # question, transport, series, x


def points_of(found: Results) -> Dict[Place, tuple]:
    return {
        (series.question, series.transport, series.name, x): (series, x, cell, ratio)
        for series, x, cell, ratio in table.ratio_entries(found)
    }


def point_cells(entry) -> List[str]:
    """Lapwing's value, the best peer's, and the ratio."""
    if entry is None:
        return ["", "", ""]
    series, x, cell, ratio = entry
    peer = series.points[x][ratio.other]
    shade = sweep.colour(ratio.value)
    return [
        f"{number(cell.value)} {escape(series.unit)}",
        f"{number(peer.value)} {escape(ratio.other.split('-')[0])}",
        f'<td style="background:{shade}">{escape(ratio_text(ratio))}</td>',
    ]


def question_table(question: str, transport: str, points: List[Dict[Place, tuple]]) -> str:
    places = dict.fromkeys(place for each in points for place in each if place[:2] == (question, transport))
    body = []
    for place in places:
        entries = [each.get(place) for each in points]
        unit = next(entry[0].x_unit for entry in entries if entry)
        row = [escape(place[2] if place[3] is None else f"{place[2]}, {table.point(place[3], unit)}")]
        for entry in entries:
            row += point_cells(entry)
        body.append(row)
    head = [""]
    for i in range(1, len(points) + 1):
        head += [f"{i}: Lapwing", "best peer", "ratio"]
    return f"<h3>{escape(PLACES[transport])}</h3>" + page.rows_of(head, body)


def page_of(machines: List[Results]) -> str:
    points = [points_of(found) for found in machines]
    questions: Dict[str, List[str]] = {}
    for place in dict.fromkeys(place[:2] for each in points for place in each):
        questions.setdefault(place[0], []).append(place[1])
    sections = ["<h1>Lapwing beside other MPI libraries, on several machines</h1>"]
    sections += [f"<p class=quiet>{escape(name_of(i, found))}</p>" for i, found in enumerate(machines, 1)]
    sections.append(
        "<p>A ratio is Lapwing over the best peer on that machine, below 1 Lapwing is better; nothing is averaged over"
        " machines.</p>"
    )
    sections += ["<h2>Targets</h2>", targets_table(machines)]
    if shares_table(machines):
        sections += ["<h2>Sweep: shares of the cells</h2>", shares_table(machines)]
    for question, transports in questions.items():
        sections.append(f'<h2 id="{escape(question)}">{escape(page.asks(question))}</h2>')
        sections += [question_table(question, transport, points) for transport in transports]
    sections += ["<h2>The machines</h2>", machines_table(machines)]
    return page.document("Lapwing beside other MPI libraries", sections)


def write(machines: List[Results], folder: Path) -> None:
    (folder / "page.html").write_text(page_of(machines), encoding="utf-8")


def text(machines: List[Results]) -> str:
    """For the terminal: what each machine says about the targets, and the shares of a sweep."""
    parts = []
    for i, found in enumerate(machines, 1):
        parts += [name_of(i, found), verdicts.text(found)]
        for place, group in sweep.places(sweep.cells(found)).items():
            rows = [sweep.SHARES_HEAD] + sweep.share_rows(group)
            parts.append(sweep.name_of(place) + "\n" + table.align(rows))
    return "\n\n".join(filter(None, parts))
