#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_install.sh BUILD_DIR: installs into a scratch folder, moves that, and
# builds the examples against it through pkg-config and through the CMake
# package; makes Debian's packages, where there is dpkg, and runs the command of
# them.
set -eu
cd "$(dirname "$0")/.."
build=${1:?usage: check_install.sh BUILD_DIR}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
cmake --build "$build" >/dev/null
cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$prefix"
[ -e "$prefix/share/doc/bessemer/LICENSE" ]
[ -e "$prefix/share/doc/bessemer/docs/architecture.md" ]
grep -qF 'no\-timing' "$prefix/share/man/man1/bessemer-compile.1"
bash -n "$prefix/share/bash-completion/completions/bessemer"
! grep -rl "$work/first" "$prefix"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name bessemer.pc)")
export PKG_CONFIG_PATH
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
export LD_LIBRARY_PATH
for pair in compile_and_run:bessemer run_engine:bessemer-runtime \
  run_engine:bessemer-runtime-shapes; do
  example=${pair%%:*} package=${pair##*:}
  # shellcheck disable=SC2046
  cc -o "$work/$example" "examples/$example.c" \
    $(pkg-config --cflags --libs "$package")
  # Without arguments it says how to use it.
  "$work/$example" >"$work/output" 2>&1 && exit 1
  grep -q usage "$work/output"
done

cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.20)
project(user C)
find_package(bessemer 0.1 REQUIRED)
add_executable(whole $PWD/examples/compile_and_run.c)
target_link_libraries(whole bessemer::bessemer)
add_executable(whole_static $PWD/examples/compile_and_run.c)
target_link_libraries(whole_static bessemer::bessemer-static)
add_executable(runtime $PWD/examples/run_engine.c)
target_link_libraries(runtime bessemer::runtime)
add_executable(runtime_static $PWD/examples/run_engine.c)
target_link_libraries(runtime_static bessemer::runtime-static)
add_executable(shapes $PWD/examples/run_engine.c)
target_link_libraries(shapes bessemer::runtime-shapes)
add_executable(shapes_static $PWD/examples/run_engine.c)
target_link_libraries(shapes_static bessemer::runtime-shapes-static)
END
cmake -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$work/build" >/dev/null
"$prefix/bin/bessemer" --version >/dev/null

# A plug-in needs the headers alone; the command has the functions it calls.
# shellcheck disable=SC2046
cc -shared -fPIC -o "$work/swish_clamp.so" examples/plugin/swish_clamp.c \
  $(pkg-config --cflags bessemer) -lm
"$prefix/bin/bessemer" compile --plugin "$work/swish_clamp.so" \
  tests/data/plugin/swish_model.ts -o "$work/model.bsm" --no-timing \
  "(2,3,6,5)" >/dev/null
"$prefix/bin/bessemer" run --plugin "$work/swish_clamp.so" "$work/model.bsm" \
  --input tests/data/plugin/swish_x.npy >/dev/null

# A small program: what one engine needs of the static library.
"$prefix/bin/bessemer" compile examples/digits/digits.ts -o "$work/digits.bsm" \
  --no-timing >/dev/null
"$prefix/bin/bessemer" link-list "$work/digits.bsm" -o "$work/linked.c"
# shellcheck disable=SC2046
cc -Os -ffunction-sections -fdata-sections -o "$work/small" \
  examples/small_program.c "$work/linked.c" \
  $(pkg-config --cflags bessemer-runtime) \
  "$(pkg-config --variable=libdir bessemer-runtime)/libbessemer-runtime.a" \
  -Wl,--gc-sections -lm -lpthread
head -c 256 /dev/zero >"$work/image.raw"
"$work/small" "$work/digits.bsm" "$work/image.raw" "$work/scores.raw"
[ "$(wc -c <"$work/scores.raw")" -eq 40 ]

# Packages: each has its license, the command in its own is whole, and what the
# libraries need is named.
if command -v dpkg-shlibdeps >/dev/null; then
  (cd "$build" && cpack -G DEB -B "$work/packages" >/dev/null)
  for file in "$work"/packages/*.deb; do
    package=$(dpkg-deb -f "$file" Package)
    dpkg-deb -x "$file" "$work/root"
    [ -e "$work/root/usr/share/doc/$package/copyright" ]
    echo "$package $(dpkg-deb -f "$file" Depends)" >>"$work/depends"
  done
  [ "$(wc -l <"$work/depends")" -eq 3 ]
  grep -q '^bessemer .*zlib1g' "$work/depends"
  grep -q '^libbessemer-dev .*libbessemer[0-9]* (= ' "$work/depends"
  grep -q '^libbessemer[0-9]* .*libc6' "$work/depends"
  env -u LD_LIBRARY_PATH "$work/root/usr/bin/bessemer" run \
    examples/digits/digits.ts --input examples/digits/digits_images.npy \
    --labels examples/digits/digits_labels.npy >"$work/output"
  grep -q accuracy "$work/output"
else
  echo "check_install: no packages are made: dpkg-dev is missing"
fi
echo "check_install: ok"
