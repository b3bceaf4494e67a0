#!/usr/bin/env bash
# chaos.sh BUILD [FAULTS [SEED]]: soaks over two hosts, one after the other, under a network that breaks at random moments and is mended after up to
# some seconds: a switch that drops what goes to a host, what comes from it, or both; connections that the kernel destroys; a device that goes down;
# addresses that go. The soak checks every byte, and is to notice nothing but delays. The same seed makes the same plan of faults.
faults=${2:-30}
seed=${3:-1}
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

lab up 2 || die "lab up"
export LAPWING_LOG=info
RANDOM=$seed

host() { echo "h$((1 + RANDOM % 2))"; }
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

break_and_mend() { # KIND HOST MS
  exec 9>"$work/whole"
  flock 9
  case $1 in
    0) lab cut "$2" ;;
    1) lab cut "$2" to ;;
    2) lab cut "$2" from ;;
    3) destroy "$2" ;;
    4) device "$2" down ;;
    5) addresses del "$2" ;;
  esac
  pause "$3"
  case $1 in
    [012]) lab restore "$2" ;;
    4) mend_device "$2" ;;
    5) addresses add "$2" ;;
  esac
  exec 9>&-
}

# One after the other until the file exists. A rank begins with a whole network, which it must be able to tell its peers of: until the ranks have met
# there is no fault.
soak() {
  local run=0 job
  while [ ! -e "$work/enough" ]; do
    run=$((run + 1))
    : >"$work/log.$run"
    exec 9>"$work/whole"
    flock 9
    timeout 240 "$mpiexec" -n 1 "$here/lab" exec h1 "$programs/soak" "$((seed * 1000 + run))" 400 : \
      -n 1 "$here/lab" exec h2 "$programs/soak" "$((seed * 1000 + run))" 400 >"$work/log.$run" 2>&1 9>&- &
    job=$!
    until grep -q "connected by tcp" "$work/log.$run" || ! kill -0 $job 2>/dev/null; do sleep 0.02; done
    exec 9>&-
    wait $job || return 1
    grep -v "soak: .* of 400 operations" "$work/log.$run" >>"$work/all"
    rm "$work/log.$run"
  done
}

: >"$work/all"
soak &
job=$!
for ((fault = 1; fault <= faults; ++fault)); do
  kind=$((RANDOM % 6))
  broken=$(host)
  length=$((RANDOM % 10 == 0 ? RANDOM % 4000 : RANDOM % 800))
  break_and_mend $kind "$broken" $length
  pause $((RANDOM % 400))
  if ! kill -0 $job 2>/dev/null; then
    cat "$work"/log.* | tail -n 40
    die "a soak, after fault $fault of $faults (seed $seed): kind $kind at $broken, $length ms"
  fi
  [ $((fault % 50)) -ne 0 ] || echo "chaos: $fault of $faults faults"
done
touch "$work/enough"
wait $job || {
  cat "$work"/log.* | tail -n 40
  die "the last soak (seed $seed)"
}
echo "chaos: $faults faults, seed $seed, $(grep -c ': done in' "$work/all") soaks, $(grep -c 'another has taken its place' "$work/all") connections made again, nothing lost"
