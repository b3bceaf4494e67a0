# hypre: solvers on structured grids (struct), on semi-structured ones (sstruct) and with an assembled matrix (ij), on four ranks.
# source: hypre
# needs: gcc g++ make
cd src
./configure CC=mpicc CXX=mpicxx CFLAGS=-O1 CXXFLAGS=-O1 --disable-fortran --without-openmp
make -j"$JOBS"
make -C test ij struct sstruct
cd test
solve() { mpiexec --timeout 600 -n 4 ./"$@" | tee last.log; }
solve ij -P 2 2 1 -n 30 30 30 -solver 1 -rlx 6
grep -q "Final Relative Residual Norm = [0-9.]*e-\(0[89]\|[1-9]\)" last.log
solve struct -P 2 2 1 -n 24 24 24 -solver 10
grep -q "Final Relative Residual Norm = [0-9.]*e-\(0[6-9]\|[1-9]\)" last.log
echo "AMG-PCG (ij) and PCG with SMG (struct) on 4 ranks converge" >"$RESULT"
