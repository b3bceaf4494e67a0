#!/usr/bin/env bash
# Two hosts that share two networks. Whatever happens to the one that a connection uses, the job goes on over the other; every byte is checked. And
# how much a cut delays a program that computes, where there is one network alone.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

lab up 2 --networks 2 || die "lab up"
export LAPWING_LOG=info
export LAPWING_TCP_LINKS=1 # rails.sh has those that use both at once

# begin PROGRAM...: a job that runs until the file "stop" exists.
begin() {
  rm -f "$work/stop" "$work/stop.started"
  on "h1 h2" "$@" &
  job=$!
  wait_until "the first message" test -e "$work/stop.started"
}
end() { # WHAT
  touch "$work/stop"
  wait $job || die "$1"
}
# The network of the connection that was made last, as its address shows it.
network() { grep -oE '(at 10\.|at \[fd)[0-9]+' "$work/log" | tail -n 1 | grep -oE '[0-9]+$'; }
uses() { [ "$(network)" = "$1" ]; }

address() { ip -n "$LAB-h2" address "$1" "10.77.0.2/24" dev eth0 && ip -n "$LAB-h2" address "$1" fd77::2/64 dev eth0 nodad; } # add|del
device() { ip -n "$LAB-h2" link set eth0 "$1"; } # up|down

break_first_network() { # KIND
  case $1 in
    cut) lab cut h2 0 ;;
    to | from) lab cut h2 "$1" 0 ;;
    address) address del ;;
    device) device down ;;
  esac
}
mend_first_network() { # KIND
  case $1 in
    address) address add 2>/dev/null || true ;;
    device)
      device up
      ip -n "$LAB-h2" address replace fd77::2/64 dev eth0 nodad 2>/dev/null || true
      ;;
    *) lab restore h2 0 ;;
  esac
}

# Small messages to and fro, large ones one way, and checked ones of 100 KB in both directions.
for kind in cut to from address device; do
  for program in "$build/test/lab/vanish talk" "$build/test/lab/vanish push" "$build/test/lab/steady"; do
    # shellcheck disable=SC2086
    begin $program "$work/stop"
    wait_until "$kind, $program: the first network as the first choice" uses 77
    break_first_network "$kind" || {
      mend_first_network "$kind"
      end "$kind, $program: no such fault here"
      continue
    }
    wait_until "$kind, $program: the other network" uses 78
    mend_first_network "$kind"
    end "$kind, $program"
  done
done

# Back home, when the first network has been well for some seconds.
begin "$build/test/lab/vanish" talk "$work/stop"
wait_until "the way home: the first network as the first choice" uses 77
lab cut h2 0
wait_until "the way home: the other network" uses 78
lab restore h2 0
wait_until "the way home" grep -q "messages go by their own network again, at 10.77" "$work/log"
end "the way home"

# Nothing is under way when the network goes: it is the first message afterwards that finds out.
begin "$build/test/lab/vanish" wait "$work/stop"
lab cut h2 0
end "an idle connection"
uses 78 || die "an idle connection went on over a network that was cut"
lab restore h2 0

# Still idle, and no message at all: the kernel's probes find out, long before the peer counts as gone, and it does not.
export LAPWING_PEER_TIMEOUT=4
begin "$build/test/lab/vanish" wait "$work/stop"
lab cut h2 0
wait_until "the kernel's probes" uses 78
end "a connection that stays idle"
lab restore h2 0
unset LAPWING_PEER_TIMEOUT
echo "failover: all as expected"
