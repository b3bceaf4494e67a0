"""What is measured: an MPI library, a transport, and a variant, as in "openmpi-tcp-thread"; with what settings, and
how it is launched.

Every library gets the best settings known for the transport, and one core per rank where there are enough of them. No
setting of the caller's shell reaches a library.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Dict, Tuple

from .errors import BenchError
from .machine import physical_cores
from .peers import TITLES, Installation

MPICH_TCP = {"MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}
INTEL_TCP = {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp"}
# Its collectives of one machine would pass through shared memory all the same.
INTEL_TCP_ONLY = {**INTEL_TCP, "I_MPI_COLL_INTRANODE": "pt2pt"}

# library -> transport -> (environment, options of its mpiexec)
TRANSPORTS: Dict[str, Dict[str, Tuple[Dict[str, str], Tuple[str, ...]]]] = {
    "lapwing": {
        "shm": ({"LAPWING_TRANSPORTS": "self,shm"}, ()),
        "tcp": ({"LAPWING_TRANSPORTS": "self,tcp"}, ()),
        "default": ({}, ()),
        "lab": ({}, ()),
    },
    "mpich": {
        "shm": ({}, ()),
        "tcp": (MPICH_TCP, ()),
        "default": ({}, ()),
        "lab": ({"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}, ()),
    },
    "intel": {
        "shm": ({}, ()),
        "tcp": (INTEL_TCP_ONLY, ()),
        "default": ({}, ()),
        "lab": (INTEL_TCP, ()),
    },
    "openmpi": {
        "shm": ({}, ("--mca", "pml", "ob1", "--mca", "btl", "sm,self")),
        "tcp": ({}, ("--mca", "pml", "ob1", "--mca", "btl", "tcp,self")),
        "default": ({}, ()),
        "lab": ({}, ("--mca", "pml", "ob1", "--mca", "btl", "tcp,self")),
    },
    "raw": {"tcp": ({}, ()), "lab": ({}, ())},
}

# library -> variant -> the same
VARIANTS = {
    "lapwing": {
        "polling": ({"LAPWING_PROGRESS": "polling"}, ()),
        "kernel": ({"LAPWING_RECEIVE": "kernel"}, ()),
        "ether": ({"LAPWING_TRANSPORTS": "self,shm,ether,tcp"}, ()),
        "before": ({}, ()),
    },
    "mpich": {"thread": ({"MPIR_CVAR_ASYNC_PROGRESS": "1"}, ())},
    "intel": {"thread": ({"I_MPI_ASYNC_PROGRESS": "1"}, ())},
    "openmpi": {"thread": ({}, ("--mca", "btl_tcp_progress_thread", "1"))},
    "raw": {},
}

WORDS = {
    "polling": "without its event thread",
    "kernel": "received in the kernel",
    "ether": "by raw Ethernet",
    "before": "before",
    "thread": "with its progress thread",
}
PLACES = {"shm": "shared memory", "tcp": "TCP", "default": "each library's own choice", "lab": "two emulated hosts"}
FOREIGN = (
    "LAPWING_",
    "MPIR_",
    "MPICH_",
    "HYDRA_",
    "I_MPI_",
    "FI_",
    "OMPI_",
    "OPAL_",
    "PRTE_",
    "PMIX_",
    "PMI_",
    "UCX_",
    "LD_LIBRARY_PATH",
)


@dataclass(frozen=True)
class Candidate:
    name: str
    library: str
    transport: str
    variant: str = ""
    environment: Dict[str, str] = field(default_factory=dict)
    options: Tuple[str, ...] = ()

    @property
    def installation(self) -> str:
        """The name of what it runs with: its library, or another installation of Lapwing."""
        if self.variant == "before":
            return "before"
        return "lapwing" if self.library == "raw" else self.library

    @property
    def title(self) -> str:
        return " ".join(filter(None, (TITLES[self.library], WORDS.get(self.variant))))

    def settings(self) -> list:
        return [f"{name}={value}" for name, value in self.environment.items()] + (
            [" ".join(self.options)] if self.options else []
        )


def parse(name: str) -> Candidate:
    library, _, rest = ("raw-tcp" if name == "raw" else name).partition("-")
    transport, _, variant = rest.partition("-")
    if (
        library not in TRANSPORTS
        or transport not in TRANSPORTS[library]
        or (variant and variant not in VARIANTS[library])
    ):
        raise BenchError(f"'{name}' is no candidate; there are {', '.join(all_names())}")
    environment, options = TRANSPORTS[library][transport]
    more_environment, more_options = VARIANTS[library].get(variant, ({}, ()))
    return Candidate(
        f"{library}-{rest}" if rest else name,
        library,
        transport,
        variant,
        {**environment, **more_environment},
        options + more_options,
    )


def all_names() -> list:
    return [
        "-".join(filter(None, (library, transport, variant)))
        for library, transports in TRANSPORTS.items()
        for transport in transports
        for variant in ("", *VARIANTS[library])
    ]


def describe(candidate: Candidate, version: str) -> dict:
    return {
        "library": candidate.library,
        "title": candidate.title,
        "transport": candidate.transport,
        "variant": candidate.variant,
        "version": version,
        "settings": candidate.settings(),
    }


def environment_of(candidate: Candidate, installation: Installation) -> dict:
    """What is added to the environment: the part worth showing."""
    added = dict(candidate.environment)
    if candidate.library in ("lapwing", "mpich", "intel"):
        added["LD_LIBRARY_PATH"] = installation.libraries
    if candidate.library == "intel":
        added["I_MPI_ROOT"] = str(installation.folder)
    return added


def clean_environment() -> dict:
    return {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}


def binding(library: str, variant: str, ranks: int) -> list:
    """Lapwing and Intel MPI bind ranks themselves where there are cores enough. A progress thread must not be bound to
    the core of its rank where there are more. Open MPI takes each core, not each hardware thread, for one slot, and
    refuses more ranks than it sees slots unless it is told otherwise."""
    bound = ranks <= physical_cores() and variant != "thread"
    if library == "mpich":
        return ["-bind-to", "core"] if bound else ["-bind-to", "none"]
    if library == "openmpi":
        return ["--bind-to", "core" if bound else "none", "--oversubscribe"]
    return []


def command(candidate: Candidate, installation: Installation, ranks: int, program: list) -> list:
    if candidate.library == "raw":
        return program
    line = [installation.mpiexec]
    if candidate.library == "openmpi" and os.geteuid() == 0:
        line.append("--allow-run-as-root")
    return (
        line
        + binding(candidate.library, candidate.variant, ranks)
        + list(candidate.options)
        + ["-n", str(ranks)]
        + program
    )


def fits(name: str, question, lab: bool) -> bool:
    """Can this candidate be asked this at all?"""
    candidate = parse(name)
    if candidate.library == "raw":
        return name in (question.lab if lab else question.candidates)
    return (candidate.transport == "lab") == lab
