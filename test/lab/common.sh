# What the tests in the lab share: sourced with BUILD_FOLDER as the first argument.
#
# Jobs are started by our mpiexec, whose ranks go to their hosts through "lab exec" (the launcher's descriptor goes along), so
# that no launcher for many hosts is needed. Where there is one (Hydra), hydra.sh uses it.
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1
mpiexec=$build/launch/mpiexec
programs=$build/test/mpi
export LAB=t$(($$ % 10000000))

can_have_a_lab() {
  [ "$(id -u)" -eq 0 ] || return 1
  ip netns add "$LAB-probe" 2>/dev/null || return 1
  ip -n "$LAB-probe" link add probe type veth 2>/dev/null
  local code=$?
  ip netns del "$LAB-probe"
  return $code
}
if ! can_have_a_lab; then
  echo "skipped: network namespaces need root, iproute2 and a kernel that has them"
  exit 77
fi

work=$(mktemp -d)
clean_up() {
  local job
  for job in $(jobs -p); do kill "$job" 2>/dev/null; done
  "$here/lab" down
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

lab() { "$here/lab" "$@"; }
die() {
  echo "FAILED: $1"
  [ ! -e "$work/log" ] || sed 's/^/    /' "$work/log"
  exit 1
}

# on "h1 h1 h2" command...: one rank on each of the hosts.
on() { on_with "" "$@"; }
# on_with "mpiexec's options" "h1 h1 h2" command...
on_with() {
  local options=$1 hosts=$2 arguments=() host
  shift 2
  for host in $hosts; do
    [ ${#arguments[@]} -eq 0 ] || arguments+=(:)
    arguments+=(-n 1 "$here/lab" exec "$host" "$@")
  done
  # shellcheck disable=SC2086
  timeout 60 "$mpiexec" $options "${arguments[@]}" >"$work/log" 2>&1
}

# start "h1 h1 h2" command...: the same in the background, as $job. What waits for a text of it finds none of the job before.
start() {
  : >"$work/log"
  on "$@" &
  job=$!
}

nothing_left_on() {
  local host
  for host in "$@"; do [ -z "$(ip netns pids "$LAB-$host")" ] || return 1; done
}

# A device that is up and running but leads nowhere: decoy HOST NAME ADDRESS/PREFIX
decoy() {
  local space=$LAB-$1
  ip -n "$space" link add "$2" type veth peer name "$2-end"
  ip -n "$space" link set "$2-end" up
  ip -n "$space" address add "$3" dev "$2"
  ip -n "$space" link set "$2" up
}

# A tunnel as a VPN makes it, with no host at its end: tunnel HOST OWN PEER. It lives until the lab goes down.
tunnel() {
  local space=$LAB-$1
  [ -c /dev/net/tun ] || return 0
  ip netns exec "$space" python3 -c '
import fcntl, os, struct, time
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH14x", b"tun0", 1))  # TUNSETIFF, a tunnel of IP packets
time.sleep(1000)' &
  wait_until "tunnel on $1" ip -n "$space" link show tun0
  ip -n "$space" address add "$2" peer "$3" dev tun0
  ip -n "$space" link set tun0 up
}

# wait_until WHAT command...: polls for up to two minutes, and ends the test where that was in vain. (That of test/launch/helpers.sh goes on.)
wait_until() {
  local what=$1 _
  shift
  for _ in $(seq 2400); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.05
  done
  die "waited in vain for: $what"
}
