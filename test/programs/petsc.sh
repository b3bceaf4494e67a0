# PETSc without Fortran: make check, and the tests of its star forest (the part that exchanges messages) but for those that use
# MPI windows, which Lapwing has not built.
# source: petsc
# needs: gcc make python3 libblas-dev liblapack-dev
# No LAPWING_ONLY_BUILT here: PETSc does not configure where MPI_Accumulate cannot be linked.
unset PETSC_DIR PETSC_ARCH
python3 ./configure --with-cc=mpicc --with-cxx=0 --with-fc=0 --with-debugging=0 COPTFLAGS="${OPT:--O1}" --with-x=0 --with-mpiexec=mpiexec \
  --with-blaslapack-lib="-llapack -lblas" --with-shared-libraries=1 --with-make-np="$JOBS" --with-make-load=1000 PETSC_ARCH=lapwing
make PETSC_DIR="$PWD" PETSC_ARCH=lapwing all
make PETSC_DIR="$PWD" PETSC_ARCH=lapwing check | tee check.log
if grep -i 'possible error' check.log; then exit 1; fi
# Windows are the -sf_type window and what is named after them.
make PETSC_DIR="$PWD" PETSC_ARCH=lapwing -f gmakefile.test test search='vec_is_sf*' searchin='' \
  EXTRA_OPTIONS='' TIMEOUT=300 | tee sf.log || true
grep -E '^# (success|failed|todo|skip)' sf.log >"$RESULT"
failed=$(grep -E '^not ok' sf.log | grep -v window || true)
[ -z "$failed" ] || { echo "failed: $failed" >>"$RESULT"; exit 1; }
grep -qE '^ *ok ' sf.log
