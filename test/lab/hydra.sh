#!/usr/bin/env bash
# MPICH's launcher, Hydra, starts Lapwing programs on several hosts through (what stands in for) ssh. LAB_HYDRA names its mpiexec;
# otherwise mpiexec.hydra is looked for in PATH.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

hydra=${LAB_HYDRA:-$(command -v mpiexec.hydra || true)}
if [ -z "$hydra" ]; then
  echo "skipped: no mpiexec.hydra here; LAB_HYDRA=/path/to/it names one"
  exit 77
fi

# hydra HOSTS RANKS_PER_HOST RANKS program...: started on the first host.
hydra() {
  local hosts=$1 each=$2 ranks=$3
  shift 3
  timeout 60 "$here/lab" exec "${hosts%%,*}" "$hydra" -iface eth0 -launcher ssh -launcher-exec "$here/ssh" -hosts "$hosts" \
    -ppn "$each" -n "$ranks" "$@" >"$work/log" 2>&1
}

lab up 4 --rate 1gbit || die "lab up"
for host in h1 h2 h3 h4; do decoy "$host" docker0 172.17.0.1/16; done

for program in halo messages collectives; do
  hydra h1,h2 1 2 "$programs/$program" || die "$program on 2 hosts"
  hydra h1,h2 2 4 "$programs/$program" || die "$program on 2 hosts, 2 ranks each"
done
hydra h1,h2,h3,h4 1 4 "$programs/halo" || die "halo on 4 hosts"
hydra h1,h2,h3 2 6 "$programs/messages" || die "messages on 3 hosts, 2 ranks each"
hydra h1,h2 1 2 "$programs/overlap" || die "overlap on 2 hosts"

# The launcher reaches both, but they do not reach each other.
ip -n "$LAB-h1" route add blackhole 10.77.0.2/32
ip -n "$LAB-h1" -6 address flush dev eth0
! LAPWING_CONNECT_TIMEOUT=2 hydra h3,h1,h2 1 3 "$programs/collectives" || die "hosts that do not reach each other: the job succeeded"
grep -q "rank [12] on host h[12] cannot reach rank [12] on host h[12]" "$work/log" || die "hosts that do not reach each other: message"
echo "hydra: all as expected"
