#!/usr/bin/env bash
# loss.sh BUILD [LOSSES [TURNS [SECONDS [TRANSPORTS...]]]]: what long messages (streams.c) reach between two hosts at 1 Gbit/s where both ports of the
# switch lose so many percent of the packets ("0 0.1 1 5"), by each list of transports, by turns. A measurement: a quiet machine, and no test.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
losses=${2:-0 0.1 1 5} turns=${3:-3} seconds=${4:-2}
ways=("${@:5}")
[ ${#ways[@]} -gt 0 ] || ways=(self,shm,ether self,shm,ether,tcp self,shm,tcp)

lab up 2 --rate 1gbit || die "lab up"
for host in h1 h2; do
  ip netns exec "$LAB-$host" "$here/offloads.py" eth0
  ip netns exec "$LAB-switch" "$here/offloads.py" $host
done
for loss in $losses; do
  losers=()
  for host in h1 h2; do
    ip netns exec "$LAB-switch" "$here/xdp_program.py" $host "$loss" >"$work/$host.loser" &
    losers+=($!)
    wait_until "loss at $host" grep -q attached "$work/$host.loser"
  done
  for _ in $(seq "$turns"); do
    for way in "${ways[@]}"; do
      LAPWING_TRANSPORTS=$way on "h1 h2" "$build/test/lab/streams" "$seconds" || die "$way at $loss %"
      echo "$loss % $way $(tr '\n' ' ' <"$work/log")"
    done
  done
  kill "${losers[@]}"
  wait "${losers[@]}" 2>/dev/null
done
