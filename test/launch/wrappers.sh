#!/usr/bin/env bash
# An installation that was moved elsewhere still compiles, links and starts programs: mpicc, mpicxx, pkg-config, CMake's
# FindMPI and find_package(Lapwing).
#
#   wrappers.sh BUILD_FOLDER
set -eu

tests=$(cd "$(dirname "$0")/.." && pwd)
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
mpicc -r -o whole.o hello.o >"$log" 2>&1 && mpicc whole.o -o in-three-steps >>"$log" 2>&1 || die "mpicc -r"
check "mpicc -r" ./in-three-steps
mpicc -show hello.c >"$log"
grep -q -- "-I$prefix/include .*-L$prefix/lib.* -lmpi_abi" "$log" || die "mpicc -show"
mpicc -show -c hello.c >"$log"
! grep -q -- -lmpi_abi "$log" || die "mpicc -show -c names the library"
[ "$(LAPWING_CC=my-compiler mpicc -showme:command)" = my-compiler ] || die "LAPWING_CC"
mpicc -DTEXT='"a b"' -show hello.c >"$log"
grep -qF -- "'-DTEXT=\"a b\"'" "$log" || die "mpicc -show: quoting"
mpicc --version >"$log" 2>&1 || die "mpicc --version"
mpicc -x c - -o from-input <hello.c >"$log" 2>&1 || die "mpicc: a program from standard input"

# What others' wrappers understand: options that print, and variables, of which our own come first.
mpiCC -showme:help >"$log" 2>&1 && grep -q "^  -showme:compile" "$log" || die "mpiCC -showme:help"
for option in command compile link incdirs libdirs libs version; do
  mpicc -showme:$option >"$log" 2>&1 || die "mpicc -showme:$option"
  grep -q . "$log" || die "mpicc -showme:$option says nothing"
  mpicc -showme:help | grep -q ":$option" || die "mpicc -showme:help does not mention :$option"
done
[ "$(mpicc -compile_info) $(mpicc -link_info)" = "$(mpicc -showme:compile) $(mpicc -showme:link)" ] || die "-compile_info, -link_info"
if mpicc -showme:nonsense >"$log" 2>&1; then die "mpicc -showme:nonsense passed"; fi
if mpicc -cc= -show hello.c >"$log" 2>&1; then die "mpicc -cc= passed"; fi
[ "$(MPICH_CC=theirs OMPI_CC=others mpicc -showme:command)" = theirs ] || die "MPICH_CC"
[ "$(OMPI_CC=others mpicc -showme:command)" = others ] || die "OMPI_CC"
[ "$(LAPWING_CC=ours MPICH_CC=theirs mpicc -showme:command)" = ours ] || die "LAPWING_CC before MPICH_CC"
[ "$(OMPI_CXX=others mpiCC -showme:command)" = others ] || die "OMPI_CXX"
[ "$(LAPWING_CC="env mpicc" MPICH_CC=mpicc OMPI_CC="$prefix/bin/mpicc -O2" mpicc -showme:command)" = "$(mpicc -showme:command)" ] ||
  die "a wrapper that is told to call itself"
[ "$(LAPWING_CC="env cc -O2" mpicc -showme:command)" = "env cc -O2" ] || die "LAPWING_CC of several words"

# An old program: what it uses of earlier standards leaves no trace in its binary, and configure scripts find it too.
mpicc -std=c89 -pedantic -Wall -Wextra -Werror "$tests/mpi/old_names.c" -o old-names >"$log" 2>&1 || die "old names in C90"
mpicxx -Wall -Wextra -Werror -x c++ "$tests/mpi/old_names.c" -x none -o old-names-cxx >"$log" 2>&1 || die "old names in C++"
for program in old-names old-names-cxx; do
  mpiexec --timeout 60 -n 1 ./$program >"$log" 2>&1 || die "running $program"
  nm -D --undefined-only $program | sed -n 's/.* \(MPI_[A-Za-z0-9_]*\).*/\1/p' >undefined
  grep -q MPI_Init undefined || die "nm tells nothing of $program"
  if grep -E 'MPI_(Address|Type_(struct|lb|extent)|.*_(c2f|f2c)|.*f08.*)$' undefined >"$log"; then die "$program asks for old names"; fi
done
# links NAME [OPTION...]: as configure scripts do it, without the header.
links() {
  printf 'char %s(void); int main(void) { return %s(); }' "$1" "$1" >probe.c
  shift
  mpicc "$@" probe.c -o probe >"$log" 2>&1
}
for name in MPI_Address MPI_Type_struct MPI_Errhandler_set MPI_Comm_f2c MPI_Status_c2f; do
  links $name || die "$name cannot be linked"
  mpicc -only-built -DLAPWING_NO_REMOVED_MPI1 -DLAPWING_NO_FINT -include mpi.h -c -x c - -o /dev/null >"$log" 2>&1 <<END || die "$name is not hidden"
static double $name = 1; /* a program's own */
double f(void) { return $name; }
END
done

# -only-built: functions that this version lacks are in neither header nor library, all others are, and the program runs as ever.
lapwing info --coverage >"$log" && grep -q "mpicc -only-built" "$log" || die "lapwing info --coverage"
lapwing info --coverage --json | python3 -c 'import json, sys
for f in json.load(sys.stdin)["functions_missing"]: print(f["name"])' >missing
for name in $(sed -n '1p;$p' missing); do
  links "$name" || die "$name: Lapwing has it, if only as an error"
  if links "$name" -only-built; then die "-only-built links $name"; fi
  if LAPWING_ONLY_BUILT=1 links "$name"; then die "LAPWING_ONLY_BUILT=1 links $name"; fi
  printf '#include <mpi.h>\nvoid* f(void) { return (void*)%s; }' "$name" >probe.c
  mpicc -c probe.c >"$log" 2>&1 || die "the header lacks $name"
  if mpicc -only-built -c probe.c >"$log" 2>&1; then die "-only-built: the header has $name"; fi
done
for name in MPI_Init PMPI_Allreduce_c MPI_Address LAPWING_Get_progress; do
  links $name -only-built || die "-only-built does not link $name"
done
mpicc -only-built -Wall -Werror hello.c -o only-built >"$log" 2>&1 || die "mpicc -only-built"
check "mpicc -only-built" ./only-built
LAPWING_ONLY_BUILT=0 links MPI_Init || die "LAPWING_ONLY_BUILT=0"

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

# Without PATH and prefix path, FindMPI needs one hint to find mpiexec beside mpicc; and the compiler may be mpicc itself.
LAPWING_ONLY_BUILT=1 PATH=/usr/local/bin:/usr/bin:/bin cmake -S . -B by-path -G Ninja -DMPI_HOME="$prefix" -DLapwing_ROOT="$prefix" \
  -DCMAKE_C_COMPILER="$prefix/bin/mpicc" -DMPI_CXX_COMPILER="$prefix/bin/mpicxx" -DEXPECTED_MPIEXEC="$prefix/bin/mpiexec" \
  >"$log" 2>&1 || die "FindMPI with MPI_HOME"
ninja -C by-path >"$log" 2>&1 || die "building with FindMPI, MPI_HOME and -only-built"
for program in find-mpi-c find-mpi-cxx; do check "$program, only built" "by-path/$program"; done

# The same where the prefix has a space. What -show prints is read back by a shell as it is.
mv "$prefix" "$work/a space"
(
  PATH="$work/a space/bin:$PATH"
  eval "$(mpicc -show hello.c -o with-a-space)" >"$log" 2>&1 || die "mpicc -show in a prefix with a space"
  check "a prefix with a space" ./with-a-space
  printf '#include <stdio.h>\nint main(void) { return puts(A B C); }' >quoted.c
  eval "$(mpicc -show -DA='"x y"' -DB='" $HOME `no` !'\''\\"' "-DC=\"(it's)\"" quoted.c -o quoted)" >"$log" 2>&1 || die "mpicc -show: quoting"
  [ "$(./quoted)" = 'x y $HOME `no` !'\''\(it'\''s)' ] || die "mpicc -show: quoted words"
  # By the wrappers alone: in a prefix path CMake finds header and library without them.
  PATH=/usr/local/bin:/usr/bin:/bin cmake -S . -B a-space -G Ninja -DMPI_C_COMPILER="$work/a space/bin/mpicc" -DMPI_CXX_COMPILER="$work/a space/bin/mpicxx" \
    -DMPIEXEC_EXECUTABLE="$work/a space/bin/mpiexec" -DEXPECTED_MPIEXEC="$work/a space/bin/mpiexec" -DLapwing_ROOT="$work/a space" >"$log" 2>&1 ||
    die "FindMPI in a prefix with a space"
  ninja -C a-space >"$log" 2>&1 || die "building with FindMPI in a prefix with a space"
  for program in find-mpi-c find-mpi-cxx find-lapwing; do check "$program in a prefix with a space" "a-space/$program"; done
) || exit 1
mv "$work/a space" "$prefix"

lapwing --version >"$log" 2>&1 || die "lapwing --version"
lapwing info >"$log" 2>&1 || die "lapwing info"
lapwing info --json >"$log" 2>&1 && python3 -m json.tool <"$log" >/dev/null || die "lapwing info --json"
LAPWING_ALGORITHM=allreduce=ring lapwing info --algorithms >"$log" 2>&1 && grep -q "allreduce .*pipelined_ring|ring (here ring)" "$log" ||
  die "lapwing info --algorithms"
LAPWING_ALGORITHM=allreduce=ring lapwing info | grep -q "LAPWING_ALGORITHM .*allreduce=ring" || die "the algorithms in force"
if LAPWING_ALGORITHM=bcast=ring lapwing info >"$log" 2>&1; then die "an algorithm that bcast does not have passed"; fi
grep -q "bcast=area|two_levels|linear|binomial" "$log" || die "an unknown algorithm: the known ones"
if LAPWING_PROGES=1 lapwing info >"$log" 2>&1; then die "a misspelt setting passed"; fi
grep -q "did you mean LAPWING_PROGRESS" "$log" || die "a misspelt setting: message"
lapwing doctor >"$log" 2>&1 || die "lapwing doctor"
echo "wrappers: all as expected"
