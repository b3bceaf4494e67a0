#!/usr/bin/env bash
# Programs under launchers that are not ours, and what a process makes of the launcher's variables that it inherits.
#
#   launchers.sh BUILD_FOLDER
#
# LAB_HYDRA=/path/to/mpiexec.hydra adds MPICH's Hydra.
set -u

build=$1
source "$(dirname "${BASH_SOURCE[0]}")/rank_helpers.sh"
doctor="$build/launch/lapwing doctor"
silent() { [ ! -s "$work/err" ] || fail "$1: something was said"; }
# counted NAME TIMES LINE
counted() { [ "$(grep -cx -- "$3" "$work/out")" -eq "$2" ] || fail "$1: not $2 times '$3'"; }

two="0 of 2, sum 1"
alone="0 of 1, sum 0"
a_then_b=(sh -c "'$program' hello a && '$program' hello b")

# Variables of launchers that Lapwing does not speak to, and no way to reach them.
run "mpirun of Open MPI" 16 env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 PMIX_RANK=0 PMIX_NAMESPACE=x "$program" hello a
said "mpirun of Open MPI" "Open MPI's mpirun .*OMPI_COMM_WORLD_SIZE=2.*mpiexec.*Hydra.*srun --mpi=pmi2.*LAPWING_SINGLETON=1"
run "its rank 1" 16 env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 "$program" hello a
said "its rank 1" "rank 1 of Open MPI's mpirun.*rank 0"
run "prterun" 16 env PRTE_LAUNCHED=1 PMIX_RANK=0 PMIX_NAMESPACE=x "$program" hello a
said "prterun" "prterun"
run "srun --mpi=none" 16 env SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0 "$program" hello a
said "srun --mpi=none" "SLURM_STEP_NUM_TASKS=2"
run "PMI without connection" 16 env PMI_RANK=0 PMI_SIZE=2 "$program" hello a
said "PMI without connection" "PMI_SIZE=2"

# The same for one process, on purpose, and in a batch script.
for variables in "OMPI_COMM_WORLD_SIZE=1 PMIX_RANK=0 PMIX_NAMESPACE=x" "SLURM_STEP_NUM_TASKS=1 PMIX_RANK=0 PMIX_NAMESPACE=x" \
  "SLURM_STEP_NUM_TASKS=2 LAPWING_SINGLETON=1" "SLURM_JOB_ID=1 SLURM_NTASKS=8 SLURM_PROCID=0 SLURM_JOB_NUM_NODES=1"; do
  # shellcheck disable=SC2086
  run "$variables" 0 env $variables "$program" hello a
  counted "$variables" 1 "a $alone"
  silent "$variables"
done
run "mpiexec inside a batch script" 0 env SLURM_STEP_NUM_TASKS=8 SLURM_PROCID=0 OMPI_COMM_WORLD_SIZE=8 "$mpiexec" -n 2 "$program" hello a
counted "mpiexec inside a batch script" 1 "a $two"
run "serial programs on purpose" 0 env LAPWING_SINGLETON=1 "$mpiexec" -n 3 "$program" hello a
counted "serial programs on purpose" 3 "a $alone"

# The doctor says what a program would find.
$doctor >"$work/out" 2>"$work/err"
grep -q "^ok  *launcher  *none" "$work/out" || fail "doctor, no launcher"
SLURM_STEP_NUM_TASKS=2 $doctor >"$work/out" 2>"$work/err"
grep -q "^error  *launcher .*srun --mpi=pmi2" "$work/out" || fail "doctor, foreign launcher"
"$mpiexec" -n 1 $doctor >"$work/out" 2>"$work/err"
grep -q "^ok  *launcher .*PMI_FD" "$work/out" || fail "doctor, mpiexec"

# A launcher that listens, several programs in one slot, and launchers that serve one only.
run "PMI over TCP" 0 "$other" port 2 "${a_then_b[@]}"
counted "PMI over TCP" 1 "a $two"
counted "PMI over TCP" 1 "b $two"
run "no listener" 16 env PMI_PORT=127.0.0.1:1 PMI_ID=0 "$program" hello a
said "no listener" "cannot reach the launcher.*127.0.0.1:1"
run "PMI_PORT without a port" 16 env PMI_PORT=nonsense PMI_ID=0 "$program" hello a
said "PMI_PORT without a port" "HOST:PORT"
run "our own, two programs" 0 "$mpiexec" -n 2 "${a_then_b[@]}"
counted "our own, two programs" 1 "a $two"
counted "our own, two programs" 1 "b $two"
silent "our own, two programs"
run "one program per connection" 0 "$other" fd 2 "${a_then_b[@]}"
counted "one program per connection" 1 "a $two"
counted "one program per connection" 2 "rank [01] ended with 16"
said "one program per connection" "closed at its end.*alone in its own MPI_COMM_WORLD.*LAPWING_SINGLETON=1"
run "one program per connection, one process" 0 "$other" fd 1 "${a_then_b[@]}"
counted "one program per connection, one process" 1 "a $alone"
counted "one program per connection, one process" 1 "b $alone"
said "one program per connection, one process" "closed at its end"
run "one program, closed late" 0 "$other" late 2 "${a_then_b[@]}"
counted "one program, closed late" 1 "a $two"
counted "one program, closed late" 2 "rank [01] ended with 16"
said "one program, closed late" "closed at its end"
# The first one speaks on the connection that both inherited from the shell.
run "two programs at once" 0 "$mpiexec" -n 1 sh -c "mkfifo '$work/go' && { '$program' hold '$work/go' & } && '$program' late '$work/go' && wait"
counted "two programs at once" 1 "late $alone"
said "two programs at once" "a rank of the job"

# What a rank starts, while MPI runs and afterwards.
for launcher in "$mpiexec -n" "$other fd" "$other port"; do
  # shellcheck disable=SC2086
  run "system, $launcher" 0 $launcher 2 "$program" system "'$program' hello child"
  counted "system, $launcher" 4 "child $alone"
  said "system, $launcher" "a rank of the job"
done
# What a program in between has closed.
run "closed on the way" 16 "$mpiexec" -n 2 python3 -c "import subprocess, sys; sys.exit(subprocess.call(['$program', 'hello', 'a']))"
said "closed on the way" "PMI_FD=[0-9]*) is not open here"
run "left open on the way" 0 "$mpiexec" -n 2 python3 -c \
  "import subprocess, sys; sys.exit(subprocess.call(['$program', 'hello', 'a'], close_fds=False))"
counted "left open on the way" 1 "a $two"
# Another socket under the number of the closed one: not a byte may go there.
run "another socket" 0 "$mpiexec" -n 1 python3 -c "
import os, socket, subprocess, sys
ours, theirs = socket.socketpair()
number = int(os.environ['PMI_FD'])
os.dup2(theirs.fileno(), number, inheritable=True)
theirs.close()
code = subprocess.call(['$program', 'hello', 'a'], pass_fds=[number], stderr=subprocess.DEVNULL)
os.close(number)
sys.exit(0 if code == 16 and ours.recv(1) == b'' else 1)"

if [ -n "${LAB_HYDRA:-}" ]; then
  run "Hydra over TCP" 0 "$LAB_HYDRA" -pmi-port -n 2 "${a_then_b[@]}"
  counted "Hydra over TCP" 1 "a $two"
  counted "Hydra over TCP" 1 "b $two"
  run "Hydra" 16 "$LAB_HYDRA" -n 2 "${a_then_b[@]}"
  counted "Hydra" 1 "a $two"
  said "Hydra" "closed at its end"
fi

if [ "$failures" -ne 0 ]; then
  echo "$failures failures"
  exit 1
fi
echo "launchers: all as expected"
