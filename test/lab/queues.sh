#!/usr/bin/env bash
# Hosts whose interfaces have several receive queues, each served by a kernel thread on a processor of its own: every rank takes one, packets find it,
# and the process is bound to its processor, by mpiexec, by the rank, or, where nothing is known, not at all.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

export LAPWING_TRANSPORTS=self,shm,ether,tcp
command -v taskset >/dev/null && command -v chrt >/dev/null || { echo "skipped: taskset and chrt are not there" && exit 77; }
lab up 2 --queues 3 >"$work/log" 2>&1 || {
  echo "skipped: $(tail -n 1 "$work/log")"
  exit 77
}
LAPWING_LOG=info on "h1 h2" "$programs/halo" || die "halo"
grep -q "reached by ether" "$work/log" || {
  grep -m 1 "without transport ether" "$work/log"
  echo "skipped: raw Ethernet cannot be had here"
  exit 77
}

# Three ranks on each host, a queue each, and all by ether; a fourth and a fifth share the queues of two.
LAPWING_LOG=info on "h1 h1 h1 h2 h2 h2" "$programs/messages" || die "a queue for each rank"
for queue in 0 1 2; do [ "$(grep -c "receives on queue $queue of eth0" "$work/log")" -eq 2 ] || die "a queue for each rank: queue $queue"; done
! grep -q "reached by tcp" "$work/log" || die "a queue for each rank: TCP"
on "h1 h1 h1 h2 h2 h2" "$programs/soak" 41 150 || die "soak"
LAPWING_ETHER_FRAMING=udp LAPWING_LOG=info on "h1 h1 h1 h2 h2 h2" "$programs/soak" 42 150 || die "soak, by UDP"
for port in 27182 27183 27184; do grep -q "is at 10.77.0.1:$port, by UDP" "$work/log" || die "soak, by UDP: nobody is at port $port"; done
! grep -q "reached by tcp" "$work/log" || die "soak, by UDP: TCP"
grep -q "eth0: datagrams to 10.77.0.1:27183: the NIC takes no rule: Operation not supported" "$work/log" || die "soak, by UDP: rules of the NIC"
LAPWING_LOG=info on "h1 h1 h1 h1 h1 h2 h2 h2 h2 h2" "$programs/collectives" || die "more ranks than queues"
[ "$(grep -c "shares receive queue [012] of eth0 with 1 other" "$work/log")" -eq 8 ] && ! grep -q "reached by tcp" "$work/log" || die "more ranks than queues: what is told"

# Of three queues the ranks are to have one, and share it; packets come to the endpoints that they are for.
LAPWING_ETHER_QUEUES=1 LAPWING_LOG=info on "h1 h1 h2 h2" "$programs/soak" 44 150 || die "LAPWING_ETHER_QUEUES"
[ "$(grep -c "shares receive queue 0 of eth0 with 1 other" "$work/log")" -eq 4 ] && ! grep -q "reached by tcp" "$work/log" || die "LAPWING_ETHER_QUEUES: what is told"

# Whether the driver can be run by the rank is the kernel's matter; it is told, and messages pass either way.
LAPWING_ETHER_BUSY_POLL=1 LAPWING_LOG=info on "h1 h1 h2 h2" "$programs/soak" 43 150 || die "LAPWING_ETHER_BUSY_POLL"
[ "$(grep -cE "receive queue [012] of eth0 is (polled busily$|not polled busily: its driver tells nothing that could be run)" "$work/log")" -eq 4 ] || die "LAPWING_ETHER_BUSY_POLL: what is told"

threads=($(lab threads h1))
pin() { for queue in 0 1 2; do taskset -p -c "${@:$((queue + 1)):1}" "${threads[$queue]}" >/dev/null; done; } # PROCESSOR of each queue's thread
last=$(($(nproc) - 1))

# A rank takes the queue that is served where its launcher has bound it.
pin 0 0 $last
on "h1 h2" taskset -c $last "$programs/halo" || die "bound by the launcher"
LAPWING_LOG=info on "h1 h2" taskset -c $last "$programs/halo" || die "bound by the launcher"
[ $last -eq 0 ] || grep -q "receives on queue 2 of eth0" "$work/log" || die "bound by the launcher: the queue"

# One that its launcher has not bound binds itself; it says so, and so does the kernel.
LAPWING_ETHER_BIND=1 LAPWING_LOG=info on_with "--bind-to none" "h1 h2" "$programs/halo" || die "LAPWING_ETHER_BIND"
if [ $last -gt 0 ]; then
  grep -q "rank 0: receive queue 0 of eth0: kernel thread ${threads[0]} serves it on 0; bound to processors 0" "$work/log" || die "LAPWING_ETHER_BIND: what is told"
  grep -q "rank 0: process [0-9]* on host h1, .* processors 0$" "$work/log" || die "LAPWING_ETHER_BIND: where it runs"
fi

# mpiexec on the host itself: a processor for each queue, the rest shared out, or all as ever where there is no room or nothing is known.
here_on() { # HOST options and command...
  local host=$1
  shift
  lab exec "$host" timeout 60 "$mpiexec" --report-bindings "$@" >"$work/log" 2>&1
}
if [ $last -gt 0 ]; then
  pin $last 0 0
  here_on h1 -n 2 --bind-to queue "$programs/halo" || die "--bind-to queue"
  grep -q "rank 0 .* on processors $last, which serve receive queue 0 of eth0" "$work/log" || die "--bind-to queue: rank 0"
  grep -q "rank 1 .* on processors 0, which serve receive queue 1, 2 of eth0" "$work/log" || die "--bind-to queue: rank 1"
  grep -q "lapwing: rank 0: receive queue 0 of eth0: kernel thread ${threads[0]} serves it on $last, which is where this rank runs" "$work/log" ||
    die "--bind-to queue: the two do not agree"
fi
# A rank that a command has led to another host is told that the plan is not for its queues.
if [ $last -gt 0 ]; then
  lab exec h1 timeout 60 "$mpiexec" --bind-to queue -n 1 "$programs/halo" : -n 1 "$here/lab" exec h2 "$programs/halo" >"$work/log" 2>&1 || die "--bind-to queue, another host"
  grep -q "rank 1: mpiexec has bound this rank by the receive queues of eth0 on the host where mpiexec runs, and this rank is on host h2" "$work/log" ||
    die "--bind-to queue, another host: message"
  ! grep -q "rank 0: mpiexec has bound" "$work/log" || die "--bind-to queue, another host: rank 0"
fi
here_on h1 -n $((last + 2)) --bind-to queue "$programs/halo" || die "--bind-to queue, too many ranks"
grep -q "not binding to receive queues of this host: $((last + 2)) ranks on" "$work/log" || die "--bind-to queue, too many ranks: message"
LAPWING_TRANSPORTS=self,shm,tcp here_on h1 -n 1 --bind-to queue "$programs/halo" || die "--bind-to queue without ether"
grep -q "LAPWING_TRANSPORTS does not name ether, so ranks have no receive queues" "$work/log" || die "--bind-to queue without ether: message"
lab exec h1 "$build/launch/lapwing" doctor >"$work/log" 2>&1
grep -q "receive queues .*0 by kernel thread ${threads[0]} on processors $last" "$work/log" || die "doctor"
grep -q "the NIC takes no rule: Operation not supported" "$work/log" || die "doctor: rules of the NIC"

# Without threads nothing is told.
lab exec h1 sh -c "echo 0 >/sys/class/net/eth0/threaded"
here_on h1 -n 2 --bind-to queue "$programs/halo" || die "--bind-to queue, nothing known"
grep -q "nothing tells which processors serve the receive queues of eth0" "$work/log" || die "--bind-to queue, nothing known: message"
LAPWING_ETHER_BIND=1 LAPWING_LOG=info on "h1 h2" "$programs/halo" || die "LAPWING_ETHER_BIND, nothing known"
grep -q "rank 0: receive queue 0 of eth0: nothing tells which processors serve it; it stays on processors" "$work/log" || die "LAPWING_ETHER_BIND, nothing known: message"
# But where the packets of a queue are handed on to one processor, that serves it.
if [ $last -gt 0 ] && lab exec h1 sh -c "echo 2 >/sys/class/net/eth0/queues/rx-0/rps_cpus" 2>/dev/null; then
  LAPWING_ETHER_BIND=1 LAPWING_LOG=info on_with "--bind-to none" "h1 h2" "$programs/halo" || die "rps_cpus"
  grep -q "rank 0: receive queue 0 of eth0: rps_cpus of rx-0 serves it on 1; bound to processors 1" "$work/log" || die "rps_cpus: what is told"
fi
echo "queues: all as expected"
