#!/usr/bin/env bash
# A host that vanishes in the middle of a job is noticed within LAPWING_PEER_TIMEOUT or little more, whatever the others do just then,
# and told with rank, host, address and time. A process that is only stopped is waited for.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

lab up 2 || die "lab up"

# begin MODE: the job, up to its first message.
begin() {
  rm -f "$work/stop" "$work/stop.started"
  on "h1 h2" "$build/test/lab/vanish" "$1" "$work/stop" &
  job=$!
  wait_until "the first message of $1" test -e "$work/stop.started"
}

export LAPWING_PEER_TIMEOUT=2
for mode in talk push wait probe; do
  begin "$mode"
  lab cut h2
  ! wait $job || die "$mode: the job succeeded without a host"
  grep -qE "rank [01] on host h[12] lost its connection to rank [01] on host h[12] \((10\.77\.0\.[12]|\[fd77::[12]\]):[0-9]+\): that host (has not answered for 2 s|does not answer\. No other connection could be made for 2(\.[0-9]+)? s)" \
    "$work/log" || die "$mode: what is told"
  grep -q "LAPWING_PEER_TIMEOUT" "$work/log" || die "$mode: the setting"
  lab restore h2
done

# A rank that waits for a host with which it has not exchanged anything finds out as well.
export LAPWING_CONNECT_TIMEOUT=2
for mode in first anyone; do
  begin "$mode"
  lab cut h2
  ! wait $job || die "$mode: the job succeeded without a host"
  grep -qE "rank 0 on host h1 (waits for messages and could not reach|lost its connection to) rank 1 on host h2" "$work/log" ||
    die "$mode: what is told"
  lab restore h2
done
unset LAPWING_CONNECT_TIMEOUT

# The others go on, where they are let: a rank that has never had to do with the host that vanishes hears of it from another, so that a collective
# operation ends on all. What is left of the lost rank is killed when they have ended.
lab down
lab up 4 || die "lab up"
for mode in recv any barrier iallreduce; do
  rm -f "$work/held"
  on_with "-disable-auto-cleanup" "h1 h2 h3 h4" "$programs/survivors" "$mode" 3 "$work/held" &
  job=$!
  wait_until "the beginning of $mode" test -e "$work/held"
  lab cut h4
  wait_until "the end of the survivors of $mode" nothing_left_on h1 h2 h3
  # shellcheck disable=SC2046
  kill -KILL $(ip netns pids "$LAB-h4")
  wait $job
  [ $? -eq 137 ] || die "$mode: the survivors"
  grep -qE "rank [012] goes on without rank 3 of 4 .*, which it has lost" "$work/log" || die "$mode: the lost rank"
  lab restore h4
done
lab down
lab up 2 || die "lab up"

# The host is back after one rank has lost the other, which has more patience and knows of nothing: it is told, and does not take the first for lost.
cat >"$work/patience" <<'END'
#!/bin/sh
[ "$PMI_RANK" = 0 ] && export LAPWING_PEER_TIMEOUT=2 || export LAPWING_PEER_TIMEOUT=20
exec "$@"
END
chmod +x "$work/patience"
rm -f "$work/stop" "$work/stop.started" "$work/stop.lost"
on_with "-disable-auto-cleanup" "h1 h2" "$work/patience" "$build/test/lab/vanish" away "$work/stop" &
job=$!
wait_until "the first message of away" test -e "$work/stop.started"
lab cut h2
wait_until "the end of patience" test -e "$work/stop.lost"
lab restore h2
wait_until "the word to the rank that was given up" grep -qE \
  "rank 1 is told, class MPI_ERR_PROC_ABORTED: .*rank 1 on host h2 has been given up by rank 0 on host h1 [0-9.]+ s ago, when it had not reached it for [0-9.]+ s\\. .*LAPWING_PEER_TIMEOUT" "$work/log"
touch "$work/stop"
wait $job || die "away: the job"
grep -q "rank 1: rank 0 on host h1 has given this rank up" "$work/log" || die "away: the warning"

# A break that is shorter than the time is survived, also where nothing is under way and only the kernel's probes notice it: a break
# of that length swallows several in a row. What counts is how long it took; where this machine was too slow it is tried again.
export LAPWING_PEER_TIMEOUT=6
for mode in wait talk; do
  for try in 1 2 3 4 5; do
    begin "$mode"
    began=$(date +%s%N)
    lab cut h2
    sleep 5
    lab restore h2
    took=$((($(date +%s%N) - began) / 1000000))
    touch "$work/stop"
    wait $job && break
    [ $took -ge 6000 ] || die "$mode: a break of $took ms is given up"
    [ $try -lt 5 ] || die "$mode: this machine is too slow for a break of 5 s"
  done
done
export LAPWING_PEER_TIMEOUT=2

# All processes on a host are stopped for longer than that, while their buffers are full. The host itself answers.
begin push
# shellcheck disable=SC2046
kill -STOP $(ip netns pids "$LAB-h2")
sleep 5
# shellcheck disable=SC2046
kill -CONT $(ip netns pids "$LAB-h2")
touch "$work/stop"
wait $job || die "a host whose processes were stopped"
echo "vanished: all as expected"
