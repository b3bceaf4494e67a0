#!/usr/bin/env bash
# LAPWING_STATS=1: one block per rank and one for all of them, which is the sum.
#
#   statistics.sh MPIEXEC PROGRAM        (PROGRAM exchanges messages between all ranks and ends well)
set -u

mpiexec=$1
program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
die() {
  echo "FAILED: $1"
  sed 's/^/    /' "$work/log"
  exit 1
}

# numbers WHOSE TEXT: the number before TEXT in the lines of WHOSE, one per line.
numbers() { sed -n "s/^lapwing: $1: \(.*[ ,:]\)\{0,1\}\([0-9]*\) $2.*/\2/p" "$work/log"; }

for transport in shm tcp; do
  LAPWING_STATS=1 LAPWING_TRANSPORTS=self,$transport timeout 60 "$mpiexec" -n 3 "$program" >"$work/log" 2>&1 || die "the program over $transport"
  for rank in 0 1 2; do
    [ "$(grep -c "^lapwing: rank $rank: " "$work/log")" -eq 5 ] || die "the block of rank $rank over $transport"
  done
  [ "$(grep -c "^lapwing: all 3 ranks: " "$work/log")" -eq 5 ] || die "the block of all ranks over $transport"
  for text in "messages sent" "bytes moved" "waits slept" "wake-ups" "system calls" "recvmsg,"; do
    sum=$(numbers "rank [0-9]*" "$text" | awk '{ sum += $1 } END { print sum }')
    [ -n "$sum" ] && [ "$(numbers "all 3 ranks" "$text")" = "$sum" ] || die "'$text' of all ranks over $transport: not $sum"
  done
  [ "$(numbers "all 3 ranks" "messages sent")" -gt 0 ] || die "no message was counted over $transport"
done
for text in "through shared memory" "trials of other paths" "connections resumed" "records wrong" "detours begun"; do
  [ -n "$(numbers "all 3 ranks" "$text")" ] || die "no word of '$text'"
done
[ "$(numbers "all 3 ranks" "sendmsg,")" -gt 0 ] || die "no system call was counted for what TCP sent"

# A rank that has no statistics leaves the others with theirs.
LAPWING_TRANSPORTS=self,tcp timeout 60 "$mpiexec" -n 1 env LAPWING_STATS=1 "$program" : -n 1 "$program" >"$work/log" 2>&1 || die "one of two ranks"
[ "$(grep -c "^lapwing: rank 0: " "$work/log")" -eq 5 ] && ! grep -q "all 2 ranks" "$work/log" || die "the block of one of two ranks"

timeout 60 "$mpiexec" -n 2 "$program" >"$work/log" 2>&1 || die "without statistics"
[ ! -s "$work/log" ] || die "statistics that were not asked for"
echo "statistics: all as expected"
