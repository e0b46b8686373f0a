#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fails when a C file of ours is not as clang-format leaves it. With --fix,
# formats the files.
set -eu
cd "$(dirname "$0")/.."
format=${CLANG_FORMAT:-clang-format}
mode="--dry-run -Werror"
[ "${1:-}" = --fix ] && mode=-i
folders=
for folder in include src tools examples tests fuzz bench python; do
  [ -d "$folder" ] && folders="$folders $folder"
done
# shellcheck disable=SC2086
find $folders \( -name '*.c' -o -name '*.h' \) -print0 |
  xargs -0 "$format" $mode
echo "check_format: ok"
