#!/usr/bin/env python3
"""A launcher (PMI-1) that plays a trick: the ranks of its second job get the cards of the first job's ranks, so that they knock at
doors of a job whose secret they do not have.

    two_launchers.py LAB STOP_FILE STEADY HALO

Expects that the second job fails with a word that says which rank it could not reach, and that the first never notices.
"""
import os
import socket
import subprocess
import sys
import threading

RANKS = 2


class Job:
    def __init__(self, host, command, cards_of=None):
        self.values, self.cards_of = {}, cards_of
        self.barrier = threading.Barrier(RANKS)
        self.complete = threading.Event()  # all cards are here
        self.processes, self.threads = [], []
        for rank in range(RANKS):
            ours, theirs = socket.socketpair()
            environment = dict(os.environ, PMI_FD=str(theirs.fileno()), PMI_RANK=str(rank), PMI_SIZE=str(RANKS),
                               LAPWING_TRANSPORTS="self,tcp")
            self.processes.append(subprocess.Popen([lab, "exec", host] + command, env=environment,
                                                   pass_fds=[theirs.fileno()], stderr=subprocess.PIPE, text=True))
            theirs.close()
            self.threads.append(threading.Thread(target=self.serve, args=(ours,), daemon=True))
            self.threads[-1].start()

    def serve(self, connection):
        stream = connection.makefile("rw", newline="\n", encoding="latin-1")
        try:
            for line in stream:
                words = dict(word.rstrip("\n").split("=", 1) for word in line.split(" ") if word)
                stream.write(self.answer(words) + "\n")
                stream.flush()
        except OSError:
            pass  # that rank has ended

    def answer(self, words):
        command = words["cmd"]
        if command == "init":
            return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"
        if command == "get_maxes":
            return "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024"
        if command == "get_appnum":
            return "cmd=appnum appnum=0"
        if command == "get_universe_size":
            return f"cmd=universe_size size={RANKS}"
        if command == "get_my_kvsname":
            return "cmd=my_kvsname kvsname=space"
        if command == "put":
            self.values[words["key"]] = words["value"]
            return "cmd=put_result rc=0"
        if command == "barrier_in":
            # Of an earlier barrier one rank may have put its card already when the other's thread comes here.
            if self.barrier.wait() == 0 and sum("card" in key for key in list(self.values)) == RANKS:
                self.complete.set()
            return "cmd=barrier_out"
        if command == "get":
            source = self
            if self.cards_of is not None and "card" in words["key"]:
                self.cards_of.complete.wait(20)
                source = self.cards_of
            value = source.values.get(words["key"])
            return f"cmd=get_result rc=0 value={value}" if value is not None else "cmd=get_result rc=-1"
        return "cmd=finalize_ack"

    def wait(self):
        texts = [process.communicate(timeout=40)[1] for process in self.processes]
        return [process.returncode for process in self.processes], "".join(texts)


lab, stop, steady, halo = sys.argv[1:5]
honest = Job("h1", [steady, stop])
impostor = Job("h2", [halo], cards_of=honest)
codes, text = impostor.wait()
print(f"impostors ended with {codes}:\n{text}")
failed = 0 in codes or "cannot reach" not in text
with open(stop, "w"):
    pass
codes, text = honest.wait()
print(f"honest ranks ended with {codes}:\n{text}")
sys.exit(failed or codes != [0, 0] or text != "")
