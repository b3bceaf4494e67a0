# FFTW's transforms over MPI: random problems on 1 to 4 ranks, each checked against the properties of the transform.
# source: fftw3
# needs: gcc make perl
./configure CC=cc MPICC=mpicc CFLAGS=-O1 --enable-mpi --disable-fortran --disable-doc --disable-dependency-tracking
make -j"$JOBS"
make -C mpi check
echo "MPI transforms on 1, 2, 3, 4 ranks: passed" >"$RESULT"
