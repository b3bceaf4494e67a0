#!/usr/bin/env python3
"""offloads.py DEVICE...: has network devices send frames as they are on a wire, each with its checksum and none longer than the MTU.

A veth pair passes long segments whole, and marks their checksums as right without computing them: what reads or changes its frames would find neither.
(What `ethtool -K DEVICE tx off tso off gso off` does.)
"""
import array
import fcntl
import socket
import struct
import sys

SIOCETHTOOL = 0x8946
SET_CHECKSUMS, SET_TSO, SET_GSO = 0x17, 0x1F, 0x24  # ETHTOOL_STXCSUM, _STSO, _SGSO (linux/ethtool.h)


def turn_off(control, device, command):
    value = array.array("I", [command, 0])
    request = struct.pack("16sP8x", device.encode(), value.buffer_info()[0])
    fcntl.ioctl(control, SIOCETHTOOL, request)


with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
    for device in sys.argv[1:]:
        for command in (SET_TSO, SET_GSO, SET_CHECKSUMS):
            turn_off(control, device, command)
