#!/usr/bin/env bash
# A switch that begins to drop the EtherType in the middle of a job, and lets them through again: the packets take a detour by TCP, and come back; every byte is
# checked. Where TCP leads nowhere either the job ends, as without a detour.
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
}
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
echo "ether_detour: all as expected"
