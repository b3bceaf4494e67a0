#!/usr/bin/env bash
# Jumbo frames: packets as long as the interfaces of both hosts take, and no longer than the switch between them does, which tells nobody. Every byte
# is checked.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

export LAPWING_TRANSPORTS=self,shm,ether,tcp LAPWING_LOG=info
lab up 2 || die "lab up"
longest() { [ "$(grep -c "with packets of up to $1 bytes" "$work/log")" -eq 2 ]; }
for host in h1 h2; do lab mtu $host 9000 9000; done
on "h1 h2" "$programs/halo" || die "halo"
grep -q "reached by ether" "$work/log" || {
  grep -m 1 "without transport ether" "$work/log"
  echo "skipped: raw Ethernet cannot be had here"
  exit 77
}
if ! longest 9000 && [ "$(printf '%s\n' 6.6 "$(uname -r)" | sort -V | head -n 1)" != 6.6 ]; then
  echo "skipped: packets in pieces need Linux 6.6"
  exit 77
fi
longest 9000 || die "packets are shorter than they may be"

for program in messages collectives; do on "h1 h2" "$programs/$program" || die "$program"; done
on "h1 h2" "$programs/soak" 81 600 || die "soak"
LAPWING_TRANSPORTS=self,shm,ether on "h1 h2" "$programs/soak" 82 300 || die "soak, long messages by ether"
LAPWING_PROGRESS=polling on "h1 h2" "$programs/soak" 83 300 || die "soak, polling"
for wire in checked sealed; do LAPWING_WIRE=$wire LAPWING_TRANSPORTS=self,shm,ether on "h1 h2" "$programs/soak" 84 300 || die "soak, $wire"; done
LAPWING_ETHER_FRAMING=udp on "h1 h2" "$programs/soak" 85 300 || die "by UDP"
longest 8972 && grep -q "by UDP by way of" "$work/log" || die "by UDP: what is told"

# A switch that takes no more than 1500 bytes; by UDP, one that takes what tunnels leave of it; and one that begins to in the middle of a job.
# (TCP has another way to find that out, which takes seconds.)
for host in h1 h2; do lab mtu $host 9000 1500; done
LAPWING_TRANSPORTS=self,shm,ether on "h1 h2" "$programs/soak" 86 150 || die "a switch of 1500 bytes"
longest 1500 || die "a switch of 1500 bytes: what is told"
for host in h1 h2; do lab mtu $host 9000 1400; done
LAPWING_TRANSPORTS=self,shm,ether LAPWING_ETHER_FRAMING=udp on "h1 h2" "$programs/soak" 87 150 || die "a switch of 1400 bytes"
longest 1252 || die "a switch of 1400 bytes: what is told"
for host in h1 h2; do lab mtu $host 9000 9000; done
rm -f "$work/enough"
start "h1 h2" "$programs/soak" 88 "$work/enough"
wait_until "operations" grep -q " operations$" "$work/log"
for host in h1 h2; do
  lab mtu $host 9000 1500
  ip -n "$LAB-$host" route replace 10.77.0.0/24 dev eth0 proto kernel scope link src "10.77.0.${host#h}" mtu 1500 # for TCP
done
both_took() { [ "$(grep -c "packets take a detour by tcp" "$work/log")" -ge 2 ]; }
wait_until "both on the detour" both_took
for host in h1 h2; do lab mtu $host 9000 9000; done
both_returned() { [ "$(grep -c "packets leave the detour by tcp" "$work/log")" -ge 2 ]; }
wait_until "both back" both_returned
touch "$work/enough"
wait $job || die "a switch that begins to take less"

# Hosts that differ; and another length.
lab mtu h1 1500 9000
on "h1 h2" "$programs/soak" 89 150 || die "9000 and 1500"
longest 1500 || die "9000 and 1500: what is told"
for host in h1 h2; do lab mtu $host 4000 4000; done
LAPWING_TRANSPORTS=self,shm,ether on "h1 h2" "$programs/soak" 90 300 || die "4000"
longest 4000 || die "4000: what is told"

# Packets that are lost, doubled, reordered and changed.
for host in h1 h2; do lab mtu $host 9000 9000; done
lab relay h2 "$build/test/lab/relay" 7
for device in h2 h2-cable h2-inner; do ip -n "$LAB-switch" link set $device mtu 9000; done
for kind in drop duplicate reorder corrupt; do lab harm h2 $kind 1%; done
LAPWING_WIRE=checked LAPWING_TRANSPORTS=self,shm,ether on "h1 h2" "$programs/soak" 91 150 || die "packets harmed"
longest 8996 && grep -q "of them again" "$work/log" || die "packets harmed: what is told"
echo "ether_jumbo: all as expected"
