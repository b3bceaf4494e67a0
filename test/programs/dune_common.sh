# dune-common: those of its tests that use MPI (but for the one of ParMETIS), each on the numbers of ranks that its own list has for it (2 to 8).
# source: dune-common
# needs: gcc g++ cmake make pkg-config
mkdir build && cd build
cmake .. -DCMAKE_C_COMPILER=mpicc -DCMAKE_CXX_COMPILER=mpicxx -DCMAKE_CXX_FLAGS='-O1 -w' -DDUNE_ENABLE_PYTHONBINDINGS=OFF -DDUNE_MAX_TEST_CORES=8
make -j"$JOBS" dunecommon
make -j"$JOBS" -C dune/common/parallel/test communicationtest mpidatatest mpifuturetest mpigatherscattertest mpipacktest remoteindicestest \
  syncertest variablesizecommunicatortest
make -j"$JOBS" -C dune/common/test mpicommunicationtest mpiguardtest mpihelpertest mpihelpertest2
ctest --output-on-failure --output-log ctest.log -R '[-]mpi-' -E parmetis || true
grep '% tests passed' ctest.log >"$RESULT"
grep -q '100% tests passed' ctest.log
