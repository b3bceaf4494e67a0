# Boost.MPI: its test programs, each on 2, 3 and 4 ranks and on the further numbers that its own list (libs/mpi/test/Jamfile.v2) has for it.
# Compiled without Boost's build system: the serialization library, Boost.MPI, and the unit test framework once for all programs.
# source: boost1.74
# needs: gcc g++
mkdir include bin
for folder in $(find libs -maxdepth 3 -type d -name include); do cp -rsf "$PWD/$folder/." include/; done
rm include/boost/test/included/unit_test.hpp
echo '#include <boost/test/unit_test.hpp>' >include/boost/test/included/unit_test.hpp
compile() { printf '%s\n' "$@" | xargs -P "$JOBS" -I FILE sh -c 'mpicxx -w -O1 -fPIC -I include -c FILE -o bin/$(basename FILE .cpp).o'; }
compile libs/mpi/src/*.cpp $(ls libs/serialization/src/*.cpp | grep -v 'xml\|_w\|utf8\|codecvt') \
  libs/mpi/test/debugger.cpp $(ls libs/test/src/*.cpp | grep -v '/cpp_main\|/test_main')
ar rcs bin/libboost.a bin/*.o
tests=$(ls libs/mpi/test/*.cpp | grep -v debugger)
compile $tests libs/mpi/example/random_gather.cpp libs/mpi/example/random_scatter.cpp libs/mpi/example/cartesian_communicator.cpp

# ranks NAME: how many ranks the program runs on. Some are written for one number.
ranks() {
  case $1 in
    cartesian_topology_test | cartesian_communicator) echo 24 ;;
    sendrecv_vector | pointer_test | wait_all_vector_test) echo 2 ;;
    version_test | cartesian_topology_init_test | is_mpi_op_test | mt_level_test | mt_init_test) echo 1 2 3 4 ;;
    all_gather_test | all_reduce_test | all_to_all_test | gather_test | scatter_test | scan_test | reduce_test) echo 1 2 3 4 11 ;;
    broadcast_test | non_blocking_any_source) echo 2 3 4 17 ;;
    nonblocking_test) echo 2 3 4 11 24 ;;
    ring_test | skeleton_content_test | graph_topology_test) echo 2 3 4 7 8 13 17 ;;
    sendrecv_test | wait_any_test) echo 1 2 3 4 7 20 ;;
    *) echo 2 3 4 ;;
  esac
}
runs=0 failed=
for program in $(basename -s .cpp $tests) random_gather random_scatter cartesian_communicator; do
  mpicxx -o bin/$program bin/$program.o bin/libboost.a
  for n in $(ranks $program); do
    runs=$((runs + 1))
    mpiexec --timeout 120 -n $n bin/$program || failed="$failed $program($n)"
  done
done
echo "$runs runs on 1 to 24 ranks; failed:${failed:- none}" >"$RESULT"
[ -z "$failed" ]
