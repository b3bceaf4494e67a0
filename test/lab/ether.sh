#!/usr/bin/env bash
# Messages straight on Ethernet, between two hosts with a rank each; what leads to TCP instead: a queue that another job has, no rights, no such
# interface, another's program on it; packets that are harmed; and a rank, an interface and a host that vanish. Ranks that share a queue:
# ether_shared.sh.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

export LAPWING_TRANSPORTS=self,shm,ether,tcp
lab up 2 || die "lab up"
LAPWING_LOG=info on "h1 h2" "$programs/halo" || die "halo"
grep -q "reached by ether" "$work/log" || {
  grep -m 1 "without transport ether" "$work/log"
  echo "skipped: raw Ethernet cannot be had here"
  exit 77
}
[ "$(grep -c "reached by ether" "$work/log")" -eq 2 ] || die "one of the two takes another way"

[ "$(grep -c "longer ones by tcp" "$work/log")" -eq 2 ] || die "what is told of long messages"

for program in messages collectives overlap; do on "h1 h2" "$programs/$program" || die "$program"; done
on "h1 h2" "$programs/soak" 21 600 || die "soak"
LAPWING_TRANSPORTS=self,shm,ether on "h1 h2" "$programs/soak" 24 300 || die "soak, long messages by ether"
LAPWING_PROGRESS=polling on "h1 h2" "$programs/soak" 22 300 || die "soak, polling"
LAPWING_WIRE=sealed LAPWING_LOG=info on "h1 h2" "$programs/soak" 25 300 || die "soak, sealed"
[ "$(grep -c "straight on Ethernet from eth0, with packets of up to [0-9]* bytes, sealed by " "$work/log")" -eq 2 ] || die "soak, sealed: what is told"
on "h1 h2" "$programs/soak" 23 300 3 || die "soak, threads"

# Each host has one receive queue: that of one job is not another's, whose ranks are reached by TCP.
rm -f "$work/enough"
start "h1 h2" "$programs/soak" 26 "$work/enough"
wait_until "operations" grep -q " operations$" "$work/log"
timeout 60 "$mpiexec" -n 1 "$here/lab" exec h1 env LAPWING_LOG=info "$programs/messages" : -n 1 "$here/lab" exec h2 env LAPWING_LOG=info "$programs/messages" >"$work/second" 2>&1 ||
  die "a second job: $(cat "$work/second")"
[ "$(grep -c "eth0: all 1 receive queues are taken" "$work/second")" -eq 2 ] && [ "$(grep -c "reached by tcp" "$work/second")" -eq 2 ] || die "a second job: what is told"
touch "$work/enough"
wait $job || die "a first job beside a second"

# Without rights, as in a container: by TCP.
no_rights=(setpriv --bounding-set=-bpf,-net_admin,-net_raw,-sys_admin --inh-caps=-all)
if "${no_rights[@]}" true 2>/dev/null; then
  LAPWING_LOG=info on "h1 h2" "${no_rights[@]}" "$programs/halo" || die "without rights"
  grep -q "without transport ether: .*CAP_" "$work/log" && grep -q "reached by tcp" "$work/log" || die "without rights: the way"
fi

LAPWING_ETHER_INTERFACE=eth7 LAPWING_LOG=info on "h1 h2" "$programs/halo" || die "LAPWING_ETHER_INTERFACE=eth7"
grep -q "names no Ethernet interface that is up" "$work/log" || die "LAPWING_ETHER_INTERFACE=eth7: message"

# An XDP program of another's making is left alone.
ip netns exec "$LAB-h2" "$here/xdp_program.py" eth0 >"$work/foreign" &
foreign=$!
wait_until "another's program" grep -q attached "$work/foreign"
LAPWING_LOG=info on "h1 h2" "$programs/halo" || die "another's program"
grep -q 'eth0 has an XDP program already ("someone_else"), which is left alone' "$work/log" && grep -q "reached by tcp" "$work/log" || die "another's program: what is told"
kill $foreign

# Packets that are lost, doubled and reordered, with every byte checked: where all goes by ether, and where long messages take TCP.
lab relay h2 "$build/test/lab/relay" 7
for kind in drop duplicate reorder; do lab harm h2 $kind 1%; done
for transports in self,shm,ether self,shm,ether,tcp; do
  LAPWING_TRANSPORTS=$transports LAPWING_LOG=info on "h1 h2" "$programs/soak" 31 150 || die "packets harmed, $transports"
  grep -q "of them again" "$work/log" || die "packets harmed, $transports: nothing was sent again"
done
# Packets that are changed on their way, where they are checked. (What becomes of TCP's segments is chaos.sh's matter.)
lab harm h2 calm
lab harm h2 corrupt 1%
for wire in checked sealed; do
  LAPWING_WIRE=$wire LAPWING_TRANSPORTS=self,shm,ether LAPWING_LOG=info on "h1 h2" "$programs/soak" 36 150 || die "packets changed, $wire"
  grep -q "reached by ether" "$work/log" && grep -q "packets came by eth0 with a wrong check or seal" "$work/log" || die "packets changed, $wire: what is told"
done
# Somebody on the way who sends old packets again and makes others up: only sealed ones are safe from that.
lab harm h2 calm
lab harm h2 forge 5%
for transports in self,shm,ether self,shm,ether,tcp; do
  LAPWING_WIRE=sealed LAPWING_TRANSPORTS=$transports LAPWING_LOG=info on "h1 h2" "$programs/soak" 37 150 || die "packets made up, $transports"
  grep -q "reached by ether" "$work/log" && grep -q "packets came by eth0 with a wrong check or seal" "$work/log" || die "packets made up, $transports: what is told"
done
! LAPWING_WIRE=checked LAPWING_TRANSPORTS=self,shm,ether on "h1 h2" "$programs/soak" 37 150 || die "packets made up harm nothing: the attack is none"
# Bursts, of which each takes all that is sent for some time-outs: ranks go on as soon as something comes through again.
lab harm h2 calm
rm -f "$work/enough"
LAPWING_TRANSPORTS=self,shm,ether start "h1 h2" "$programs/soak" 35 "$work/enough"
wait_until "operations" grep -q " operations$" "$work/log"
for _ in $(seq 8); do
  lab harm h2 drop 12
  sleep 0.2
done
touch "$work/enough"
wait $job || die "bursts of lost packets"
lab harm h2 report "$work/report"
wait_until "the relay's report" grep -qE "^passed [0-9]+ drop [1-9][0-9]+ duplicate [1-9][0-9]+ reorder [1-9][0-9]+ " "$work/report"

# An interface that is down for a moment: what was under way is sent again.
rm -f "$work/enough"
start "h1 h2" "$programs/soak" 32 "$work/enough"
wait_until "operations" grep -q " operations$" "$work/log"
ip -n "$LAB-h1" link set eth0 down
sleep 0.5
ip -n "$LAB-h1" link set eth0 up
ip -n "$LAB-h1" -6 address replace fd77::1/64 dev eth0 nodad 2>/dev/null || true
touch "$work/enough"
wait $job || die "an interface that was down for a moment"

# A rank that is killed ends the job, and what it had is free for the next.
for rank in 0 1; do
  rm -f "$work/enough"
  LAPWING_LOG=info start "h1 h2" "$programs/soak" 33 "$work/enough"
  wait_until "operations" grep -q " operations$" "$work/log"
  kill -KILL "$(ip netns pids "$LAB-h$((rank + 1))" | while read -r pid; do grep -qs soak "/proc/$pid/comm" && echo "$pid"; done | head -n 1)"
  ! wait $job || die "rank $rank was killed, and the job succeeded"
  grep -qE "rank $rank .*killed|lost (its connection to )?rank $rank on host" "$work/log" || die "rank $rank was killed: what is told"
done
LAPWING_LOG=info on "h1 h2" "$programs/halo" || die "after a killed rank"
[ "$(grep -c "reached by ether" "$work/log")" -eq 2 ] || die "after a killed rank: the queue is not free"

# A host that vanishes is told in time; the text names the rank. (The kernel may give the queue of the job before free too late: then it is TCP's.)
export LAPWING_PEER_TIMEOUT=2
for mode in talk push wait; do
  rm -f "$work/stop" "$work/stop.started"
  start "h1 h2" "$build/test/lab/vanish" "$mode" "$work/stop"
  wait_until "the first message of $mode" test -e "$work/stop.started"
  lab cut h2
  ! wait $job || die "$mode: the job succeeded without a host"
  grep -qE "rank [01] on host h[12] lost (rank|its connection to rank) [01] on host h[12] \(.*\): that host (has not answered for 2 s|does not answer)" "$work/log" || die "$mode: what is told"
  lab restore h2
done

# One that is taken away ends the job with a text that names it, without TCP.
rm -f "$work/enough"
LAPWING_TRANSPORTS=self,shm,ether start "h1 h2" "$programs/soak" 34 "$work/enough"
wait_until "operations" grep -q " operations$" "$work/log"
ip -n "$LAB-h1" link del eth0
! wait $job || die "an interface was taken away, and the job succeeded"
grep -qE "rank 0 on host h1 has lost its network interface eth0|rank [01] on host h[12] lost rank [01]" "$work/log" || die "an interface that is taken away: what is told"
echo "ether: all as expected"
