#!/usr/bin/env python3
"""drop_type.py [--until-killed] EtherType DEVICE...: the devices of a switch drop what comes with this EtherType (a hexadecimal number), as many clouds do.

A program of traffic control does it, and stays as long as the device, or as this process, which then says "dropping" and waits. Needs Linux 6.6 on x86-64, and CAP_BPF and CAP_NET_ADMIN.
"""
import signal
import socket
import struct
import sys

sys.dont_write_bytecode = True
from kernel_programs import EXIT, MOVE, MOVE_VALUE, bpf, instruction, load  # noqa: E402

PROG_ATTACH, LINK_CREATE = 8, 28
PROG_TYPE_SCHED_CLS, ATTACH_TCX_INGRESS, DROP, NEXT = 3, 46, 2, 0xFFFFFFFF
ETHER_TYPE_AT = 12

LOAD_HALF, JUMP_UNLESS = 0x28, 0x55  # operations
until_killed = sys.argv[1] == "--until-killed"
ether_type, *devices = sys.argv[2 if until_killed else 1 :]
text = [
    instruction(MOVE, 6, 1),
    instruction(LOAD_HALF, value=ETHER_TYPE_AT),  # into register 0, big-endian
    instruction(JUMP_UNLESS, 0, skip=2, value=int(ether_type, 16)),
    instruction(MOVE_VALUE, 0, value=DROP),
    instruction(EXIT),
    instruction(MOVE_VALUE, 0, value=NEXT),
    instruction(EXIT),
]
program = load(PROG_TYPE_SCHED_CLS, b"lab_drop_type", text)
links = []
for device in map(socket.if_nametoindex, devices):
    if until_killed:
        links.append(bpf(LINK_CREATE, struct.pack("<IIIIII", program, device, ATTACH_TCX_INGRESS, 0, 0, 0) + bytes(40)))
    else:
        bpf(PROG_ATTACH, struct.pack("<IIIIII", device, program, ATTACH_TCX_INGRESS, 0, 0, 0))
if until_killed:
    print("dropping", flush=True)
    signal.pause()
