#!/usr/bin/env bash
# Two hosts that share two networks: long messages go by both at once, in the shares that the networks' rates make, every byte is checked, and when one
# of the networks goes nothing is lost.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

export LAPWING_LOG=info
stripes=$build/test/lab/stripes

arrived() { ip netns exec "$LAB-h2" cat "/sys/class/net/$1/statistics/rx_bytes"; } # DEVICE
# Streams 60 MB, and says what part of them came by the second network, in percent.
share() {
  local before=($(arrived eth0) $(arrived eth1)) after
  rm -f "$work/stop"
  on "h1 h2" "$stripes" "$work/stop" 4000000 15 || die "$1"
  after=($(arrived eth0) $(arrived eth1))
  second=$((100 * (after[1] - before[1]) / (after[0] - before[0] + after[1] - before[1])))
}
begin() {
  rm -f "$work/stop" "$work/stop.started"
  on "h1 h2" "$stripes" "$work/stop" 4000000 0 &
  job=$!
  wait_until "the first messages" test -e "$work/stop.started"
}
end() { # WHAT
  touch "$work/stop"
  wait $job || die "$1"
}
lines() { grep -c "$1" "$work/log"; }
more_lines_than() { [ "$(lines "$1")" -gt "$2" ]; }

# Of equal rates each gets about a half, of unequal ones the slower less.
lab up 2 --networks 2 --rate 400mbit || die "lab up"
share "equal networks"
[ "$second" -gt 30 ] && [ "$second" -lt 70 ] || die "of two equal networks the second carries $second %"
grep -q "for long messages" "$work/log" || die "what is told"
LAPWING_TCP_LINKS=1 share "one network of two"
[ "$second" -lt 5 ] || [ "$second" -gt 95 ] || die "LAPWING_TCP_LINKS=1: the second carries $second %"

# One of them is cut in the middle, for good or for a while, in both directions or in one.
for direction in "" to from; do
  for network in 0 1; do
    begin
    wait_until "both networks" more_lines_than "for long messages, at" 3
    # shellcheck disable=SC2086
    lab cut h2 $direction $network || {
      lab restore h2
      end "no such cut"
      continue
    }
    wait_until "a connection by the other network, cut $direction" more_lines_than "long messages go by another network" 1
    lab restore h2
    wait_until "the return to network $network, cut $direction" more_lines_than "by their own network again" 1
    end "a cut $direction of network $network"
  done
done
lab down

lab up 2 --networks 2 --rate 400mbit,100mbit || die "lab up"
share "unequal networks"
[ "$second" -gt 8 ] && [ "$second" -lt 35 ] || die "of two networks of 400 and 100 Mbit/s the second carries $second %"
on "h1 h2" "$programs/soak" 5 200 || die "a soak over unequal networks"
echo "rails: all as expected"
