# PT-Scotch: its checks of distributed graphs, orderings and meshes.
# source: scotch
# needs: gcc make flex bison zlib1g-dev
cd src
sed -e 's/^CCS.*/CCS = cc/' -e 's/^CCP.*/CCP = mpicc/' -e 's/^CCD.*/CCD = mpicc/' -e 's/-O3/-O1/' Make.inc/Makefile.inc.x86-64_pc_linux2 >Makefile.inc
make -j"$JOBS" ptscotch
make -C check EXECPPROG=mpiexec ptcheck
echo "make ptcheck: passed" >"$RESULT"
