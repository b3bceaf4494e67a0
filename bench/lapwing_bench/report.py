"""A report in Markdown of one machine and one day: everything that `docs/performance.md` rests on, and nothing that is
written by hand. Its name begins with the day and goes on with the machine: 2026-11-22-amd-epyc-2-cores.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Dict, List

from . import beside, markdown, results, sweep, table
from .candidates import PLACES
from .questions import QUESTIONS
from .results import Results

HEAD = """\
# {title}

Made by `lapwing bench`, which makes it anew: nothing here is written by hand. [performance.md](../performance.md) says how to read these tables, and
what follows from them.
"""


def day_of(found: Results) -> str:
    return found.machines[0].get("date", "")[:10] if found.machines else ""


def by_machine_and_day(parts: List[Results]) -> List[Results]:
    groups: Dict[tuple, List[Results]] = {}
    for part in parts:
        groups.setdefault((day_of(part), beside.identity(part)), []).append(part)
    return [results.merge(group) for group in groups.values()]


def short_machine(machine: dict) -> str:
    processor = re.sub(r"\(R\)|\(TM\)|\b(Processor|CPU)\b|@.*", " ", machine.get("processor", "unknown"))
    cores = machine.get("cores", "").split(" ")[0]
    return " ".join(processor.split()) + (f", {cores} cores" if cores else "")


def name_of(found: Results) -> str:
    machine = found.machines[0] if found.machines else {}
    words = re.sub(r"[^a-z0-9]+", "-", short_machine(machine).lower()).strip("-")
    return f"{day_of(found) or 'undated'}-{words}.md"


def public(name: str, value: str) -> str:
    """Without what concerns this machine's owner alone: where folders lie, and which build of the kernel runs."""
    if name == "kernel":
        return " ".join(re.findall(r"^\w+ [\d.]*\d", value)) or value
    return re.sub(r"(?<![^\s='\"])/\S*/", "", value)


def machine_rows(found: Results) -> List[List[str]]:
    names = list(dict.fromkeys(name for machine in found.machines for name in machine if name != "peers"))
    return [
        [name, "; ".join(dict.fromkeys(public(name, str(each[name])) for each in found.machines if name in each))]
        for name in names
    ]


def with_losses(tables: Dict[str, str], found: Results) -> Dict[str, str]:
    """Below the shares of a sample the cells that are lost by far."""
    result = dict(tables)
    for (question, transport), group in sweep.places(sweep.cells(found)).items():
        lost = sweep.lost_rows(group, found)
        if lost:
            result[f"{question}-{transport}"] += "\n" + markdown.lines([sweep.LOST_HEAD] + lost)
    return result


def candidate_rows(found: Results) -> List[List[str]]:
    return [
        [each["title"], PLACES[each["transport"]], each["version"], "; ".join(each["settings"]) or "defaults"]
        for each in found.candidates.values()
    ]


def left_lines(rows: List[List[str]]) -> str:
    return markdown.lines(rows).replace("---:|", "---|")


def text_of(title: str, machine: str, candidates: str, tables: Dict[str, str], left_out: List[str]) -> str:
    """Tables by name, as `markdown.tables_of` has them."""
    parts = [HEAD.format(title=title), machine]
    if "targets" in tables:
        parts += ["## Targets\n", tables["targets"]]
    for question in QUESTIONS.values():
        mine = [tables[name] for name in (f"{question.name}-{place}" for place in markdown.PLACES) if name in tables]
        if mine:
            parts += [f"## {question.asks}\n\n`{question.name}`: {question.explains}\n", *mine]
    if candidates:
        parts += ["## Libraries\n", candidates]
    if left_out:
        parts += ["## What failed or was left out\n", "".join(f"- {line}\n" for line in left_out)]
    return "\n".join(parts)


def text(found: Results) -> str:
    machine = found.machines[0] if found.machines else {}
    failed = [line.strip() for line in table.failure_lines(found).splitlines()[1:]]
    busy = table.busy_line(found)
    return text_of(
        f"{day_of(found)}: {short_machine(machine)}",
        left_lines([["", "the machine"]] + machine_rows(found)) + (f"\n{busy}\n" if busy else ""),
        left_lines([["library", "between ranks", "version", "settings"]] + candidate_rows(found)),
        with_losses(markdown.tables_of(found), found),
        found.left_out + failed,
    )


def write(parts: List[Results], folder: Path) -> List[Path]:
    """One file for each machine and day. OSError: one cannot be written."""
    written = []
    for found in by_machine_and_day(parts):
        path = folder / name_of(found)
        path.write_text(text(found), "utf-8")
        written.append(path)
    return written
