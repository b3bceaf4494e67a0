#!/usr/bin/env bash
# Programs under valgrind: no byte may be used before it was written, none outside what was allocated.
#
#   valgrind.sh MPIEXEC PROGRAM...
set -u
command -v valgrind >/dev/null || { echo "skipped: there is no valgrind"; exit 77; }
mpiexec=$1
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for program in "$@"; do
  for transport in shm tcp; do
    LAPWING_TRANSPORTS=$transport "$mpiexec" -n 2 valgrind -q --error-exitcode=99 "$program" >"$log" 2>&1 && ! grep -q "^==" "$log" && continue
    echo "FAILED: $program, $transport"
    sed 's/^/    /' "$log"
    exit 1
  done
done
echo "valgrind: nothing to report"
