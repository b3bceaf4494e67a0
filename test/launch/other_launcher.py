#!/usr/bin/env python3
"""A launcher that is not ours: speaks plain PMI-1 and lets its ranks end as they like, as `srun` does without --kill-on-bad-exit.

usage: other_launcher.py fd|late|port RANKS command...

fd     each rank inherits a connection (PMI_FD), which is closed after the first `finalize`, as Hydra and Slurm do
late   the same, but closed only when the next program speaks on it
port   each program connects to PMI_PORT, as under Hydra's -pmi-port

Prints "rank R ended with CODE" for each rank as it ends; a signal is a negative code. Its own exit code is 0.
"""
import os
import selectors
import socket
import subprocess
import sys


class Server:
    def __init__(self, size, late):
        self.size = size
        self.late = late
        self.selector = selectors.DefaultSelector()
        self.values = {}
        self.in_barrier = []

    def add(self, connection, rank):
        connection.setblocking(True)
        self.selector.register(connection, selectors.EVENT_READ, {"rank": rank, "input": b""})

    def read(self, connection, state):
        data = connection.recv(65536)
        if not data:
            self.drop(connection)
            return
        if state.get("finalized"):
            self.drop(connection)
            return
        state["input"] += data
        while b"\n" in state["input"]:
            line, state["input"] = state["input"].split(b"\n", 1)
            fields = dict(word.split("=", 1) for word in line.decode().split())
            self.answer(connection, fields, state)

    def drop(self, connection):
        self.selector.unregister(connection)
        connection.close()

    def answer(self, connection, fields, state):
        command = fields["cmd"]
        say = lambda text: connection.sendall(text.encode() + b"\n")
        if command == "initack":
            rank = fields["pmiid"]
            say(f"cmd=initack rc=0\ncmd=set size={self.size}\ncmd=set rank={rank}\ncmd=set debug=0")
        elif command == "init":
            say("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0")
        elif command == "get_maxes":
            say("cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024")
        elif command == "get_appnum":
            say("cmd=appnum appnum=0")
        elif command == "get_universe_size":
            say(f"cmd=universe_size size={self.size}")
        elif command == "get_my_kvsname":
            say("cmd=my_kvsname kvsname=kvs")
        elif command == "put":
            self.values[fields["key"]] = fields["value"]
            say("cmd=put_result rc=0 msg=success")
        elif command == "get":
            say("cmd=get_result rc=0 msg=success value=" + self.values[fields["key"]])
        elif command == "barrier_in":
            self.in_barrier.append(connection)
            if len(self.in_barrier) == self.size:
                for each in self.in_barrier:
                    each.sendall(b"cmd=barrier_out rc=0\n")
                self.in_barrier = []
        elif command == "finalize":
            say("cmd=finalize_ack rc=0")
            if self.late:
                state["finalized"] = True
            else:
                self.drop(connection)
        elif command == "abort":
            pass  # this launcher lets everything end by itself
        else:
            sys.exit(f"other_launcher: what is cmd={command}?")


def main():
    way, size, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    server = Server(size, way == "late")
    listener = socket.create_server(("127.0.0.1", 0))
    ranks = {}
    for rank in range(size):
        environment = dict(os.environ)
        inherited = ()
        if way == "port":
            environment.update(PMI_PORT=f"127.0.0.1:{listener.getsockname()[1]}", PMI_ID=str(rank))
        else:
            ours, theirs = socket.socketpair()
            server.add(ours, rank)
            inherited = (theirs.fileno(),)
            environment.update(PMI_FD=str(theirs.fileno()), PMI_RANK=str(rank), PMI_SIZE=str(size))
        process = subprocess.Popen(command, env=environment, pass_fds=inherited)
        if inherited:
            theirs.close()
        ranks[os.pidfd_open(process.pid)] = (rank, process)
    server.selector.register(listener, selectors.EVENT_READ, "listener")
    for pidfd in ranks:
        server.selector.register(pidfd, selectors.EVENT_READ, "end")
    while ranks:
        for key, _ in server.selector.select():
            if key.data == "listener":
                server.add(listener.accept()[0], None)
            elif key.data == "end":
                rank, process = ranks.pop(key.fileobj)
                server.selector.unregister(key.fileobj)
                print(f"rank {rank} ended with {process.wait()}", flush=True)
            elif key.fileobj.fileno() >= 0:
                server.read(key.fileobj, key.data)


main()
