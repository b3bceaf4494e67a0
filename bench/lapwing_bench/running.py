"""The order of runs, and one run: a question put to a candidate with a number of ranks.

Rounds are the outer loop: within a round every candidate of a question follows the other, so that whatever the
machine does meanwhile meets all of them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import List

from . import candidates, machine, results
from .candidates import Candidate
from .errors import BenchError
from .execution import execute
from .programs import Programs, check_library
from .questions import Question, wants


@dataclass(frozen=True)
class Task:
    question: Question
    candidate: Candidate
    ranks: int
    round: int
    turn: int = 0  # within the round


@dataclass
class Options:
    output: Path
    quick: bool = False
    prefix: tuple = ()  # command put before the program of each rank
    timeout: float = 120  # seconds for one run
    sample: tuple = ()  # options of programs that measure a sample


def turns(question: Question, chosen: List[Candidate]):
    """(turn, candidate): usually each once. Those that alternate do it within their transport; the first one changes."""
    for transport in dict.fromkeys(candidate.transport for candidate in chosen):
        group = [candidate for candidate in chosen if candidate.transport == transport]
        for turn in range(question.turns):
            for candidate in group if turn % 2 == 0 else reversed(group):
                yield turn, candidate


RANKS_OF_LAB = (2,)  # one on each of two hosts


def plan(questions: List[Question], chosen: dict, rounds: range, ranks: list, quick: bool = False) -> List[Task]:
    """chosen: the candidates of each question. ranks: instead of the question's own, if there are any."""

    def counts(question):
        if any(candidate.transport == "lab" for candidate in chosen[question.name]):
            return RANKS_OF_LAB
        return ranks or (quick and question.quick_ranks) or question.ranks

    return [
        Task(question, candidate, count, number, turn)
        for number in rounds
        for question in questions
        for count in counts(question)
        for turn, candidate in turns(question, chosen[question.name])
        if wants(question, candidate.library, count)
    ]


def passes_of(task: Task, pairs: dict) -> tuple:
    """The options of each pass."""
    if not task.question.by_cores or task.candidate.transport == "lab" or not pairs:
        return task.question.passes
    return tuple((f"--{name}", f"{first},{second}") for name, (first, second) in pairs.items())


class Clock:
    """What is left, from what runs of the same kind took, or from what the question is said to take."""

    def __init__(self, quick: bool):
        self.quick = quick
        self.took = {}

    def note(self, task: Task, seconds: float) -> None:
        self.took[self.key(task)] = seconds

    @staticmethod
    def key(task: Task):
        return task.question.name, task.candidate.name, task.ranks

    def expect(self, task: Task) -> float:
        usual = task.question.quick_seconds if self.quick else task.question.seconds
        return self.took.get(self.key(task), usual)

    def left(self, tasks) -> str:
        seconds = sum(map(self.expect, tasks))
        return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


class Session:
    """Runs tasks one after the other and keeps the results file up to date."""

    def __init__(self, options: Options, installations: dict, found: results.Results, lab, say):
        self.options = options
        self.installations = installations
        self.results = found
        self.lab = lab
        self.say = say
        self.programs = Programs(options.output / "programs", installations)
        self.checked = set()
        self.pairs = machine.core_pairs()

    def run_all(self, tasks: List[Task]) -> None:
        clock = Clock(self.options.quick)
        for number, task in enumerate(tasks):
            self.say(
                f"[{number + 1}/{len(tasks)}] round {task.round}  {task.question.name}  {task.candidate.name} "
                f" {task.ranks} ranks  (about {clock.left(tasks[number:])} left) ... ",
                end="",
            )
            run = self.run(task)
            clock.note(task, run.seconds)
            self.say(f"FAILED: {run.failure}" if run.failure else f"{run.seconds:.1f} s")
            self.results.runs.append(run)
            results.save(self.results, self.options.output / "results.json")

    def run(self, task: Task) -> results.Run:
        run = results.Run(task.question.name, task.candidate.name, task.round, task.ranks, task.turn)
        run.started = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
        run.load = machine.load()
        busy = machine.Busy()
        started = time.monotonic()
        try:
            for words in passes_of(task, self.pairs):
                if not run.failure:
                    run.command, run.environment = self.prepare(task, words)
                    self.run_once(task, run, words)
        except BenchError as error:
            run.failure = str(error)
        run.seconds = round(time.monotonic() - started, 3)
        run.others = round(busy.others(), 3)
        return run

    def prepare(self, task: Task, options: tuple):
        """(command line, what is added to the environment)"""
        candidate = task.candidate
        installation = self.installations[candidate.installation]
        added = candidates.environment_of(candidate, installation)
        program = self.programs.path(task.question.name, candidate.library)
        if candidate.library != "raw" and (program, candidate.installation) not in self.checked:
            check_library(program, installation, {**candidates.clean_environment(), **added})
            self.checked.add((program, candidate.installation))
        words = [*self.options.prefix, program, *options]
        if candidate.transport == "lab":
            words += task.question.lab_options
        if task.question.sampled:
            words += self.options.sample
        if candidate.library == "raw":
            words += ["--only", task.question.name]
        if self.options.quick:
            words.append("--quick")
        if candidate.transport == "lab":
            return self.lab.command(candidate, installation, words), {**added, **self.lab.environment(candidate)}
        return candidates.command(candidate, installation, task.ranks, words), added

    def run_once(self, task: Task, run: results.Run, options: tuple) -> None:
        try:
            done = execute(run.command, {**candidates.clean_environment(), **run.environment}, self.options.timeout)
        except OSError as error:
            run.failure = f"{run.command[0]} cannot be started: {error.strerror}"
            return
        figures, problem = results.parse_output(done.output)
        run.failure = (
            done.failure(self.options.timeout)
            or problem
            or (None if figures else "it printed no results" + done.last_words())
        )
        run.figures += figures
        if task.question.timed and options == task.question.timed and not run.failure:
            run.figures += start_and_end(task, figures, done.seconds)


def start_and_end(task: Task, figures: list, seconds: float) -> list:
    """What the program cannot report itself: the time of mpiexec as a whole, and the sum of its start and its end."""
    inside = [figure.value for figure in figures if figure.series in ("MPI_Init_thread", "MPI_Finalize")]
    values = {"mpiexec": seconds * 1e3, "MPI_Init_thread and MPI_Finalize": sum(inside)}
    return [
        results.Figure(task.question.name, series, value, "ms", "lower", task.ranks, "ranks", "count")
        for series, value in values.items()
        if value
    ]
