#!/usr/bin/env bash
# A switch that begins to drop the EtherType in the middle of a job, and lets them through again: the packets take a detour by TCP, and come back; every byte is
# checked. Where TCP leads nowhere either the job ends, as without a detour. So it goes with an interface that is down, a network that fails in one direction, and a
# connection that breaks while it is the detour; with an interface that is taken away there is no return. A rank that is killed meanwhile ends the job.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

export LAPWING_LOG=info
lab up 2 || die "lab up"
LAPWING_TRANSPORTS=self,shm,ether,tcp on "h1 h2" "$programs/halo" || die "halo"
grep -q "reached by ether" "$work/log" || {
  grep -m 1 "without transport ether" "$work/log"
  echo "skipped: raw Ethernet cannot be had here"
  exit 77
}

cut_off() {
  ip netns exec "$LAB-switch" "$here/drop_type.py" --until-killed 0x88b5 h1 h2 >"$work/dropping" &
  dropping=$!
  wait_until "the switch drops it" grep -q dropping "$work/dropping"
}
let_through() {
  kill "$dropping"
  wait "$dropping" 2>/dev/null
}
detours() { grep -c "packets take a detour by tcp" "$work/log"; }
returns() { grep -c "packets leave the detour by tcp" "$work/log"; }
both_took() { [ "$(detours)" -ge $((2 * $1)) ]; }
both_returned() { [ "$(returns)" -ge $((2 * $1)) ]; }

# Twice there and back, with data under way.
detour() { # NAME SEED SETTING...
  local name=$1 seed=$2 turn
  shift 2
  rm -f "$work/enough"
  start "h1 h2" env "$@" "$programs/soak" "$seed" "$work/enough"
  wait_until "operations" grep -q " operations$" "$work/log"
  for turn in 1 2; do
    cut_off
    wait_until "$name: both on the detour, $turn" both_took $turn
    sleep 1
    let_through
    wait_until "$name: both back, $turn" both_returned $turn
    sleep 0.5
  done
  touch "$work/enough"
  wait $job || die "$name"
  numbers=$(sed -n 's/^lapwing: rank [01]: .* \([0-9]*\) detours begun, \([0-9]*\) ended, \([0-9]*\) packets by them$/\1 \2 \3/p' "$work/log" |
    awk '{ begun += $1; ended += $2; packets += $3 } END { print begun, ended, packets }')
  read -r begun ended packets <<<"$numbers"
  [ "$begun" = "$(detours)" ] && [ "$ended" = "$(returns)" ] && [ "$packets" -gt 0 ] || die "$name: counted are '$numbers'"
}
export LAPWING_STATS=1
export LAPWING_ETHER_FRAMING=raw LAPWING_TRANSPORTS=self,shm,ether,tcp
detour "long messages by TCP" 71 LAPWING_RECEIVE=user
detour "polling" 72 LAPWING_PROGRESS=polling
detour "checked" 73 LAPWING_WIRE=checked

# A job that ends while it is on the detour.
rm -f "$work/enough"
start "h1 h2" "$programs/soak" 74 "$work/enough"
wait_until "operations" grep -q " operations$" "$work/log"
cut_off
wait_until "both on the detour" both_took 1
touch "$work/enough"
wait $job || die "the end on the detour"
let_through

# Without TCP there is none.
rm -f "$work/enough"
LAPWING_PEER_TIMEOUT=2 LAPWING_TRANSPORTS=self,shm,ether start "h1 h2" "$programs/soak" 75 "$work/enough"
wait_until "operations" grep -q " operations$" "$work/log"
cut_off
! wait $job || die "no way is left, and the job succeeded"
grep -q "that host has not answered for 2 s" "$work/log" || die "no way is left: what is told"
let_through
# A rank that is killed while packets are on the detour ends the job.
for rank in 0 1; do
  rm -f "$work/enough"
  start "h1 h2" "$programs/soak" 76 "$work/enough"
  wait_until "operations" grep -q " operations$" "$work/log"
  cut_off
  wait_until "both on the detour" both_took 1
  kill -KILL "$(ip netns pids "$LAB-h$((rank + 1))" | while read -r pid; do grep -qs soak "/proc/$pid/comm" && echo "$pid"; done | head -n 1)"
  ! wait $job || die "rank $rank was killed on the detour, and the job succeeded"
  grep -qE "rank $rank .*killed|lost (its connection to )?rank $rank on host" "$work/log" || die "rank $rank was killed on the detour: what is told"
  nothing_left_on h1 h2 || wait_until "the end of all ranks" nothing_left_on h1 h2
  let_through
done

# The connection that is the detour breaks again and again, and is made again.
rm -f "$work/enough"
LAPWING_RESUME=on start "h1 h2" "$programs/soak" 77 "$work/enough" 0 30
wait_until "operations" grep -q " operations$" "$work/log"
cut_off
wait_until "both on a detour that breaks" both_took 1
resumed() { grep -c "another has taken its place" "$work/log"; }
broken=$(resumed)
resumed_again() { [ "$(resumed)" -gt $((broken + 3)) ]; }
wait_until "the detour is made again" resumed_again
[ "$(detours)" -eq 2 ] || die "a detour that breaks is told more than once"
let_through
wait_until "both back from a detour that broke" both_returned 1
touch "$work/enough"
wait $job || die "a detour that breaks"
lab down

# Two networks, of which raw Ethernet has the first and TCP both: it fails there, as a whole or in one direction, straight on Ethernet and with UDP.
lab up 2 --networks 2 || die "lab up"
export LAPWING_ETHER_INTERFACE=eth0
fail_and_mend() { # NAME SEED FRAMING FAILS MENDS
  local operations
  rm -f "$work/enough"
  LAPWING_ETHER_FRAMING=$3 start "h1 h2" "$programs/soak" "$2" "$work/enough"
  wait_until "operations" grep -q " operations$" "$work/log"
  [ "$(grep -c "reached by ether" "$work/log")" -eq 2 ] || die "$1: not by ether"
  $4
  wait_until "$1: both on the detour" both_took 1
  operations=$(grep -c " operations$" "$work/log")
  wait_until "$1: operations on the detour" more_operations "$operations"
  $5
  wait_until "$1: both back" both_returned 1
  touch "$work/enough"
  wait $job || die "$1"
}
more_operations() { [ "$(grep -c " operations$" "$work/log")" -gt "$1" ]; }
set_down() { ip -n "$LAB-h1" link set eth0 down; }
set_up() { ip -n "$LAB-h1" link set eth0 up; }
fail_and_mend "an interface that is down" 78 raw set_down set_up
fail_and_mend "a network that is cut, UDP" 79 udp "lab cut h2 0" "lab restore h2 0"
fail_and_mend "an interface that is down, UDP" 80 udp set_down set_up
for direction in to from; do
  lab cut h2 $direction 0 2>/dev/null || { lab restore h2 0; continue; } # not every kernel can
  lab restore h2 0
  fail_and_mend "a network that is cut $direction h2" 81 raw "lab cut h2 $direction 0" "lab restore h2 0"
done

# An interface that is taken away, while packets go by ether or are on the detour already: they never come back.
for meanwhile in ether detour; do
  rm -f "$work/enough"
  start "h1 h2" "$programs/soak" 82 "$work/enough"
  wait_until "operations" grep -q " operations$" "$work/log"
  [ $meanwhile = ether ] || { set_down && wait_until "both on the detour" both_took 1; }
  ip -n "$LAB-h1" link del eth0
  wait_until "an interface that is taken away: it is told" grep -q "has lost its network interface eth0" "$work/log"
  wait_until "an interface that is taken away: both on the detour" both_took 1
  operations=$(grep -c " operations$" "$work/log")
  wait_until "an interface that is taken away: operations" more_operations "$operations"
  touch "$work/enough"
  wait $job || die "an interface that is taken away, packets being by $meanwhile"
  [ "$(returns)" -eq 0 ] || die "packets came back to an interface that is gone"
  lab down
  lab up 2 --networks 2 || die "lab up"
done

# One that was the only way for TCP, too.
lab down
lab up 2 || die "lab up"
rm -f "$work/enough"
LAPWING_PEER_TIMEOUT=2 start "h1 h2" "$programs/soak" 83 "$work/enough"
wait_until "operations" grep -q " operations$" "$work/log"
ip -n "$LAB-h1" link del eth0
! wait $job || die "the only interface is taken away, and the job succeeded"
# Which rank ends the job is a race: the one that has lost its interface, or the one that it does not answer any more.
grep -qE "has lost its network interface eth0|that host has not answered for|that host does not answer" "$work/log" ||
  die "the only interface is taken away: what is told"
echo "ether_detour: all as expected"
