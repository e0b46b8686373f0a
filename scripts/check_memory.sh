#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check_memory.sh: builds the preset msan, MemorySanitizer, which finds the use
# of what was never written, and runs the tests of what reads files. All that runs has to be
# instrumented, so zlib and cmocka are built from Debian's sources, which apt
# fetches into the build folder. Needs clang with its runtimes
# (libclang-rt-14-dev); takes two minutes of CPU.
#
# BSM_GROUPS: other groups of tests than those below, such as "backend runtime".
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/build-msan
mkdir -p "$root"
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)

groups=(base engine exported ir network quantized torchscript trust)
[ -z "${BSM_GROUPS:-}" ] || read -ra groups <<<"$BSM_GROUPS"

# The libraries, with MemorySanitizer, in $root/libraries.
build_libraries() {
  local folder=$root/libraries apt=$root/apt
  [ ! -e "$folder/libcmocka.a" ] || return 0
  mkdir -p "$folder" "$apt"/{lists/partial,cache/archives/partial}
  echo "deb-src http://deb.debian.org/debian bookworm main" >"$apt/sources.list"
  : >"$apt/status"
  local how=(-q -o "Dir::Etc::SourceList=$apt/sources.list"
    -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$apt/lists"
    -o "Dir::State::Status=$apt/status" -o "Dir::Cache=$apt/cache"
    -o APT::Sandbox::User=root)
  apt-get "${how[@]}" update >"$apt/log"
  (cd "$folder" && apt-get "${how[@]}" --download-only source \
    zlib cmocka >>"$apt/log")
  local archive
  for archive in "$folder"/*.orig.tar.*; do
    [[ $archive == *.asc ]] || tar xf "$archive" -C "$folder"
  done
  local cc=(clang -fsanitize=memory -O1 -g -fPIC -w -c)
  (cd "$folder"/zlib-* && "${cc[@]}" adler32.c compress.c crc32.c deflate.c \
    inffast.c inflate.c inftrees.c trees.c uncompr.c zutil.c &&
    ar rcs "$folder/libz.a" ./*.o)
  (cd "$folder"/cmocka-* && "${cc[@]}" -Iinclude -DHAVE_MALLOC_H \
    -DHAVE_STRINGS_H -DHAVE_INTTYPES_H -DHAVE_SIGNAL_H -DHAVE_TIME_H \
    -DHAVE_STRUCT_TIMESPEC -DHAVE_CLOCK_GETTIME -DHAVE_STRSIGNAL \
    -DHAVE_CLOCK_REALTIME -DHAVE_GCC_THREAD_LOCAL_STORAGE src/cmocka.c &&
    ar rcs "$folder/libcmocka.a" ./*.o)
}

build_libraries
cmake --preset msan "${launcher[@]}" >"$root/log" || {
  tail -20 "$root/log"
  exit 1
}
ninja -C "$root" "${groups[@]/#/test_programs_}" >"$root/log" || {
  grep -E 'error|undefined' "$root/log" | head -40
  exit 1
}
ctest --test-dir "$root" --no-tests=error --output-on-failure \
  -j "$(nproc)" -R "^($(IFS='|'; echo "${groups[*]}"))/" -E '/(remote|cuda)/'
