"""A verdict on the model by which Lapwing chooses its collective algorithms: each algorithm is forced and measured, and the model's order
is held against the measured one. Two algorithms whose times differ by more than 30 % must be in the order that the model says.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Tuple

from .errors import BenchError
from .execution import execute

CLEAR = 1.3  # times that differ by less are no order
SIZES = (64, 1024, 16384, 131072, 1048576)
RANKS = (2, 4, 8)
TRANSPORTS = {"shm": "shared", "tcp": "local_tcp"}
COLLECTIVES = {
    "barrier": "Barrier",
    "bcast": "Bcast",
    "gather": "Gather",
    "scatter": "Scatter",
    "allgather": "Allgather",
    "alltoall": "Alltoall",
    "allreduce": "Allreduce",
    "reduce": "Reduce",
    "reduce_scatter": "Reduce_scatter",
    "scan": "Scan",
}
CANDIDATE = re.compile(r"^\s*(\*?)\s+(\w+)\s+([\d.]+)\s+([\d.]+)\s\s")


@dataclass
class Cell:
    collective: str
    transport: str
    ranks: int
    bytes: int
    chosen: str = ""
    predicted: Dict[str, float] = field(default_factory=dict)  # us, by algorithm
    measured: Dict[str, float] = field(default_factory=dict)

    def name(self) -> str:
        return f"{self.collective}, {self.transport}, {self.ranks} ranks, {self.bytes} B"

    def pairs(self) -> List[Tuple[str, str]]:
        """Of algorithms whose measured times differ clearly: the faster one first."""
        both = sorted((name for name in self.measured if name in self.predicted), key=self.measured.get)
        return [
            (fast, slow)
            for i, fast in enumerate(both)
            for slow in both[i + 1 :]
            if self.measured[slow] > CLEAR * self.measured[fast]
        ]

    def wrong(self) -> List[Tuple[str, str]]:
        return [(fast, slow) for fast, slow in self.pairs() if self.predicted[fast] > self.predicted[slow]]

    def loss(self) -> float:
        """The measured time of the model's choice over the best one."""
        return self.measured[self.chosen] / min(self.measured.values()) if self.chosen in self.measured else 1


class Verdict:
    def __init__(self, mpiexec: str, tool: str, program: str, cores: int, environment: dict):
        self.mpiexec, self.tool, self.program = mpiexec, tool, program
        self.cores = cores
        self.environment = {name: value for name, value in environment.items() if name != "LAPWING_ALGORITHM"}

    def run(self, command: list, changes: dict) -> str:
        try:
            done = execute(command, {**self.environment, **changes}, 120)
        except OSError as error:
            raise BenchError(f"{command[0]} cannot be started: {error.strerror}") from None
        failure = done.failure(120)
        if failure:
            raise BenchError(f"{' '.join(command)}: {failure}")
        return done.output

    def predict(self, cell: Cell) -> None:
        command = [self.tool, "model", "explain", cell.collective, str(cell.bytes), str(cell.ranks)]
        command += ["--link", TRANSPORTS[cell.transport], "--cores", str(self.cores)]
        for line in self.run(command, {}).splitlines():
            found = CANDIDATE.match(line)
            if found:
                cell.predicted[found.group(2)] = float(found.group(3))
                cell.chosen = found.group(2) if found.group(1) else cell.chosen

    def measure(self, cells: List[Cell]) -> None:
        """Cells of one collective, transport and number of ranks: one run for each algorithm."""
        first = cells[0]
        for algorithm in sorted({name for cell in cells for name in cell.predicted}):
            sizes = [cell for cell in cells if algorithm in cell.predicted]
            command = [self.mpiexec, "-n", str(first.ranks), self.program, "--only", COLLECTIVES[first.collective]]
            command += ["--mode", self.mode_of(first), "--cells", "99999"]
            command += ["--sizes", ",".join(str(self.asked(cell)) for cell in sizes)]
            changes = {
                "LAPWING_TRANSPORTS": f"self,{first.transport}",
                "LAPWING_ALGORITHM": f"{first.collective}={algorithm}",
            }
            times = [json.loads(line) for line in self.run(command, changes).splitlines() if line.startswith("{")]
            for cell in sizes:
                found = [each["value"] for each in times if first.collective == "barrier" or each["x"] == self.asked(cell)]
                if found:
                    cell.measured[algorithm] = found[0]

    @staticmethod
    def mode_of(cell: Cell) -> str:
        """The model predicts the time when all ranks begin together; one after the other, a root that need not wait runs ahead."""
        return "back to back" if cell.collective == "barrier" else "barrier between"

    @staticmethod
    def asked(cell: Cell) -> int:
        return max(8, cell.bytes // 8 * 8)


def all_cells(transports, ranks, sizes, collectives) -> List[List[Cell]]:
    groups = []
    for transport in transports:
        for count in ranks:
            for name in collectives:
                mine = (8,) if name == "barrier" else sizes
                groups.append([Cell(name, transport, count, each) for each in mine if each * count <= 16 << 20])
    return groups


def table(cells: List[Cell]) -> str:
    """By collective and transport: pairs that differ clearly, those in the wrong order, and what the choice loses."""
    lines = ["| collective | transport | clear pairs | in the wrong order | mean loss of the choice | worst |", "|---|---|---|---|---|---|"]
    for name in COLLECTIVES:
        for transport in TRANSPORTS:
            mine = [cell for cell in cells if (cell.collective, cell.transport) == (name, transport) and cell.measured]
            if not mine:
                continue
            pairs, wrong = sum(len(cell.pairs()) for cell in mine), sum(len(cell.wrong()) for cell in mine)
            worst = max(mine, key=Cell.loss)
            mean = sum(cell.loss() for cell in mine) / len(mine)
            lines.append(
                f"| {name} | {transport} | {pairs} | {wrong} | {mean:.2f} | {worst.loss():.2f} ({worst.ranks} ranks, {worst.bytes} B) |"
            )
    return "\n".join(lines)


def complaints(cells: List[Cell]) -> List[str]:
    """Where the choice is clearly not the best, worst first."""
    lines = []
    for cell in sorted(cells, key=Cell.loss, reverse=True):
        if cell.loss() <= CLEAR:
            continue
        times = ", ".join(
            f"{name} {cell.measured[name]:.1f} (predicted {cell.predicted[name]:.1f})"
            for name in sorted(cell.measured, key=cell.measured.get)
        )
        lines.append(f"{cell.name()}: {cell.chosen} is chosen; us: {times}")
    return lines


def judge(verdict: Verdict, say, quick: bool) -> List[Cell]:
    groups = all_cells(TRANSPORTS, (2, 4) if quick else RANKS, SIZES[1::2] if quick else SIZES, COLLECTIVES)
    for number, group in enumerate(groups, 1):
        first = group[0]
        say(f"{number} of {len(groups)}: {first.collective}, {first.transport}, {first.ranks} ranks")
        for cell in group:
            verdict.predict(cell)
        verdict.measure(group)
    return [cell for group in groups for cell in group]


def report(cells: List[Cell]) -> str:
    pairs, wrong = sum(len(cell.pairs()) for cell in cells), sum(len(cell.wrong()) for cell in cells)
    head = f"{pairs} pairs of algorithms differ by more than 30 %; the model has {wrong} of them in the wrong order"
    return "\n".join([head, "", table(cells), "", *complaints(cells)])


def verdict(lapwing: Path, program: str, quick: bool, say) -> str:
    """Of the parameters in force, on this machine. `lapwing`: the folder of the installation."""
    binaries = lapwing / "bin"
    cores = len(os.sched_getaffinity(0))
    asked = Verdict(str(binaries / "mpiexec"), str(binaries / "lapwing"), program, cores, dict(os.environ))
    return report(judge(asked, say, quick))
