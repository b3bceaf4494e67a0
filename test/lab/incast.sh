#!/usr/bin/env bash
# Eight and sixteen hosts send to one at the same time, through a port of the switch that carries what one of them sends and keeps 64 KiB. What comes
# is right, and because few transfers are under way at once (src/coll/window.h) the port drops less than without that.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

incast=$build/test/lab/incast

# Frames that the port of h1 has dropped.
dropped() { ip netns exec "$LAB-switch" tc -s qdisc show dev h1 | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p'; }
# Adds what it drops during a run to a variable.
add_drops() { # VARIABLE HOSTS WHAT
  local before
  local -n sum=$1
  before=$(dropped)
  on "$2" "$incast" 3 gathers || die "$3"
  sum=$((sum + $(dropped) - before))
}

# Gathers of so many hosts, bounded and with as much at once as there is.
compare() { # COUNT
  local hosts
  lab up "$1" --rate 200mbit --queue 64k || die "lab up $1"
  hosts=$(lab hosts | tr '\n' ' ')
  on "$hosts" "$incast" 1 || die "$1 hosts"
  add_drops bounded "$hosts" "gathers of $1 hosts"
  LAPWING_TUNE=coll.port_bytes=1099511627776 add_drops unbounded "$hosts" "$1 hosts, as much at once as there is"
  lab down
}

# How many frames are dropped depends on who has the cores, too, so what one round leaves open the next ones may show.
bounded=0 unbounded=0
for round in 1 2 3; do
  for count in 8 16; do compare $count; done
  echo "round $round: $bounded frames dropped, without bounds $unbounded"
  [ $((4 * bounded)) -ge $((3 * unbounded)) ] || break
done
[ $((10 * bounded)) -lt $((9 * unbounded)) ] || die "as many frames are dropped as without bounds"
echo "incast: all as expected"
