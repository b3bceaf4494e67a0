# HPC Challenge (HPL, PTRANS, RandomAccess, FFT, DGEMM, STREAM, latency and bandwidth), small problems on four ranks. It
# checks its own results.
# source: hpcc
# needs: gcc make libblas-dev
cat >hpl/Make.Lapwing <<'END'
SHELL = /bin/sh
CD = cd
CP = cp
LN_S = ln -s
MKDIR = mkdir
RM = /bin/rm -f
TOUCH = touch
ARCH = $(arch)
TOPdir = ../../..
INCdir = $(TOPdir)/include
BINdir = $(TOPdir)/bin/$(ARCH)
LIBdir = $(TOPdir)/lib/$(ARCH)
HPLlib = $(LIBdir)/libhpl.a
F2CDEFS = -DAdd_ -DF77_INTEGER=int -DStringSunStyle
HPL_INCLUDES = -I$(INCdir) -I$(INCdir)/$(ARCH)
HPL_LIBS = $(HPLlib) -lblas -lm
HPL_DEFS = $(F2CDEFS) $(HPL_INCLUDES)
CC = mpicc
CCNOOPT = $(HPL_DEFS)
CCFLAGS = $(HPL_DEFS) -O2
LINKER = mpicc
LINKFLAGS = $(CCFLAGS)
ARCHIVER = ar
ARFLAGS = r
RANLIB = echo
END
make arch=Lapwing
# Four ranks in a 2 x 2 grid, HPL of order 400.
sed -e 's/^1000 .*/400 Ns/' _hpccinf.txt >hpccinf.txt
mpiexec --timeout 1800 -n 4 ./hpcc
grep -E '^(Success|HPL_Tflops|PTRANS_residual|MPIFFT_maxErr|MPIRandomAccess_ErrorsFraction)=' hpccoutf.txt >"$RESULT"
grep -q '^Success=1' hpccoutf.txt
! grep -E 'FAILED| [1-9][0-9]* tests completed and failed|failure=[1-9]' hpccoutf.txt
