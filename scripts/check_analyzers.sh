#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check_analyzers.sh [--sample N] tidy|gcc|clang [FILE...]: looks at the sources
# without running them; any finding fails. FILE: all of src and tools.
#
#   tidy   clang-tidy with the checks of .clang-tidy: seconds of CPU for ten
#          files
#   gcc    -fanalyzer: memory, files and descriptors that are lost or used after
#          they are gone. It knows neither which tag of a union goes with which
#          pointer, nor that what adds to a failure returns one, so its checks of
#          null pointers and of what is not set are off
#   clang  the static analyzer of clang: three seconds for each file
#
# --sample: one file in N, other ones each day.
set -euo pipefail
cd "$(dirname "$0")/.."
sample=1
if [ "${1:-}" = --sample ]; then
  sample=$2
  shift 2
fi
tool=${1:?tidy, gcc or clang}
shift
flags=(-std=gnu11 -D_GNU_SOURCE -Iinclude -Isrc -I. -I"${packed:-}")
told=(-include scripts/analyzed.h)

analyze() { # file
  case $tool in
    tidy) clang-tidy --quiet "$1" -- "${flags[@]}" 2>/dev/null ;;
    gcc)
      gcc "${flags[@]}" "${told[@]}" -O1 -fanalyzer -Werror \
        -Wno-analyzer-null-dereference \
        -Wno-analyzer-use-of-uninitialized-value -fdiagnostics-plain-output \
        -S -o /dev/null "$1"
      ;;
    clang)
      clang "${flags[@]}" "${told[@]}" --analyze --analyzer-output text \
        -Xclang -analyzer-werror -o /dev/null "$1"
      ;;
    *)
      echo "check_analyzers.sh: no tool $tool" >&2
      return 2
      ;;
  esac
}
export tool
if [ "${BSM_ONE_FILE:-}" ]; then
  analyze "$BSM_ONE_FILE"
  exit
fi

# What the build makes of operators.
packed=$(mktemp -d)
export packed
trap 'rm -rf "$packed"' EXIT
for source in src/aten/ops/aten_*.c; do
  cmake -DOUT="$packed/aten/packed/$(basename "$source" .c).h" \
    -DSOURCE="$source" -DWORDS=src/aten/schema_words.inl \
    -P cmake/PackSchemas.cmake
done

# Kernels of other instruction sets are the same code.
if [ $# -eq 0 ]; then
  mapfile -t all < <(find src tools -name '*.c' |
    grep -vE '_(avx2|avx512|avx2_vnni|avx512_vnni|avx512_bf16|amx|neon|neon_i8mm)\.c$' | sort)
  first=$(($(date +%j | sed 's/^0*//') % sample))
  for ((i = first; i < ${#all[@]}; i += sample)); do set -- "$@" "${all[i]}"; done
fi
printf '%s\0' "$@" |
  xargs -0 -P "$(nproc)" -I{} env BSM_ONE_FILE={} "$0" "$tool" || {
  echo "check_analyzers: $tool has findings" >&2
  exit 1
}
echo "check_analyzers: $tool: ok ($# files)"
