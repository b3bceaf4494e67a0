#!/usr/bin/env bash
# bench/quick.c between two hosts of the lab (test/lab) joined by an emulated 1 Gbit/s Ethernet: Lapwing beside MPICH, Intel MPI and
# Open MPI, interleaved, medians as a table in Markdown. Needs root. Each host gets one core of this machine to itself, and
# the launchers bind nothing.
#
#   bench/two_hosts.sh LAPWING_PREFIX PEERS_FOLDER [rounds]      (the folder as for bench/quick.sh)
set -eu

prefix=$(readlink -f "$1")
peers=$(readlink -f "$2")
rounds=${3:-3}
here=$(dirname "$(readlink -f "$0")")
lab=$here/../test/lab/lab ssh=$here/../test/lab/ssh
export LAB=b$(($$ % 1000000))
work=$(mktemp -d)
trap '"$lab" down; rm -rf "$work"' EXIT
cat >"$work/place" <<'PLACE'
#!/bin/sh
exec taskset -c "$(($(hostname | tr -d h) % $(getconf _NPROCESSORS_ONLN)))" "$@"
PLACE
chmod +x "$work/place"
read -ra prefix_command <<<"$work/place ${BENCH_PREFIX:-}"
measurements=(latency rate ssend overlap)
program=("${prefix_command[@]}" "$work/quick" "${measurements[@]}")

"$lab" up 2 --rate 1gbit
"$prefix/bin/mpicc" -O2 "$here/quick.c" -o "$work/quick"
candidates=(lapwing)
[ ! -x "$peers/mpich/bin/mpiexec" ] || candidates+=(mpich)
[ ! -x "$peers/impi-rt/bin/mpiexec" ] || candidates+=(intel)
if [ -x "$peers/openmpi/bin/mpicc" ]; then
  "$peers/openmpi/bin/mpicc" -O2 "$here/quick.c" -o "$work/quick-openmpi"
  candidates+=(openmpi openmpi-thread)
fi

open_mpi() {
  timeout 90 "$lab" exec h1 "$peers/openmpi/bin/mpiexec" --allow-run-as-root --prtemca plm_ssh_agent "$ssh" --prtemca prte_if_include \
    10.77.0.0/24 --mca btl_tcp_if_include 10.77.0.0/24 "$@" --host h1:8,h2:8 --map-by node --bind-to none -n 2 "${prefix_command[@]}" "$work/quick-openmpi" "${measurements[@]}"
}
run() { # CANDIDATE: prints "name value unit" lines
  case $1 in
    lapwing) timeout 90 "$prefix/bin/mpiexec" --bind-to none -n 1 "$lab" exec h1 "${program[@]}" : -n 1 "$lab" exec h2 "${program[@]}" ;;
    mpich)
      MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp LD_LIBRARY_PATH=$peers/mpich/lib timeout 90 "$lab" exec h1 "$peers/mpich/bin/mpiexec" -iface eth0 -launcher ssh -launcher-exec "$ssh" \
        -hosts h1,h2 -ppn 1 -n 2 "${program[@]}"
      ;;
    intel)
      I_MPI_HYDRA_IFACE=eth0 I_MPI_HYDRA_BOOTSTRAP=ssh I_MPI_HYDRA_BOOTSTRAP_EXEC=$ssh FI_PROVIDER=tcp I_MPI_FABRICS=ofi \
        I_MPI_ROOT=$peers/impi-rt LD_LIBRARY_PATH=$peers/impi-rt/lib timeout 90 "$lab" exec h1 "$peers/impi-rt/bin/mpiexec" \
        -hosts h1,h2 -ppn 1 -n 2 "${program[@]}"
      ;;
    openmpi) open_mpi ;;
    openmpi-thread) open_mpi --mca btl_tcp_progress_thread 1 ;;
  esac
}

for round in $(seq "$rounds"); do
  for candidate in "${candidates[@]}"; do
    echo "round $round: $candidate" >&2
    run "$candidate" >"$work/output" 2>"$work/errors" </dev/null || echo "  failed: $(tail -n 3 "$work/errors")" >&2
    sed "s/^/$candidate /" "$work/output" >>"$work/results"
  done
done
python3 "$here/table.py" "$work/results" "${candidates[@]}"
