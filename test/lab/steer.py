#!/usr/bin/env python3
"""steer.py DEVICE...: the device plays a NIC that steers: a packet of Lapwing's goes by the queue of its endpoint (src/wire/packet.h), whose number is the
endpoint's modulo the number of queues; a datagram of Lapwing's by the one that its port tells, as a rule of a NIC for the port would have it.

What a veth device sends by queue N its other end receives by queue N. A program of traffic control chooses it. Other packets go where they would. And the
device gets an XDP program that lets everything pass, because veth wakes only a device that has one for what a program at its other end sends back. Both
stay as long as the device. Needs Linux 6.6 on x86-64, and CAP_BPF and CAP_NET_ADMIN.
"""
import os
import socket
import struct
import sys

sys.dont_write_bytecode = True
from kernel_programs import EXIT, MOVE, MOVE_VALUE, bpf, instruction, load  # noqa: E402

PROG_ATTACH = 8
PROG_TYPE_SCHED_CLS, PROG_TYPE_XDP, ATTACH_TCX_EGRESS, XDP_PASS = 3, 6, 47, 2
RTM_SETLINK, IFLA_XDP, IFLA_XDP_FD, IFLA_XDP_FLAGS, XDP_FLAGS_DRV_MODE = 19, 43, 1, 3, 4
ETHER_TYPE, ETHER_TYPE_AT, ENDPOINT_AT = 0x88B5, 12, 16
IP_TYPE, PROTOCOL_AT, UDP, PORT_AT, PORT, MOST_ENDPOINTS = 0x0800, 23, 17, 36, 27182, 256
QUEUE_MAPPING_AT = 12  # in struct __sk_buff
NEXT = 0xFFFFFFFF  # TCX_NEXT

LOAD_BYTE, LOAD_HALF, JUMP, JUMP_UNLESS, JUMP_ABOVE, SWAP, ADD, MODULO, STORE = 0x30, 0x28, 0x05, 0x55, 0x25, 0xDC, 0x07, 0x97, 0x63  # operations


def program_for(queues):
    return [
        instruction(MOVE, 6, 1),
        instruction(LOAD_HALF, value=ETHER_TYPE_AT),  # into register 0, big-endian
        instruction(JUMP_UNLESS, 0, skip=3, value=ETHER_TYPE),
        instruction(LOAD_HALF, value=ENDPOINT_AT),
        instruction(SWAP, 0, value=16),  # on the wire it is little-endian
        instruction(JUMP, skip=6),
        instruction(JUMP_UNLESS, 0, skip=8, value=IP_TYPE),
        instruction(LOAD_BYTE, value=PROTOCOL_AT),
        instruction(JUMP_UNLESS, 0, skip=6, value=UDP),
        instruction(LOAD_HALF, value=PORT_AT),
        instruction(ADD, 0, value=-PORT & 0xFFFFFFFF),
        instruction(JUMP_ABOVE, 0, skip=3, value=MOST_ENDPOINTS - 1),  # without a sign: so are ports below
        instruction(MODULO, 0, value=queues),
        instruction(ADD, 0, value=1),  # as the kernel notes queues: 0 is none
        instruction(STORE, 6, 0, QUEUE_MAPPING_AT),
        instruction(MOVE_VALUE, 0, value=NEXT),
        instruction(EXIT),
    ]


def attribute(kind, value):
    return struct.pack("=HH", 4 + len(value), kind) + value


def attach_xdp(device, program):
    nest = attribute(IFLA_XDP_FD, struct.pack("=i", program)) + attribute(IFLA_XDP_FLAGS, struct.pack("=I", XDP_FLAGS_DRV_MODE))
    body = struct.pack("=BxHiII", 0, 0, device, 0, 0) + attribute(IFLA_XDP, nest)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        netlink.send(struct.pack("=IHHII", 16 + len(body), RTM_SETLINK, 1 | 4, 1, 0) + body)  # NLM_F_REQUEST, NLM_F_ACK
        error = struct.unpack_from("=i", netlink.recv(4096), 16)[0]
        if error:
            sys.exit(f"steer.py: {os.strerror(-error)}")


let_pass = load(PROG_TYPE_XDP, b"lab_steer", [instruction(MOVE_VALUE, 0, value=XDP_PASS), instruction(EXIT)])
for name in sys.argv[1:]:
    device = socket.if_nametoindex(name)
    queues = len([queue for queue in os.listdir(f"/sys/class/net/{name}/queues") if queue.startswith("tx-")])
    steer = load(PROG_TYPE_SCHED_CLS, b"lab_steer", program_for(queues))
    bpf(PROG_ATTACH, struct.pack("<IIIIII", device, steer, ATTACH_TCX_EGRESS, 0, 0, 0))
    attach_xdp(device, let_pass)
