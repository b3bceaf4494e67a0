#!/usr/bin/env bash
# Shared memory that a container or a limit refuses: the job goes on over TCP, all ranks alike, and one line says why. Where
# TCP may not be used either, the job ends at once and says what is refused. Over TCP on one host, which needs no network, one
# that is named and is not there is told all the same.
#
#   without_shm.sh MPIEXEC CONFINE PROGRAM
set -u

mpiexec=$1
confine=$2
program=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
# No case may wait for a deadline: this one is longer than the test may take.
export LAPWING_CONNECT_TIMEOUT=10000

"$confine" memfd true
case $? in
  0) ;;
  77) echo "skipped: the kernel takes no seccomp filter" && exit 77 ;;
  *) echo "confine does not work" && exit 1 ;;
esac

# expect NAME ok|fails TEXT mpiexec's arguments...
expect() {
  local name=$1 expected=$2 text=$3
  shift 3
  "$mpiexec" "$@" >"$work/out" 2>"$work/err" </dev/null
  local code=$?
  local said
  said=$(grep -c -- "$text" "$work/err")
  local outcome=fails
  [ "$code" -ne 0 ] || outcome=ok
  { [ "$outcome" = "$expected" ] && [ "$said" -gt 0 ]; } && return
  echo "FAILED: $name: exit code $code (expected: $expected), '$text' in $said lines"
  sed 's/^/    /' "$work/out" "$work/err"
  failures=$((failures + 1))
}
once() { [ "$(grep -c "$1" "$work/err")" -eq 1 ] || { echo "FAILED: not said once: $1"; failures=$((failures + 1)); }; }
small_files() { echo "ulimit -f 8; exec \"\$@\""; }

export LAPWING_TRANSPORTS=self,shm,tcp
without="going on without transport shm"
expect "no memfd anywhere" ok "$without.*cannot create shared memory" -n 3 "$confine" memfd "$program"
once "$without"
expect "no local sockets anywhere" ok "$without" -n 3 "$confine" unix "$program"
once "$without"
expect "no local sockets for one rank" ok "rank 1: $without" -n 1 "$program" : -n 1 "$confine" unix "$program" : -n 2 "$program"
once "$without"
expect "no segment for the leader" ok "rank 0: $without" -n 1 "$confine" segment "$program" : -n 2 "$program"
expect "no segment for another" ok "rank 0: $without.*a rank of this host cannot use" -n 1 "$program" : -n 1 "$confine" segment "$program" : -n 1 "$program"
once "$without"
expect "a limit of files" ok "$without.*ulimit -f" -n 3 bash -c "$(small_files)" bash "$program"
once "$without"

LAPWING_TRANSPORTS=self,tcp LAPWING_TCP_INTERFACE=eth7,10.250.0.0/30 expect "a network that is not there" ok "matches no network interface.*need none" -n 3 "$program"
once "matches no network interface"

export LAPWING_TRANSPORTS=self,shm
expect "no memfd and no TCP" fails "cannot create shared memory" -n 2 "$confine" memfd "$program"
expect "no local sockets and no TCP" fails "cannot open a socket" -n 2 "$confine" unix "$program"
expect "no segment for another and no TCP" fails "cannot map [0-9]* bytes of shared memory" -n 1 "$program" : -n 1 "$confine" segment "$program"

[ "$failures" -eq 0 ] && echo "without shared memory: all as expected"
exit $((failures > 0))
