#!/usr/bin/env bash
# A hang explains itself: on --timeout, on SIGUSR1, and to `lapwing why`.
#
#   hangs.sh MPIEXEC LAPWING HANGS_PROGRAM
#
# How fast the ranks come to their places is not known, so each question is asked until the answer is the one wanted.
set -u

mpiexec=$1
lapwing=$2
program=$3
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"

job=
# start RANKS HOW [mpiexec options...]: in the background.
start() {
  local ranks=$1 how=$2
  shift 2
  "$mpiexec" "$@" -n "$ranks" "$program" "$how" >"$work/job.out" 2>"$work/job.err" </dev/null &
  job=$!
}
end() {
  kill -KILL "$job" 2>/dev/null
  wait "$job" 2>/dev/null
}
trap 'end; rm -rf "$work"' EXIT

# True when the answer has a line for each pattern.
answers() {
  local pattern
  "$lapwing" why "$job" >"$work/out" 2>"$work/err" || return 1
  for pattern in "$@"; do grep -qE -- "$pattern" "$work/out" || return 1; done
}
# explains NAME RANKS HOW pattern...
explains() {
  local name=$1 ranks=$2 how=$3
  shift 3
  start "$ranks" "$how"
  wait_until "$name" answers "$@"
  end
}

for transports in shm tcp; do
  for progress in thread polling; do
    export LAPWING_TRANSPORTS=$transports LAPWING_PROGRESS=$progress
    mode="$transports, $progress"
    explains "crossed receives, $mode" 2 crossed \
      'rank 0 \(pid [0-9]+\): in MPI_Recv for [0-9.]+ s: receive from rank 1, tag 7, MPI_COMM_WORLD, room for 4 bytes: no message yet' \
      'rank 0 waits for rank 1 \(MPI_Recv tag 7\), rank 1 waits for rank 0 \(MPI_Recv tag 7\): a cycle'
  done
done
unset LAPWING_PROGRESS

for transports in shm tcp; do
  export LAPWING_TRANSPORTS=$transports
  explains "a ring, $transports" 3 ring 'rank 0 waits for rank 1 .*rank 1 waits for rank 2 .*rank 2 waits for rank 0 .*a cycle'
  explains "another tag, $transports" 2 tags \
    '1 message that no receive has asked for' 'from rank 1, tag 8, MPI_COMM_WORLD, 4 bytes' \
    'rank 0 waits in MPI_Recv for a message with tag 7 .* it has one with tag 8'
  explains "all of three, $transports" 2 waitall \
    'in MPI_Waitall for [0-9.]+ s, until all of these are done' 'receive from rank 1, tag 4, .*no message yet' \
    'synchronous send to rank 1, tag 6, MPI_COMM_WORLD, 4 bytes: no receive matches yet' 'a cycle'
  explains "any source, $transports" 3 any 'receive from any rank, tag 9' 'a cycle'
  explains "a probe, $transports" 2 probe \
    "rank 0 .*in MPI_Probe for [0-9.]+ s: message from rank 1, any tag, 'the river' \\(context 0x[0-9a-f]+\\)" \
    'rank 1 .*in MPI_Comm_dup' 'a cycle'
  explains "an absent rank, $transports" 3 absent \
    'in MPI_Barrier for .*waits for rank ' 'rank 1 .*not in a call that waits' \
    'wait.* for rank 1, which is not in a call that waits'
  explains "two groups, $transports" 2 groups 'rank 0 .*in MPI_Gather for' 'waits for rank 1' 'wait.* for rank 1, which is not in a call that waits'
  explains "two threads, $transports" 2 threads 'in MPI_Recv .*tag 21' 'in MPI_Recv .*tag 22'
done
# Over tcp the ranks of these wait; in shared memory their posts meet, and the mismatch is an error.
for progress in thread polling; do
  export LAPWING_PROGRESS=$progress
  explains "mismatched collectives, $progress" 2 mixed \
    'mismatched collectives on MPI_COMM_WORLD: rank 1 is in MPI_Bcast with root 0, rank 0 is in MPI_Reduce with root 0' \
    'rank 0 waits for rank 1 \(MPI_Reduce\), rank 1 waits for rank 0 \(MPI_Bcast\): a cycle'
  explains "roots, $progress" 2 roots 'mismatched collectives .*rank 1 is in MPI_Bcast with root 0, rank 0 is in MPI_Bcast with root 1'
done
unset LAPWING_PROGRESS LAPWING_TRANSPORTS

explains "before MPI_Init" 2 early 'rank 0 .*in MPI_Init, until all ranks have called it' 'rank 1 .*has not called MPI_Init'
explains "in MPI_Finalize" 2 late 'rank 0 .*in MPI_Finalize, until all ranks have called it' 'rank 1 .*not in a call that waits'
explains "no MPI" 2 outside 'ranks 0, 1: outside MPI: has not called MPI_Init'

# A rank that is stopped cannot answer.
start 2 crossed
wait_until "a stopped rank: start" answers 'a cycle'
stopped=$(sed -n 's/.*rank 1 (pid \([0-9]*\)).*/\1/p' "$work/out")
kill -STOP "$stopped"
wait_until "a stopped rank" answers 'rank 1 .*does not answer \(the process is stopped\)'
kill -CONT "$stopped"
wait_until "a rank that goes on" answers 'a cycle'

# The list, and SIGUSR1.
listed() { "$lapwing" why >"$work/out" 2>"$work/err" && grep -qE "^ *$job  .*hangs" "$work/out"; }
wait_until "the list of jobs" listed
kill -USR1 "$job"
wait_until "SIGUSR1" grep -qE 'mpiexec: rank 0 waits for rank 1 .*a cycle' "$work/job.err"
kill -0 "$job" || fail "SIGUSR1: the job has ended"
end
"$lapwing" why "$job" >"$work/out" 2>"$work/err" && fail "a job that is gone: answered"
said "a job that is gone" "no mpiexec of yours with process id $job"
"$lapwing" why nonsense >"$work/out" 2>"$work/err" && fail "nonsense: accepted"

# A time limit, long enough for the ranks to come to where they hang; doubled where the machine needs longer.
for limit in 2 4 8 16 32; do
  timeout -k 1 60 "$mpiexec" --timeout $limit -n 2 "$program" crossed >"$work/out" 2>"$work/err" </dev/null
  [ $? -eq 124 ] || fail "time limit: exit code"
  grep -q "a cycle" "$work/err" && break
done
said "time limit" "did not end within $limit s and is being ended; its 2 ranks then:"
said "time limit" "rank 0 waits for rank 1 (MPI_Recv tag 7), rank 1 waits for rank 0 (MPI_Recv tag 7): a cycle"

finish hangs
