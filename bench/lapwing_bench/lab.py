"""The same questions between two hosts: network namespaces joined by an emulated Ethernet of 1 Gbit/s (test/lab),
taken away again at the end. Each host gets one core to itself where there are two, by a small script before the
program; launchers bind nothing."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

from .candidates import Candidate
from .errors import BenchError
from .peers import BENCH, Installation, in_source_tree

HOSTS = ("h1", "h2")
NETWORK = "10.77.0.0/24"
ADDRESS = "10.77.0.1"  # of h1
RATE = "1gbit"
PORT = 7701  # in a namespace of our own no other program has it


def place_script(processors: list) -> str:
    """Puts a program of host hN on processor N of those that may be used, counted round from 0."""
    cases = " ".join(f"{host}) on={processors[number % len(processors)]} ;;" for number, host in enumerate(HOSTS, 1))
    return f'#!/bin/sh\ncase $(hostname) in {cases} esac\nexec taskset -c "$on" "$@"\n'


def check_rights() -> None:
    """BenchError: no lab can be made here."""
    if os.geteuid() != 0:
        raise BenchError("--lab makes hosts of network namespaces, for which one must be root")
    for tool, package in (("ip", "iproute2"), ("tc", "iproute2"), ("taskset", "util-linux")):
        if not shutil.which(tool):
            raise BenchError(f"--lab needs the command {tool} (on Debian and Ubuntu: apt-get install {package})")


class Lab:
    """A context: the hosts are there inside, and gone after. `options`: of "lab up", besides the number of hosts."""

    def __init__(self, output: Path, options: tuple = ("--rate", RATE)):
        self.folder = BENCH.parent / "test" / "lab" if in_source_tree() else BENCH / "lab"
        self.script, self.ssh = str(self.folder / "lab"), str(self.folder / "ssh")
        self.options = options
        self.place = output / "programs" / "place"
        self.name = f"b{os.getpid() % 1000000}"

    def __enter__(self):
        check_rights()
        done = self.call("up", str(len(HOSTS)), *self.options)
        if done.returncode:
            raise BenchError(f"the emulated hosts cannot be made: {done.stderr.strip()}")
        self.place.parent.mkdir(parents=True, exist_ok=True)
        self.place.write_text(place_script(sorted(os.sched_getaffinity(0))))
        self.place.chmod(0o755)
        return self

    def __exit__(self, *_):
        self.call("down")

    def call(self, *words):
        return subprocess.run(
            [self.script, *words], env={**os.environ, "LAB": self.name}, capture_output=True, text=True, check=False
        )

    def on(self, host: str) -> list:
        return [self.script, "exec", host]

    def environment(self, candidate: Candidate) -> dict:
        added = {"LAB": self.name}
        if candidate.library == "intel":
            added.update(I_MPI_HYDRA_IFACE="eth0", I_MPI_HYDRA_BOOTSTRAP="ssh", I_MPI_HYDRA_BOOTSTRAP_EXEC=self.ssh)
        return added

    def command(self, candidate: Candidate, installation: Installation, program: list) -> list:
        """One rank on each host. Lapwing's own mpiexec starts its ranks here, so each goes to its host itself."""
        first, second = HOSTS
        program = [str(self.place), *program]
        options = list(candidate.options)
        if candidate.library == "lapwing":
            return [
                installation.mpiexec,
                "--bind-to",
                "none",
                "-n",
                "1",
                *self.on(first),
                *program,
                ":",
                "-n",
                "1",
                *self.on(second),
                *program,
            ]
        if candidate.library == "raw":
            at = f"{ADDRESS}:{PORT}"
            listens = shlex.join([*self.on(first), *program, "--listen", at])
            connects = shlex.join([*self.on(second), *program, "--connect", at])
            return ["sh", "-c", f"{listens} & {connects}; code=$?; kill $! 2>/dev/null; wait; exit $code"]
        if candidate.library == "mpich":
            return [
                *self.on(first),
                installation.mpiexec,
                "-iface",
                "eth0",
                "-launcher",
                "ssh",
                "-launcher-exec",
                self.ssh,
                "-hosts",
                ",".join(HOSTS),
                "-ppn",
                "1",
                "-n",
                "2",
                *program,
            ]
        if candidate.library == "intel":
            return [*self.on(first), installation.mpiexec, "-hosts", ",".join(HOSTS), "-ppn", "1", "-n", "2", *program]
        return [
            *self.on(first),
            installation.mpiexec,
            "--allow-run-as-root",
            "--prtemca",
            "plm_ssh_agent",
            self.ssh,
            "--prtemca",
            "prte_if_include",
            NETWORK,
            "--mca",
            "btl_tcp_if_include",
            NETWORK,
            *options,
            "--host",
            ",".join(f"{host}:8" for host in HOSTS),
            "--map-by",
            "node",
            "--bind-to",
            "none",
            "-n",
            "2",
            *program,
        ]
