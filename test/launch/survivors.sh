#!/usr/bin/env bash
# Jobs that go on when a rank is killed (mpiexec -disable-auto-cleanup): every operation that needs the rank tells of it, on every survivor.
#
#   survivors.sh MPIEXEC SURVIVORS_PROGRAM
set -u

mpiexec=$1
program=$2
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"

# lose EXPECTED_CODE WAY LOST [silent | midway]: the exit code is that of the first bad end.
lose() {
  local expected=$1
  shift
  timeout 60 "$mpiexec" -disable-auto-cleanup -n 5 "$program" "$@" >"$work/err" 2>&1 </dev/null
  local code=$?
  [ "$code" -eq "$expected" ] || fail "$name $*: exit code $code instead of $expected"
  [ "$(grep -c "rank $2 of 5 .* was killed by SIGKILL (Killed); the other ranks go on" "$work/err")" -eq 1 ] ||
    fail "$name $*: the end of rank $2 is not told once"
}

collectives="barrier bcast allreduce alltoall ibarrier ibcast iallreduce persistent several"
ways="recv any probe iprobe send waitall $collectives"

# The letters are hosts: only tcp leads from one to another.
for name in shm tcp hosts polling; do
  unset LAPWING_TRANSPORTS LAPWING_INTERNAL_HOSTS LAPWING_PROGRESS
  case $name in
    shm | tcp) export LAPWING_TRANSPORTS=$name ;;
    hosts) export LAPWING_INTERNAL_HOSTS=aabbb ;;
    polling) export LAPWING_PROGRESS=polling ;;
  esac
  for way in $ways; do
    lose 137 "$way" 2
    lose 137 "$way" 0 silent
  done
  for way in $collectives; do
    lose 137 "$way" 1 midway
  done
  lose 137 half 2
  lose 137 fatal 2
  [ "$(grep -c "fatal error at rank [0134] of 5" "$work/err")" -eq 1 ] || fail "$name fatal: who ended the job"
  grep -q "MPI_Recv.*rank 2" "$work/err" || fail "$name fatal: why"
done

finish survivors
