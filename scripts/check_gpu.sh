#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_gpu.sh BUILD_DIR [--sanitize] [CTEST ARGUMENTS]: runs the tests of steps,
# operators, models, programs and ranging shapes on GPU 0; with --sanitize also
# the steps under the four tools of compute-sanitizer. Needs the driver, and
# NVRTC to compile kernels; fails when either is missing.
set -eu
build=${1:?usage: check_gpu.sh BUILD_DIR [--sanitize] [CTEST ARGUMENTS]}
shift
sanitize=
if [ "${1:-}" = --sanitize ]; then
  sanitize=yes
  shift
fi
targets=$("$build/bessemer" targets)
if ! echo "$targets" | grep -q '^cuda:sm_'; then
  echo "check_gpu: no GPU to test: $(echo "$targets" | grep '^cuda')" >&2
  exit 1
fi
echo "$targets" | grep '^cuda:'
# Compiled once for all programs and runs.
: "${BESSEMER_KERNEL_CACHE=$build/gpu-kernels}"
export BESSEMER_KERNEL_CACHE
mkdir -p "$BESSEMER_KERNEL_CACHE"
chmod go= "$BESSEMER_KERNEL_CACHE" # where others have a right, nothing is kept
ctest --test-dir "$build" -C Gpu -L '^gpu$' --no-tests=error \
  --output-on-failure -j "$(nproc)" "$@"
[ -n "$sanitize" ] || exit 0
command -v compute-sanitizer >/dev/null || {
  echo "check_gpu: compute-sanitizer not found: it is part of the CUDA toolkit" >&2
  exit 1
}
status=0
for tool in memcheck racecheck initcheck synccheck; do
  for program in "$build"/*_step_test; do
    name=$(basename "$program")
    # Those that the suite runs on GPUs, a sample of each.
    ctest --test-dir "$build" -C Gpu -N -R "^gpu/conformance/$name\$" |
      grep -q "Total Tests: 1" || continue
    if compute-sanitizer --tool $tool --error-exitcode 9 --quiet \
      "$program" cuda 16 >"$build/sanitizer.log" 2>&1; then
      echo "$tool $name: ok"
    else
      echo "$tool $name: failed"
      tail -40 "$build/sanitizer.log"
      status=1
    fi
  done
done
exit $status
