#!/usr/bin/env bash
# chaos.sh BUILD [--faults 25] [--seed 1] [--wire "plain checked sealed"] [--hosts "h1 h2"] [--threads 0] [--networks 1]:
# for each of these protections of frames (LAPWING_WIRE) one job of test/mpi/soak.c, one rank on each of the hosts named, under so many faults at random
# moments. The soak checks every byte, and is to notice nothing but delays. The same seed makes the same plan of faults, the same soak, and harms frames
# in the same ways. With two networks devices, addresses and frames come to harm in the first.
#
#   cut, cut-to, cut-from   the switch drops what goes to a host and what comes from it, or one of the two, for some time
#   destroy                 the kernel destroys a host's connections
#   down, address           a host's device is down, or has no address, for some time
#   drop, duplicate, reorder, delay     up to so many frames in some time, by the relay in the cable of h2 (relay.cc)
#   corrupt                 bytes of up to so many TCP segments, in a way that TCP does not notice: where frames are checked or sealed
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
shift
faults=25 seed=1 wires="plain checked sealed" hosts="h1 h2" threads=0 networks=1
while [ $# -gt 1 ]; do
  case $1 in
    --faults) faults=$2 ;;
    --seed) seed=$2 ;;
    --wire) wires=$2 ;;
    --hosts) hosts=$2 ;;
    --threads) threads=$2 ;;
    --networks) networks=$2 ;;
    *) die "unknown option $1" ;;
  esac
  shift 2
done
faults_at_end=3 # while the job ends
export LAPWING_LOG=info
export LAPWING_PEER_TIMEOUT=${LAPWING_PEER_TIMEOUT:-300} # also where all of this machine stands still for a minute in the middle of a fault

# ---- the plan: a line for each fault ------------------------------------------------------------------------------------

# KIND HOST MS COUNT PAUSE: the fault lasts so many milliseconds, or until it has harmed so many frames, and the next one comes after the pause (ms).
plan() { # WIRE
  local kinds=(cut cut-to cut-from destroy down address drop drop duplicate duplicate reorder reorder delay delay) fault
  [ "$1" = plain ] || kinds+=(corrupt corrupt corrupt corrupt)
  RANDOM=$seed
  for ((fault = 1; fault <= faults; ++fault)); do
    echo "${kinds[RANDOM % ${#kinds[@]}]} h$((1 + RANDOM % 2)) $((RANDOM % 12 == 0 ? RANDOM % 2500 : RANDOM % 200)) $((1 + RANDOM % 30)) $((RANDOM % 150))"
  done
}

# ---- faults -------------------------------------------------------------------------------------------------------------

pause() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; } # MS

destroy() { ip netns exec "$LAB-$1" ss -K -t state established '( sport >= :1024 and dport >= :1024 )' >/dev/null 2>&1; }
addresses() { # add|del HOST
  ip -n "$LAB-$2" address "$1" "10.77.0.${2#h}/24" dev eth0
  ip -n "$LAB-$2" address "$1" "fd77::${2#h}/64" dev eth0 nodad 2>/dev/null || true
}
device() { ip -n "$LAB-$1" link set eth0 "$2"; } # HOST up|down

# A device that was down has lost its addresses of IPv6.
mend_device() {
  device "$1" up
  ip -n "$LAB-$1" address replace "fd77::${1#h}/64" dev eth0 nodad 2>/dev/null || true
}

break_it() { # KIND HOST MS COUNT
  case $1 in
    cut) lab cut "$2" ;;
    cut-*) lab cut "$2" "${1#cut-}" ;;
    destroy) destroy "$2" ;;
    down) device "$2" down ;;
    address) addresses del "$2" ;;
    delay) lab harm h2 delay "$3" "$4" ;;
    corrupt) lab harm h2 corrupt $((1 + $4 / 10)) ;;
    *) lab harm h2 "$1" "$4" ;;
  esac
}
mend_it() { # KIND HOST
  case $1 in
    cut*) lab restore "$2" ;;
    down) mend_device "$2" ;;
    address) addresses add "$2" ;;
    destroy) ;;
    *) lab harm h2 calm ;;
  esac
}

harm_frames() {
  local kind
  for kind in drop duplicate reorder; do lab harm h2 $kind 3; done
  [ "$wire" = plain ] || lab harm h2 corrupt 1
}

# ---- a job --------------------------------------------------------------------------------------------------------------

failed() { # WHAT
  echo "--- the last that was done:"
  tail -n 5 "$work/done"
  "$build/launch/lapwing" why $job 2>&1 | sed 's/^/    /'
  tail -n 60 "$work/log" >"$work/log.end"
  mv "$work/log.end" "$work/log"
  die "$wire, seed $seed: $1"
}
goes_on() { kill -0 $job 2>/dev/null; }

soak() {
  local arguments=() host
  for host in $hosts; do
    [ ${#arguments[@]} -eq 0 ] || arguments+=(:)
    arguments+=(-n 1 "$here/lab" exec "$host" "$programs/soak" "$seed" "$work/enough" "$threads")
  done
  exec "$mpiexec" "${arguments[@]}" >"$work/log" 2>&1
}

# How often the log has it.
told() { grep -cE "$1" "$work/log"; }

longest_break() { sed -n 's/.*another has taken its place, .* after \([0-9.]*\) s$/\1/p' "$work/log" | sort -n | tail -n 1; }

under_faults() { # WIRE
  local wire=$1 fault=0 kind host length count rest
  export LAPWING_WIRE=$wire
  rm -f "$work/enough" "$work/done" "$work/report"
  plan "$wire" >"$work/plan"
  # A rank begins with a whole network, which it must be able to tell its peers of. The first connections may suffer.
  harm_frames
  : >"$work/log"  # what is waited for is of this job
  soak &
  job=$!
  wait_until "the first operations" grep -q " operations$" "$work/log"
  while read -r kind host length count rest; do
    [ "$fault" -lt $((faults - faults_at_end)) ] || touch "$work/enough"
    goes_on || [ -e "$work/enough" ] || failed "the job has ended after $fault faults"
    fault=$((fault + 1))
    echo "$fault: $kind $host, $length ms, $count frames" >>"$work/done"
    break_it "$kind" "$host" "$length" "$count"
    pause "$length"
    mend_it "$kind" "$host"
    pause "$rest"
    [ $((fault % 100)) -ne 0 ] || echo "chaos: $wire, $fault of $faults faults; $(grep ' operations$' "$work/log" | tail -n 1)"
  done <"$work/plan"
  for _ in $(seq 600); do
    goes_on || break
    sleep 0.1
  done
  ! goes_on || failed "the job does not end after its last fault"
  wait $job || failed "the job has failed in the end"
  lab harm h2 report "$work/report"
  wait_until "the relay's report" grep -q "^passed .* delay [0-9]*$" "$work/report"
  echo "chaos: $wire, seed $seed, $hosts: $fault faults, nothing lost; $(grep ' done in ' "$work/log"); connections made again:" \
    "$(told 'another has taken its place'), after $(longest_break) s at most; breaks by wrong records:" \
    "$(told 'that is not as it was sent: .* Connecting again'); frames so far: $(cat "$work/report")"
}

lab up 2 --networks "$networks" || die "lab up"
lab relay h2 "$build/test/lab/relay" "$seed"
for wire in $wires; do under_faults "$wire"; done
