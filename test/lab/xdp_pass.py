#!/usr/bin/env python3
"""xdp_pass.py DEVICE: a program of another's making on a network device, which lets everything pass. It is there as long as this one runs.

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
PROG_TYPE_XDP, ATTACH_XDP, XDP_FLAGS_SKB_MODE, XDP_PASS = 6, 37, 2, 2

libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    fd = libc.syscall(BPF, command, attributes, len(attributes))
    if fd < 0:
        sys.exit(f"xdp_pass.py: {os.strerror(ctypes.get_errno())}")
    return fd


def address(buffer):
    return ctypes.cast(buffer, ctypes.c_void_p).value


instructions = ctypes.create_string_buffer(struct.pack("<BBhi", 0xB7, 0, 0, XDP_PASS) + struct.pack("<BBhi", 0x95, 0, 0, 0))
licence = ctypes.create_string_buffer(b"GPL")
name = b"someone_else"
program = bpf(
    PROG_LOAD,
    struct.pack("<IIQQIIQII16sII", PROG_TYPE_XDP, 2, address(instructions), address(licence), 0, 0, 0, 0, 0, name, 0, ATTACH_XDP),
)
link = bpf(LINK_CREATE, struct.pack("<IIII", program, socket.if_nametoindex(sys.argv[1]), ATTACH_XDP, XDP_FLAGS_SKB_MODE))
print("attached", flush=True)
signal.pause()
