#!/usr/bin/env bash
# Key files, and ranks that do not agree on how their frames are protected.
#
#   key_file.sh MPIEXEC LAPWING PROGRAM        (PROGRAM exchanges messages between all ranks and ends well)
set -u

mpiexec=$1
lapwing=$2
program=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work/home LAPWING_TRANSPORTS=self,tcp
unset LAPWING_KEY_FILE LAPWING_WIRE
die() {
  echo "FAILED: $1"
  sed 's/^/    /' "$work/log"
  exit 1
}
# says TEXT: the last output has it.
says() { grep -qF -- "$1" "$work/log" || die "no word of '$1'"; }
# two FIRST SECOND: one rank in the environment FIRST, the other in SECOND, each a list of variables.
two() { timeout 60 "$mpiexec" -n 1 env $1 "$program" : -n 1 env $2 "$program" >"$work/log" 2>&1; }

"$lapwing" doctor >"$work/log" 2>&1
says "no key file is in use"
two "LAPWING_LOG=info" "LAPWING_LOG=info" || die "without a key file"
says "tcp: frames are plain; a connection needs the job's secret"
says "frames are plain"

"$lapwing" key >"$work/log" 2>&1 || die "a key file in its default place"
says "$HOME/.config/lapwing/key is made"
"$lapwing" key >"$work/log" 2>&1 && die "it was made twice"
says "there is one"
"$lapwing" key "$work/other" >"$work/log" 2>&1 || die "another one"
LAPWING_WIRE=sealed "$lapwing" doctor >"$work/log" 2>&1
says "frames over TCP are sealed (LAPWING_WIRE); a connection needs the job's secret and the key file $HOME/.config/lapwing/key"

two "LAPWING_LOG=info LAPWING_WIRE=sealed" "LAPWING_LOG=info LAPWING_WIRE=sealed" || die "sealed, with a key file"
says "tcp: frames are sealed; a connection needs the job's secret and the key file"
says "frames are sealed by "
two "LAPWING_KEY_FILE=$work/other LAPWING_WIRE=checked" "LAPWING_KEY_FILE=$work/other LAPWING_WIRE=checked" || die "checked, with a key file elsewhere"

two "A=1" "LAPWING_KEY_FILE=" && die "one rank has a key file and the other none, and they met"
says "key file (LAPWING_KEY_FILE), and this rank has "
two "A=1" "LAPWING_KEY_FILE=$work/other" && die "two ranks with different key files met"
says "has another key file than this rank (LAPWING_KEY_FILE)"
two "LAPWING_KEY_FILE=$work/nothing" "A=1" && die "a key file that is not there"
says "the key file $work/nothing (LAPWING_KEY_FILE) cannot be used: No such file or directory"
chmod 644 "$work/other"
two "LAPWING_KEY_FILE=$work/other" "A=1" && die "a key file that others may read"
says "other users may read or write it; \`chmod 600\` it"
two "LAPWING_KEY_FILE=$work/other" "LAPWING_KEY_FILE=$work/other" && die "a key file that others may read, on both"
[ "$(grep -c "other users may read or write it" "$work/log")" -eq 1 ] || die "an error of all ranks is told more than once"
LAPWING_KEY_FILE=$work/other "$lapwing" doctor >"$work/log" 2>&1 && die "the doctor finds nothing wrong with it"
says "other users may read or write it"

two "LAPWING_WIRE=sealed" "LAPWING_WIRE=plain" && die "sealed and plain ranks met"
says "every rank of a job needs the same"
says "LAPWING_WIRE=sealed"
says "LAPWING_WIRE=plain"
echo "key files: all as expected"
