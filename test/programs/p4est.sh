# p4est with the libsc that comes with it: make check. (Its configure wants some Fortran compiler, MPI from Fortran it does not use.)
# source: p4est
# needs: gcc gfortran make autoconf automake libtool pkg-config zlib1g-dev
export LAPWING_ONLY_BUILT=1
./bootstrap
./configure --enable-mpi --disable-mpiio --disable-fortran CC=mpicc F77=gfortran FC=gfortran CFLAGS=-O1 --without-blas
make -j"$JOBS"
make check
find . -name '*.trs' | xargs grep -h ':test-result:' | sort | uniq -c >"$RESULT"
! grep -q FAIL "$RESULT"
