#!/usr/bin/env bash
# Eight and sixteen hosts send to one at the same time, through a port of the switch that carries what one of them sends and keeps 64 KiB. What comes is right, and
# because few transfers are under way at once (src/coll/window.h) the port drops less than without that.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

incast=$build/test/lab/incast

# Frames that the port of h1 has dropped.
dropped() { ip netns exec "$LAB-switch" tc -s qdisc show dev h1 | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p'; }
# What it drops during a run.
drops_of() { # HOSTS WHAT
  local before
  before=$(dropped)
  on "$1" "$incast" 3 gathers || die "$2"
  drops=$(($(dropped) - before))
}

for count in 8 16; do
  lab up $count --rate 200mbit --queue 64k || die "lab up $count"
  hosts=$(lab hosts | tr '\n' ' ')
  on "$hosts" "$incast" 1 || die "$count hosts"
  drops_of "$hosts" "gathers of $count hosts"
  bounded=$drops
  LAPWING_TUNE=coll.port_bytes=1099511627776 drops_of "$hosts" "$count hosts, as much at once as there is"
  echo "$count hosts: $bounded frames dropped, without bounds $drops"
  [ $((4 * bounded)) -lt $((3 * drops)) ] || die "$count hosts: $bounded frames dropped, without bounds $drops"
  lab down
done
echo "incast: all as expected"
