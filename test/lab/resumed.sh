#!/usr/bin/env bash
# Connections that break under a job over two hosts, and are made again: by the ranks themselves, by the kernel (ss -K), by a device that loses its
# addresses for a moment. The job checks every byte that it receives, and knows nothing of all this.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

lab up 2 || die "lab up"
export LAPWING_RESUME=auto

# The ranks break their own, at any moment.
on "h1 h2" "$programs/soak" 12 300 0 30 || die "connections that ranks break"
grep -q "the connection broke, and another has taken its place, at" "$work/log" || die "what is told"

# begin: a job that talks until it is stopped.
begin() {
  rm -f "$work/stop" "$work/stop.started"
  on "h1 h2" "$build/test/lab/vanish" talk "$work/stop" &
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
echo "resumed: all as expected"
