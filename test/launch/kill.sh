#!/usr/bin/env bash
# A rank is killed with SIGKILL at any moment of any MPI program: mpiexec says which, all ranks end, no process is left (and with
# the last of them shared memory goes, which has no name).
#
#   kill.sh BUILD_FOLDER [tries]
#
# A program that ends before the blow falls is none the worse for it. "steady" never ends by itself, so there it always falls.
set -u

build=$1
tries=${2:-1}
mpiexec=$build/launch/mpiexec
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
token=$$-$RANDOM # in the environment of the job and of no other
slowest=0

die() {
  echo "FAILED: $1"
  sed 's/^/    /' "$work/log"
  exit 1
}
ours() { grep -lsz "^KILL_TEST_TOKEN=$token$" /proc/[0-9]*/environ | xargs -r -n 1 dirname | xargs -r -n 1 basename; }
rank_process() { # RANK: the process id, when it has become the program
  local pid
  for pid in $(ours); do
    grep -qsz "^PMI_RANK=$1$" "/proc/$pid/environ" && [ "$(readlink "/proc/$pid/exe")" = "$program" ] && echo "$pid" && return 0
  done
  return 1
}

# strike PROGRAM TRANSPORT VICTIM DELAY [arguments]: the exit code is left in $code.
strike() {
  program=$(readlink -f "$1")
  local transport=$2 victim=$3 delay=$4 job pid= begin
  shift 4
  KILL_TEST_TOKEN=$token LAPWING_TRANSPORTS=self,$transport "$mpiexec" -n 4 "$program" "$@" >"$work/log" 2>&1 </dev/null &
  job=$!
  while kill -0 $job 2>/dev/null && ! pid=$(rank_process "$victim"); do :; done
  sleep "$delay"
  begin=$(date +%s%N)
  [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null
  wait $job
  code=$?
  local took=$((($(date +%s%N) - begin) / 1000000))
  if [ "$code" -eq 137 ] && [ "$took" -gt "$slowest" ]; then slowest=$took; fi
  case $code in
    0) ;;
    137) grep -q "rank $victim of 4 .* killed by SIGKILL" "$work/log" || die "$program, $transport: which rank was killed is not told" ;;
    *) die "$program, $transport: exit code $code" ;;
  esac
  for _ in $(seq 100); do
    [ -n "$(ours)" ] || return 0
    sleep 0.02
  done
  ps -f -p "$(ours | paste -sd,)" >>"$work/log"
  die "$program, $transport: a process is left"
}

for try in $(seq "$tries"); do
  for transport in shm tcp; do
    strike "$build/test/lab/steady" $transport $((try % 4)) 0.3 "$work/never" 60
    [ "$code" -eq 137 ] || die "steady over $transport ended by itself"
    for name in halo messages collectives communicators intercommunicators topologies objects; do
      strike "$build/test/mpi/$name" $transport $(((try + RANDOM) % 4)) "0.0$((RANDOM % 10))"
    done
  done
done
echo "kill: all as expected; the slowest end took $slowest ms"
