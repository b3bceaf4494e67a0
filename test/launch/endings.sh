#!/usr/bin/env bash
# How jobs of MPI programs end: well, killed, aborted, with errors; no process is left (and with the last of them shared memory goes,
# which has no name), and the text names the rank.
#
#   endings.sh MPIEXEC ENDINGS_PROGRAM
set -u

mpiexec=$1
program=$2
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"

# A copy under a name of its own, so that leftovers are told from other tests' processes.
name=endings.$$
cp "$program" "$work/$name"
program=$work/$name

# The pattern does not match itself.
leftovers() { grep -las -- "ending[s].$$" /proc/[0-9]*/cmdline; }
nobody_left() {
  for _ in $(seq 100); do
    [ -n "$(leftovers)" ] || break
    read -rt 0.05 <> <(:) || true
  done
  [ -z "$(leftovers)" ] || fail "$1: left behind: $(leftovers)"
}

# run NAME EXPECTED_CODE command...: unlike that of helpers.sh it takes a whole command, and looks for what is left.
run() {
  local name=$1 expected=$2
  shift 2
  timeout 30 "$@" >"$work/out" 2>"$work/err" </dev/null
  local code=$?
  [ "$code" -eq "$expected" ] || fail "$name: exit code $code instead of $expected"
  nobody_left "$name"
}

# A collective call that meets no other, seen where memory is shared.
LAPWING_TRANSPORTS=shm run "a broadcast alone" 16 "$mpiexec" -n 3 "$program" alone
said "a broadcast alone" "rank 0 is in MPI_Bcast(root 0, 4 bytes), rank . in no collective call, on MPI_COMM_WORLD"

for transports in shm tcp; do
  export LAPWING_TRANSPORTS=$transports
  run "well, $transports" 0 "$mpiexec" -n 3 "$program" ok
  for rank in 0 2; do
    run "rank $rank killed, $transports" 137 "$mpiexec" -n 3 "$program" killed $rank
    said "rank $rank killed, $transports" "rank $rank of 3 .*killed by SIGKILL"
  done
  run "abort, $transports" 9 "$mpiexec" -n 3 "$program" abort 1 9
  said "abort, $transports" "rank 1 of 3 .*MPI_Abort with code 9"
  [ "$(wc -l <"$work/err")" -eq 2 ] || fail "abort, $transports: told more than once"
  run "exit inside MPI, $transports" 4 "$mpiexec" -n 3 "$program" exit 1 4
  said "exit inside MPI, $transports" "rank 1 of 3"
  timeout 30 "$mpiexec" -n 2 "$program" fatal 1 >"$work/out" 2>"$work/err" </dev/null
  [ $? -ne 0 ] || fail "fatal error, $transports: exit code 0"
  nobody_left "fatal error, $transports"
  said "fatal error, $transports" "rank 1 of 2"
  said "fatal error, $transports" "MPI_Send"
  [ "$(grep -c "MPI_Send" "$work/err")" -eq 1 ] || fail "fatal error, $transports: told more than once"
  run "second failure, $transports" 19 "$mpiexec" -n 2 "$program" second 1
  said "second failure, $transports" "MPI_Waitall: the message from rank 0 with tag 1 has 2 bytes"
  run "code after MPI_Finalize, $transports" 6 "$mpiexec" -n 2 "$program" late 6
done
unset LAPWING_TRANSPORTS

# A thread that waits for input holds up no end.
mkfifo "$work/input"
exec 9<>"$work/input"
timeout 30 "$mpiexec" -n 2 "$program" reading 0 9 >"$work/out" 2>"$work/err" <"$work/input"
[ $? -eq 9 ] || fail "abort while a thread reads"
nobody_left "abort while a thread reads"

# What starts mpiexec may ignore signals. The end of a rank is seen all the same, and under nohup a terminal that is closed does nothing.
run "SIGCHLD ignored" 0 bash -c 'trap "" CHLD; exec "$@"' bash "$mpiexec" -n 2 "$program" ok
(
  trap "" HUP
  exec "$mpiexec" -timeout 30 -n 2 bash -c 'echo here; read -r <"$1"' bash "$work/input" # the command timeout would take the signals
) >"$work/out" 2>"$work/err" </dev/null &
job=$!
here() { [ "$(grep -c here "$work/out")" -eq 2 ]; }
wait_until "SIGHUP ignored: the ranks" here
for _ in 1 2 3; do kill -HUP $job; done
printf '\n\n' >&9
wait $job
[ $? -eq 0 ] || fail "SIGHUP ignored"
exec 9>&-

# All ranks make the same error, while mpiexec is stopped: one block, behind what its rank has written, and the number of the others.
everyone() { # NAME mpiexec's arguments...
  local name=$1
  shift
  rm -f "$work/go" "$work/out"
  "$mpiexec" "$@" "$program" everyone "$work/go" >"$work/out" 2>&1 </dev/null &
  job=$!
  wait_until "$name: all ranks have met" grep -qs ready "$work/out"
  kill -STOP $job
  touch "$work/go"
  wait_until "$name: the ranks have ended" none_runs
  kill -CONT $job
  wait $job
  code=$?
  [ $code -eq 6 ] || fail "$name: exit code $code instead of 6"
  nobody_left "$name"
}
none_runs() { # of the ranks, which are children that mpiexec has not been told of yet
  local process
  for process in /proc/[0-9]*/cmdline; do
    case $(2>/dev/null tr '\0' ' ' <"$process") in "$program everyone "*) return 1 ;; esac
  done
}
blocks() { grep -c "fatal error at rank" "$@"; }
everyone "the same error" -n 4
[ "$(blocks "$work/out")" -eq 1 ] || fail "the same error: more than one block"
grep -qx "mpiexec: 3 other ranks ended with the same error" "$work/out" || fail "the same error: how many"
grep -q "MPI_Abort" "$work/out" && fail "the same error: MPI_Abort, which no rank has called"
first=$(grep -oE "fatal error at rank [0-9]" "$work/out")
sed "/fatal error/q" "$work/out" | grep -q "${first#fatal error at } was here" || fail "the same error: the program's output stands behind the block"

# The rank that finds a loss waits for another one, which has only heard of it: what was found stands below that one's error. No time counts here.
# Where connections resume, the rank that has closed its own may make another.
run "overheard" 58 env LAPWING_TRANSPORTS=tcp LAPWING_RESUME=off LAPWING_PEER_TIMEOUT=600 "$mpiexec" -n 3 "$program" overheard
[ "$(blocks "$work/err")" -eq 1 ] || fail "overheard: not one block"
said "overheard" "fatal error at rank 0 of 3"
said "overheard" "rank 2 on host .* is lost, as rank 1 on host .* says"
said "overheard" "^  rank 1 found it: rank 1 on host .* lost its connection to rank 2 on host .*That process has ended"

# Where each rank's errors have a file, each rank's block stands there.
everyone "files for errors" -errfile-pattern "$work/errors.%r" -n 3
[ "$(cat "$work"/errors.* | blocks)" -eq 3 ] || fail "files for errors: the blocks"

# What LAPWING_LOG=info says about the start, and of each peer.
run "log" 0 env LAPWING_LOG=info "$mpiexec" -n 2 "$program" ok
said "log" "rank 0: Lapwing [0-9].*, 2 ranks, started by Lapwing's mpiexec"
said "log" "rank 0: transports self,shm,tcp; progress by the event thread; messages of up to 512k (shm)"
said "log" "rank 1: process [0-9]* on host .* processors [0-9]"
said "log" "rank 1: rank 0 on host .*: reached by shm; messages of up to 524288 bytes"
run "log, tcp" 0 env LAPWING_LOG=info LAPWING_TRANSPORTS=tcp "$mpiexec" -n 2 "$program" ok
said "log, tcp" "rank 0: rank 1 on host .*: reached by tcp, because LAPWING_TRANSPORTS leaves out shm"
said "log, tcp" "rank 0: rank 1 on host .*: connected by tcp, at [0-9.:]*"
run "no log" 0 "$mpiexec" -n 2 "$program" ok
[ ! -s "$work/err" ] || fail "no log: something is said"

# Without a launcher: one process, alone.
run "alone" 0 "$program" ok
run "alone, abort" 3 "$program" abort 0 3
run "alone, abort with no code of eight bits" 1 "$program" abort 0 256

# Settings that are wrong end the program at its start, with a word about what is meant.
timeout 30 env LAPWING_PROGES=polling "$program" ok >"$work/out" 2>"$work/err" && fail "misspelt setting: accepted"
said "misspelt setting" "LAPWING_PROGRESS"
timeout 30 env LAPWING_TRANSPORTS=pigeon "$program" ok >"$work/out" 2>"$work/err" && fail "unknown transport: accepted"
said "unknown transport" "pigeon"
timeout 30 env LAPWING_UNEXPECTED_LIMIT=lots "$program" ok >"$work/out" 2>"$work/err" && fail "malformed size: accepted"
said "malformed size" "LAPWING_UNEXPECTED_LIMIT"

finish endings
