#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# on_gpu.sh COMMAND...: a test of CTest on the GPU that it was given, by its
# place among those of CUDA_VISIBLE_DEVICES or of all; on the first where none
# was. Says in the end how long CPUs have worked for it: what a test takes
# beyond that it has waited.
#
# Compilers of kernels take and give back memory for each one. With what malloc
# keeps of it pages come once, not anew each time, which on virtual machines
# takes as long as compiling.
set -u
: "${MALLOC_MMAP_THRESHOLD_=1073741824}"
: "${MALLOC_TRIM_THRESHOLD_=8589934592}"
: "${MALLOC_TOP_PAD_=16777216}"
export MALLOC_MMAP_THRESHOLD_ MALLOC_TRIM_THRESHOLD_ MALLOC_TOP_PAD_
given=${CTEST_RESOURCE_GROUP_0_GPUS:-}
if [ -n "$given" ]; then
  given=${given#id:}
  given=${given%%,*}
  if [ -n "${CUDA_VISIBLE_DEVICES:-}" ]; then
    given=$(echo "$CUDA_VISIBLE_DEVICES" | cut -d , -f $((given + 1)))
  fi
  export CUDA_VISIBLE_DEVICES="$given"
fi
"$@"
status=$?
# Of the shell, then of what it has run: user, system.
echo "CPU time:"
times
exit $status
