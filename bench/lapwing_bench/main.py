"""The command line."""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import math
import os
import shlex
import shutil
import signal
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

from . import beside, candidates, ether, machine, markdown, model, page, peers, plot, receive, report, results, sweep, table, verdicts
from .errors import BenchError
from .execution import adopt_orphans
from .lab import Lab
from .programs import Programs
from .questions import GROUPS, PEERS, QUESTIONS
from .running import Options, Session, plan

DESCRIPTION = """\
lapwing bench QUESTION...         asks Lapwing (with and without its event thread) one or several questions; some, such
                                  as sweep and applications, the peers that are installed as well
lapwing bench compare             asks Lapwing, MPICH, Intel MPI and Open MPI; installs those that are missing
lapwing bench page FOLDER...      makes the tables, plots and page again from results; several folders are merged,
                                  or, where they come from different machines, shown side by side (with --output).
                                  With --markdown FOLDER it writes a report of each machine and day instead, with
                                  --markdown FILE it puts new tables into a text, or begins one
lapwing bench model               forces each collective algorithm in turn, and says where the order that the model of
                                  `lapwing model` predicts is not the measured one
lapwing bench ether [TABLE...]    raw Ethernet between two emulated hosts beside TCP: placement of ranks and receive queues,
                                  long messages of many ranks, idle cores, streams, loss, a TCP stream beside (as root)
lapwing bench receive [PROGRAM...]  receive in the kernel against what it set out to reach, beside the library's own way, raw sockets
                                  and the peers that are installed: a verdict for each target (as root)
lapwing bench list                explains every question, and names the candidates"""


ALL_CELLS = 1000000  # more than there are
BEFORE_TURNS = 10


def say(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)


def positive(convert):
    def check(text: str):
        value = convert(text)
        if not 0 < value < math.inf:
            raise ValueError
        return value

    check.__name__ = f"positive {convert.__name__}"
    return check


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="lapwing bench", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("what", nargs="+", metavar="what", help="questions, or compare, page, model, ether, receive, list; as above")
    result.add_argument(
        "--rounds", type=positive(int), default=3, help="how often every candidate is asked everything (3)"
    )
    result.add_argument("--quick", action="store_true", help="about three seconds a run")
    result.add_argument("--only", default="", metavar="LIST", help="compare: only these questions, with commas between")
    result.add_argument(
        "--candidates", default="", metavar="LIST", help="only these; patterns such as 'openmpi-*' are fine"
    )
    result.add_argument(
        "--transport",
        choices=("shm", "tcp", "ether"),
        help="only candidates of this one; ether: across emulated hosts, as --lab, Lapwing by raw Ethernet too",
    )
    result.add_argument(
        "--receive",
        choices=("user", "kernel"),
        default="user",
        help="kernel: Lapwing receives in the kernel too (LAPWING_RECEIVE=kernel), by turns with its own way, over TCP and --lab",
    )
    result.add_argument("--ranks", default="", metavar="LIST", help="numbers of ranks, instead of the question's own")
    result.add_argument("--seed", type=positive(int), metavar="NUMBER", help="sweep, collectives: of the sample of cells (1)")
    result.add_argument("--cells", type=positive(int), metavar="COUNT", help="sweep, collectives: how many cells (60)")
    result.add_argument("--full", action="store_true", help="sweep, collectives: all cells")
    result.add_argument(
        "--lab", action="store_true", help="across two emulated hosts at 1 Gbit/s (root and iproute2 needed)"
    )
    result.add_argument(
        "--output", type=Path, help="folder for results, which may have some already (lapwing-bench-DATE-TIME)"
    )
    result.add_argument(
        "--markdown",
        type=Path,
        metavar="FILE",
        help="a folder (docs/performance) that gets a report of each machine and day; or, for page, a text whose tables"
        " are to be made anew, each below a comment such as <!-- latency-shm -->",
    )
    result.add_argument(
        "--prefix", default="", metavar="COMMAND", help="put before the program of each rank, for example 'nice'"
    )
    result.add_argument("--timeout", type=positive(float), default=180, help="seconds that one run may take (180)")
    result.add_argument(
        "--peers",
        type=Path,
        default=peers.default_folder(),
        help="folder with a virtual environment for each peer (%(default)s)",
    )
    result.add_argument(
        "--before",
        type=Path,
        metavar="FOLDER",
        help="another installation of Lapwing, an earlier one: it is measured by turns with this one, and nothing else is",
    )
    result.add_argument("--turns", type=positive(int), metavar="COUNT", help="instead of the question's own")
    result.add_argument(
        "--lapwing", type=Path, metavar="FOLDER", help="installation of Lapwing (the one this tool belongs to)"
    )
    return result


def words_of(text: str) -> list:
    return [word.strip() for word in text.split(",") if word.strip()]


def chosen_questions(options) -> list:
    compare = options.what == ["compare"]
    if options.only and not compare:
        raise BenchError("--only belongs to compare; otherwise name the questions themselves")
    names = words_of(options.only) if compare else options.what
    if compare and not names:
        names = [question.name for question in QUESTIONS.values() if question.lab or not options.lab]
    names = [each for name in names for each in GROUPS.get(name, (name.replace("-", "_"),))]
    for name in names:
        if name not in QUESTIONS:
            raise BenchError(
                f"'{name}' is no question; there are {', '.join(QUESTIONS)}, and the commands compare, page, model, ether,"
                " receive, list"
            )
        if options.lab and not QUESTIONS[name].lab:
            asked = [question.name for question in QUESTIONS.values() if question.lab]
            raise BenchError(f"{name} is not asked across hosts; {', '.join(asked)} are")
    return [QUESTIONS[name] for name in dict.fromkeys(names)]


def with_before(names: tuple) -> tuple:
    """Lapwing as it is over each transport, and as it was before."""
    plain = [name for name in names if name.startswith("lapwing-") and name.count("-") == 1]
    return tuple(each for name in plain for each in (name, f"{name}-before"))


def with_kernel(names: tuple) -> tuple:
    """Lapwing's own way to receive over TCP, and the kernel's."""
    both = {name: (name, f"{name}-kernel") for name in ("lapwing-tcp", "lapwing-lab")}
    return tuple(dict.fromkeys(each for name in names for each in both.get(name, (name,))))


def with_turns(questions: list, options) -> list:
    """What is compared with itself is compared in many short runs."""
    turns = options.turns or (BEFORE_TURNS if options.before else 0)
    return [replace(question, turns=turns if options.turns else max(turns, question.turns)) for question in questions]


def chosen_candidates(options, questions: list) -> dict:
    """The candidates of each question. A pattern chooses among those that belong to it; where questions are named,
    whole names may add others."""
    patterns = [
        "raw-lab" if options.lab and word == "raw" else "raw-tcp" if word == "raw" else word
        for word in words_of(options.candidates)
    ]
    exact = [candidates.parse(pattern).name for pattern in patterns if "*" not in pattern]
    chosen = {}
    for question in questions:
        default = question.lab if options.lab else question.candidates
        if options.transport == "ether":
            default = ("lapwing-lab-ether", *default)
        elif options.transport:
            default = tuple(name for name in default if name.split("-")[1] == options.transport)
        if options.before:
            default = with_before(default)
        if options.receive == "kernel":
            default = with_kernel(default)
        if patterns:
            names = [name for name in default if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
            if options.what != ["compare"]:
                names += [name for name in exact if name not in names and candidates.fits(name, question, options.lab)]
        else:
            all_libraries = options.what == ["compare"] or question.beside_peers or options.before
            names = [name for name in default if all_libraries or name.startswith(("lapwing-", "raw-"))]
        chosen[question.name] = [candidates.parse(name) for name in names]
    if not options.before and any(each.variant == "before" for names in chosen.values() for each in names):
        raise BenchError("--before FOLDER says which installation of Lapwing was before")
    if options.receive == "kernel" and not any(each.variant == "kernel" for names in chosen.values() for each in names):
        raise BenchError("--receive kernel: of these candidates none receives by TCP (lapwing-tcp, or lapwing-lab with --lab)")
    if not any(chosen.values()):
        raise BenchError(
            f"no candidate is left to ask: --candidates {options.candidates} fits none of these questions' candidates"
        )
    return chosen


def chosen_ranks(text: str) -> list:
    try:
        ranks = [int(word) for word in words_of(text)]
    except ValueError:
        ranks = [0]
    if any(count < 1 for count in ranks):
        raise BenchError(f"--ranks takes numbers from 1 on with commas between, not '{text}'")
    return ranks


def prefix_words(text: str) -> tuple:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise BenchError(f"--prefix '{text}': {error}") from None
    if words and not shutil.which(words[0]):
        raise BenchError(f"--prefix: there is no command '{words[0]}'")
    return words


def sample_words(options, questions: list) -> tuple:
    if options.full and options.cells:
        raise BenchError("--full means all cells, so --cells has no place there")
    words = ("--seed", options.seed), ("--cells", options.cells or (ALL_CELLS if options.full else None))
    chosen = tuple(str(word) for pair in words if pair[1] for word in pair)
    if chosen and not any(question.sampled for question in questions):
        raise BenchError("--seed, --cells and --full belong to sweep and collectives, which are not asked here")
    return chosen


def make_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BenchError(f"{folder} cannot be made: {error.strerror}") from None
    return folder.resolve()


def show(found: results.Results, output: Path) -> None:
    """Everything that is made of results."""
    for text in (
        table.tables(found),
        table.ratios(found),
        table.ratios(found, "ether"),
        table.ratios_to_before(found),
        sweep.text(found),
        verdicts.text(found),
        table.failure_lines(found),
        table.busy_line(found),
        "\n".join(found.left_out),
    ):
        if text:
            print(text + "\n")
    plots = plot.draw_somehow(found, output, say)
    (output / "page.html").write_text(page.page(found, output), encoding="utf-8")
    say(f"in {output}: results.json, page.html" + (f", {len(plots)} plots (*.svg)" if plots else ""))


def find_libraries(options, chosen: dict):
    """(installations by library, texts about those that are left out)"""
    libraries = {candidate.library for names in chosen.values() for candidate in names} | {"lapwing"}
    installations, left_out = peers.find_all(
        [name for name in peers.TITLES if name in libraries],
        options.lapwing,
        options.peers,
        options.what == ["compare"],
        say,
    )
    installations["raw"] = installations["lapwing"]
    if options.before:
        installations["before"] = peers.find_lapwing(options.before)
        if installations["before"].folder == installations["lapwing"].folder:
            raise BenchError(f"--before {options.before} is the installation that is measured anyway")
    for text in left_out:
        say(text)
    return installations, left_out


def start_results(options, chosen: dict, installations: dict, left_out: list, output: Path) -> results.Results:
    """Everything but new runs; what the folder has already comes first."""
    command = "lapwing bench " + shlex.join(sys.argv[1:])
    found = results.Results(
        machines=[{**machine.describe(), "command": command, "peers": str(options.peers)}], left_out=left_out
    )
    for candidate in (each for names in chosen.values() for each in names):
        version = "" if candidate.library == "raw" else installations[candidate.installation].version
        found.candidates[candidate.name] = candidates.describe(candidate, version)
    earlier = output / "results.json"
    return results.merge([results.load(earlier), found]) if earlier.exists() else found


def measure(options) -> int:
    if options.markdown and not options.markdown.is_dir():
        raise BenchError(f"--markdown takes a folder for a report here, and {options.markdown} is none")
    if options.lab and options.ranks:
        raise BenchError("--lab has one rank on each of two hosts, so --ranks has no place there")
    questions = with_turns(chosen_questions(options), options)
    chosen = chosen_candidates(options, questions)
    ranks, prefix = chosen_ranks(options.ranks), prefix_words(options.prefix)
    sample = sample_words(options, questions)
    installations, left_out = find_libraries(options, chosen)
    chosen = {name: [each for each in names if each.library in installations] for name, names in chosen.items()}
    if not any(chosen.values()):
        raise BenchError("no candidate is left to ask")
    output = make_folder(options.output or Path(time.strftime("lapwing-bench-%Y-%m-%d-%H%M%S")))
    found = start_results(options, chosen, installations, left_out, output)
    first = 1 + results.last_round(found)
    tasks = plan(questions, chosen, range(first, first + options.rounds), ranks, options.quick)
    how = Options(output, options.quick, prefix, options.timeout, sample)
    adopt_orphans()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended by whatever way, nothing is left running
    code = 0
    try:
        with Lab(output) if options.lab else contextlib.nullcontext() as lab:
            Session(how, installations, found, lab, say).run_all(tasks)
    except KeyboardInterrupt:
        say("\ninterrupted; what was measured so far is kept")
        code = 130
    show(found, output)
    if options.markdown:
        write_reports(options.markdown, [found])
    return code or (1 if results.failures(found) else 0)


def show_again(options) -> int:
    folders = options.what[1:]
    if not folders:
        raise BenchError("page needs folders with results")
    parts = [results.load(Path(folder) / "results.json") for folder in folders]
    if options.markdown and options.markdown.is_dir():
        return write_reports(options.markdown, parts)
    machines = beside.by_machine(parts)
    if len(machines) > 1:
        return show_beside(options, machines)
    (found,) = machines
    if options.markdown:
        return write_markdown(options.markdown, found)
    output = options.output or Path(folders[0])
    if output.resolve() not in [Path(folder).resolve() for folder in folders]:
        if (make_folder(output) / "results.json").exists():
            raise BenchError(f"{output} has results already; --output names another folder")
        results.save(found, output / "results.json")
    show(found, output)
    return 0


def show_beside(options, machines: list) -> int:
    if options.markdown or not options.output:
        raise BenchError(
            "these are results of different machines: --output FOLDER takes a page that shows them side by side"
        )
    output = make_folder(options.output)
    if (output / "results.json").exists():
        raise BenchError(f"{output} has results already; --output names another folder")
    print(beside.text(machines))
    beside.write(machines, output)
    say(f"in {output}: page.html")
    return 0


def write_reports(folder: Path, parts: list) -> int:
    try:
        for path in report.write(parts, folder):
            say(f"written: {path}")
    except OSError as error:
        raise BenchError(f"{folder}: {error.strerror}") from None
    return 0


def write_markdown(path: Path, found: results.Results) -> int:
    try:
        text, kept = markdown.refresh(path.read_text("utf-8"), found) if path.exists() else ("", [])
        path.write_text(text or markdown.all_tables(found), "utf-8")
    except OSError as error:
        raise BenchError(f"{path}: {error.strerror}") from None
    for name in kept:
        say(f"{path}: the table {name} stays as it is: not measured")
    return 0


def draw_plots(options) -> int:
    """Not for users: plot.py asks another Python for this."""
    (folder,) = map(Path, options.what[1:])
    plot.draw(results.load(folder / "plots.json"), folder)
    return 0


def show_list() -> int:
    for question in QUESTIONS.values():
        print(f"{question.name}\n    {question.asks}")
        print(textwrap.fill(question.explains, 110, initial_indent="    ", subsequent_indent="    "))
    for name, members in GROUPS.items():
        print(f"{name}\n    {' and '.join(members)}")
    print(textwrap.fill("Candidates: " + ", ".join(candidates.all_names()), 114, break_on_hyphens=False))
    return 0


def judge_model(options) -> int:
    lapwing = peers.find_lapwing(options.lapwing)
    folder = make_folder(options.output or Path(f"lapwing-bench-model-{time.strftime('%Y-%m-%d-%H%M')}"))
    program = Programs(folder / "programs", {"lapwing": lapwing}).path("collectives", "lapwing")
    text = model.verdict(lapwing.folder, program, options.quick, say)
    (folder / "model.md").write_text(text + "\n", "utf-8")
    print(text)
    return 0


def folder_of_tables(options, name: str) -> Path:
    """For what is measured in a lab, which is taken away however this ends."""
    folder = make_folder(options.output or Path(f"lapwing-bench-{name}-{time.strftime('%Y-%m-%d-%H%M')}"))
    adopt_orphans()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return folder


def measure_ether(options) -> int:
    lapwing = peers.find_lapwing(options.lapwing)
    folder = folder_of_tables(options, "ether")
    text, complete = ether.tables(options.what[1:], lapwing, folder, options, say)
    print(text)
    say(f"in {folder}: ether.md, ether.json")
    return 0 if complete else 1


def measure_receive(options) -> int:
    found, left_out = peers.find_all(["lapwing", *PEERS], options.lapwing, options.peers, False, say)
    for text in left_out:
        say(text)
    folder = folder_of_tables(options, "receive")
    print(receive.tables(options.what[1:], found, folder, options, say))
    say(f"in {folder}: receive.md")
    return 0


def main(arguments: list) -> int:
    options = parser().parse_intermixed_args(arguments)
    options.lab = options.lab or options.transport == "ether"
    try:
        if options.what == ["list"]:
            return show_list()
        if options.what[0] == "page":
            return show_again(options)
        if options.what == ["model"]:
            return judge_model(options)
        if options.what[0] == "ether":
            return measure_ether(options)
        if options.what[0] == "receive":
            return measure_receive(options)
        if options.what[0] == "plots":
            return draw_plots(options)
        return measure(options)
    except BenchError as error:
        say(f"lapwing bench: {error}")
        return 2


def run(arguments: list) -> int:
    """main(), and nothing more to say when whatever reads the output (`| head`) has seen enough."""
    try:
        try:
            return main(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())  # Python flushes both once more at its end
        return 128 + signal.SIGPIPE
