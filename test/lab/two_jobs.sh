#!/usr/bin/env bash
# Jobs on the same hosts do not mix: several at the same time, on the same few ports, and one that is led to another's ranks.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

lab up 2 || die "lab up"

export LAPWING_TCP_PORTS=47000-47020
jobs=()
for number in 1 2 3; do
  (on "h1 h2" "$build/test/lab/steady" "$work/stop") 2>&1 &
  jobs+=($!)
done
wait_until "messages" test -e "$work/stop.started"
touch "$work/stop"
for job in "${jobs[@]}"; do wait "$job" || die "one of three jobs"; done
unset LAPWING_TCP_PORTS

python3 "$here/two_launchers.py" "$here/lab" "$work/halt" "$build/test/lab/steady" "$programs/halo" >"$work/log" 2>&1 ||
  die "a job led to another's ranks"
echo "two jobs: all as expected"
