#!/usr/bin/env python3
"""Plays the stranger to the ranks of a job: stranger.py SECONDS ADDRESS:PORT...

Scans the ports, sends garbage, half-opens many connections and holds them, begins handshakes and stops, floods. Says at the end
what it did, and fails if a rank answered with more than a stranger may learn (the bytes of one challenge).
"""
import os
import random
import select
import socket
import sys
import time

MOST_BYTES_FOR_STRANGERS = 256


def connect(target):
    stranger = socket.socket()
    stranger.settimeout(2)
    try:
        stranger.connect(target)
    except OSError:
        stranger.close()
        return None
    return stranger


def send(stranger, data):
    try:
        stranger.sendall(data)
    except OSError:
        pass


def main():
    end = time.monotonic() + float(sys.argv[1])
    targets = [(text.rsplit(":", 1)[0], int(text.rsplit(":", 1)[1])) for text in sys.argv[2:]]
    chance = random.Random(1)
    held, made, refused, most = [], 0, 0, 0
    while time.monotonic() < end:
        target = chance.choice(targets)
        stranger = connect(target)
        made += 1
        if stranger is None:
            refused += 1
            continue
        trick = made % 5
        if trick == 0:
            pass  # a port scanner: nothing said
        elif trick == 1:
            send(stranger, os.urandom(chance.randrange(1, 4096)))
        elif trick == 2:
            send(stranger, b"GET / HTTP/1.1\r\nHost: lapwing\r\n\r\n")
        elif trick == 3:
            send(stranger, b"\0" * 100000)
        else:
            send(stranger, b"LAPWING"[: chance.randrange(1, 8)])
        ready, _, _ = select.select([stranger], [], [], 0.001)
        if ready:
            try:
                most = max(most, len(stranger.recv(1 << 16)))
            except OSError:
                pass
        if trick in (0, 4) and len(held) < 500:
            held.append(stranger)
        else:
            stranger.close()
    print(f"stranger: {made} connections to {len(targets)} ports, {refused} refused, {len(held)} held, at most {most} bytes received")
    return most > MOST_BYTES_FOR_STRANGERS or made < 100


sys.exit(main())
