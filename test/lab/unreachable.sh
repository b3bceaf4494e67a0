#!/usr/bin/env bash
# A peer that cannot be reached: the job ends within the connect timeout with one text that names ranks, hosts, addresses, cause
# and remedy.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

lab up 3 || die "lab up"
for host in $(lab hosts); do ip -n "$LAB-$host" -6 address flush dev eth0; done # one way is enough to be closed
export LAPWING_CONNECT_TIMEOUT=2

# expect WHAT CAUSE: halo on h1 and h2 fails, and says why.
expect() {
  local begin=$SECONDS
  ! on "h1 h2" "$programs/halo" || die "$1: the job succeeded"
  [ $((SECONDS - begin)) -lt 20 ] || die "$1: told too late"
  grep -qE "rank [01] on host h[12] cannot reach rank [01] on host h[12] by TCP" "$work/log" || die "$1: which ranks"
  grep -qE "$2" "$work/log" || die "$1: the cause is not told"
  grep -q "LAPWING_TCP_INTERFACE" "$work/log" || die "$1: no remedy"
}

# The switch has lost a host: it does not answer.
lab cut h2
expect "a lost host" "10\.77\.0\.[12]:[0-9]+(, [^;]*)?: (No route to host|no answer within)"
lab restore h2
on "h1 h2" "$programs/halo" || die "a host found again"

# A router that swallows everything, as firewalls do. Only the first host has it: the second one's tries end by silence.
ip -n "$LAB-h1" route add blackhole 10.77.0.2/32
ip -n "$LAB-h2" route add blackhole 10.77.0.1/32
expect "a route that swallows" "10\.77\.0\.[12]:[0-9]+"
ip -n "$LAB-h2" route del blackhole 10.77.0.1/32
expect "a one-way road" "10\.77\.0\.[12]:[0-9]+(, [^;]*)?: (no answer within|No route)|has no route there"
ip -n "$LAB-h1" route del blackhole 10.77.0.2/32

# A host that says no.
ip -n "$LAB-h1" route add prohibit 10.77.0.2/32
ip -n "$LAB-h2" route add prohibit 10.77.0.1/32
expect "a route that refuses" "10\.77\.0\.[12]:[0-9]+"
ip -n "$LAB-h1" route del prohibit 10.77.0.2/32
ip -n "$LAB-h2" route del prohibit 10.77.0.1/32

# A break in the middle that heals is survived.
on "h1 h3" "$build/test/lab/steady" "$work/stop" 50 &
job=$!
wait_until "messages" test -e "$work/stop.started"
lab cut h3
sleep 1
lab restore h3
touch "$work/stop"
wait $job || die "a break that heals"

# A host whose cable is out has no address to offer.
ip -n "$LAB-h2" link set eth0 down
expect "a host without network" "rank 1 .*(offers no address outside its host|this host \(no network but loopback\))"
echo "unreachable: all as expected"
