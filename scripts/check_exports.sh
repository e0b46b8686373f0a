#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_exports.sh BUILD_DIR: the shared libraries export bsm_ names alone, the
# static ones define no other name with external linkage, and those that run
# engines need nothing but the C library. The smallest has no planner, no
# constructor and, stripped, less than 2 MB.
set -eu
build=${1:?usage: check_exports.sh BUILD_DIR}
status=0
fail() {
  echo "check_exports: $*" >&2
  status=1
}
for name in bessemer bessemer-runtime bessemer-runtime-shapes; do
  # A build without the compiler has no libbessemer.
  [ $name != bessemer ] || [ -e "$build/libbessemer.so" ] || continue
  shared=$build/lib$name.so
  static=$build/lib$name.a
  exported=$(nm -D --defined-only "$shared" | awk '{print $NF}')
  [ -n "$exported" ] || fail "$shared exports nothing"
  bad=$(echo "$exported" | grep -v '^bsm_' || true)
  [ -z "$bad" ] || fail "$shared exports" $bad
  bad=$(nm -g --defined-only "$static" 2>/dev/null | awk 'NF == 3 {print $3}' |
    grep -v '^bsm_' | sort -u || true)
  [ -z "$bad" ] || fail "$static defines" $bad
done
for name in bessemer-runtime bessemer-runtime-shapes; do
  shared=$build/lib$name.so
  needed=$(readelf -d "$shared" |
    sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vE '^(libc|libm|libpthread|ld-linux[-a-z0-9_]*)\.so' || true)
  [ -z "$needed" ] || fail "$shared needs" $needed
  for word in abort __assert_fail; do
    ! nm -D --undefined-only "$shared" | grep -qw "$word" ||
      fail "$shared refers to $word"
  done
  # Libraries are opened for devices and their compilers alone.
  bad=$(nm -A -g --undefined-only "$build/lib$name.a" 2>/dev/null |
    grep -w dlopen | grep -v ':\(cuda_driver\|nvrtc\).c.o:' || true)
  [ -z "$bad" ] || fail "$bad"
done
small=$build/libbessemer-runtime
bad=$(nm -g --defined-only "$small.a" 2>/dev/null | awk 'NF == 3 {print $3}' |
  grep -E '^bsm_(planner|builder|build|network|convert|ir|graph|target)(_|$)' || true)
[ -z "$bad" ] || fail "$small.a makes plans:" $bad
# One entry is the compiler's own.
constructors=$(readelf -SW "$small.so" | sed -n 's/.* INIT_ARRAY *//p' |
  awk '{print $3}')
[ "${constructors:-000008}" = 000008 ] || fail "$small.so has constructors"
python3 scripts/measure_library.py "$small.so" --limit 2000000 >/dev/null ||
  fail "$small.so is too large: scripts/measure_library.py tells of what"
[ $status -ne 0 ] || echo "check_exports: ok"
exit $status
