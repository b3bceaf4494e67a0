#!/usr/bin/env bash
# Messages straight on Ethernet, between two hosts with a rank each; what leads to TCP instead: more ranks than receive queues, no rights, no such
# interface; and a host that vanishes.
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

for program in messages collectives overlap; do on "h1 h2" "$programs/$program" || die "$program"; done
on "h1 h2" "$programs/soak" 21 600 || die "soak"
LAPWING_PROGRESS=polling on "h1 h2" "$programs/soak" 22 300 || die "soak, polling"
on "h1 h2" "$programs/soak" 23 300 3 || die "soak, threads"

# Each host has one receive queue: of four ranks two have none, and are reached by TCP.
LAPWING_LOG=info on "h1 h1 h2 h2" "$programs/messages" || die "more ranks than queues"
[ "$(grep -c "all 1 receive queues of eth0 are taken" "$work/log")" -ge 2 ] || die "more ranks than queues: who has none"
grep -q "reached by tcp" "$work/log" || die "more ranks than queues: TCP"

# Without rights, as in a container: by TCP.
no_rights=(setpriv --bounding-set=-bpf,-net_admin,-net_raw,-sys_admin --inh-caps=-all)
if "${no_rights[@]}" true 2>/dev/null; then
  LAPWING_LOG=info on "h1 h2" "${no_rights[@]}" "$programs/halo" || die "without rights"
  grep -q "without transport ether: .*CAP_" "$work/log" && grep -q "reached by tcp" "$work/log" || die "without rights: the way"
fi

LAPWING_ETHER_INTERFACE=eth7 LAPWING_LOG=info on "h1 h2" "$programs/halo" || die "LAPWING_ETHER_INTERFACE=eth7"
grep -q "names no Ethernet interface that is up" "$work/log" || die "LAPWING_ETHER_INTERFACE=eth7: message"

# A host that vanishes is told in time; the text names the rank. (The kernel may give the queue of the job before free too late: then it is TCP's.)
export LAPWING_PEER_TIMEOUT=2
for mode in talk push wait; do
  rm -f "$work/stop" "$work/stop.started"
  on "h1 h2" "$build/test/lab/vanish" "$mode" "$work/stop" &
  job=$!
  wait_until "the first message of $mode" test -e "$work/stop.started"
  lab cut h2
  ! wait $job || die "$mode: the job succeeded without a host"
  grep -qE "rank [01] on host h[12] lost (rank|its connection to rank) [01] on host h[12] \(.*\): that host (has not answered for 2 s|does not answer)" "$work/log" || die "$mode: what is told"
  lab restore h2
done
echo "ether: all as expected"
