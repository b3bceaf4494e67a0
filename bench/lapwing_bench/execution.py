"""Starts one program and sees that all of it ends: launchers leave processes of their own behind when they are
stopped, and one that spins would disturb every later measurement."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
GRACE = 3  # seconds between the polite and the other signal


@dataclass
class Execution:
    output: str
    errors: str
    code: int
    seconds: float
    timed_out: bool

    def failure(self, timeout: float):
        if self.timed_out:
            return f"no end after {timeout:g} s" + self.last_words()
        if self.code < 0:
            return f"ended by signal {-self.code}" + self.last_words()
        if self.code:
            return f"exit code {self.code}" + self.last_words()
        return None

    def last_words(self) -> str:
        lines = [line.strip() for line in self.errors.splitlines() if line.strip(" -*=\t")]
        return ": " + " / ".join(lines[-3:])[:400] if lines else ""


def adopt_orphans() -> None:
    """Makes this process the parent of what its descendants leave behind, so that it can be found and waited for."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


spared: set = set()  # processes that no run leaves behind: they belong to the place where it runs


def descendants() -> list:
    children = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(") ")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, new = [], [os.getpid()]
    while new:
        new = [child for parent in new for child in children.get(parent, []) if child not in spared]
        found += new
    return found


def reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def end_all(patience: float) -> None:
    """Everything that this process started ends: asked first, forced after `patience` seconds."""
    for sign, wait in ((signal.SIGTERM, patience), (signal.SIGKILL, GRACE)):
        end = time.monotonic() + wait
        for process in descendants():
            try:
                os.kill(process, sign)
            except ProcessLookupError:
                pass
        while descendants() and time.monotonic() < end:
            reap()
            time.sleep(0.02)
        if not descendants():
            return


def execute(command: list, environment: dict, timeout: float) -> Execution:
    """Output goes through files, so that a program that says much never waits for us. OSError: it cannot be started."""
    with tempfile.TemporaryFile("w+", errors="replace") as output, tempfile.TemporaryFile(
        "w+", errors="replace"
    ) as errors:
        started = time.monotonic()
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True
        )
        timed_out = False
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
            process.terminate()
            try:
                process.wait(GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        finally:
            seconds = time.monotonic() - started
            if process.poll() is None:  # interrupted from the keyboard
                process.terminate()
            end_all(GRACE if timed_out else 1)
        output.seek(0)
        errors.seek(0)
        return Execution(output.read(), errors.read(), process.returncode, seconds, timed_out)
