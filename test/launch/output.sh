#!/usr/bin/env bash
# What becomes of a job when its output is not taken, and of the processes around mpiexec that are not its own.
#
#   output.sh MPIEXEC PMI_PROBE
set -u

mpiexec=$1
probe=$2
. "$(dirname "$0")/helpers.sh"

# A pipe that is full, and whose only reader, this shell, does not read.
mkfifo "$work/stuck"
exec 9<>"$work/stuck"
dd if=/dev/zero of="$work/stuck" bs=4096 oflag=nonblock 2>/dev/null

# stuck NAME EXPECTED_CODE arguments...: standard output goes into that pipe.
stuck() {
  local name=$1 expected=$2
  shift 2
  timeout -k 1 60 "$mpiexec" "$@" >"$work/stuck" 2>"$work/err" </dev/null
  local code=$?
  [ "$code" -eq "$expected" ] || fail "$name: exit code $code instead of $expected"
}

# -- a reader that has stopped
stuck "time limit" 124 --timeout 1 -n 2 yes stuck-1-$$
said "time limit" "did not end within 1 s"
wait_until "time limit: ranks are left" gone "^yes.stuck-[1].$$"
stuck "dead rank" 5 -n 2 sh -c 'if [ $PMI_RANK = 0 ]; then echo; : >'"$work"'/written; exec yes; fi
  while [ ! -e '"$work"'/written ]; do :; done; exit 5'
said "dead rank" "rank 1 of 2 .* exited with code 5"
stuck "abort" 7 -n 2 sh -c '[ $PMI_RANK = 1 ] || echo stuck; exec "$0" abort 1 7' "$probe"
said "abort" "rank 1 of 2 .* MPI_Abort with code 7"
# PMI is served, and so are signals.
"$mpiexec" -n 2 sh -c 'echo stuck; "$0" exchange >/dev/null && exec yes stuck-2-'$$ "$probe" >"$work/stuck" 2>"$work/err" &
job=$!
wait_until "SIGTERM: the exchange is not done" alive "^yes.stuck-[2].$$" 2
kill -TERM $job
wait $job
[ $? -eq 143 ] || fail "SIGTERM: exit code"
said "SIGTERM" "standard output has stopped reading; [0-9]* bytes .* lost"
said "SIGTERM" "passing SIGTERM .* on to all ranks; once more, and they are killed"
wait_until "SIGTERM: ranks are left" gone "^yes.stuck-[2].$$"

# All ranks have ended well: mpiexec waits for its reader, until it is told not to.
"$mpiexec" -n 2 sh -c 'echo last words; : >'"$work"'/ended.$PMI_RANK' >"$work/stuck" 2>"$work/err" &
job=$!
wait_until "waiting for the reader: start" test -e "$work/ended.0" -a -e "$work/ended.1"
kill -INT $job
wait $job
[ $? -eq 130 ] || fail "waiting for the reader: exit code"

# -- a reader that takes its time
"$mpiexec" -n 4 sh -c ': >'"$work"'/slow.$PMI_RANK; seq 200000' 2>"$work/err" | {
  while [ ! -e "$work/slow.3" ]; do :; done
  sort -n | uniq -c | awk '$1 != 4 { exit 1 } END { if (NR != 200000) exit 1 }'
} || fail "a slow reader: lines are missing"
run "much output at the end" 0 -n 4 sh -c 'seq 200000'
[ "$(wc -l <"$work/out")" -eq 800000 ] || fail "much output at the end: lines are missing"
: >"$work/out"

# -- a second wish
"$mpiexec" -n 2 sh -c 'trap "" INT; echo >'"$work"'/deaf.$PMI_RANK; while :; do sleep 0.05; done' >/dev/null 2>"$work/err" &
job=$!
wait_until "deaf to SIGINT: start" test -e "$work/deaf.0" -a -e "$work/deaf.1"
kill -INT $job
wait_until "deaf to SIGINT: announcement" grep -q "passing SIGINT .* once more, and they are killed" "$work/err"
kill -INT $job
wait $job
[ $? -eq 130 ] || fail "deaf to SIGINT: exit code"
said "deaf to SIGINT" "killing all ranks"

# -- a rank that not even SIGKILL ends, because a debugger holds it and does not look
if command -v python3 >/dev/null; then
  "$mpiexec" -n 2 sh -c 'echo $$ >'"$work"'/held.$PMI_RANK; while [ ! -e '"$work"'/seized ]; do sleep 0.05; done
    [ $PMI_RANK = 1 ] && exit 5; exec sleep 1000' >"$work/out" 2>"$work/err" &
  job=$!
  wait_until "held rank: start" test -s "$work/held.0"
  python3 - "$(cat "$work/held.0")" "$work" <<'PYTHON' &
import ctypes, sys, time
seized = ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), None, None) == 0  # PTRACE_SEIZE
open(sys.argv[2] + "/seized", "w").write(str(seized))
time.sleep(1000)
PYTHON
  debugger=$!
  wait_until "held rank: debugger" test -s "$work/seized"
  wait $job
  [ $? -eq 5 ] || fail "held rank: exit code"
  ! grep -q True "$work/seized" || said "held rank" "rank 0 of 2 .* was killed and does not end"
  kill $debugger
fi

# -- no room
timeout -k 1 60 "$mpiexec" -n 2 sh -c 'echo hello; sleep 1000' >/dev/full 2>"$work/err"
[ $? -eq 1 ] || fail "no room: exit code"
[ "$(grep -c "cannot write to standard output: No space left on device" "$work/err")" -eq 1 ] || fail "no room: not told once"
! grep -q SIGPIPE "$work/err" || fail "no room: SIGPIPE"
timeout -k 1 60 "$mpiexec" -n 2 echo hello >/dev/full 2>"$work/err"
[ $? -eq 1 ] || fail "no room at the end: exit code"
said "no room at the end" "No space left on device"
run "both into one file" 0 -n 1 bash -c '"$0" -n 8 bash -c "for i in {1..500}; do echo rank out; echo rank err >&2; done" 2>&1' "$mpiexec"
[ "$(grep -cE '^rank (out|err)$' "$work/out")" -eq 8000 ] || fail "both into one file: mixed or lost"

# -- children that mpiexec has from before: this one says "whole" after the end of its input, which is the end of mpiexec
bash -c 'exec > >(cat >"$1/log"; echo whole >"$1/whole"); exec "$0" -n 2 sh -c "echo line; setsid sleep 7654331 & :"' \
  "$mpiexec" "$work" 2>"$work/err" || fail "inherited child: exit code"
wait_until "inherited child: killed" test -s "$work/whole"
[ "$(grep -c '^line$' "$work/log")" -eq 2 ] || fail "inherited child: lines are missing"
wait_until "inherited child: the ranks' own are left" gone "765433[1]"

# -- a number that comes again: rank 0's group has emptied, and a process of this shell is to have its number. Needs a
# world of its own, where the next number can be chosen.
if unshare --pid --fork --mount-proc true 2>/dev/null; then
  mkfifo "$work/go"
  unshare --pid --fork --mount-proc bash -u -c '
    "$0" -n 2 sh -c "echo \$\$ >$1/pid.\$PMI_RANK; if [ \$PMI_RANK = 0 ]; then sleep 7654332 & exit 0; fi; read line <$1/go" &
    job=$!
    until [ -s "$1/pid.0" ] && child=$(pgrep -x -f "sleep 7654332"); do :; done
    rank=$(<"$1/pid.0")
    while [ -e "/proc/$rank" ] && ! grep -q "^State:.Z" "/proc/$rank/status"; do :; done
    kill -KILL "$child"
    while [ -e "/proc/$child" ]; do :; done
    echo $((rank - 1)) >/proc/sys/kernel/ns_last_pid
    setsid sleep 7654333 &
    victim=$!
    echo >"$1/go"
    wait $job
    kill -0 $victim && grep -q "^State:.[^Z]" /proc/$victim/status
  ' "$mpiexec" "$work" >"$work/out" 2>"$work/err" || fail "a number that comes again: a stranger was killed"
fi

finish output
