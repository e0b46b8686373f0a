#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_exports.sh BUILD_DIR: the shared libraries export bsm_ names alone, the
# static ones define no other name with external linkage, and the runtime
# library needs nothing but the C library.
set -eu
build=${1:?usage: check_exports.sh BUILD_DIR}
status=0
fail() {
  echo "check_exports: $*" >&2
  status=1
}
for name in bessemer bessemer-runtime; do
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
needed=$(readelf -d "$build/libbessemer-runtime.so" |
  sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
  grep -vE '^(libc|libm|libpthread|ld-linux[-a-z0-9_]*)\.so' || true)
[ -z "$needed" ] || fail "libbessemer-runtime.so needs" $needed
for word in abort __assert_fail dlopen; do
  ! nm -D --undefined-only "$build/libbessemer-runtime.so" |
    grep -qw "$word" || fail "libbessemer-runtime.so refers to $word"
done
[ $status -ne 0 ] || echo "check_exports: ok"
exit $status
