# Sourced by the tests of ranks under launchers that are not ours; $build is the build folder. Unlike helpers.sh, run takes a whole
# command here, because other launchers than mpiexec start the ranks.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mpiexec=$build/launch/mpiexec
program=$build/test/mpi/children
other=$here/other_launcher.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
  echo "FAILED: $1"
  sed 's/^/    stdout: /' "$work/out"
  sed 's/^/    stderr: /' "$work/err"
  failures=$((failures + 1))
}
# run NAME EXPECTED_CODE command...
run() {
  local name=$1 expected=$2
  shift 2
  timeout 120 "$@" >"$work/out" 2>"$work/err" </dev/null
  local code=$?
  [ "$code" -eq "$expected" ] || fail "$name: exit code $code instead of $expected"
}
said() { grep -q -- "$2" "$work/err" || fail "$1: nothing said about '$2'"; }
