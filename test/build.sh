#!/usr/bin/env bash
# The build as others use it: parts left out, what they need not being there; the shared libsodium; Lapwing as a part of another
# project; a checkout that was moved with its build folder; and how tests are counted. Only configures, and compiles one file.
#
#   build.sh SOURCE_FOLDER
set -eu

source=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log
die() {
  echo "FAILED: $1"
  cat "$log"
  exit 1
}
cd "$work"

# targets FOLDER: the names of everything that could be built there.
targets() { ninja -C "$1" -t targets all | cut -d: -f1 | sort; }

absent=(-DCMAKE_DISABLE_FIND_PACKAGE_PNG=ON -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON)
cmake -S "$source" -B bare -G Ninja "${absent[@]}" -DLAPWING_TESTS=OFF -DLAPWING_BENCH=OFF -DLAPWING_DEMO=OFF \
  -DLAPWING_SHARED_SODIUM=ON >"$log" 2>&1 || die "configuring without tests, measurements and demo"
targets bare >"$log"
grep -qx mpiexec "$log" || die "without tests, measurements and demo there is no mpiexec"
! grep -qE '^(heat|bench_.*|.*_test)$' "$log" || die "what was left out is there"
! grep -q 'libsodium\.a' bare/build.ninja && grep -q 'libsodium\.so' bare/build.ninja || die "LAPWING_SHARED_SODIUM"
# An archive that cannot be found looks like this; the shared library is taken.
cmake -S "$source" -B bare -DLAPWING_SHARED_SODIUM=OFF -DSODIUM_ARCHIVE:FILEPATH= >"$log" 2>&1 || die "configuring without libsodium.a"
grep -q 'libsodium\.so' bare/build.ninja || die "without libsodium.a"

# Absolute folders of an installation become relative to its prefix; one that lies elsewhere is refused.
cmake -S "$source" -B bare -DCMAKE_INSTALL_PREFIX=/opt/one -DCMAKE_INSTALL_BINDIR=/opt/one/tools/bin -DCMAKE_INSTALL_LIBDIR=/opt/one/lib64 >"$log" 2>&1 ||
  die "configuring with absolute folders"
cat bare/launch/wrapper/mpicc bare/launch/wrapper/lapwing.pc >"$log"
grep -qxF 'prefix=${self%/tools/bin/*}' "$log" && grep -qxF 'library_dir=$prefix/lib64' "$log" && grep -qxF 'libdir=${prefix}/lib64' "$log" || die "absolute folders"
! cmake -S "$source" -B bare -DCMAKE_INSTALL_INCLUDEDIR=/opt/other/include >"$log" 2>&1 && grep -q "CMAKE_INSTALL_INCLUDEDIR is /opt/other/include" "$log" ||
  die "a folder outside the prefix"

mkdir whole
cat >whole/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.22)
project(whole LANGUAGES C CXX)
add_subdirectory(${LAPWING} lapwing)
add_executable(part part.c)
target_link_libraries(part Lapwing::mpi)
if(CMAKE_BUILD_TYPE OR CMAKE_CXX_COMPILER_LAUNCHER)
  message(FATAL_ERROR "Lapwing has changed how this project is built")
endif()
END
cat >whole/part.c <<'END'
#include <mpi.h>
#include <lapwing.h>
int main(int argc, char** argv) { return MPI_Init(&argc, &argv) || MPI_Finalize() || !LAPWING; }
END
cmake -S whole -B inside -G Ninja "${absent[@]}" -DLAPWING="$source" >"$log" 2>&1 || die "add_subdirectory"
ninja -C inside CMakeFiles/part.dir/part.c.o >"$log" 2>&1 || die "compiling for Lapwing::mpi"
targets inside >"$log"
! grep -qE '^(heat|bench_.*|.*_test)$' "$log" || die "add_subdirectory brings tests, measurements or the demo"
ctest --test-dir inside -N >"$log" 2>&1 && grep -q "Total Tests: 0" "$log" || die "add_subdirectory brings tests"

# A test that cannot be started fails the run; one that skips itself does not.
mkdir suite
cat >suite/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.22)
project(suite LANGUAGES NONE)
enable_testing()
add_test(NAME passes COMMAND true)
add_test(NAME skips COMMAND sh -c "exit 77")
set_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)
if(MISSING)
  add_test(NAME missing COMMAND ${MISSING})
endif()
END
cmake -S suite -B suite/build >"$log" 2>&1 && "$source/test/run" suite/build release >"$log" 2>&1 || die "a test that skips itself"
cmake -S suite -B suite/build -DMISSING="$work/nothing" >"$log" 2>&1 || die "configuring with a test that cannot be started"
! "$source/test/run" suite/build release >"$log" 2>&1 && grep -q "^1 passed, 1 failed" "$log" || die "a test that cannot be started"

# The way in, with a cmake and a ninja that only tell what they are asked, and an apt-get that installs nothing. `run FOLDER [words]` builds there,
# or does what the words say.
mkdir tools first
cat >tools/cmake <<'END'
#!/bin/sh
echo "cmake $*" >>"$ASKED"
[ "$1" = -S ] || exit 0
touch "$4/build.ninja"
printf 'CMAKE_HOME_DIRECTORY:INTERNAL=%s\nCMAKE_CACHEFILE_DIR:INTERNAL=%s\n' "$2" "$4" >"$4/CMakeCache.txt"
END
printf '#!/bin/sh\necho "ninja $*" >>"$ASKED"\n' >tools/ninja
printf '#!/bin/sh\n' >tools/clang
printf '#!/bin/sh\n[ "$1" != -n ] || shift\nexec "$@"\n' >tools/sudo
cat >tools/apt-get <<'END'
#!/bin/sh
echo "apt-get $*" >>"$ASKED"
case "$*" in *" install "*matplotlib*) exit 1 ;; esac
END
chmod +x tools/*
export ASKED=$work/asked
cp "$source/lapwing" first
run() {
  local folder=$1
  shift
  [ $# -gt 0 ] || set -- build
  rm -f "$ASKED"
  PATH=$work/tools:$PATH "$folder/lapwing" "$@" >"$log" 2>&1 || die "lapwing $* in $folder"
  cp "$ASKED" "$log"
}
run first
grep -q "^cmake -S $work/first " "$log" || die "a first build configures"
run first
! grep -q "^cmake -S" "$log" || die "a second build configures again"
cp -r first copy
run copy
grep -q "^cmake -S $work/copy " "$log" || die "a copied checkout builds its origin"
mv first moved
run moved
grep -q "^cmake -S $work/moved " "$log" || die "a moved checkout builds its old place"
run moved
! grep -q "^cmake -S" "$log" || die "a moved checkout configures again and again"

# Measuring needs no matplotlib, here where it cannot be installed.
mkdir -p moved/build/stage/bin
printf '#!/bin/sh\necho "lapwing $*" >>"$ASKED"\n' >moved/build/stage/bin/lapwing
chmod +x moved/build/stage/bin/lapwing
run moved bench latency
grep -qx "lapwing bench latency" "$log" || die "lapwing bench does not measure"
echo "build: all as expected"
