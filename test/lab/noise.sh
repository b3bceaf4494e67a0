#!/usr/bin/env bash
# A job finishes correctly, and says nothing, while a stranger fills the link of one of its hosts with everything that strangers send,
# while a cable is out for a moment, and when it starts in the middle of all that.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

shows() { [ "$(lab noise 2>/dev/null | awk -v name="$1" '$1 == name { print $2 }')" -ge "$2" ]; }

lab up 2 --rate 100mbit || die "lab up"

on "h1 h1 h2 h2" "$build/test/lab/steady" "$work/stop" 50 &
job=$!
wait_until "messages between all" test -e "$work/stop.started"
lab fill h1 --rate 50mbit || die "lab fill"
wait_until "datagrams" shows datagrams 2000
wait_until "forged segments" shows forged 100
wait_until "garbage in the ranks' ports" shows garbage 20
wait_until "a flood of connections" shows held 50
rm "$work/stop.started"
lab cut h2
sleep 0.3
lab restore h2
touch "$work/stop"
wait $job || die "the job among noise"
grep -q "steady: done" "$work/log" || die "the job's last word"
! grep -qi "warn\|error\|lapwing" "$work/log" || die "the job was disturbed"

on "h1 h2" "$programs/messages" || die "a job that starts among noise"

lab noise >"$work/noise"
lab quiet || die "lab quiet"
! lab noise >/dev/null 2>&1 || die "the stranger did not go"
[ "$(lab hosts | tr '\n' ' ')" = "h1 h2 " ] || die "the hosts"
! lab fill h9 2>/dev/null || die "a host that is not there"
! lab fill h1 soon 2>/dev/null || die "a time that is none"
tr '\n' ' ' <"$work/noise"
echo
echo "noise: all as expected"
