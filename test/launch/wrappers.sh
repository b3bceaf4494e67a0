#!/usr/bin/env bash
# An installation that was moved elsewhere still compiles, links and starts programs: mpicc, mpicxx, pkg-config, CMake's
# FindMPI and find_package(Lapwing).
#
#   wrappers.sh BUILD_FOLDER
set -eu

build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log
die() {
  echo "FAILED: $1"
  cat "$log"
  exit 1
}

cmake --install "$build" --prefix "$work/first" >"$log" 2>&1 || die "installing"
mv "$work/first" "$work/moved"
prefix=$work/moved
export PATH=$prefix/bin:$PATH
unset LD_LIBRARY_PATH
cd "$work"

cat >hello.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("%d of %d\n", rank, size);
  return MPI_Finalize();
}
END
cp hello.c hello.cc

# check NAME PROGRAM: it runs with two ranks and finds the moved library.
check() {
  mpiexec --timeout 60 -n 2 "$2" >"$log" 2>&1 || die "$1: running"
  [ "$(sort "$log")" = "$(printf '0 of 2\n1 of 2')" ] || die "$1: output"
}

mpicc -Wall -Werror hello.c -o with-mpicc >"$log" 2>&1 || die "mpicc"
check mpicc ./with-mpicc
mpicxx -Wall -Werror hello.cc -o with-mpicxx >"$log" 2>&1 || die "mpicxx"
check mpicxx ./with-mpicxx
mpicc -c hello.c -o hello.o >"$log" 2>&1 && mpicc hello.o -o in-two-steps >>"$log" 2>&1 || die "mpicc in two steps"
check "mpicc in two steps" ./in-two-steps
mpicc -show hello.c >"$log"
grep -q -- "-I$prefix/include .*-L$prefix/lib.* -lmpi_abi" "$log" || die "mpicc -show"
mpicc -show -c hello.c >"$log"
! grep -q -- -lmpi_abi "$log" || die "mpicc -show -c names the library"
[ "$(LAPWING_CC=my-compiler mpicc -showme:command)" = my-compiler ] || die "LAPWING_CC"
mpicc -DTEXT='"a b"' -show hello.c >"$log"
grep -qF -- "'-DTEXT=\"a b\"'" "$log" || die "mpicc -show: quoting"
mpicc --version >"$log" 2>&1 || die "mpicc --version"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name lapwing.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
cc hello.c -o with-pkg-config $(pkg-config --cflags --libs lapwing) >"$log" 2>&1 || die "pkg-config"
check pkg-config ./with-pkg-config

cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(hello C CXX)
find_package(MPI REQUIRED)
find_package(Lapwing REQUIRED)
add_executable(find-mpi-c hello.c)
target_link_libraries(find-mpi-c MPI::MPI_C)
add_executable(find-mpi-cxx hello.cc)
target_link_libraries(find-mpi-cxx MPI::MPI_CXX)
add_executable(find-lapwing hello.c)
target_link_libraries(find-lapwing Lapwing::mpi)
if(NOT MPI_C_VERSION VERSION_EQUAL 5.0 OR NOT MPIEXEC_EXECUTABLE STREQUAL EXPECTED_MPIEXEC)
  message(FATAL_ERROR "found MPI ${MPI_C_VERSION}, ${MPIEXEC_EXECUTABLE}")
endif()
END
cmake -S . -B cmake -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DEXPECTED_MPIEXEC="$prefix/bin/mpiexec" >"$log" 2>&1 || die "FindMPI"
ninja -C cmake >"$log" 2>&1 || die "building with FindMPI"
for program in find-mpi-c find-mpi-cxx find-lapwing; do check "$program" "cmake/$program"; done

lapwing --version >"$log" 2>&1 || die "lapwing --version"
lapwing info >"$log" 2>&1 || die "lapwing info"
lapwing info --json >"$log" 2>&1 && python3 -m json.tool <"$log" >/dev/null || die "lapwing info --json"
if LAPWING_PROGES=1 lapwing info >"$log" 2>&1; then die "a misspelt setting passed"; fi
grep -q "did you mean LAPWING_PROGRESS" "$log" || die "a misspelt setting: message"
lapwing doctor >"$log" 2>&1 || die "lapwing doctor"
echo "wrappers: all as expected"
