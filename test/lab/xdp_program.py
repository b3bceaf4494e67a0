#!/usr/bin/env python3
"""xdp_program.py DEVICE [PERCENT]: a program of another's making on a network device, which lets everything pass, or loses so many percent of what the device
receives, by chance. It is there as long as this one runs.

Needs Linux 5.9 on x86-64, and CAP_BPF and CAP_NET_ADMIN.
"""
import ctypes
import os
import signal
import socket
import struct
import sys

BPF = 321  # bpf(2) on x86-64
PROG_LOAD, LINK_CREATE = 5, 28
PROG_TYPE_XDP, ATTACH_XDP, XDP_FLAGS_SKB_MODE, XDP_DROP, XDP_PASS = 6, 37, 2, 1, 2
CALL, JUMP_IF_LESS, MOVE, EXIT = 0x85, 0xA6, 0xB7, 0x95  # operations (linux/bpf.h); the jump compares 32 bits
GET_PRANDOM_U32 = 7

libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    fd = libc.syscall(BPF, command, attributes, len(attributes))
    if fd < 0:
        sys.exit(f"xdp_program.py: {os.strerror(ctypes.get_errno())}")
    return fd


def address(buffer):
    return ctypes.cast(buffer, ctypes.c_void_p).value


def instruction(operation, value=0, skip=0):
    return struct.pack("<BBhI", operation, 0, skip, value)


share = float(sys.argv[2]) / 100 if len(sys.argv) > 2 else 0
text = [
    instruction(CALL, GET_PRANDOM_U32),
    instruction(JUMP_IF_LESS, int(share * 2**32), skip=2),
    instruction(MOVE, XDP_PASS),
    instruction(EXIT),
    instruction(MOVE, XDP_DROP),
    instruction(EXIT),
]
instructions = ctypes.create_string_buffer(b"".join(text))
licence = ctypes.create_string_buffer(b"GPL")
name = b"someone_else"
program = bpf(
    PROG_LOAD,
    struct.pack("<IIQQIIQII16sII", PROG_TYPE_XDP, len(text), address(instructions), address(licence), 0, 0, 0, 0, 0, name, 0, ATTACH_XDP),
)
link = bpf(LINK_CREATE, struct.pack("<IIII", program, socket.if_nametoindex(sys.argv[1]), ATTACH_XDP, XDP_FLAGS_SKB_MODE))
print("attached", flush=True)
signal.pause()
