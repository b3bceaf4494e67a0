#!/usr/bin/env bash
# mpiexec from the outside: exit codes, ends by signal, input, labels, several programs, and that no process is left behind.
#
#   mpiexec.sh MPIEXEC PMI_PROBE
set -u

mpiexec=$1
probe=$2
. "$(dirname "$0")/helpers.sh"

# -- exit codes
run "all zero" 0 -n 3 true
run "first non-zero code" 5 -n 3 sh -c '[ $PMI_RANK -ne 1 ] || exit 5'
said "first non-zero code" "rank 1 of 3 .* exited with code 5"
run "missing program" 127 -n 2 no-such-program
said "missing program" "no-such-program"
run "not executable" 127 -n 2 /etc/passwd
run "missing directory" 127 -wdir /no/such/directory true
run "bad option" 2 --frobnicate true

# -- open files: mpiexec makes room for itself as far as it may, and the ranks start with the limit the user had
run "few open files" 0 -n 1 bash -c 'ulimit -Sn 40 && exec "$0" -n 30 bash -c "[ \$(ulimit -Sn) -eq 40 ]"' "$mpiexec"
run "too few open files" 1 -n 1 bash -c 'ulimit -n 100 && exec "$0" -n 30 true' "$mpiexec"
said "too few open files" "30 ranks take [0-9]* open files .*ulimit -Hn"
run "script without first line" 0 -n 2 sh -c 'printf "exit 0\n" >'"$work"'/script.$PMI_RANK; chmod +x '"$work"'/script.$PMI_RANK; '"$work"'/script.$PMI_RANK'
run "misspelt setting" 2 -x LAPWING_PROGES=polling -n 2 true
said "misspelt setting" "did you mean LAPWING_PROGRESS"
run "time limit" 124 --timeout 0.2 -n 2 sleep 1000

# -- PMI
for ranks in 1 2 7; do
  run "exchange with $ranks" 0 -n $ranks "$probe" exchange
  [ "$(wc -l <"$work/out")" -eq $ranks ] || fail "exchange with $ranks: lines missing"
done
run "exchange of two programs" 0 -n 2 "$probe" exchange : -n 1 "$probe" exchange
grep -q "rank 2 of 3 app 1 mapping (vector,(0,1,3))" "$work/out" || fail "exchange of two programs: application numbers"
run "exit inside MPI" 3 -n 3 "$probe" exit 1 3
said "exit inside MPI" "without calling MPI_Finalize, or MPI_Session_finalize for each session"
run "exit 0 inside MPI" 1 -n 3 "$probe" exit 2 0
said "exit 0 inside MPI" "rank 2 of 3"
run "abort" 7 -n 3 "$probe" abort 1 7
said "abort" "rank 1 of 3 .* MPI_Abort with code 7"
said "abort" "the probe was asked to"
run "abort with a code of nine bits" 1 -n 3 "$probe" abort 1 256
run "code after finalize" 6 -n 3 "$probe" late 1 6
said "code after finalize" "rank 1 of 3 .* exited with code 6 after MPI_Finalize"
run "several codes after finalize" 7 -n 2 "$probe" late 0 7 : -n 1 "$probe" late 2 7
[ "$(grep -c "exited with code 7" "$work/err")" -eq 1 ] || fail "several codes after finalize: told one by one"
said "several codes after finalize" "2 of 3 ranks exited with codes other than 0"
run "a rank without MPI" 1 -n 2 "$probe" exchange : -n 1 true
said "a rank without MPI" "without calling MPI_Init"

# -- ends by signal
run "SIGKILL" 137 -n 3 "$probe" signal 1 9
said "SIGKILL" "rank 1 of 3 .* killed by SIGKILL"
run "SIGSEGV" 139 -n 2 "$probe" signal 0 11
said "SIGSEGV" "gdb"
[ "$(grep -c "was killed" "$work/err")" -eq 1 ] || fail "SIGSEGV: told more than once"
run "deaf to SIGTERM" 4 -n 3 sh -c 'trap "" TERM; [ $PMI_RANK -ne 0 ] || exit 4; while :; do sleep 1000; done'

# -- environment
run "ranks of each program" 0 -n 1 sh -c 'echo of $LAPWING_INTERNAL_PROGRAM_RANKS' : -n 2 sh -c 'echo of $LAPWING_INTERNAL_PROGRAM_RANKS'
[ "$(sort "$work/out" | tr '\n' ' ')" = "of 1 of 2 of 2 " ] || fail "ranks of each program"
run "variables" 0 -n 1 -x A=1 -env B 2 sh -c 'echo $A $B $C $PMI_SIZE' : -n 1 -genv C 3 sh -c 'echo $A $B $C $PMI_SIZE'
printed "variables" '1 2 3 2\n1 3 2\n'
run "directory" 0 -n 2 -wdir / pwd
printed "directory" '/\n/\n'

# -- input and output
printf 'one\ntwo\n' | "$mpiexec" -n 3 cat >"$work/out" 2>"$work/err" || fail "input to rank 0: exit code"
printed "input to rank 0" 'one\ntwo\n'
run "label of an unfinished line" 0 -l -n 1 sh -c 'echo out; printf part'
printed "label of an unfinished line" '[0] out\n[0] part'
run "labels" 0 -l -n 3 sh -c 'echo a $PMI_RANK; echo b'
printed "labels" '[0] a 0\n[0] b\n[1] a 1\n[1] b\n[2] a 2\n[2] b\n'
run "label of errors" 0 -l -n 1 sh -c 'echo oops >&2'
said "label of errors" "^\[0\] oops"
run "whole lines" 0 -n 4 sh -c 'i=0; while [ $i -lt 2000 ]; do echo "rank $PMI_RANK line $i of a longer text"; i=$((i+1)); done'
[ "$(grep -cE '^rank [0-3] line [0-9]+ of a longer text$' "$work/out")" -eq 8000 ] || fail "whole lines: mixed or lost"
"$mpiexec" -n 2 yes 2>/dev/null | head -n 3 >"$work/out"
printed "closed output" 'y\ny\ny\n'

# -- a rank that the terminal stops, as one that reads /dev/tty is
"$mpiexec" -n 1 sh -c 'kill -TTIN $$; kill -TTIN $$; echo on' >"$work/out" 2>"$work/err" </dev/null &
job=$!
wait_until "stopped by the terminal: not told" grep -q "rank 0 of 1 .*is stopped by SIGTTIN.*standard input" "$work/err"
until ! kill -CONT $job 2>/dev/null; do read -rt 0.05 <> <(:) || true; done
wait $job || fail "stopped by the terminal: exit code"
printed "stopped by the terminal" 'on\n'
[ "$(wc -l <"$work/err")" -eq 1 ] || fail "stopped by the terminal: told more than once"

# -- the keyboard of a job that a shell's fg has brought to the foreground
if command -v python3 >/dev/null; then
  timeout -k 1 60 python3 "$(dirname "$0")/foreground.py" "$work/started" \
    "$mpiexec" -n 2 sh -c '[ $PMI_RANK != 0 ] || { : >'"$work"'/started; read line && echo $line >'"$work"'/heard; }'
  [ "$(cat "$work/heard")" = typed ] || fail "keyboard in the foreground: not heard"
fi

# -- what users of other launchers type
run "Open MPI's options" 0 --mca btl tcp,self --oversubscribe --allow-run-as-root --map-by slot --host localhost:4 sh -c 'echo $PMI_SIZE'
printed "Open MPI's options" '4\n4\n4\n4\n'
said "Open MPI's options" "option --mca btl is ignored: LAPWING_TRANSPORTS"
[ "$(wc -l <"$work/err")" -eq 1 ] || fail "Open MPI's options: more than a line"
run "Hydra's options" 0 -launcher ssh -ppn 2 -genvall -host localhost -prepend-rank -bind-to none echo hello
printed "Hydra's options" '[0] hello\n[1] hello\n'
run "another machine" 2 -host no-such-machine.invalid -n 2 true
said "another machine" "no-such-machine.invalid is not this machine .*srun --mpi=pmi2 .*Hydra"
run "files of output" 0 -n 3 -outfile-pattern "$work/out.%r" -errfile-pattern "$work/all.%p" sh -c 'echo $PMI_RANK; echo e >&2'
[ "$(cat "$work/out.0" "$work/out.1" "$work/out.2")" = "$(printf '0\n1\n2')" ] || fail "files of output: wrong"
[ "$(cat "$work/all.0")" = "$(printf 'e\ne\ne')" ] || fail "files of output: a common file is wrong"
run "no file of output" 1 -n 2 -outfile-pattern /no/such/directory/%r true
said "no file of output" "cannot write the output of rank 0 to /no/such/directory/0"
printf '%s\n' '-n 1 echo "first program"' '# and' '-n 2 echo second' >"$work/programs"
run "file of programs" 0 -configfile "$work/programs"
printed "file of programs" 'first program\nsecond\nsecond\n'
run "bindings" 0 --report-bindings --bind-to hwthread -n 1 true
said "bindings" "rank 0 of 1 (true, pid [0-9]*) on processors\? [0-9]"
run "ranks per node" 0 --map-by ppr:3:node echo three
printed "ranks per node" 'three\nthree\nthree\n'
run "ranks per core" 0 --map-by ppr:2:core --report-bindings sh -c 'echo $PMI_SIZE'
ranks=$(wc -l <"$work/out")
[ $((ranks % 2)) -eq 0 ] && [ "$(sort -u "$work/out")" = "$ranks" ] || fail "ranks per core: not two on each"
run "ranks per socket of two programs" 2 -npersocket 2 -n 1 true : true
said "ranks per socket of two programs" "give every program its -n"
run "time limit from the environment" 124 -n 1 env MPIEXEC_TIMEOUT=0.2 "$mpiexec" -n 1 sleep 1000

# -- inside the allocations of batch systems
run "Slurm, two nodes" 2 -n 1 env SLURM_JOB_ID=1 SLURM_NNODES=2 "$mpiexec" -n 2 true
said "Slurm, two nodes" "Slurm allocation has 2 nodes, .*srun --mpi=pmi2, .*Hydra.* -host localhost"
run "Slurm, two nodes, here" 0 -n 1 env SLURM_JOB_ID=1 SLURM_NNODES=2 "$mpiexec" -host localhost -n 2 true
run "Slurm, one node" 0 -n 1 env SLURM_JOB_ID=1 SLURM_NNODES=1 SLURMD_NODENAME=n SLURM_NTASKS=3 "$mpiexec" echo one
printed "Slurm, one node" 'one\none\none\n'
printf 'node1\nnode2\n' >"$work/nodes"
run "PBS, two nodes" 2 -n 1 env PBS_NODEFILE="$work/nodes" "$mpiexec" -n 2 true
said "PBS, two nodes" "PBS allocation has 2 nodes"

# -- signals passed on
"$mpiexec" -n 2 sh -c 'trap "echo got; exit 0" USR1; echo ready >'"$work"'/ready.$PMI_RANK; while :; do sleep 0.05; done' \
  >"$work/out" 2>"$work/err" &
job=$!
wait_until "SIGUSR1: start" test -e "$work/ready.0" -a -e "$work/ready.1"
kill -USR1 $job
wait $job || fail "SIGUSR1: exit code"
printed "SIGUSR1" 'got\ngot\n'

"$mpiexec" -n 2 sh -c 'sleep 7654320; :' >"$work/out" 2>"$work/err" &
job=$!
wait_until "SIGTERM: start" alive "^sleep.765432[0]" 2
kill -TERM $job
wait $job
[ $? -eq 143 ] || fail "SIGTERM: exit code"
wait_until "SIGTERM: a process left" gone "765432[0]"

# -- no process left behind
run "background child" 3 -n 2 sh -c 'sleep 7654321 & exit 3'
wait_until "background child left" gone "765432[1]"
run "escaped child" 0 -n 2 sh -c 'setsid sleep 7654322 >'"$work"'/escaped & while [ ! -e '"$work"'/escaped ]; do :; done'
wait_until "escaped child left" gone "765432[2]"
"$mpiexec" -n 2 sh -c 'sleep 7654323; :' >/dev/null 2>&1 &
job=$!
wait_until "SIGKILL of mpiexec: start" alive "^sleep.765432[3]" 2
kill -KILL $job
wait $job 2>/dev/null
wait_until "SIGKILL of mpiexec: a process left" gone "765432[3]"

finish mpiexec
