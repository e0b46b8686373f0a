#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every public header compiles alone, as C11 and as C++17, without warnings, and
# so does every macro that expands to code: scripts/expand_macros.c uses them.
set -eu
cd "$(dirname "$0")/.."
count=0
for header in include/bessemer/*.h; do
  name=bessemer/$(basename "$header")
  for language in "c -std=c11 ${CC:-cc}" "c++ -std=c++17 ${CXX:-c++}"; do
    # shellcheck disable=SC2086
    set -- $language
    printf '#include "%s"\nextern int bsm_not_empty;\n' "$name" |
      "$3" -x "$1" "$2" -Wall -Wextra -Wpedantic -Wshadow -Werror -Iinclude \
        -fsyntax-only - || {
      echo "check_headers: $name fails as $2" >&2
      exit 1
    }
  done
  count=$((count + 1))
done
[ "$count" -gt 0 ]

macros=scripts/expand_macros.c
for language in "c -std=c11 ${CC:-cc}" "c++ -std=c++17 ${CXX:-c++}"; do
  # shellcheck disable=SC2086
  set -- $language
  "$3" -x "$1" "$2" -Wall -Wextra -Wpedantic -Wshadow -Werror -Iinclude \
    -fsyntax-only $macros || {
    echo "check_headers: $macros fails as $2" >&2
    exit 1
  }
done
# Those with parameters and those that initialise; BSM_PRINTF and BSM_SIZED_INIT
# are the headers' own.
for macro in $(sed -nE 's/^#define ([A-Za-z_]+)\(.*/\1/p
  s/^#define (BSM_[A-Z_]+_INIT)( .*)?$/\1/p' include/bessemer/*.h | sort -u |
  grep -vxE 'BSM_PRINTF|BSM_SIZED_INIT|X'); do
  grep -qw "$macro" $macros || {
    echo "check_headers: $macros does not use $macro" >&2
    exit 1
  }
done
echo "check_headers: $count headers ok"
