"""What the scripts here that load small programs into the kernel share: bpf(2), and instructions in its encoding (linux/bpf.h). x86-64 only."""
import ctypes
import os
import struct
import sys

BPF = 321  # the system call's number on x86-64
PROG_LOAD = 5
CALL, MOVE, MOVE_VALUE, EXIT = 0x85, 0xBF, 0xB7, 0x95  # operations

libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    """Gives a descriptor, or ends this script with what the kernel says."""
    fd = libc.syscall(BPF, command, attributes, len(attributes))
    if fd < 0:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {os.strerror(ctypes.get_errno())}")
    return fd


def instruction(operation, to=0, source=0, skip=0, value=0):
    return struct.pack("<BBhI", operation, to | source << 4, skip, value)


def load(kind, name, text, attach=0):
    """A program of instructions; `attach` is the kind of place that it is for, where its kind has several."""
    instructions = ctypes.create_string_buffer(b"".join(text))
    licence = ctypes.create_string_buffer(b"GPL")
    places = (ctypes.addressof(instructions), ctypes.addressof(licence))
    return bpf(PROG_LOAD, struct.pack("<IIQQIIQII16sII", kind, len(text), *places, 0, 0, 0, 0, 0, name, 0, attach))
