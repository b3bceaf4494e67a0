#!/usr/bin/env bash
# More ranks than receive queues: the ranks of a job share them, and each is reached by ether. Every byte is checked. A rank that is killed, the first
# of its queue or another, ends the job, and its queue is free afterwards; one that is stopped for a while holds no other up for good.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

export LAPWING_TRANSPORTS=self,shm,ether,tcp LAPWING_LOG=info
lab up 2 || die "lab up"
on "h1 h2" "$programs/halo" || die "halo"
grep -q "reached by ether" "$work/log" || {
  grep -m 1 "without transport ether" "$work/log"
  echo "skipped: raw Ethernet cannot be had here"
  exit 77
}
! grep -q "shares receive queue" "$work/log" || die "a rank that is alone shares its queue"
on "h1 h1 h2 h2" "$programs/halo" || die "two ranks on each host"
if grep -q "all 1 receive queues are taken" "$work/log"; then # Linux 6.4 maps the rings of a socket that is bound
  [ "$(printf '%s\n' 6.4 "$(uname -r)" | sort -V | head -n 1)" != 6.4 ] || die "no rank has joined another's queue"
  echo "skipped: queues that ranks share need Linux 6.4"
  exit 77
fi
# ranks-on-each-host: all share, and none takes TCP.
all_share() {
  [ "$(grep -c "shares receive queue 0 of eth0 with $(($1 - 1)) other" "$work/log")" -eq $((2 * $1)) ] && ! grep -q "reached by tcp" "$work/log"
}
all_share 2 || die "two ranks on each host: what is told"

two="h1 h1 h2 h2" four="h1 h1 h1 h1 h2 h2 h2 h2"
for program in messages collectives overlap; do on "$two" "$programs/$program" || die "$program"; done
on "$two" "$programs/soak" 101 300 || die "soak"
LAPWING_TRANSPORTS=self,shm,ether on "$two" "$programs/soak" 102 300 || die "soak, long messages by ether"
LAPWING_TRANSPORTS=self,shm,ether LAPWING_WIRE=sealed on "$two" "$programs/soak" 103 150 || die "soak, sealed"
LAPWING_PROGRESS=polling on "$two" "$programs/soak" 104 150 || die "soak, polling"
LAPWING_TRANSPORTS=self,shm,ether on "$four" "$programs/soak" 105 150 || die "soak, four ranks on each host"
all_share 4 || die "soak, four ranks on each host: what is told"
LAPWING_ETHER_FRAMING=udp on "$two" "$programs/soak" 106 150 || die "by UDP"
all_share 2 && grep -q "is at 10.77.0.2:27182, by UDP" "$work/log" && grep -q "is at 10.77.0.2:27183, by UDP" "$work/log" || die "by UDP: what is told"

# Jumbo frames and sharing.
for host in h1 h2; do lab mtu $host 9000; done
LAPWING_TRANSPORTS=self,shm,ether on "$two" "$programs/soak" 107 150 || die "jumbo frames"
all_share 2 || die "jumbo frames: what is told"

ranks_on() { ip netns pids "$LAB-$1" | while read -r pid; do grep -qs soak "/proc/$pid/comm" && echo "$pid"; done; }
# One that is stopped for a moment, anywhere, some times over.
rm -f "$work/enough"
LAPWING_TRANSPORTS=self,shm,ether start "$two" "$programs/soak" 108 "$work/enough"
wait_until "operations" grep -q " operations$" "$work/log"
for _ in $(seq 5); do
  for pid in $(ranks_on h1); do
    kill -STOP "$pid"
    sleep 0.05
    kill -CONT "$pid"
  done
done
touch "$work/enough"
wait $job || die "ranks that are stopped"

for rank in 0 1; do
  rm -f "$work/enough"
  start "$two" "$programs/soak" 109 "$work/enough"
  wait_until "operations" grep -q " operations$" "$work/log"
  kill -KILL "$(ranks_on h1 | sed -n $((rank + 1))p)"
  ! wait $job || die "a rank was killed, and the job succeeded"
  grep -qE "rank [01] .*killed|lost (its connection to )?rank [01] on host h1" "$work/log" || die "a rank was killed: what is told"
  on "$two" "$programs/halo" || die "after a killed rank"
  all_share 2 || die "after a killed rank: the queue is not free"
done
echo "ether_shared: all as expected"
