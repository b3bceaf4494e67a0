#!/usr/bin/env bash
# Receive in the kernel for an ordinary user, by the service `lapwing accelerator`; the service, and ranks, are killed at any moment.
#
#   accelerator.sh BUILD_FOLDER
#
# It needs root, to run the service with its rights and the ranks without any. Nothing of the machine is changed: the service's socket lies in a
# folder of the test.
set -u

build=$1
mpiexec=$build/launch/mpiexec
lapwing=$build/launch/lapwing
tests=$build/test/mpi
steady=$build/test/lab/steady
user=$((60000 + RANDOM % 1000 * 2)) # no account has it, nor the one after it
work=$(mktemp -d)
service=
unset $(compgen -v | grep -E '^LAPWING_(RECEIVE|TRANSPORTS|LOG|STATS|RESUME|WIRE)')
end_service() { [ -z "$service" ] || { kill "-$1" "$service" 2>/dev/null; wait "$service" 2>/dev/null; }; service=; }
trap 'end_service KILL; rm -rf "$work"' EXIT

skip() { echo "skipped: $1" && exit 77; }
die() {
  echo "FAILED: $1"
  sed 's/^/    /' "$work/log"
  echo "    the service:"
  sed 's/^/    /' "$work/service.log"
  exit 1
}
says() { grep -qF -- "$1" "$work/log" || die "no word of '$1'"; }
as_user() { setpriv --reuid $user --regid $user --clear-groups --no-new-privs --inh-caps=-all -- "$@"; }
# job ok|fails RECEIVE RANKS command...: run by the user.
job() {
  local expected=$1 receive=$2 ranks=$3 outcome=fails
  shift 3
  LAPWING_RECEIVE=$receive as_user timeout -k 1 120 "$mpiexec" -n "$ranks" "$@" >"$work/log" 2>&1 </dev/null && outcome=ok
  [ "$outcome" = "$expected" ] || die "it $outcome: LAPWING_RECEIVE=$receive, $ranks ranks, $*"
}
# job_says RANKS TEXT...: run by the user with LAPWING_RECEIVE=auto, for which MPI_Init does not wait, until its log has every TEXT.
job_says() {
  local ranks=$1 running text
  shift
  rm -f "$work/files/end"
  LAPWING_RECEIVE=auto LAPWING_LOG=info as_user timeout -k 1 120 \
    "$mpiexec" -n "$ranks" "$tests/soak" 12 "$work/files/end" >"$work/log" 2>&1 </dev/null &
  running=$!
  for text; do
    until grep -qF -- "$text" "$work/log"; do kill -0 $running 2>/dev/null || die "the job ended by itself, without a word of '$text'"; done
  done
  : >"$work/files/end"
  wait $running || die "the job failed: $ranks ranks"
}
# start [options]: the service, which answers when this returns.
start() {
  : >"$work/service.log"
  LAPWING_LOG=info "$lapwing" accelerator "$@" >>"$work/service.log" 2>&1 &
  service=$!
  until grep -q "serves at" "$work/service.log"; do
    kill -0 $service 2>/dev/null || { service= && return 1; }
  done
}
alone() { # the service serves no rank any more
  for _ in $(seq 400); do
    [ "$(ls "/proc/$service/task" | wc -l)" -eq 1 ] && return
    read -rt 0.05 <> <(:) || true
  done
  die "the service still serves ranks that have gone"
}

: >"$work/log" >"$work/service.log"
[ "$(id -u)" -eq 0 ] || skip "this needs root"
command -v setpriv >/dev/null || skip "there is no setpriv"
as_user test -x "$mpiexec" || skip "another user may not read $build"
chmod 755 "$work"
mkdir -m 1777 "$work/files"
export LAPWING_ACCELERATOR=$work/run/accelerator LAPWING_TRANSPORTS=self,tcp HOME=$work/files

# ---- without a service ----
job ok auto 2 "$tests/messages"
job_says 2 "going on without receive in the kernel: "
job fails kernel 2 "$tests/messages"
says "CAP_BPF and CAP_NET_ADMIN"
says "the service \`lapwing accelerator\` at $LAPWING_ACCELERATOR (LAPWING_ACCELERATOR) does not stand in: No such file or directory"
LAPWING_RECEIVE=auto as_user "$lapwing" doctor >"$work/log" 2>&1
says "an administrator of this host enables it for all users"
as_user "$lapwing" accelerator >"$work/log" 2>&1 && die "the service begins without rights"
as_user "$lapwing" accelerator --socket "$work/files/a" >"$work/log" 2>&1 && die "the service begins without rights"
says "the accelerator needs CAP_BPF and CAP_NET_ADMIN"

# ---- with one ----
start || { cat "$work/service.log" && skip "this machine lets the service load no program"; }
grep -q "^CapPrm:.*0000008000001000$" "/proc/$service/status" || die "the service has other rights than it needs"
LAPWING_LOG=info LAPWING_STATS=1 job ok kernel 3 "$tests/messages"
says "messages over tcp are matched in the kernel, by the service at $LAPWING_ACCELERATOR, of up to 2 peers"
grep -qE ' [1-9][0-9]* of them matched in the kernel' "$work/log" || die "nothing was matched in the kernel"
job ok kernel 2 "$tests/soak" 12 500
job ok kernel 4 "$tests/soak" 13 300
LAPWING_STATS=1 job ok kernel 2 "$tests/computing_receiver"
grep -qE ' [1-9][0-9]* asked for there' "$work/log" || die "no request was answered in the kernel"
LAPWING_PROGRESS=polling job ok kernel 2 "$tests/messages"
job ok auto 4 "$tests/leaving"
LAPWING_RECEIVE=auto as_user "$lapwing" doctor >"$work/log" 2>&1
says "messages over TCP are matched in the kernel, by the service at $LAPWING_ACCELERATOR (LAPWING_RECEIVE=auto)"
as_user "$lapwing" info >"$work/log" 2>&1
says "by the library (LAPWING_RECEIVE=user); it can be had in the kernel, by the service at $LAPWING_ACCELERATOR"
LAPWING_RECEIVE=kernel "$lapwing" info >"$work/log" 2>&1
says "in the kernel, by this process's own rights (LAPWING_RECEIVE=kernel)"
LAPWING_LOG=info "$lapwing" accelerator >"$work/log" 2>&1 && die "there are two"
says "another accelerator serves at"
alone

# In a network namespace of its own the connections are not the service's.
if unshare --net ip link set lo up 2>/dev/null; then
  LAPWING_RECEIVE=kernel unshare --net sh -c 'ip link set lo up && exec "$@"' - setpriv --reuid $user --regid $user --clear-groups --inh-caps=-all -- \
    "$mpiexec" -n 2 "$tests/messages" >"$work/log" 2>&1 && die "sockets of another network namespace join"
  says "only in the accelerator's network namespace"
else
  echo "without another network namespace, which this machine does not give"
fi

# ---- ranks that die ----
for delay in 0.0 0.02 0.05 0.1 0.2 0.3; do
  rm -f "$work/files/end"
  LAPWING_RECEIVE=auto as_user "$mpiexec" -n 3 "$steady" "$work/files/end" 60 >"$work/log" 2>&1 </dev/null &
  running=$!
  until victim=$(pgrep -U $user -n -x steady); do kill -0 $running 2>/dev/null || die "the job ended by itself"; done
  sleep $delay
  kill -KILL "$victim"
  wait $running && die "a job without its rank ended well"
  alone
done
job ok kernel 2 "$tests/messages"

# ---- a service that dies ----
for delay in 0.0 0.02 0.05 0.1 0.2 0.3; do
  rm -f "$work/files/end" "$work/files/end.started"
  LAPWING_RECEIVE=auto as_user timeout -k 1 120 "$mpiexec" -n 3 "$steady" "$work/files/end" 60 >"$work/log" 2>&1 </dev/null &
  running=$!
  sleep $delay
  end_service KILL
  until [ -e "$work/files/end.started" ]; do kill -0 $running 2>/dev/null || die "the job ended with its service"; done
  sleep 0.1
  : >"$work/files/end"
  wait $running || die "the job does not go on without its service"
  start || die "the service does not begin again"
done
# Once all is joined, and with messages that are matched in the kernel.
rm -f "$work/files/end"
LAPWING_RECEIVE=kernel LAPWING_LOG=info as_user timeout -k 1 120 "$mpiexec" -n 3 "$tests/soak" 14 "$work/files/end" >"$work/log" 2>&1 </dev/null &
running=$!
until [ "$(grep -c "matched in the kernel" "$work/log")" -eq 3 ]; do kill -0 $running 2>/dev/null || die "the job ended by itself"; done
sleep 0.5
end_service KILL
sleep 0.5
: >"$work/files/end"
wait $running || die "the soak does not go on without its service"
start || die "the service does not begin again"
# While requests are answered in the kernel, or are about to be.
for delay in 0.1 0.2 0.3 0.5; do
  LAPWING_RECEIVE=auto as_user timeout -k 1 120 "$mpiexec" -n 2 "$tests/computing_receiver" >"$work/log" 2>&1 </dev/null &
  running=$!
  sleep $delay
  end_service KILL
  wait $running || die "messages that ask do not come without the service"
  start || die "the service does not begin again"
done
rm -f "$work/files/end" "$work/files/end.started"
LAPWING_RECEIVE=kernel as_user timeout -k 1 120 "$mpiexec" -n 3 "$steady" "$work/files/end" 60 >"$work/log" 2>&1 </dev/null &
running=$!
until [ -e "$work/files/end.started" ]; do kill -0 $running 2>/dev/null || die "the job ended by itself"; done
end_service TERM
[ -e "$LAPWING_ACCELERATOR" ] && die "the service has left its socket"
sleep 0.3
: >"$work/files/end"
wait $running || die "the job does not go on without its service"

# ---- limits ----
start --user-ranks 1 || die "the service does not begin again"
job_says 2 "it serves no more than 1 ranks of a user at a time (--user-ranks)" "messages over tcp are matched in the kernel, by the service"
end_service TERM
start --user-memory 8M || die "the service does not begin again"
job fails kernel 2 "$tests/messages"
says "of the 8 MiB that they may pin (--user-memory)"
LAPWING_RECEIVE_ZONE=4M LAPWING_RECEIVE_MEMORY=2M job ok auto 2 "$tests/messages"
end_service TERM

# ---- a service of a user of its own, as a service manager has it ----
tool=$lapwing
lapwing_as_service() {
  local rights=-all,+bpf,+net_admin
  exec setpriv --reuid $((user + 1)) --regid $((user + 1)) --clear-groups --inh-caps=$rights --ambient-caps=$rights -- "$tool" "$@"
}
lapwing=lapwing_as_service
mkdir "$work/own" && chown $((user + 1)) "$work/own"
export LAPWING_ACCELERATOR=$work/own/accelerator
start || die "the service does not begin as another user"
job ok kernel 2 "$tests/messages"
chmod 1777 "$work/own"
job fails kernel 2 "$tests/messages"
says "user $((user + 1)) runs it, whom the folder of its socket does not belong to alone"
end_service TERM
echo "accelerator: all as expected"
