#!/usr/bin/env bash
# Programs run over several hosts, one and two ranks on each, though their hosts have interfaces that lead nowhere or to another
# else: the messages inside a host go by shared memory, those between hosts by the one network that joins them.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

! lab up 2 --rate nonsense 2>"$work/log" || die "a rate that is none"
! ip netns list | grep -q "^$LAB-" || die "a lab that could not be made has left namespaces"

lab up 3 --rate 1gbit || die "lab up"
for host in h1 h2 h3; do
  decoy "$host" docker0 172.17.0.1/16 # every host has the same
  decoy "$host" office 192.168.7.1/24 # the same, with an innocent name
  tunnel "$host" "10.8.0.${host#h}" 10.8.0.9
done

for hosts in "h1 h2" "h1 h1 h2 h2" "h1 h2 h1 h3"; do
  for program in halo messages collectives; do
    on "$hosts" "$programs/$program" || die "$program on $hosts"
  done
done
on "h1 h2" "$programs/overlap" || die "overlap on h1 h2"

# Each way carries what it should: inside a host shared memory is enough, between hosts TCP is needed.
LAPWING_TRANSPORTS=self,shm on "h1 h1" "$programs/halo" || die "shared memory inside a host"
! LAPWING_TRANSPORTS=self,shm on "h1 h2" "$programs/halo" || die "shared memory between hosts"
grep -q "rank [01] on host h[12].*LAPWING_TRANSPORTS" "$work/log" || die "shared memory between hosts: message"

# The user's choice holds, by name and by network; a wrong one is told at once.
for choice in eth0 10.77.0.0/24 office,eth0; do
  LAPWING_TCP_INTERFACE=$choice on "h1 h2" "$programs/halo" || die "LAPWING_TCP_INTERFACE=$choice"
done
if ip -n "$LAB-h1" -6 address show dev eth0 | grep -q fd77; then
  LAPWING_TCP_INTERFACE=fd77::/64 on "h1 h2" "$programs/messages" || die "LAPWING_TCP_INTERFACE=fd77::/64"
  for host in h1 h2; do ip -n "$LAB-$host" address del "$(lab address "$host")/24" dev eth0; done
  on "h1 h2" "$programs/halo" || die "hosts with IPv6 alone"
  for host in h1 h2; do ip -n "$LAB-$host" address add "$(lab address "$host")/24" dev eth0; done
fi
! LAPWING_TCP_INTERFACE=eth7 on "h1 h2" "$programs/halo" || die "LAPWING_TCP_INTERFACE=eth7 was accepted"
grep -q "matches no network interface.*eth0 (10.77.0" "$work/log" || die "LAPWING_TCP_INTERFACE=eth7: message"

# An address that looks like the closest neighbour's but leads nowhere costs time, not the job.
for host in h1 h2; do decoy "$host" storage "10.88.0.${host#h}/26"; done
on "h1 h2" "$programs/halo" || die "a false neighbour"
echo "hosts: all as expected"
