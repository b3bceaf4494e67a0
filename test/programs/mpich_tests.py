#!/usr/bin/env python3
"""Runs the programs of MPICH's tests that have been built, by the lists that come with them, with the mpiexec in PATH.

    mpich_tests.py BUILD SOURCE [FOLDER...]

BUILD is where they were configured and built, SOURCE their test/mpi; folders are those of the lists (all that Lapwing has something for).
Says what failed and what of it printed; the last line counts. Ends with 0 when nothing failed that is not known to.
"""

import os
import subprocess
import sys
import time

FOLDERS = """attr coll comm datatype errhan group info init mpi_t part pt2pt topo threads/coll threads/comm threads/init threads/part threads/pt2pt
errors/attr errors/coll errors/comm errors/datatype errors/group errors/pt2pt errors/topo""".split()
LIMIT = 150  # seconds, for one program

KNOWN = {
    "a test's own mistake: handles kept in an int, which the standard ABI's do not fit": "coll/nonblocking2 coll/nonblocking3",
    "a test's own mistake: a message compared with MPI_REQUEST_NULL, which is another number in the standard ABI": """threads/pt2pt/mt_improbe_isendrecv threads/pt2pt/mt_improbe_sendrecv threads/pt2pt/mt_improbe_sendrecv_huge""",
    "MPICH's extensions: logical operations on floats, no type where nothing is sent": "coll/oplxor part/nonblocking_pready",
    "MPICH's reading: a grid without dimensions is rank 0's alone; which of two names of a type is the first": "topo/cartsuball datatype/typename",
    "sends cannot be cancelled, which the standard allows": "pt2pt/scancel pt2pt/pscancel pt2pt/cancelrecv pt2pt/scancel_unmatch",
    "windows and tool events are not built": "attr/keyval_double_free_win errors/attr/keyvalmis mpi_t/getindex",
    "expects every rank of a reduction to be told that another one's operation differs, not the root alone": "errors/coll/reduceop errors/coll/ireduceop",
    "not told: buffers that overlap, which it hangs on; sizes that differ in collectives that do not compare them": """errors/coll/noalias2 errors/coll/noalias3
        errors/coll/allgatherlength errors/coll/iallgatherlength errors/coll/alltoalllength errors/pt2pt/truncmsg2""",
    "expects that communicators run out": """errors/comm/too_many_comms errors/comm/too_many_icomms errors/comm/too_many_comms2 errors/comm/too_many_comms3
        errors/comm/too_many_icomms2""",
    "MPICH's reading: a communicator that was given no error handler of its own has that of MPI_COMM_WORLD, also where it was set later": """errors/comm/comm_create_nullarg
        errors/comm/comm_create_group_nullarg errors/comm/comm_split_nullarg errors/comm/comm_split_type_nullarg""",
}
REASONS = {name: reason for reason, names in KNOWN.items() for name in names.split()}


def read_list(path):
    """The lines of a list of tests: program, ranks, arguments, environment, how its end is judged, and its limit in seconds."""
    for line in open(path):
        words = line.split("#")[0].split()
        if not words:
            continue
        ranks, arguments, environment, judged, limit = 2, [], {}, "", LIMIT
        for word in words[1:]:
            key, _, value = word.partition("=")
            if word.isdigit():
                ranks = int(word)
            elif key == "arg":
                arguments.append(value)
            elif key == "env":
                environment.update([value.split("=", 1)])
            elif key == "resultTest":
                judged = value
            elif key == "timeLimit":
                limit = min(LIMIT, float(value))
        # What is to end at its limit has it; what is not, on a machine that may be slow, has more.
        yield words[0], ranks, arguments, environment, judged, limit if judged == "TestErrFatal" else LIMIT


def run(folder, program, ranks, arguments, environment, limit):
    """The exit code, None after so many seconds, and what was printed."""
    command = ["mpiexec", "-n", str(ranks), f"./{program}"] + arguments
    try:
        done = subprocess.run(command, cwd=folder, env={**os.environ, "MPIEXEC_TIMEOUT": str(int(limit)), **environment}, timeout=limit + 30, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except subprocess.TimeoutExpired:
        return None, f"no end within {limit} s"
    return done.returncode, done.stdout


def is_good(code, output, judged):
    says_so = "no errors" in output.lower()
    ends = {"TestStatus": code is not None, "TestStatusNoErrors": says_so, "TestErrFatal": code not in (0, None)}
    return ends.get(judged, code == 0 and says_so)


def main():
    build, source, *folders = sys.argv[1:]
    ran, failed, known, missing = 0, 0, 0, 0
    for folder in folders or FOLDERS:
        path = next((p for p in (f"{build}/{folder}/testlist", f"{source}/{folder}/testlist") if os.path.exists(p)), None)
        if path is None:
            sys.exit(f"{folder} has no list of tests")
        for program, ranks, arguments, environment, judged, limit in read_list(path):
            file = f"{build}/{folder}/{program}"
            if os.path.isdir(file):
                continue
            if not os.path.exists(file):
                print(f"missing: {folder}/{program} (not built)")
                missing += 1
                continue
            began = time.monotonic()
            code, output = run(f"{build}/{folder}", program, ranks, arguments, environment, limit)
            ran += 1
            good, reason = is_good(code, output, judged), REASONS.get(f"{folder}/{program}")
            word = "passed" if good else "known" if reason else "FAILED"
            print(f"{word}: {folder}/{program} {ranks} {' '.join(arguments)} {time.monotonic() - began:.1f} s{'' if good or not reason else ': ' + reason}", flush=True)
            known += not good and reason is not None
            failed += word == "FAILED"
            if word == "FAILED":
                print("    " + "\n    ".join(output.strip().split("\n")[:10]))
    print(f"{ran} runs, {failed} failed, {known} known to fail, {missing} programs not built")
    sys.exit(failed != 0)


main()
