#!/usr/bin/env bash
# Connections between two hosts have the congestion control that LAPWING_TCP_CONGESTION names, on both sides. As a lab's hosts are namespaces of one
# machine, they have CUBIC where it names none, or Reno where the kernel has no other, whatever the hosts' own choice is. One that there is not ends
# the job with a clear text.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

lab up 2 || die "lab up"
# use NAME: both hosts have it as their own choice.
use() {
  for host in h1 h2; do ip netns exec "$LAB-$host" sysctl -qw "net.ipv4.tcp_congestion_control=$1" 2>/dev/null || return 1; done
}
unpaced=reno
use cubic # which loads it, even where a namespace may not have it as its own choice; a privileged rank may choose it all the same
if grep -qw cubic /proc/sys/net/ipv4/tcp_available_congestion_control; then unpaced=cubic; fi
use bbr || use reno # some kernels have but one
own=$(ip netns exec "$LAB-h1" sysctl -n net.ipv4.tcp_congestion_control)

# expect NAME: a job's connections, of which each host sees one, have that.
expect() {
  rm -f "$work/stop" "$work/stop.started"
  start "h1 h2" "$build/test/lab/vanish" talk "$work/stop"
  wait_until "the first message" test -e "$work/stop.started"
  for host in h1 h2; do
    ip netns exec "$LAB-$host" ss -Htni state established src "$(lab address "$host")" >"$work/connections"
    grep -q " $1 " "$work/connections" || { cat "$work/connections"; die "$1 on $host"; }
  done
  touch "$work/stop"
  wait $job || die "a job with $1"
}
expect $unpaced
LAPWING_TCP_CONGESTION=$own expect "$own"

! LAPWING_TRANSPORTS=self,tcp LAPWING_TCP_CONGESTION=no-such-one on "h1 h2" "$programs/halo" || die "no-such-one was accepted"
grep -q 'LAPWING_TCP_CONGESTION names "no-such-one", which this kernel does not have' "$work/log" || die "no-such-one: message"
echo "congestion: all as expected"
