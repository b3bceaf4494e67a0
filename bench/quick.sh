#!/usr/bin/env bash
# Lapwing beside MPICH, Intel MPI and Open MPI: bench/quick.c under each, interleaved, medians as a table in Markdown.
#
#   bench/quick.sh LAPWING_PREFIX PEERS_FOLDER [rounds]
#
# PEERS_FOLDER holds virtual environments "mpich", "impi-rt", "openmpi" with the packages of these names (test/interop/run makes
# them); those that are missing are left out. Each library runs with its default settings but for the transport.
set -eu

prefix=$(readlink -f "$1")
peers=$(readlink -f "$2")
rounds=${3:-3}
source=$(dirname "$(readlink -f "$0")")/quick.c
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$prefix/bin/mpicc" -O2 "$source" -o "$work/quick"
candidates=(lapwing-shm lapwing-tcp)
[ ! -x "$peers/mpich/bin/mpiexec" ] || candidates+=(mpich-shm mpich-tcp)
[ ! -x "$peers/impi-rt/bin/mpiexec" ] || candidates+=(intel-shm intel-tcp)
if [ -x "$peers/openmpi/bin/mpicc" ]; then
  "$peers/openmpi/bin/mpicc" -O2 "$source" -o "$work/quick-openmpi"
  candidates+=(openmpi-shm openmpi-tcp)
fi

run() { # CANDIDATE: prints "name value unit" lines
  local program=$work/quick
  case $1 in
    lapwing-*) LAPWING_TRANSPORTS=self,${1#*-} "$prefix/bin/mpiexec" -n 2 "$program" ;;
    mpich-shm) LD_LIBRARY_PATH=$peers/mpich/lib "$peers/mpich/bin/mpiexec" -n 2 "$program" ;;
    mpich-tcp)
      MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp LD_LIBRARY_PATH=$peers/mpich/lib "$peers/mpich/bin/mpiexec" -n 2 "$program"
      ;;
    intel-shm) I_MPI_ROOT=$peers/impi-rt LD_LIBRARY_PATH=$peers/impi-rt/lib "$peers/impi-rt/bin/mpiexec" -n 2 "$program" ;;
    intel-tcp)
      FI_PROVIDER=tcp I_MPI_FABRICS=ofi I_MPI_ROOT=$peers/impi-rt LD_LIBRARY_PATH=$peers/impi-rt/lib "$peers/impi-rt/bin/mpiexec" -n 2 "$program"
      ;;
    openmpi-shm) "$peers/openmpi/bin/mpiexec" --allow-run-as-root --oversubscribe -n 2 "$work/quick-openmpi" ;;
    openmpi-tcp)
      "$peers/openmpi/bin/mpiexec" --allow-run-as-root --oversubscribe --mca pml ob1 --mca btl tcp,self -n 2 "$work/quick-openmpi"
      ;;
  esac
}

for round in $(seq "$rounds"); do
  for candidate in "${candidates[@]}"; do
    echo "round $round: $candidate" >&2
    timeout 120 bash -c "$(declare -f run); prefix=$prefix peers=$peers work=$work; run $candidate" 2>"$work/errors" |
      sed "s/^/$candidate /" >>"$work/results" || { echo "  failed: $(tail -n 1 "$work/errors")" >&2; }
  done
done

python3 - "$work/results" "${candidates[@]}" <<'PYTHON'
import statistics, sys
values, units = {}, {}
for line in open(sys.argv[1]):
    words = line.split()
    if len(words) != 4:
        continue
    values.setdefault(words[1], {}).setdefault(words[0], []).append(float(words[2]))
    units[words[1]] = words[3]
names = sys.argv[2:]
print("| | unit |", " | ".join(names), "|")
print("|---|---|" + "---:|" * len(names))
for measurement, found in values.items():
    cells = [f"{statistics.median(found[name]):.3g}" if name in found else "-" for name in names]
    print(f"| {measurement} | {units[measurement]} |", " | ".join(cells), "|")
PYTHON
