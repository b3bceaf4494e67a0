#!/usr/bin/env python3
"""A rank that asks its launcher without end and does not read the answers: pmi_flood.py

The launcher must leave the questions unread in time, instead of keeping all answers; and must lose none of those it took. The test looks
at the launcher's memory, and then reads its answers.
"""
import os
import select
import socket

MOST_MEMORY = 100 << 20
VALUE = b"x" * 900
REQUEST = b"cmd=lapwing_getall prefix=key count=1\n"
MOST_REQUESTS = 300_000

launcher = socket.socket(fileno=int(os.environ["PMI_FD"]))
reader = launcher.makefile("rb")


def ask(line):
    launcher.sendall(line + b"\n")
    return reader.readline()


ask(b"cmd=init pmi_version=1 pmi_subversion=1")
name = ask(b"cmd=get_my_kvsname").split(b"kvsname=")[1].strip()
assert b"rc=0" in ask(b"cmd=put kvsname=" + name + b" key=key0 value=" + VALUE)

sent = 0
total = MOST_REQUESTS * len(REQUEST)
whole = REQUEST * 1000
launcher.setblocking(False)
while sent < total and select.select([], [launcher], [], 2)[1]:
    start = sent % len(REQUEST)
    try:
        sent += launcher.send(whole[start:])
    except BlockingIOError:
        pass
with open(f"/proc/{os.getppid()}/status") as status:
    peak = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))
assert peak < MOST_MEMORY, f"the launcher took {peak >> 20} MiB for {sent} bytes of questions"

launcher.setblocking(True)
rest = -sent % len(REQUEST)
if rest:
    writer = launcher.dup()
    pid = os.fork()
    if pid == 0:
        writer.sendall(REQUEST[-rest:])
        os._exit(0)
for question in range((sent + rest) // len(REQUEST)):
    line = reader.readline()
    assert line.startswith(b"cmd=lapwing_value index=0 "), (question, line)
assert b"finalize_ack" in ask(b"cmd=finalize")
print("flood: the launcher kept nothing and lost nothing")
