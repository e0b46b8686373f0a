#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_gpu.sh BUILD_DIR [OPTIONS] [CTEST ARGUMENTS]: runs the tests of steps,
# operators, models, programs, plug-ins, ranging shapes and failures on GPUs,
# and puts the first one under load. Needs the driver, and NVRTC to compile
# kernels; fails when either is missing.
#
#   -j N, --jobs N   processes beside each other (one for each CPU). They
#                 compile kernels, which takes most of the time, and share those
#                 that they have compiled, in BUILD_DIR/gpu-kernels.
#   --gpus N      on so many GPUs, of CUDA_VISIBLE_DEVICES or of the machine
#                 (all of them), which processes are given in turn
#   --sample N    of the steps and operators one in N
#   --seconds N   each program begins nothing new after so long
#   --limit N     ends after so many seconds; --continue does the rest
#   --continue    without the programs that passed before, since the last run
#                 without it: BUILD_DIR/gpu-passed has their names
#   --stress N[:SHAPES]   seconds and shapes of load (60:10000); 0: none
#   --sanitize    steps under memcheck, racecheck, initcheck and synccheck of
#   --sanitize-only        compute-sanitizer, too: those with a kernel that no
#                 step before had, in all dtypes, and of the others one in
#                 BSM_SANITIZE_SAMPLE (256). Logs: BUILD_DIR/sanitizer-*.log
#
# Everything, on 16 CPUs: some minutes for the first time. In five:
#   check_gpu.sh build --sample 8 --seconds 60 --stress 10:1000
set -eu
export LC_ALL=C # what is sorted here is joined there
build=${1:?usage: check_gpu.sh BUILD_DIR [OPTIONS] [CTEST ARGUMENTS]}
shift
jobs=$(nproc)
gpus=
sanitize=
tests=yes
stress=60:10000
limit=
continue=
while [ $# -gt 0 ]; do
  case $1 in
    -j | --jobs) jobs=$2; shift ;;
    --gpus) gpus=$2; shift ;;
    --sample) BSM_TEST_SAMPLE=$2; export BSM_TEST_SAMPLE; shift ;;
    --seconds) BSM_TEST_SECONDS=$2; export BSM_TEST_SECONDS; shift ;;
    --limit) limit=$2; shift ;;
    --continue) continue=yes ;;
    --stress) stress=$2; shift ;;
    --sanitize) sanitize=yes ;;
    --sanitize-only) sanitize=yes; tests= ;;
    *) break ;;
  esac
  shift
done
targets=$("$build/bessemer" targets)
if ! echo "$targets" | grep -q '^cuda:sm_'; then
  echo "check_gpu: no GPU to test: $(echo "$targets" | grep '^cuda')" >&2
  exit 1
fi
echo "$targets" | grep '^cuda:'
# Compiled once for all programs and runs.
: "${BESSEMER_KERNEL_CACHE=$build/gpu-kernels}"
export BESSEMER_KERNEL_CACHE
if [ -n "$BESSEMER_KERNEL_CACHE" ]; then
  mkdir -p "$BESSEMER_KERNEL_CACHE"
  chmod go= "$BESSEMER_KERNEL_CACHE" # where others have a right, none is used
fi
status=0

# How many GPUs there are to test on.
count_gpus() {
  if [ -n "${CUDA_VISIBLE_DEVICES:-}" ]; then
    echo "$CUDA_VISIBLE_DEVICES" | tr ',' '\n' | grep -c .
  else
    nvidia-smi -L 2>/dev/null | grep -c '^GPU' || true
  fi
}

# What CTest gives to tests, as it is told from a file: of each GPU as many
# places as let all processes run.
write_resources() {
  there=$(count_gpus)
  [ "$there" -gt 0 ] || there=1
  if [ -z "$gpus" ] || [ "$gpus" -gt "$there" ]; then gpus=$there; fi
  places=$(((jobs + gpus - 1) / gpus))
  i=0
  list=
  while [ $i -lt "$gpus" ]; do
    list="$list${list:+, }{\"id\": \"$i\", \"slots\": $places}"
    i=$((i + 1))
  done
  resources=$(cd "$build" && pwd)/gpu-resources.json
  echo "{\"version\": {\"major\": 1, \"minor\": 0}," \
    "\"local\": [{\"gpus\": [$list]}]}" >"$resources"
  echo "$jobs processes on $gpus GPUs"
}

# The kernels for all steps of a kind, which nearly every program needs: by all
# CPUs, before programs wait for each other.
compile_general() {
  "$build/bessemer" compile --no-timing --target cuda --unrecorded \
    -o "$build/gpu-general.bsm" "$(dirname "$0")/../tests/data/ranging/sides.ts" \
    "[(1,6);(3,6);(24,6)]" || status=1
  rm -f "$build/gpu-general.bsm"
}

# Adds what passed, in the words of ctest, to the names of those that did before;
# a run that was stopped has left its log, too.
note_passed() {
  touch "$build/gpu-passed" "$build/gpu-tests.log"
  sed -nE 's/.* Test +#[0-9]+: ([^ ]+) .* Passed +[0-9.]+ sec.*/\1/p' \
    "$build/gpu-tests.log" | sort -u - "$build/gpu-passed" \
    -o "$build/gpu-passed"
}

# The programs that are left, as ctest takes them from a file: by their places
# among those that are chosen, in a line that ends, as ctest leaves out the last
# character of a file. Nothing when none is.
list_left() {
  ctest --test-dir "$build" -C Gpu -N -L '^gpu$' -LE '^stress$' "$@" |
    sed -nE 's/^ *Test +#[0-9]+: ([^ ]+)$/\1/p' | nl -w 1 -s ' ' |
    sed 's/\(.*\) \(.*\)/\2 \1/' | sort |
    join -v 1 - "$build/gpu-passed" | sed 's/.* //' | paste -s -d , - |
    sed -n 's/^\(.\)/0,0,0,\1/p'
}

run_tests() {
  if [ -n "$continue" ]; then
    note_passed
  else
    rm -f "$build/gpu-passed" "$build/gpu-tests.log"
    note_passed
  fi
  list_left "$@" >"$build/gpu-left"
  if [ ! -s "$build/gpu-left" ]; then
    echo "all programs passed before"
    return
  fi
  [ -z "$limit" ] || limit=$(date -d "$limit seconds" +%T)
  write_resources
  compile_general
  # The slowest first, so that none of them is left at the end.
  ctest --test-dir "$build" -C Gpu -L '^gpu$' -LE '^stress$' --no-tests=error \
    -I "$build/gpu-left" ${limit:+--stop-time "$limit"} \
    --resource-spec-file "$resources" --output-on-failure \
    -j "$jobs" "$@" >"$build/gpu-tests.log" 2>&1 || status=1
  # What programs said; listing programs writes over it.
  cp "$build/Testing/Temporary/LastTest.log" "$build/gpu-output.log" ||
    : >"$build/gpu-output.log"
  note_passed
  grep -E 'Failed|Timeout|\*\*\*' "$build/gpu-tests.log" | sort -u | head -40
  [ $status -eq 0 ] || grep -E '\[   LINE|FAILED|error:|differs|expected' \
    "$build/gpu-tests.log" | sort | uniq -c | sort -rn | head -40
  echo "the slowest, in seconds:"
  sed -nE 's/.* Test +#[0-9]+: ([^ ]+) .* ([0-9.]+) sec$/\2 \1/p' \
    "$build/gpu-tests.log" | sort -rn | head -10
  grep -E 'tests passed|Total Test time' "$build/gpu-tests.log"
  # What is less than the time times the processes, they have waited: for a GPU
  # that others had, or for memory.
  awk -F '[ms ]+' '/^CPU time:$/ { lines = 2; next }
    lines-- > 0 { user += 60 * $1 + $2; system_ += 60 * $3 + $4 }
    END { printf "CPU time: %.0f s, of the system %.0f s\n", user, system_ }' \
    "$build/gpu-output.log"
  echo "$(wc -l <"$build/gpu-passed") programs passed," \
    "$(list_left "$@" | tr ',' '\n' | sed 1,3d | grep -c .) are left"
  # What ran where, and what was left out.
  grep -hE 'ran on the device|left out' "$build/gpu-output.log" |
    sort | uniq -c | head -20
}

run_stress() {
  "$build/gpu_stress_test" "${stress%%:*}" "${stress##*:}" || status=1
}

# Programs of the suite, and dtypes that they are run in besides their own.
list_programs() {
  ctest --test-dir "$build" -C Gpu -N |
    sed -nE 's|.*: gpu/conformance(_([a-z0-9]+))?/([a-z_]+_step_test)/1$|\3 \2|p'
}

sanitize_steps() {
  tool=${COMPUTE_SANITIZER:-compute-sanitizer}
  command -v "$tool" >/dev/null || {
    echo "check_gpu: $tool not found: it is part of the CUDA toolkit, and in" \
      "nvidia-cuda-sanitizer-api of PyPI; COMPUTE_SANITIZER is its path" >&2
    exit 1
  }
  export build
  for check in memcheck racecheck initcheck synccheck; do
    list_programs | sed "s/^/$check /"
  done >"$build/sanitizer.list"
  # A word that ends in a blank would go on in the next line.
  # shellcheck disable=SC2016
  sed 's/ *$//' "$build/sanitizer.list" | xargs -P "$jobs" -L 1 sh -c '
    log=$build/sanitizer-$2${3:+-$3}-$1.log
    # Whether memory is pinned the driver says by an error.
    if BSM_TEST_FAMILIES=1 "$0" --tool "$1" --error-exitcode 9 --quiet \
      $([ "$1" != memcheck ] || echo --report-api-errors=no) \
      "$build/$2" cuda "${BSM_SANITIZE_SAMPLE:-256}" $3 >"$log" 2>&1; then
      echo "$1 $2${3:+ $3}: ok, $(grep "steps ran" "$log")"
    else
      echo "$1 $2${3:+ $3}: failed"
      grep -m 12 -A 6 "=========" "$log" || tail -20 "$log"
      exit 1
    fi' "$tool" || status=1
}

[ -z "$tests" ] || run_tests "$@"
[ -z "$tests" ] || [ "${stress%%:*}" = 0 ] || run_stress
[ -z "$sanitize" ] || sanitize_steps
[ $status -eq 0 ] && echo "check_gpu: ok" || echo "check_gpu: failed"
exit $status
