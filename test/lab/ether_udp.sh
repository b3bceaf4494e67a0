#!/usr/bin/env bash
# Packets as UDP datagrams, where they do not come through straight on Ethernet: a switch that drops the EtherType, and two segments with a router
# between them; what leads to TCP instead.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

export LAPWING_TRANSPORTS=self,shm,ether,tcp
by_udp() { [ "$(grep -c "by UDP by way of" "$work/log")" -eq 2 ] && ! grep -q "reached by tcp" "$work/log"; }
by_tcp() { [ "$(grep -c "reached by tcp" "$work/log")" -eq 2 ]; }
told() { LAPWING_LOG=info on "h1 h2" "$@"; } # command...

lab up 2 || die "lab up"
told "$programs/halo" || die "halo"
grep -q "straight on Ethernet" "$work/log" || {
  grep -m 1 "without transport ether" "$work/log"
  echo "skipped: raw Ethernet cannot be had here"
  exit 77
}
! grep -q "by UDP" "$work/log" || die "UDP where it is not needed"

# Asked for where it is not needed.
for program in messages collectives overlap; do LAPWING_ETHER_FRAMING=udp on "h1 h2" "$programs/$program" || die "$program by UDP"; done
LAPWING_ETHER_FRAMING=udp LAPWING_ETHER_PORT=443 told "$programs/halo" || die "another port"
grep -q "10.77.0.2:443, by UDP" "$work/log" || die "another port: what is told"
! LAPWING_ETHER_PORT=70000 on "h1 h2" "$programs/halo" || die "a port that there is not"
grep -q "LAPWING_ETHER_PORT.*70000.*a UDP port from 1 to 65280" "$work/log" || die "a port that there is not: what is told"
# Ranks that do not agree take TCP.
timeout 60 "$mpiexec" -n 1 "$here/lab" exec h1 env LAPWING_LOG=info LAPWING_ETHER_FRAMING=udp "$programs/halo" : \
  -n 1 "$here/lab" exec h2 env LAPWING_LOG=info LAPWING_ETHER_FRAMING=raw "$programs/halo" >"$work/log" 2>&1 || die "one raw, one by UDP"
by_tcp || die "one raw, one by UDP: not TCP"

# Without an address there are no datagrams; TCP has its IPv6.
for host in h1 h2; do ip -4 -n "$LAB-$host" address flush dev eth0; done
told "$programs/halo" || die "without an address"
[ "$(grep -c "straight on Ethernet" "$work/log")" -eq 2 ] || die "without an address: another way"
LAPWING_ETHER_FRAMING=udp told "$programs/halo" || die "without an address, UDP asked for"
grep -q "LAPWING_ETHER_FRAMING=udp needs an IPv4 address, and eth0 has none" "$work/log" && by_tcp || die "without an address: what is told"
for number in 1 2; do ip -n "$LAB-h$number" address add 10.77.0.$number/24 dev eth0; done

# A switch that drops the EtherType, as that of a cloud.
ip netns exec "$LAB-switch" "$here/drop_type.py" 0x88b5 h1 h2 || die "this kernel does not let the switch drop"
told "$programs/soak" 61 600 || die "the EtherType is dropped"
by_udp || die "the EtherType is dropped: another way"
LAPWING_TRANSPORTS=self,shm,ether on "h1 h2" "$programs/soak" 62 300 || die "the EtherType is dropped, long messages by ether"
LAPWING_PROGRESS=polling on "h1 h2" "$programs/soak" 63 300 || die "the EtherType is dropped, polling"
LAPWING_ETHER_FRAMING=raw told "$programs/halo" || die "the EtherType is dropped, UDP not wanted"
by_tcp || die "the EtherType is dropped, UDP not wanted: another way"
lab down

# A router between two segments: h3, whose eth0 and eth1 are h1's and h2's.
lab up 3 --networks 2 || die "lab up"
ip -n "$LAB-h1" link del eth1
ip -n "$LAB-h2" link del eth0
ip netns exec "$LAB-h3" sysctl -qw net.ipv4.ip_forward=1
told "$programs/halo" 2>/dev/null && die "two segments without a route: the job succeeded"
ip -n "$LAB-h1" route add 10.78.0.0/24 via 10.77.0.3
ip -n "$LAB-h2" route add 10.77.0.0/24 via 10.78.0.3
told "$programs/soak" 64 600 || die "a router"
by_udp || die "a router: another way"
LAPWING_TRANSPORTS=self,shm,ether on "h1 h2" "$programs/soak" 65 300 || die "a router, long messages by ether"
# The EtherType is not what it takes.
LAPWING_ETHER_FRAMING=raw told "$programs/halo" || die "a router, raw"
by_tcp || die "a router, raw: another way"
# What the route says of its length counts; of a link on the way that takes less, of which it says nothing, shorter probes find out.
ip -n "$LAB-h1" route change 10.78.0.0/24 via 10.77.0.3 mtu 1400
told "$programs/soak" 66 150 || die "a route of 1400 bytes"
by_udp && grep -q "with packets of up to 1372 bytes" "$work/log" || die "a route of 1400 bytes: what is told"
# Where only one of the two knows, the other finds out what tunnels take.
ip -n "$LAB-h3" link set eth1 mtu 1400
told "$programs/soak" 71 150 || die "a link of 1400 bytes, which one knows"
by_udp && grep -q "with packets of up to 1372 bytes" "$work/log" && grep -q "with packets of up to 1252 bytes" "$work/log" ||
  die "a link of 1400 bytes, which one knows: what is told"
ip -n "$LAB-h1" route change 10.78.0.0/24 via 10.77.0.3
ip -n "$LAB-h3" link set eth1 mtu 1200
told "$programs/soak" 67 150 || die "a link of 1200 bytes"
by_tcp || die "a link of 1200 bytes: another way"
ip -n "$LAB-h3" link set eth1 mtu 1500

# A router that gets another Ethernet address, of which it tells the hosts as one does that takes another's place.
ip netns exec "$LAB-h3" sysctl -qw net.ipv4.conf.eth0.arp_notify=1
rm -f "$work/enough"
LAPWING_TRANSPORTS=self,shm,ether start "h1 h2" "$programs/soak" 70 "$work/enough"
wait_until "operations" grep -q " operations$" "$work/log"
ip -n "$LAB-h3" link set eth0 address 02:00:00:00:77:77
wait_until "the other address" sh -c "ip -n $LAB-h1 neighbour show 10.77.0.3 | grep -q 02:00:00:00:77:77"
operations=$(grep -c " operations$" "$work/log")
progress() { [ "$(grep -c " operations$" "$work/log")" -gt $((operations + 2)) ]; }
wait_until "operations by the other address" progress
touch "$work/enough"
wait $job || die "a router with another address"
# The same where the host beside it only takes: nothing acknowledges its acknowledgements, so that what it misses is that they are needed again.
rm -f "$work/enough" "$work/enough.started"
LAPWING_TRANSPORTS=self,shm,ether start "h2 h1" "$build/test/lab/vanish" tell "$work/enough"
wait_until "messages" test -e "$work/enough.started"
ip -n "$LAB-h3" link set eth0 address 02:00:00:00:77:78
wait_until "the next address" sh -c "ip -n $LAB-h1 neighbour show 10.77.0.3 | grep -q 02:00:00:00:77:78"
touch "$work/enough"
wait $job || die "a router with another address, and a host that only takes"

# Packets that are lost, doubled and reordered; and changed.
lab relay h1 "$build/test/lab/relay" 7
for kind in drop duplicate reorder; do lab harm h1 $kind 1%; done
LAPWING_TRANSPORTS=self,shm,ether told "$programs/soak" 68 150 || die "packets harmed"
grep -q "of them again" "$work/log" && by_udp || die "packets harmed: what is told"
lab harm h1 calm
lab harm h1 corrupt 1%
LAPWING_WIRE=checked LAPWING_TRANSPORTS=self,shm,ether told "$programs/soak" 69 150 || die "packets changed"
grep -q "packets came by eth[01] with a wrong check or seal" "$work/log" || die "packets changed: what is told"
lab harm h1 calm
echo "ether_udp: all as expected"
