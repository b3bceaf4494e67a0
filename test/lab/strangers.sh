#!/usr/bin/env bash
# Strangers on the network find the ports of a running job: garbage, floods, connections that say nothing. The job goes on as if they
# were not there, also when it starts under attack, and no stranger is told anything.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# What the ranks on a host listen on: listeners HOST
listeners() {
  lab exec "$1" cat /proc/net/tcp | awk \
    '$4 == "0A" && $2 !~ /^0100007F/ { split($2, part, ":"); print part[2] }' | sort -u |
    while read -r port; do echo "$(lab address "$1"):$((16#$port))"; done
}

lab up 3 || die "lab up"

on "h1 h1 h2 h2" "$build/test/lab/steady" "$work/stop" 40 &
job=$!
wait_until "messages between all" test -e "$work/stop.started"
# shellcheck disable=SC2046
lab exec h3 python3 "$here/stranger.py" 4 $(listeners h1) $(listeners h2) >"$work/stranger" || die "the stranger: $(cat "$work/stranger")"
cat "$work/stranger"
touch "$work/stop"
wait $job || die "the job among strangers"
grep -q "steady: done" "$work/log" || die "the job's last word"
! grep -qi "warn\|error" "$work/log" || die "the job was disturbed"

# Ports that are known beforehand are attacked while the job starts and makes its connections.
export LAPWING_TCP_PORTS=47000-47003
rm -f "$work/stop"*
ports=$(for host in h1 h2; do for port in 47000 47001 47002 47003; do echo "$(lab address $host):$port"; done; done)
# shellcheck disable=SC2086
lab exec h3 python3 "$here/stranger.py" 5 $ports >"$work/stranger" &
stranger=$!
for _ in 1 2 3; do
  on "h1 h1 h2 h2" "$programs/messages" || die "a job that starts among strangers"
done
wait $stranger || die "the stranger at the start: $(cat "$work/stranger")"
cat "$work/stranger"
echo "strangers: all as expected"
