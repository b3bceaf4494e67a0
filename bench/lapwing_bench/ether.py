"""The tables of paper 3 (Open-MX, with a receive queue for each endpoint) for raw Ethernet, between two emulated hosts: where
processes run and where their queues are served, long messages of several ranks at once, ranks that only compute, loss, and a TCP
stream beside. Ways to run a job take turns.

Other libraries have no such transport, so Lapwing over TCP stands beside it. `lapwing bench compare --transport ether` has the usual questions.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from .errors import BenchError
from .execution import execute, spared
from .lab import HOSTS, RATE, Lab, check_rights
from .peers import Installation
from .programs import Programs
from .table import number

ETHER, ALONE, TCP = "self,shm,ether,tcp", "self,shm,ether", "self,shm,tcp"
TIMEOUT = 60  # seconds for one run
COUNTERS = {"context-switches": "context switches", "cpu-migrations": "migrations", "cache-misses": "cache misses"}  # of perf stat
OTHER_STREAM = "TCP stream beside, MB/s"


@dataclass(frozen=True)
class Way:
    """How a job runs: a row."""

    title: str
    transports: str = ETHER
    cores: Optional[Tuple[int, ...]] = None  # of the ranks of a host, counted round; None: they are bound to none
    queues_on: Optional[Tuple[int, ...]] = None  # where the threads run that serve the queues, counted round; None: anywhere
    beside: str = ""  # the congestion rule of a TCP stream that goes the same way
    one_queue: bool = False  # all ranks of a host share it
    mtu: int = 1500


@dataclass(frozen=True)
class Table:
    title: str
    lab: Tuple[str, ...]  # options of "lab up"
    programs: Tuple[Tuple[str, ...], ...]  # with their options
    columns: Dict[Tuple[str, Optional[int]], str]  # (series, x) and its title
    ways: Tuple[Way, ...]
    ranks: int = 2  # on both hosts together
    loss: str = ""  # percent
    counters: bool = False  # context switches and migrations of the whole machine while a run lasts


SERVED = (
    Way("a queue for each rank, served where the rank runs", ETHER, (0, 1), (0, 1)),
    Way("a queue for each rank, all served on core 0, ranks bound", ETHER, (0, 1), (0,)),
    Way("a queue for each rank, served anywhere, nothing bound", ETHER, None, None),
    Way("one queue, served on core 0, ranks bound", ETHER, (0, 1), (0,), one_queue=True),
    Way("one queue, served anywhere, nothing bound", ETHER, None, None, one_queue=True),
    Way("TCP, ranks bound", TCP, (0, 1), (0, 1)),
    Way("TCP, nothing bound", TCP, None, None),
)
EXCHANGES = (
    ("integer_sort", "--keys", "256K"),
    ("collectives", "--only", "Alltoall", "--mode", "back to back", "--cells", "99999", "--sizes", "1024,65536"),
)


def exchange_table(ranks: int, number_: str) -> Table:
    return Table(
        f"{number_} ranks on two hosts (paper 3, figure 5 and table 3)",
        ("--queues", str(ranks // 2)),
        EXCHANGES,
        {
            ("iteration", 1 << 18): "integer sort, ms",
            ("exchange", 1 << 18): "its exchange, ms",
            (f"Alltoall, back to back, {ranks} ranks", 1 << 10): "all-to-all, 1 KiB, us",
            (f"Alltoall, back to back, {ranks} ranks", 1 << 16): "all-to-all, 64 KiB, us",
        },
        SERVED,
        ranks,
        counters=True,
    )


PAIR = (Way("ether, TCP"), Way("ether alone", ALONE), Way("TCP", TCP))
STREAM_COLUMNS = {
    ("exchange", None): "64 KiB exchange, us",
    ("exchange, 99th percentile", None): "its 99th percentile, us",
    ("one direction", None): "stream, MB/s",
    ("both directions", None): "both ways, MB/s",
}
RATED = ("--rate", RATE)


def loss_table(percent: str) -> Table:
    title = f"{percent} % of the packets are lost, at both ports of the switch; links of {RATE}"
    return Table(title, RATED, (("streams",),), STREAM_COLUMNS, PAIR, loss=percent)


TABLES = {
    "placement": Table(
        "One rank on each host, by where its queue is served (paper 3, table 1): half of a round trip, us; the ranks' cores are 0 and 1",
        ("--queues", "2"),
        (("latency", "--sizes", "64,1K,4M"),),
        {("one way", 64): "64 B", ("one way", 1024): "1 KiB", ("one way", 1 << 22): "4 MiB"},
        (
            Way("on the rank's own core", ETHER, (0, 1), (0, 1)),
            Way("on the other core", ETHER, (0, 1), (1, 0)),
            Way("on core 0, ranks not bound", ETHER, None, (0,)),
            Way("on core 0, and both ranks there", ETHER, (0, 0), (0,)),
            Way("anywhere, nothing bound", ETHER, None, None),
            Way("TCP, ranks bound", TCP, (0, 1), (0, 1)),
        ),
        counters=True,
    ),
    "exchange4": exchange_table(4, "Four"),
    "exchange8": exchange_table(8, "Eight"),
    "frames": Table(
        "Jumbo frames, on links without a limit: half of a round trip, us, and streams, MB/s",
        (),
        (("latency", "--sizes", "64,2K,4K,8K,16K,32K"), ("bandwidth", "--sizes", "32K,1M")),
        {
            **{("one way", size): title for size, title in ((64, "64 B"), (2048, "2 KiB"), (4096, "4 KiB"), (8192, "8 KiB"), (16384, "16 KiB"), (32768, "32 KiB"))},
            ("window 64", 32768): "32 KiB, 64 under way",
            ("window 64", 1 << 20): "1 MiB, 64 under way",
        },
        tuple(Way(f"{way.title}, MTU {mtu}", way.transports, (0, 1), mtu=mtu) for way in PAIR for mtu in (1500, 9000)),
    ),
    "idle": Table(
        "One rank of each host talks, another computes (paper 3, section 4.3): time of computing over that without messages, and half"
        " of a round trip",
        ("--queues", "2"),
        (("idle_cores",),),
        {
            ("time of computing, over that without messages", 64): "computing beside 64 B",
            ("one way, others compute", 64): "64 B, us",
            ("time of computing, over that without messages", 1 << 20): "computing beside 1 MiB",
            ("one way, others compute", 1 << 20): "1 MiB, us",
        },
        (
            Way("ether, talking and its queues on core 0, computing on core 1", ETHER, (0, 1), (0,)),
            Way("TCP, talking on core 0, computing on core 1", TCP, (0, 1), (0,)),
            Way("ether, nothing bound", ETHER),
            Way("TCP, nothing bound", TCP),
        ),
        ranks=4,
    ),
    "beside": Table(
        f"Beside a TCP stream on the same link of {RATE}: 1 MiB messages, eight under way",
        RATED,
        (("streams", "--only", "one", "--milliseconds", "4000"),),
        {("one direction", None): "job, MB/s"},
        tuple(Way(f"{way.title}, beside {rule}", way.transports, beside=rule) for rule in ("cubic", "bbr") for way in PAIR),
    ),
    "streams": Table(
        f"Streams of 1 MiB on links of {RATE}, without loss",
        RATED,
        (("bandwidth", "--sizes", "64K,1M"), ("streams",)),
        {
            ("one direction", 1 << 20): "one after the other",
            ("window 64", 1 << 20): "64 under way",
            ("both directions", 1 << 20): "both ways, 64 each",
            ("both directions", 65536): "64 KiB, both ways, 64 each",
            **{key: title for key, title in STREAM_COLUMNS.items() if key[0].startswith("exchange")},
        },
        PAIR,
    ),
    **{name: loss_table(percent) for name, percent in (("loss01", "0.1"), ("loss1", "1"), ("loss5", "5"))},
}


@dataclass
class Measured:
    """Of one way: the figures of each turn, by series and x."""

    figures: Dict[Tuple[str, Optional[int]], List[float]] = field(default_factory=dict)
    turns: int = 0

    @staticmethod
    def of(entry: dict) -> Measured:
        return Measured({(series, x): values for series, x, values in entry["figures"]}, entry["turns"])

    def entry(self) -> dict:
        return {"turns": self.turns, "figures": [[series, x, values] for (series, x), values in self.figures.items()]}

    def extend(self, other: Measured) -> None:
        self.turns += other.turns
        for key, values in other.figures.items():
            self.figures.setdefault(key, []).extend(values)

    def add(self, series: str, x, value: float) -> None:
        self.figures.setdefault((series, None if x is None else int(x)), []).append(value)

    def cell(self, key) -> str:
        values = self.figures.get(key, [])
        if not values:
            return "–"
        middle = number(statistics.median(values))
        return middle if len(values) == 1 else f"{middle} ({number(min(values))} to {number(max(values))})"


class Run:
    """Measures one table inside its lab."""

    def __init__(self, table: Table, lab: Lab, lapwing: Installation, programs: Programs, quick: bool):
        self.table, self.lab, self.lapwing, self.programs, self.quick = table, lab, lapwing, programs, quick

    def command(self, way: Way, program: tuple) -> list:
        line = [self.lapwing.mpiexec, "--bind-to", "none"]
        half = self.table.ranks // len(HOSTS)
        for rank in range(self.table.ranks):
            host, local = divmod(rank, half)
            place = []
            if way.cores:  # one rank on each host: the hosts take turns, or both would have one core
                place = ["taskset", "-c", str(way.cores[(local if half > 1 else host) % len(way.cores)])]
            line += ([":"] if rank else []) + ["-n", "1", *self.lab.on(HOSTS[host]), *place, *program]
        return line

    def serve_queues(self, way: Way) -> None:
        """Puts the threads that serve the hosts' queues where they are to run."""
        if "--queues" not in self.table.lab:
            return
        half = self.table.ranks // len(HOSTS)
        for host, name in enumerate(HOSTS):
            for queue, thread in enumerate(self.lab.call("threads", name).stdout.split()):
                at = (queue if half > 1 else host) % len(way.queues_on) if way.queues_on else 0
                cores = str(way.queues_on[at]) if way.queues_on else f"0-{os.cpu_count() - 1}"
                subprocess.run(["taskset", "-p", "-c", cores, thread], check=True, stdout=subprocess.DEVNULL)

    def measure(self, way: Way, into: Measured) -> None:
        self.serve_queues(way)
        for host in HOSTS:
            self.lab.call("mtu", host, str(way.mtu))
        with OtherStream(self.lab, way.beside) if way.beside else contextlib.nullcontext() as other:
            for name, *options in self.table.programs:
                program = (self.programs.path(name, "lapwing"), *options, *(["--quick"] if self.quick else []))
                self.run(way, program, into)
            if other:
                into.add(OTHER_STREAM, None, other.rate())

    def run(self, way: Way, program: tuple, into: Measured) -> None:
        command, counts = self.command(way, program), self.lab.place.parent / "counters"
        if self.table.counters and shutil.which("perf"):
            command = ["perf", "stat", "-a", "-x", ";", "-o", str(counts), "-e", ",".join(COUNTERS), "--", *command]
        environment = {**os.environ, "LAPWING_TRANSPORTS": way.transports, "LAB": self.lab.name}
        if way.one_queue:
            environment["LAPWING_ETHER_QUEUES"] = "1"
        done = execute(command, environment, TIMEOUT)
        failure = done.failure(TIMEOUT)
        if failure:
            raise BenchError(f"{way.title}: {failure}")
        for line in filter(lambda line: line.startswith("{"), done.output.splitlines()):
            figure = json.loads(line)
            into.add(figure["series"], figure["x"], figure["value"])
        if self.table.counters and counts.exists():
            for count, _, name in (line.split(";")[:3] for line in counts.read_text().splitlines() if ";" in line):
                if count.isdigit():
                    into.add(COUNTERS[name], None, int(count) / done.seconds)


class OtherStream:
    """A context: a TCP stream of another program from the first host to the second."""

    def __init__(self, lab: Lab, congestion: str):
        self.lab, self.congestion = lab, congestion

    def start(self, host: str, *words):
        script = str(self.lab.folder / "tcp_stream.py")
        environment = {**os.environ, "LAB": self.lab.name}
        return subprocess.Popen(
            [*self.lab.on(host), script, *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def __enter__(self):
        self.receiver = self.start(HOSTS[1])
        if self.receiver.stdout.readline().strip() != "listens":
            raise BenchError("no TCP stream can be received in the lab")
        address = self.lab.call("address", HOSTS[1]).stdout.strip()
        self.sender = self.start(HOSTS[0], address, self.congestion)
        time.sleep(0.5)  # it finds its rate
        if self.sender.poll() is not None:
            raise BenchError(f"this kernel has no TCP under {self.congestion}")
        self.began = time.monotonic()
        return self

    def rate(self) -> float:
        """MB/s since it found its rate."""
        ended = time.monotonic()
        self.stop()
        lines = [tuple(map(float, line.split())) for line in self.receiver.stdout]
        within = [(when, total) for when, total in lines if self.began <= when <= ended]
        if len(within) < 2:
            raise BenchError("the TCP stream beside has moved nothing")
        (first, before), (last, after) = within[0], within[-1]
        return (after - before) / (last - first) / 1e6

    def stop(self):
        for process in (self.sender, self.receiver):
            if process.poll() is None:
                process.terminate()
            process.wait()

    def __exit__(self, *_):
        self.stop()


@contextlib.contextmanager
def losing(lab: Lab, percent: str):
    """Both ports of the switch lose packets; packets are as on a wire then, none longer than the MTU."""
    switch = ["ip", "netns", "exec", f"{lab.name}-switch"]
    losers = []
    for host in HOSTS:
        subprocess.run(["ip", "netns", "exec", f"{lab.name}-{host}", str(lab.folder / "offloads.py"), "eth0"], check=True)
        subprocess.run([*switch, str(lab.folder / "offloads.py"), host], check=True)
        losers.append(subprocess.Popen([*switch, str(lab.folder / "xdp_program.py"), host, percent], stdout=subprocess.PIPE, text=True))
        if losers[-1].stdout.readline().strip() != "attached":
            raise BenchError("this kernel does not let the switch lose packets")
        spared.add(losers[-1].pid)
    try:
        yield
    finally:
        for loser in losers:
            loser.terminate()
            loser.wait()


def text_of(table: Table, measured: Dict[str, Measured]) -> str:
    columns = dict(table.columns)
    if table.counters:
        columns.update({(title, None): f"{title} a second" for title in COUNTERS.values()})
    if any(way.beside for way in table.ways):
        columns[(OTHER_STREAM, None)] = OTHER_STREAM
    columns = {key: title for key, title in columns.items() if any(key in each.figures for each in measured.values())}
    lines = ["| | " + " | ".join(columns.values()) + " |", "|---" * (1 + len(columns)) + "|"]
    lines += [f"| {title} | " + " | ".join(each.cell(key) for key in columns) + " |" for title, each in measured.items()]
    turns = max(each.turns for each in measured.values())
    return f"## {table.title}\n\nMedian of {turns} turns (least to greatest).\n\n" + "\n".join(lines) + "\n"


class Store:
    """What a folder has of all tables; a turn that is complete is kept whatever becomes of the next."""

    def __init__(self, folder: Path):
        self.folder, self.file = folder, folder / "ether.json"
        self.tables: Dict[str, Dict[str, Measured]] = {}
        if self.file.exists():
            for name, ways in json.loads(self.file.read_text())["tables"].items():
                self.tables[name] = {title: Measured.of(entry) for title, entry in ways.items()}

    def add(self, name: str, turn: Dict[str, Measured]) -> None:
        known = self.tables.setdefault(name, {})
        for title, measured in turn.items():
            known.setdefault(title, Measured()).extend(measured)
        tables = {table: {title: each.entry() for title, each in ways.items()} for table, ways in self.tables.items()}
        self.file.write_text(json.dumps({"tables": tables}, indent=1) + "\n")
        (self.folder / "ether.md").write_text(self.text(self.tables), encoding="utf-8")

    def text(self, names) -> str:
        return "\n".join(text_of(TABLES[name], self.tables[name]) for name in names if name in self.tables)


def measure(name: str, lapwing: Installation, programs: Programs, store: Store, options, say) -> None:
    """One table. Every way is run once a turn."""
    table = TABLES[name]
    with Lab(store.folder, table.lab) as lab, losing(lab, table.loss) if table.loss else contextlib.nullcontext():
        run = Run(table, lab, lapwing, programs, options.quick)
        for turn in range(options.rounds):
            measured = {way.title: Measured(turns=1) for way in table.ways}
            for way in table.ways:
                say(f"{name}, turn {turn + 1} of {options.rounds}: {way.title}")
                run.measure(way, measured[way.title])
            store.add(name, measured)


def tables(names: List[str], lapwing: Installation, folder: Path, options, say) -> Tuple[str, bool]:
    """What the folder has of these tables, or of all, after they were measured; and whether all of them could be. Where one fails, the others follow."""
    for name in names:
        if name not in TABLES:
            raise BenchError(f"'{name}' is no table of raw Ethernet; there are {', '.join(TABLES)}")
    check_rights()
    store, programs = Store(folder), Programs(folder / "programs", {"lapwing": lapwing})
    failures = []
    try:
        for name in names or TABLES:
            try:
                measure(name, lapwing, programs, store, options, say)
            except BenchError as error:
                failures.append(f"{name} was not measured to its end: {error}")
                say(failures[-1])
    except KeyboardInterrupt:
        say("\ninterrupted; turns that were complete are kept")
    return "\n".join(filter(None, [store.text(names or TABLES), *failures])), not failures
