"""What is asked: one entry per measuring program."""

from __future__ import annotations

from dataclasses import dataclass

PEERS = ("mpich", "intel", "openmpi")
SHM = ("lapwing-shm", "lapwing-shm-polling") + tuple(f"{peer}-shm" for peer in PEERS)
TCP = ("lapwing-tcp", "lapwing-tcp-polling") + tuple(f"{peer}-tcp" for peer in PEERS)
TCP_THREADS = tuple(f"{peer}-tcp-thread" for peer in PEERS)
LAB = ("lapwing-lab", "lapwing-lab-polling") + tuple(f"{peer}-lab" for peer in PEERS)
LAB_THREADS = tuple(f"{peer}-lab-thread" for peer in PEERS)


def without_polling(names):
    return tuple(name for name in names if not name.endswith("-polling"))


@dataclass(frozen=True)
class Question:
    name: str  # as the user writes it, and the name of the program
    asks: str  # one sentence
    explains: str  # what is measured, and where the question comes from
    candidates: tuple
    ranks: tuple = (2,)  # one run for each
    quick_ranks: tuple = ()  # instead of these, if there are any
    lab: tuple = ()  # candidates across two hosts; empty: not asked there
    seconds: float = 10  # what a run takes, to tell the remaining time before anything is known
    quick_seconds: float = 4
    passes: tuple = ((),)  # options of the program; it is run with each in turn
    lab_options: tuple = ()  # and these across two hosts
    timed: tuple = ()  # passes with these options are also timed from outside
    turns: int = 1  # more: candidates of one transport alternate so often in a round, in short runs
    peers_up_to: int = 0  # more ranks than this only for Lapwing; 0: no limit
    beside_peers: bool = False  # named alone, it is put to the peers that are installed, too
    cells: bool = False  # points are cells, shown as a grid and in shares
    sampled: bool = False  # of many cells a sample is measured; --seed, --cells and --full choose it
    by_cores: bool = False  # on near and on far cores, where there are both


QUESTIONS = {
    question.name: question
    for question in (
        Question(
            "latency",
            "How long does a message take, one way?",
            "Half a round trip of a blocking ping-pong, by message size. Paper 1 (LA-MPI-ED) paid 15 microseconds, 23"
            " %, for its event thread; the lines with LAPWING_PROGRESS=polling show what Lapwing's costs. The raw"
            " sockets show what the kernel alone takes.",
            SHM + TCP + ("raw-tcp",),
            lab=LAB + ("raw-lab",),
        ),
        Question(
            "calls",
            "What does a message take, by the calls that pass it?",
            "Half a round trip with MPI_Ssend, MPI_Bsend, probes, wildcards, tests in a loop and a derived type, and an"
            " exchange with MPI_Sendrecv, with requests, persistent ones, several at once and a neighbourhood. Benchmarks"
            " look at MPI_Send and MPI_Recv; programs have all of these.",
            SHM + TCP,
            lab=LAB,
            turns=3,
            beside_peers=True,
            seconds=8,
            quick_seconds=4,
        ),
        Question(
            "derived_types",
            "What does it take to send, pack and unpack data that do not lie together?",
            "Half a round trip, MPI_Pack and MPI_Unpack, of faces and the inside of a grid, columns of a matrix, arrays of"
            " structures, and numbers at any distance. The shapes are those of public benchmarks of derived types, which take"
            " them from programs.",
            SHM,
            lab=LAB,
            beside_peers=True,
            seconds=10,
            quick_seconds=7,
        ),
        Question(
            "places",
            "What does a message take, by where its buffers lie in their pages?",
            "Half a round trip, a message to the rank itself, and two collectives, with the receive buffer alike, closely behind,"
            " before, or far behind the send buffer, by their places in a page. The string instruction of some processors, and the C"
            " library's and the kernel's copies with it, take up to thirty times as long where one is closely behind.",
            SHM,
            beside_peers=True,
            seconds=20,
            quick_seconds=4,
        ),
        Question(
            "bandwidth",
            "How many bytes per second pass between two ranks?",
            "Streams in one direction, in both at once, and with a window of outstanding messages, by message size."
            " Paper 1 lost up to 22 % here.",
            SHM + TCP + ("raw-tcp",),
            lab=LAB + ("raw-lab",),
            lab_options=("--sizes", "4K,64K,1M,4M"),
        ),
        Question(
            "message_rate",
            "How many small messages per second does one rank send another?",
            "Windows of outstanding small sends. Over TCP a library that makes one system call per message is limited"
            " by that; the raw sockets send batches of 64 records.",
            SHM + TCP + ("raw-tcp",),
            lab=LAB + ("raw-lab",),
        ),
        Question(
            "overlap_receive",
            "Does a message arrive while its receiver computes?",
            "MPI_Irecv, computing, MPI_Wait: the time in MPI_Wait, the total, and the total over the computing alone."
            " Paper 1 (LA-MPI-ED), figures 10 to 12, with 1, 10 and 100 million increments of a counter as computing,"
            " and with 20 ms of them.",
            SHM + TCP + TCP_THREADS,
            lab=LAB + LAB_THREADS,
            seconds=20,
        ),
        Question(
            "overlap_collectives",
            "Do collectives advance while all ranks compute?",
            "Non-blocking collectives, and an exchange with both neighbours: alone, the time in their two calls beside"
            " computing, and the share of the operation that computing did not hide. Paper 5 (non-blocking collectives)"
            " found that collectives over TCP take less than 10 % of their time from the processor, so that up to 90 %"
            " can be hidden. Where nothing but memory lies between the ranks, and every core computes, little can be"
            " hidden: a core must copy.",
            SHM + TCP + TCP_THREADS,
            lab=LAB + LAB_THREADS,
            seconds=20,
            quick_seconds=5,
        ),
        Question(
            "busy_receiver",
            "How long does a send take while its receiver computes?",
            "The receiver has posted MPI_Irecv and computes. Paper 4 (PIOMan), figure 3. MPI_Ssend is measured too,"
            " because for MPI_Send a socket's buffer hides what the receiver does not do.",
            SHM + TCP + TCP_THREADS,
            lab=LAB + LAB_THREADS,
            seconds=15,
        ),
        Question(
            "trickle",
            "What do messages take from a rank that computes while they come?",
            "48 messages, 300 us apart, to a rank that has posted their receives and computes: how much longer it computes"
            " than where they come afterwards, per message, the time of each MPI_Send, and of the MPI_Waitall at the end."
            " The sender is as busy in both cases. Papers 1 (LA-MPI-ED) and 2 (O2G).",
            SHM + TCP + TCP_THREADS,
            lab=LAB + LAB_THREADS,
            seconds=25,
            quick_seconds=6,
        ),
        Question(
            "phases",
            "How long do the first messages after computing take?",
            "One small exchange or five after 20 microseconds to 50 milliseconds of computing, with and without jitter, and"
            " with memory that the computing walks through: the time at the rank that came last, and the whole of a phase"
            " over its computing. Programs have this rhythm; loops of messages never show what it costs. More ranks than"
            " cores too. Paper 1 (LA-MPI-ED), where the event thread's price is paid.",
            SHM + TCP,
            lab=LAB,
            ranks=(2, 4),
            passes=((), ("--memory", "4096")),
            turns=4,
            beside_peers=True,
            seconds=30,
            quick_seconds=3,
        ),
        Question(
            "sweep",
            "Is Lapwing fast everywhere, or only where benchmarks look?",
            "Point to point in cells drawn from patterns (one way, exchange, windows of several messages in one direction"
            " and in both), every 2^k and 3·2^k from 0 B to 16 MiB, and what the program does with its buffers: the same"
            " ones untouched, written before each send and read after each receive, or taken from a large pool; ranks on"
            " near and on far cores where there are both. The figure is Lapwing over the best peer in each cell.",
            without_polling(SHM + TCP),
            lab=without_polling(LAB),
            lab_options=("--most", "1048576"),
            turns=5,
            beside_peers=True,
            cells=True,
            sampled=True,
            by_cores=True,
            seconds=6,
            quick_seconds=3,
        ),
        Question(
            "collectives",
            "How long does each blocking collective take, alone?",
            "Every blocking collective from MPI_Bcast to MPI_Barrier, at every 2^k and 3·2^k from 8 B to 1 MiB: one call after"
            " the other from a fixed root and from a rotating one, each after a barrier, and each after computing: the time"
            " from the last rank's call to the last rank's return. And each after a barrier, the mean of what the ranks spend"
            " in the call. The figure is Lapwing over the best peer in each cell."
            " Paper 5 (non-blocking collectives) measures the same operations.",
            without_polling(SHM + TCP),
            lab=without_polling(LAB),
            lab_options=("--most", "65536"),
            ranks=(2, 3, 4, 8, 16),
            quick_ranks=(2, 4),
            turns=5,
            beside_peers=True,
            cells=True,
            sampled=True,
            seconds=8,
            quick_seconds=3,
        ),
        Question(
            "ascending",
            "How fast are collectives in the rhythm of public benchmarks?",
            "One collective after the other, blocking and non-blocking, each from 8 B to 1 MiB, up to a thousand calls of each"
            " size with a barrier before each, from a root that goes around: what the ranks spend in a call on average, and in"
            " the blocking call and its barrier. IMB and OSU's benchmarks call them so. Communicators, and whatever a library"
            " learns, are new in each run. The figure is Lapwing over the best peer in each cell.",
            without_polling(SHM + TCP),
            lab=without_polling(LAB),
            lab_options=("--most", "65536"),
            passes=((), ("--counted", "both"), ("--form", "nonblocking")),
            ranks=(2, 3, 4, 8, 16),
            quick_ranks=(2, 4),
            turns=3,
            beside_peers=True,
            cells=True,
            seconds=30,
            quick_seconds=8,
        ),
        Question(
            "halo",
            "How fast is a stencil that exchanges its halo?",
            "Each rank computes a block of points from their six neighbours, and gets the layer around its block before"
            " each step: with MPI_Sendrecv, with MPI_Irecv, MPI_Isend and MPI_Waitall, and with computing in between. The"
            " time of a step. The results are verified bit by bit against those of one rank.",
            SHM + TCP,
            lab=LAB,
            turns=3,
            beside_peers=True,
            seconds=8,
            quick_seconds=3,
        ),
        Question(
            "conjugate_gradient",
            "How fast is a conjugate gradient?",
            "In the manner of HPCG: a 27-point operator with stored coefficients, three exchanges of ghosts and three"
            " scalar products an iteration, 8³ to 32³ points per rank; and pipelined, with one MPI_Iallreduce an iteration"
            " beside computing. Operations per second of all ranks together, those of the usual form. The solution is"
            " verified against that of one rank.",
            SHM + TCP,
            lab=LAB,
            turns=3,
            beside_peers=True,
            seconds=10,
            quick_seconds=4,
        ),
        Question(
            "elimination",
            "What do double-buffered broadcasts gain in Gaussian elimination?",
            "Gaussian elimination with row partial pivoting, as paper 5 (non-blocking collectives) prints it, with one"
            " multiplier a broadcast, and by columns, with all multipliers of a step at once: with MPI_Bcast, and with"
            " MPI_Ibcast of what comes next while the present is computed. The time of both, which take turns, and the"
            " ratio. The solution is verified.",
            SHM + TCP + TCP_THREADS,
            lab=LAB + LAB_THREADS,
            beside_peers=True,
            seconds=15,
            quick_seconds=4,
        ),
        Question(
            "skew",
            "What do late ranks cost, with blocking and with non-blocking collectives?",
            "Each rank computes half a millisecond and a delay, exponentially distributed or of one rank only, from nothing"
            " to as much again; then a collective takes the result, with a blocking call, or with a non-blocking one that"
            " is waited for a step later. The time of a step, over the largest mean computing of a rank, and the time in"
            " MPI, by the delay. Paper 5 (non-blocking collectives), sections 1 and 2: a blocking collective waits for"
            " the last rank in each step, a non-blocking one leaves it time to catch up.",
            SHM + TCP + TCP_THREADS,
            lab=LAB + LAB_THREADS,
            beside_peers=True,
            seconds=16,
            quick_seconds=4,
        ),
        Question(
            "engine_cost",
            "What does the event thread cost a program that communicates?",
            "Latency, bandwidth and message rate with the event thread and with LAPWING_PROGRESS=polling, in many short"
            " runs by turns: what the thread costs is less than what a machine changes by from one minute to the next."
            " Paper 1 (LA-MPI-ED) paid 23 % of latency and up to 22 % of bandwidth.",
            SHM[:2] + TCP[:2],
            turns=20,
            seconds=1.5,
            quick_seconds=0.8,
        ),
        Question(
            "progress_cost",
            "What does progress in the background cost?",
            "The cost of a poll that finds nothing, and of waking a rank that sleeps; the time of a program that only"
            " computes, with its wake-ups per second and what threads other than its own take. Paper 4 (PIOMan), table"
            " 2: 0.04 to 0.14 microseconds per poll, 1.7 per blocking call.",
            SHM + TCP + TCP_THREADS,
        ),
        Question(
            "idle",
            "What does a rank that waits take from the processor?",
            "Processor time and wake-ups of a rank that waits in a barrier, in a receive, and in a loop of probes.",
            without_polling(SHM + TCP),
            seconds=12,
        ),
        Question(
            "oversubscribe",
            "What happens with more ranks than cores?",
            "Barrier, allreduce, alltoall, and messages around a ring that are waited for by loops of MPI_Testall and MPI_Iprobe, with 2 to 32"
            " ranks on this machine.",
            without_polling(SHM + TCP),
            ranks=(2, 4, 8, 16, 32),
        ),
        Question(
            "busy_cores",
            "What happens where other work wants every core?",
            "Messages around a ring, by MPI_Sendrecv and by loops of MPI_Iprobe, barriers and allreduces of 2 to 8 ranks, beside a process for each core"
            " that computes all the time: shared machines, and programs with more threads than cores.",
            without_polling(SHM + TCP),
            ranks=(2, 4, 8),
            beside_peers=True,
            seconds=20,
            quick_seconds=8,
        ),
        Question(
            "connections",
            "Do open connections cost anything?",
            "Bandwidth, latency, processor time per message and memory of rank 0 against the number of its open"
            " connections: the others idle, and all active. Paper 2 (O2G), figures 5 and 6. What idle connections cost"
            " is found inside one job, by turns with two ranks that have few, before and after the others are met."
            " Other libraries are asked up to 64 connections.",
            without_polling(TCP),
            ranks=(2, 5, 17, 65, 257, 1025, 4097),
            quick_ranks=(2, 5, 65, 1025, 4097),
            peers_up_to=65,
            seconds=40,
            quick_seconds=12,
        ),
        Question(
            "threads",
            "Do several threads of a rank communicate at once?",
            "Message rate with 1, 2 and 4 threads under MPI_THREAD_MULTIPLE, and what that level costs a program with"
            " one thread.",
            without_polling(SHM + TCP),
            passes=(("--level", "single"), ("--level", "multiple")),
            seconds=12,
            quick_seconds=5,
        ),
        Question(
            "startup",
            "How long do start and end take, and how much memory does a rank need?",
            "mpiexec as a user sees it, MPI_Init to MPI_Finalize inside, memory per rank and per connection; every"
            " library with its own launcher and its default transports.",
            ("lapwing-default",) + tuple(f"{peer}-default" for peer in PEERS),
            ranks=(2, 4, 8, 16, 32, 64),
            quick_ranks=(2, 16, 64),
            passes=(("--parts", "bare"),) * 5 + ((),),
            timed=("--parts", "bare"),
            seconds=8,
            quick_seconds=4,
        ),
    )
}


# Names for several questions.
GROUPS = {"applications": ("halo", "conjugate_gradient", "elimination")}


def has_cells(name: str) -> bool:
    return name in QUESTIONS and QUESTIONS[name].cells


def wants(question: Question, library: str, ranks: int) -> bool:
    return library == "lapwing" or not question.peers_up_to or ranks <= question.peers_up_to
