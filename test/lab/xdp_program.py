#!/usr/bin/env python3
"""xdp_program.py DEVICE [PERCENT]: a program of another's making on a network device, which lets everything pass, or loses so many percent of what the device
receives, by chance. It is there as long as this one runs.

Needs Linux 5.9 on x86-64, and CAP_BPF and CAP_NET_ADMIN.
"""
import signal
import socket
import struct
import sys

sys.dont_write_bytecode = True
from kernel_programs import CALL, EXIT, MOVE_VALUE, bpf, instruction, load  # noqa: E402

LINK_CREATE = 28
PROG_TYPE_XDP, ATTACH_XDP, XDP_FLAGS_SKB_MODE, XDP_DROP, XDP_PASS = 6, 37, 2, 1, 2
JUMP_IF_LESS = 0xA6  # of 32 bits
GET_PRANDOM_U32 = 7

share = float(sys.argv[2]) / 100 if len(sys.argv) > 2 else 0
text = [
    instruction(CALL, value=GET_PRANDOM_U32),
    instruction(JUMP_IF_LESS, skip=2, value=int(share * 2**32)),
    instruction(MOVE_VALUE, value=XDP_PASS),
    instruction(EXIT),
    instruction(MOVE_VALUE, value=XDP_DROP),
    instruction(EXIT),
]
program = load(PROG_TYPE_XDP, b"someone_else", text, ATTACH_XDP)
link = bpf(LINK_CREATE, struct.pack("<IIII", program, socket.if_nametoindex(sys.argv[1]), ATTACH_XDP, XDP_FLAGS_SKB_MODE))
print("attached", flush=True)
signal.pause()
