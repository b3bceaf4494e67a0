#!/usr/bin/env bash
# delay.sh BUILD [NETWORKS [RUNS [CUT [ROUNDS [MICROSECONDS [BYTES]]]]]]: how much a cut of CUT seconds (2) in the middle of a program that computes and exchanges (rounds.c, two
# hosts) delays the whole run: with one network, and with two of which the first is cut, under each protection. A measurement: a quiet machine, and
# no test. The runs with and without the cut take turns; told are the median of those without, and the delays of those with.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
networks_list=${2:-1 2} runs=${3:-3} length=${4:-2} rounds=${5:-1500} microseconds=${6:-2000} bytes=${7:-65536}

# In seconds; with a cut in all networks that the connection could use, or in the first of two.
run() { # WHETHER
  local job
  rm -f "$work/started"
  on "h1 h2" "$build/test/lab/rounds" "$work/started" "$rounds" "$microseconds" "$bytes" &
  job=$!
  wait_until "the first round" test -e "$work/started"
  if [ "$1" = cut ]; then
    sleep 1
    lab cut h2 0
    sleep "$length"
    lab restore h2 0
  fi
  wait $job || die "a job with LAPWING_WIRE=$LAPWING_WIRE"
  sed -n 's/^rounds: //p' "$work/log"
}
median() { sort -n | sed -n "$(((runs + 1) / 2))p"; }

for networks in $networks_list; do
  lab up 2 --networks $networks || die "lab up"
  for wire in plain checked sealed; do
    export LAPWING_WIRE=$wire
    : >"$work/whole"
    : >"$work/broken"
    for _ in $(seq "$runs"); do
      run whole >>"$work/whole"
      run cut >>"$work/broken"
    done
    without=$(median <"$work/whole")
    echo "$networks network(s), $wire: $without s without ($(sort -n "$work/whole" | tr '\n' ' ')); delays" \
      "$(awk -v without="$without" '{ printf "%.2f\n", $1 - without }' "$work/broken" | sort -n | tr '\n' ' ')"
  done
  lab down
done
