"""Where the MPI libraries are: Lapwing's installation, and the peers in virtual environments of Python, which the
packages of the same names bring along with compiler wrappers and launchers."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional

from .errors import BenchError

PACKAGES = {"mpich": "mpich", "intel": "impi-rt", "openmpi": "openmpi"}
TITLES = {"lapwing": "Lapwing", "mpich": "MPICH", "intel": "Intel MPI", "openmpi": "Open MPI", "raw": "raw sockets"}
HERE = Path(__file__).resolve().parent
BENCH = HERE.parent  # bench/ of the source tree, or share/lapwing/bench


@dataclass(frozen=True)
class Installation:
    library: str
    folder: Path
    version: str

    @property
    def mpiexec(self) -> str:
        return str(self.folder / "bin" / "mpiexec")

    @property
    def libraries(self) -> str:
        return str(self.folder / "lib")


def default_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache) / "lapwing" / "peers"


def in_source_tree() -> bool:
    return (BENCH.parent / "CMakeLists.txt").exists() and BENCH.name == "bench"


def default_prefix() -> Path:
    if in_source_tree():
        return BENCH.parent / "build" / "stage"
    return BENCH.parent.parent.parent  # of share/lapwing/bench


def output_of(command: List[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def commit_of(folder: Path) -> str:
    """The state of the source tree that an installation lies in (build/stage), if it does."""
    tree = output_of(["git", "-C", str(folder), "rev-parse", "--show-toplevel"])
    if not tree or not (Path(tree) / "bench" / "lapwing_bench").exists():
        return ""
    return output_of(["git", "-C", tree, "describe", "--always", "--dirty"])


def find_lapwing(prefix: Optional[Path]) -> Installation:
    folder = (prefix or default_prefix()).resolve()
    if not os.access(folder / "bin" / "mpiexec", os.X_OK):
        hint = "./lapwing build makes one" if in_source_tree() else "--lapwing FOLDER names one"
        raise BenchError(f"no installation of Lapwing in {folder} (bin/mpiexec is missing); {hint}")
    version = output_of([str(folder / "bin" / "lapwing"), "--version"]).replace("lapwing ", "") or "of unknown version"
    commit = commit_of(folder)
    if commit:
        version += f", commit {commit}"
    return Installation("lapwing", folder, version)


def package_version(folder: Path, package: str) -> str:
    for entry in folder.glob(f"lib/python3*/site-packages/{package.replace('-', '_')}-*.dist-info"):
        return entry.name[: -len(".dist-info")].rpartition("-")[2]
    return "of unknown version"


def find_peer(library: str, peers: Path) -> Optional[Installation]:
    package = PACKAGES[library]
    folder = (peers / package).absolute()
    if not os.access(folder / "bin" / "mpiexec", os.X_OK):
        return None
    return Installation(library, folder, package_version(folder, package))


def install_peer(library: str, peers: Path, say) -> str:
    """Makes the virtual environment. Returns what went wrong, or nothing."""
    package = PACKAGES[library]
    folder = peers / package
    say(f"installing {TITLES[library]} (package {package}) into {folder}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return f"{folder} cannot be made: {error.strerror}"
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", package],
    ):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{' '.join(command)}: {error}"
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()
            return f"{' '.join(command)}: {said[-1]}"
    return "" if find_peer(library, peers) else f"package {package} brought no mpiexec"


def find_all(libraries, prefix: Optional[Path], peers: Path, install: bool, say):
    """(installations by library, texts about those that are left out)."""
    found: Dict[str, Installation] = {}
    left_out = []
    if {"lapwing", "raw"} & set(libraries):
        found["lapwing"] = find_lapwing(prefix)
    for library in (each for each in libraries if each in PACKAGES):
        installation = find_peer(library, peers)
        problem = f"not found in {peers}; `lapwing bench compare` installs it"
        if installation is None and install:
            problem = install_peer(library, peers, say)
            installation = find_peer(library, peers) if not problem else None
        if installation is None:
            left_out.append(f"{TITLES[library]} is left out: {problem}")
        else:
            found[library] = installation
    return found, left_out
