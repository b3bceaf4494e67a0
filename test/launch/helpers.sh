# Sourced by the launcher's tests, which set $mpiexec and $probe first.
#
# Nothing here waits for a fixed time: where something must have happened, the test polls for it with a generous limit.

# What a batch system around the tests has set is none of their business.
unset $(compgen -v | grep -E '^(SLURM|PBS|LSB|PE)_') MPIEXEC_TIMEOUT

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
  echo "FAILED: $1"
  sed 's/^/    stdout: /' "$work/out" 2>/dev/null
  sed 's/^/    stderr: /' "$work/err" 2>/dev/null
  failures=$((failures + 1))
}

# run NAME EXPECTED_CODE mpiexec-arguments...: leaves output in $work/out and $work/err.
run() {
  local name=$1 expected=$2
  shift 2
  timeout -k 1 60 "$mpiexec" "$@" >"$work/out" 2>"$work/err" </dev/null
  local code=$?
  [ "$code" -eq "$expected" ] || fail "$name: exit code $code instead of $expected"
}

said() { grep -q -- "$2" "$work/err" || fail "$1: nothing said about '$2'"; }
printed() { [ "$(sort "$work/out")" = "$(printf '%b' "$2" | sort)" ] || fail "$1: wrong output"; }

# wait_until NAME command...: polls for up to 20 s; where that was in vain, it counts as a failure, and the test goes on.
wait_until() {
  local name=$1
  shift
  for _ in $(seq 400); do
    "$@" && return 0
    read -rt 0.05 <> <(:) || true
  done
  fail "$name"
  return 1
}
# Processes whose command line matches; the patterns are written so that they do not match themselves.
count() { grep -las -- "$1" /proc/[0-9]*/cmdline | wc -l; }
gone() { [ "$(count "$1")" -eq 0 ]; }
alive() { [ "$(count "$1")" -ge "$2" ]; }

finish() { # NAME
  if [ "$failures" -ne 0 ]; then
    echo "$failures failures"
    exit 1
  fi
  echo "$1: all as expected"
}
