#!/usr/bin/env python3
"""Another's TCP stream on the lab's network, as much as goes: "tcp_stream.py" on a host receives one, "tcp_stream.py ADDRESS
CONGESTION" on another sends it there, under that congestion rule (cubic, bbr). The receiver prints a line with the time (of the
system's monotonic clock) and the bytes so far every tenth of a second."""
import socket
import sys
import time

PORT = 7702


def send(address, congestion):
    with socket.socket() as stream:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
        stream.connect((address, PORT))
        data = bytes(1 << 18)
        while True:
            stream.sendall(data)


def receive():
    with socket.create_server(("", PORT)) as server:
        print("listens", flush=True)
        stream, _ = server.accept()
        buffer, total, told = bytearray(1 << 20), 0, 0
        while count := stream.recv_into(buffer):
            total += count
            if time.monotonic() - told >= 0.1:
                told = time.monotonic()
                print(told, total, flush=True)


if sys.argv[1:]:
    send(*sys.argv[1:])
else:
    receive()
