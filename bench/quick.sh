#!/usr/bin/env bash
# Lapwing beside MPICH, Intel MPI and Open MPI: bench/quick.c under each, interleaved, medians as a table in Markdown.
#
#   bench/quick.sh LAPWING_PREFIX PEERS_FOLDER [rounds [measurement...]]
#
# PEERS_FOLDER holds virtual environments "mpich", "impi-rt", "openmpi" with the packages of these names (test/interop/run makes
# them); those that are missing are left out. Each library runs with its default settings but for the transport. BENCH_PREFIX is put
# before the program of each rank; on a busy machine, a script that raises its priority makes figures steadier.
set -eu

prefix=$(readlink -f "$1")
peers=$(readlink -f "$2")
rounds=${3:-3}
measurements=("${@:4}")
source=$(dirname "$(readlink -f "$0")")/quick.c
work=$(mktemp -d)
read -ra prefix_command <<<"${BENCH_PREFIX:-}"
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
  local program=("${prefix_command[@]}" "$work/quick" "${measurements[@]}")
  local other=("${prefix_command[@]}" "$work/quick-openmpi" "${measurements[@]}")
  case $1 in
    lapwing-*) LAPWING_TRANSPORTS=self,${1#*-} timeout 60 "$prefix/bin/mpiexec" -n 2 "${program[@]}" ;;
    mpich-shm) LD_LIBRARY_PATH=$peers/mpich/lib timeout 60 "$peers/mpich/bin/mpiexec" -n 2 "${program[@]}" ;;
    mpich-tcp)
      MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp LD_LIBRARY_PATH=$peers/mpich/lib timeout 60 "$peers/mpich/bin/mpiexec" -n 2 "${program[@]}"
      ;;
    intel-shm) I_MPI_ROOT=$peers/impi-rt LD_LIBRARY_PATH=$peers/impi-rt/lib timeout 60 "$peers/impi-rt/bin/mpiexec" -n 2 "${program[@]}" ;;
    intel-tcp)
      FI_PROVIDER=tcp I_MPI_FABRICS=ofi I_MPI_ROOT=$peers/impi-rt LD_LIBRARY_PATH=$peers/impi-rt/lib timeout 60 "$peers/impi-rt/bin/mpiexec" -n 2 "${program[@]}"
      ;;
    openmpi-shm) timeout 60 "$peers/openmpi/bin/mpiexec" --allow-run-as-root --oversubscribe -n 2 "${other[@]}" ;;
    openmpi-tcp)
      timeout 60 "$peers/openmpi/bin/mpiexec" --allow-run-as-root --oversubscribe --mca pml ob1 --mca btl tcp,self -n 2 "${other[@]}"
      ;;
  esac
}

for round in $(seq "$rounds"); do
  for candidate in "${candidates[@]}"; do
    echo "round $round: $candidate" >&2
    run "$candidate" >"$work/output" 2>"$work/errors" || echo "  failed: $(tail -n 1 "$work/errors")" >&2
    sed "s/^/$candidate /" "$work/output" >>"$work/results"
  done
done

python3 "$(dirname "$source")/table.py" "$work/results" "${candidates[@]}"
