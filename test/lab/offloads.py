#!/usr/bin/env python3
"""offloads.py [--receive] DEVICE...: has network devices send frames as they are on a wire, each with its checksum and none longer than the MTU.
With --receive it has them received in contexts of their queues (NAPI), by joining what belongs together, and nothing else.

A veth pair passes long segments whole, and marks their checksums as right without computing them: what reads or changes its frames would find neither.
(What `ethtool -K DEVICE tx off tso off gso off` does.)
"""
import array
import fcntl
import socket
import struct
import sys

SIOCETHTOOL = 0x8946
SET_CHECKSUMS, SET_TSO, SET_GSO, SET_GRO = 0x17, 0x1F, 0x24, 0x2C  # ETHTOOL_STXCSUM, _STSO, _SGSO, _SGRO (linux/ethtool.h)


def turn(control, device, command, on):
    value = array.array("I", [command, on])
    request = struct.pack("16sP8x", device.encode(), value.buffer_info()[0])
    fcntl.ioctl(control, SIOCETHTOOL, request)


with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
    if sys.argv[1] == "--receive":
        for device in sys.argv[2:]:
            turn(control, device, SET_GRO, 1)
        sys.exit()
    for device in sys.argv[1:]:
        for command in (SET_TSO, SET_GSO, SET_CHECKSUMS):
            turn(control, device, command, 0)
