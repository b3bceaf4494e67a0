#!/usr/bin/env python3
"""A terminal whose job starts in the background and comes to the foreground without SIGCONT, as a shell's fg has it with a job that runs.

  foreground.py STARTED COMMAND...

The job makes the file STARTED when it runs. A line is typed; the exit code is the job's.
"""
import os
import pty
import signal
import sys
import time


def start_in_background(command):
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.execvp(command[0], command)
    return job


def run_as_shell(started, command):
    job = start_in_background(command)
    while not os.path.exists(started):
        time.sleep(0.01)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(sys.stdin.fileno(), job)
    return os.waitstatus_to_exitcode(os.waitpid(job, 0)[1]) & 0xFF


shell, keyboard = pty.fork()
if shell == 0:
    os._exit(run_as_shell(sys.argv[1], sys.argv[2:]))
os.write(keyboard, b"typed\n")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(shell, 0)[1]))
