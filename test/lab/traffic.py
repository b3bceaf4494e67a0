#!/usr/bin/env python3
"""Strange traffic on a link of the lab: traffic.py REPORT SECONDS MBIT_PER_SECOND DEVICE BROADCAST ADDRESS...

Everything a careless or hostile neighbour sends to a host, all at once, to all of its ADDRESSes: scans of all TCP ports; garbage to
the ports found open; floods of connections that are held and say nothing; segments with forged sources; datagrams to random ports,
to all hosts and to groups, as many as fill MBIT_PER_SECOND; frames of protocols that no host knows. What it did so far stands in the
file REPORT, as lines "name number".
"""
import errno
import fcntl
import os
import random
import select
import socket
import struct
import sys
import time
from contextlib import suppress

MOST_SCANS = 64  # under way
MOST_HELD = 300
DATAGRAM = 1400  # bytes of payload; on the wire 42 (IPv4) or 62 more
TURN = 0.002  # seconds between two bursts


class Counters(dict):
    def __init__(self, path):
        super().__init__(scanned=0, open_ports=0, garbage=0, held=0, forged=0, datagrams=0, frames=0)
        self.path, self.next = path, 0.0

    def write(self, now, last=False):
        if now < self.next and not last:
            return
        self.next = now + 0.2
        with open(self.path + ".new", "w") as file:
            file.writelines(f"{name} {number}\n" for name, number in self.items())
        os.replace(self.path + ".new", self.path)


def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def begin_connection(address, port):
    """A socket on its way, or None."""
    stranger = socket.socket(family_of(address), socket.SOCK_STREAM)
    stranger.setblocking(False)
    if stranger.connect_ex((address, port)) in (0, errno.EINPROGRESS):
        return stranger
    stranger.close()
    return None


class Scan:
    """Asks every port of every address whether it is open, again and again."""

    def __init__(self, addresses, counters):
        self.addresses, self.counters = addresses, counters
        self.open, self.under_way, self.poll = set(), {}, select.poll()
        self.targets = iter(())

    def turn(self):
        while len(self.under_way) < MOST_SCANS:
            target = next(self.targets, None)
            if target is None:
                every = [(address, port) for address in self.addresses for port in range(1, 65536)]
                random.shuffle(every)
                self.targets = iter(every)
                continue
            stranger = begin_connection(*target)
            if stranger is None:
                break
            self.under_way[stranger.fileno()] = stranger, target, time.monotonic()
            self.poll.register(stranger, select.POLLOUT)
        for number, _ in self.poll.poll(0):
            stranger, target, _ = self.under_way[number]
            if stranger.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
                self.open.add(target)
            else:
                self.open.discard(target)
            self.end(number)
        for number in [n for n, (_, _, begin) in self.under_way.items() if time.monotonic() - begin > 1]:
            self.end(number)
        self.counters["open_ports"] = len(self.open)

    def end(self, number):
        self.counters["scanned"] += 1
        self.poll.unregister(number)
        self.under_way.pop(number)[0].close()


class Molest:
    """Garbage, and connections that say nothing, to the open ports."""

    def __init__(self, scan, counters):
        self.scan, self.counters, self.held = scan, counters, []

    def turn(self):
        if not self.scan.open:
            return
        target = random.choice(tuple(self.scan.open))
        stranger = begin_connection(*target)
        if stranger is None:
            return
        self.held.append(stranger)
        talker = random.choice(self.held)  # most likely connected by now, however slow the link is
        if random.random() < 0.5 and select.select([], [talker], [], 0)[1]:
            with suppress(OSError):
                talker.send(random.choice([os.urandom(random.randrange(1, 4096)), bytes(100000), b"GET / HTTP/1.1\r\n\r\n"]))
                self.counters["garbage"] += 1
        self.counters["held"] = len(self.held)
        if len(self.held) > MOST_HELD:
            self.held.pop(random.randrange(MOST_HELD)).close()


class Noise:
    """Datagrams in the rate wanted, and a few forged segments and unknown frames among them."""

    def __init__(self, addresses, rate, device, broadcast, counters):
        self.counters, self.per_second = counters, rate * 1e6 / 8 / (DATAGRAM + 42)
        self.payload, self.due, self.last = os.urandom(DATAGRAM), 0.0, time.monotonic()
        self.socket = {family: socket.socket(family, socket.SOCK_DGRAM) for family in map(family_of, addresses)}
        for each in self.socket.values():
            each.setblocking(False)
        self.socket[socket.AF_INET].setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        self.targets = [(address, None) for address in addresses] * 4 + [(broadcast, None), ("224.0.0.1", 5353)]
        self.forgery = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self.victim = next(address for address in addresses if ":" not in address)
        self.wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.wire.bind((device, 0))
        request = fcntl.ioctl(self.wire, 0x8927, struct.pack("256s", device.encode()))  # SIOCGIFHWADDR
        self.own_hardware = request[18:24]

    def turn(self):
        now = time.monotonic()
        self.due += min((now - self.last), 0.05) * self.per_second
        self.last = now
        for _ in range(int(self.due)):
            address, port = random.choice(self.targets)
            with suppress(OSError):
                self.socket[family_of(address)].sendto(self.payload, (address, port or random.randrange(1, 65536)))
                self.counters["datagrams"] += 1
        self.due %= 1
        with suppress(OSError):
            self.forgery.sendto(self.forged_segment(), (self.victim, 0))
            self.counters["forged"] += 1
        with suppress(OSError):
            self.wire.send(b"\xff" * 6 + self.own_hardware + random.choice([b"\x88\xb5", b"\x08\x00"]) + os.urandom(100))
            self.counters["frames"] += 1

    def forged_segment(self):
        """TCP with random ports, flags and numbers, from another host of the same network."""
        source = self.victim.rsplit(".", 1)[0] + f".{random.randrange(1, 250)}"
        addresses = socket.inet_aton(source) + socket.inet_aton(self.victim)
        segment = bytearray(os.urandom(20))
        segment[12] = 0x50
        segment[16:18] = b"\0\0"
        segment[16:18] = struct.pack(">H", checksum(addresses + struct.pack(">HH", 6, 20) + bytes(segment)))
        return struct.pack(">BBHHHBBH", 0x45, 0, 40, 0, 0, 64, 6, 0) + addresses + bytes(segment)


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def main():
    report, seconds, rate, device, broadcast, *addresses = sys.argv[1:]
    end = time.monotonic() + float(seconds)
    counters = Counters(report)
    scan = Scan(addresses, counters)
    parts = [scan, Molest(scan, counters), Noise(addresses, float(rate), device, broadcast, counters)]
    while (now := time.monotonic()) < end:
        for part in parts:
            part.turn()
        counters.write(now)
        time.sleep(TURN)
    counters.write(now, last=True)


if __name__ == "__main__":
    main()
