#!/usr/bin/env bash
# Ranks that fork, and ranks that end without a word while their launcher does nothing about it.
#
#   children.sh BUILD_FOLDER
set -u

build=$1
source "$(dirname "${BASH_SOURCE[0]}")/rank_helpers.sh"
printed() { grep -q -- "$2" "$work/out" || fail "$1: not printed: '$2'"; }

for transports in shm tcp; do
  export LAPWING_TRANSPORTS=$transports

  # A forked child that ends, whatever runs at its exit, takes nothing from its parent.
  for how in exit finalize call abort; do
    run "forked child, $how, $transports" 0 "$mpiexec" -n 2 "$program" fork $how
    [ "$how" != call ] || said "forked child, $how, $transports" "forked from a rank while MPI ran"
    [ "$how" != call ] || said "forked child, $how, $transports" "This process ends, because"
    [ "$how" != abort ] || said "forked child, $how, $transports" "ends with code 7, and the job goes on"
  done
  run "forked child between sessions, $transports" 0 "$mpiexec" -n 2 "$program" sessions

  # No other process ends the job: those that wait for the dead rank are told, and say what has become of it.
  for ranks in 2 4; do
    # Over TCP nothing is known of a process to which there is no connection: only rank 0 has one.
    [ $ranks$transports != 4tcp ] || continue
    for how in recv send barrier probe test; do
      name="$how from a killed rank, $ranks ranks, $transports"
      run "$name" 0 "$other" fd $ranks "$program" killed $how
      printed "$name" "rank 1 ended with -9"
      printed "$name" "rank 0 ended with 0"
      printed "$name" "rank 0 was told: .* has ended"
      [ $how = barrier ] || printed "$name" "rank 0 was told: .*rank 1"
    done
  done
  run "end while a forked child lives, $transports" 0 "$other" fd 2 "$program" orphan
  printed "end while a forked child lives, $transports" "rank 0 was told: .*rank 1.* has ended"
  kill "$(sed -n 's/^child \([0-9]*\) stays$/\1/p' "$work/out")" || fail "end while a forked child lives, $transports: no child"
  name="killed rank without an event thread, $transports"
  LAPWING_PROGRESS=polling run "$name" 0 "$other" fd 2 "$program" killed recv
  printed "$name" "rank 0 was told: .*rank 1.* has ended"
done

if [ "$failures" -ne 0 ]; then
  echo "$failures failures"
  exit 1
fi
echo "children: all as expected"
