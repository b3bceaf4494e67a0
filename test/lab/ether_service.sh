#!/usr/bin/env bash
# Raw Ethernet for an ordinary user, by a service `lapwing accelerator` on each host; who may not, takes TCP and is told why; the service and a rank
# are killed.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

lapwing=$build/launch/lapwing
user=$((60000 + RANDOM % 1000))
export LAPWING_TRANSPORTS=self,shm,ether,tcp
command -v setpriv >/dev/null || { echo "skipped: there is no setpriv" && exit 77; }
as_user=(setpriv --reuid $user --regid $user --clear-groups --no-new-privs --inh-caps=-all --)
"${as_user[@]}" test -x "$mpiexec" || { echo "skipped: another user may not read $build" && exit 77; }
chmod 755 "$work"
mkdir -m 1777 "$work/files"
export HOME=$work/files
lab up 2 || die "lab up"

# service HOST [options]: it answers when this returns.
declare -A services
service() {
  local host=$1
  shift
  : >"$work/$host.log"
  LAPWING_LOG=info "$here/lab" exec "$host" "$lapwing" accelerator --socket "$work/run-$host/accelerator" "$@" >>"$work/$host.log" 2>&1 &
  services[$host]=$!
  until grep -q "serves at" "$work/$host.log"; do
    kill -0 ${services[$host]} 2>/dev/null || return 1
    sleep 0.05
  done
}
end_service() { # SIGNAL HOST
  kill "-$1" "${services[$2]}"
  wait "${services[$2]}" 2>/dev/null
}
# As the user, each rank with the service of its host.
cat >"$work/rank" <<END
#!/bin/sh
LAPWING_ACCELERATOR=$work/run-\$(hostname)/accelerator exec ${as_user[*]} "\$@"
END
chmod 755 "$work/rank"
job() { LAPWING_LOG=info on "$1" "$work/rank" "${@:2}"; } # HOSTS command...

# Without a service, and with one that serves no raw Ethernet, by TCP.
job "h1 h2" "$programs/halo" || die "without a service"
grep -q "without transport ether: this process lacks CAP_NET_RAW.*does not stand in: No such file" "$work/log" || die "without a service: what is told"
for host in h1 h2; do
  service $host || { echo "skipped: this machine lets the service load no program: $(tail -n 1 "$work/$host.log")" && exit 77; }
done
job "h1 h2" "$programs/halo" || die "a service without --ether"
grep -q "does not stand in: an administrator has named no interface for raw Ethernet (--ether)" "$work/log" || die "a service without --ether: what is told"
for host in h1 h2; do end_service TERM $host; done

for host in h1 h2; do service $host --ether eth0 || die "the service does not begin: $(cat "$work/$host.log")"; done
grep -q "^CapPrm:.*000000800000[37]000$" "/proc/${services[h1]}/status" || die "the service has other rights than it needs"
job "h1 h2" "$programs/messages" || die "by the service"
[ "$(grep -c "receives on queue 0 of eth0 .* by the service at $work/run-h" "$work/log")" -eq 2 ] || {
  grep -m 1 "without transport ether" "$work/log"
  echo "skipped: raw Ethernet cannot be had here"
  exit 77
}
[ "$(grep -c "reached by ether" "$work/log")" -eq 2 ] || die "by the service: TCP"
for program in collectives overlap; do job "h1 h2" "$programs/$program" || die "$program"; done
job "h1 h2" "$programs/soak" 51 300 || die "soak"
LAPWING_TRANSPORTS=self,shm,ether job "h1 h2" "$programs/soak" 52 200 || die "soak, long messages by ether"

# Each host has one receive queue; the second rank is told.
job "h1 h1 h2 h2" "$programs/messages" || die "more ranks than queues"
[ "$(grep -c "eth0: all 1 receive queues are taken" "$work/log")" -ge 2 ] || die "more ranks than queues: who has none"
# Root's ranks need no service; those of another EtherType get nothing from it.
LAPWING_LOG=info on "h1 h2" "$programs/halo" || die "root's ranks"
[ "$(grep -c "reached by ether" "$work/log")" -eq 2 ] || die "root's ranks: TCP"
LAPWING_ETHER_TYPE=0x0800 job "h1 h2" "$programs/halo" || die "another EtherType"
grep -q "it serves EtherType 0x88b5, and not 0x0800" "$work/log" || die "another EtherType: what is told"
# Datagrams go by it as well, to its own port alone.
LAPWING_ETHER_FRAMING=udp job "h1 h2" "$programs/soak" 55 200 || die "by UDP"
[ "$(grep -c "by UDP by way of" "$work/log")" -eq 2 ] || die "by UDP: another way"
LAPWING_ETHER_PORT=53 job "h1 h2" "$programs/halo" || die "another port"
grep -q "it serves UDP port 27182, and not 53 (LAPWING_ETHER_PORT)" "$work/log" || die "another port: what is told"

# A rank that is killed ends the job, and its queue is free for the next.
for _ in 1 2 3; do
  rm -f "$work/files/enough"
  : >"$work/log"  # what is waited for is of this job
  job "h1 h2" "$programs/soak" 53 "$work/files/enough" &
  running=$!
  wait_until "operations" grep -q " operations$" "$work/log"
  kill -KILL "$(pgrep -U $user -n -x soak)"
  ! wait $running || die "a rank was killed, and the job succeeded"
done
job "h1 h2" "$programs/halo" || die "after a killed rank"
[ "$(grep -c "reached by ether" "$work/log")" -eq 2 ] || die "after a killed rank: the queue is not free"

# A service that is killed: the job goes on, every byte right, and when it is back the next has its queues.
rm -f "$work/files/enough"
: >"$work/log"
LAPWING_TRANSPORTS=self,shm,ether job "h1 h2" "$programs/soak" 54 "$work/files/enough" &
running=$!
wait_until "operations" grep -q " operations$" "$work/log"
for host in h1 h2; do end_service KILL $host; done
sleep 0.5
touch "$work/files/enough"
wait $running || die "the job does not go on without its services"
for host in h1 h2; do service $host --ether eth0 || die "the service does not begin again"; done
job "h1 h2" "$programs/halo" || die "after a service that was killed"
[ "$(grep -c "reached by ether" "$work/log")" -eq 2 ] || die "after a service that was killed: TCP"
for host in h1 h2; do end_service TERM $host; done

# Limits, and an interface that is not named.
service h1 --ether eth7 && service h2 --ether eth0 --user-memory 4M || die "the service does not begin again"
job "h1 h2" "$programs/halo" || die "limits"
grep -q "has not named this interface for raw Ethernet (--ether)" "$work/log" || die "an interface that is not named: what is told"
grep -q "of the 4 MiB that they may pin (--user-memory)" "$work/log" || die "limits: what is told"
echo "ether_service: all as expected"
