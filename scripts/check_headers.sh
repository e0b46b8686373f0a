#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every public header compiles alone, as C11 and as C++17, without warnings.
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
echo "check_headers: $count headers ok"
