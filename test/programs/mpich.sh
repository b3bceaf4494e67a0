# MPICH's own tests, as far as they ask for what Lapwing has: no windows, files, dynamic processes, Fortran.
# source: mpich
# needs: gcc make python3
mkdir -p build && cd build
../test/mpi/configure --with-mpi="$(dirname "$(dirname "$(command -v mpicc)")")" --disable-fortran --disable-cxx --disable-spawn --disable-rma CC=mpicc MPICC=mpicc
make -C dtpools -j"$JOBS"
make -C util -k -j"$JOBS" || true # what it has for windows does not link
for folder in attr basic coll comm datatype errhan group info init mpi_t pt2pt part threads topo errors; do
  make -k -j"$JOBS" -C "$folder" || true # a program that does not compile is told as missing
done
python3 "$(dirname "$0")/mpich_tests.py" . ../test/mpi | tee tests.log || failed=yes
tail -n 1 tests.log >"$RESULT"
[ -z "${failed:-}" ]
