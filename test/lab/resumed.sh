#!/usr/bin/env bash
# Connections that break under a job over two hosts, and are made again: by the ranks themselves, by the kernel (ss -K), by a device that loses its
# addresses for a moment, by a switch that drops packets. The job checks every byte that it receives, and knows nothing of all this.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

lab up 2 || die "lab up"
export LAPWING_LOG=info

# The ranks break their own, at any moment.
on "h1 h2" "$programs/soak" 12 300 0 30 || die "connections that ranks break"
grep -q "the connection broke, and another has taken its place, at" "$work/log" || die "what is told"

# begin [MODE]: a job that talks, or does another thing that vanish.c can, until it is stopped.
begin() {
  rm -f "$work/stop" "$work/stop.started"
  on "h1 h2" "$build/test/lab/vanish" "${1:-talk}" "$work/stop" &
  job=$!
  wait_until "the first message" test -e "$work/stop.started"
}
resumed() { grep -c "another has taken its place" "$work/log"; }
resumed_more_than() { [ "$(resumed)" -gt "$1" ]; }

# The kernel destroys them; some kernels cannot.
destroy() { ip netns exec "$LAB-$1" ss -K -t state established '( sport >= :1024 and dport >= :1024 )' >/dev/null 2>&1; }
begin
destroy h1
for _ in $(seq 100); do
  resumed_more_than 0 && break
  sleep 0.05
done
if resumed_more_than 0; then
  for host in h2 h1 h2; do
    before=$(resumed)
    destroy "$host"
    wait_until "a connection destroyed on $host" resumed_more_than "$before"
  done
fi
touch "$work/stop"
wait $job || die "connections that the kernel destroys"

# The addresses of a host go, and the connections with them; then they come back.
begin
ip -n "$LAB-h2" link set eth0 down
destroy h1
sleep 1
ip -n "$LAB-h2" link set eth0 up
touch "$work/stop"
wait $job || die "a device that was down"
# A cut that no end of the connection tells of, in both directions or in one, while small messages go to and fro or long ones one way. The connection
# is given up while it lasts, and another made when packets pass again.
for mode in talk push; do
  for direction in "" to from; do
    begin $mode
    lab cut h2 $direction || {
      lab restore h2
      touch "$work/stop"
      wait $job || die "$mode: no cut"
      continue
    }
    wait_until "$mode: a connection that is given up, cut $direction" grep -q "does not answer. Connecting again" "$work/log"
    lab restore h2
    wait_until "$mode: a connection after a cut $direction" resumed_more_than 0
    touch "$work/stop"
    wait $job || die "$mode: a cut $direction"
  done
done
echo "resumed: all as expected"
