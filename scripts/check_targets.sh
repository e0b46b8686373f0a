#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check_targets.sh [arm64] [m32] [s390x] [musl]: builds for other machines than
# this one and runs tests there. Without arguments for all. Needs, on Debian 12,
#
#   arm64  64-bit ARM: gcc-aarch64-linux-gnu libc6-dev-arm64-cross
#          qemu-user-static
#   m32    32 bits: gcc-12-multilib libc6-dev-i386
#   s390x  the other order of bytes: gcc-s390x-linux-gnu libc6-dev-s390x-cross
#          qemu-user-static
#   musl   another C library: musl-tools
#
# and fetches zlib and cmocka of the first three with apt, into the build folders; nothing of the machine's packages changes. They take minutes: CI runs
# arm64_sample, which leaves out what computes most.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/build-targets
mkdir -p "$root"
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)

# Debian's packages of another architecture, unpacked into $root/NAME/sysroot.
fetch() { # architecture
  local sysroot=$root/$1/sysroot apt=$root/$1/apt
  [ ! -e "$sysroot/usr/include/cmocka.h" ] || return 0
  mkdir -p "$sysroot" "$apt"/{lists/partial,cache/archives/partial,debs}
  echo "deb http://deb.debian.org/debian bookworm main" >"$apt/sources.list"
  : >"$apt/status"
  local how=(-q -o "Dir::Etc::SourceList=$apt/sources.list"
    -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$apt/lists"
    -o "Dir::State::Status=$apt/status" -o "Dir::Cache=$apt/cache"
    -o "APT::Architecture=$1" -o "APT::Architectures::=$1"
    -o APT::Sandbox::User=root)
  apt-get "${how[@]}" update >"$apt/log"
  (cd "$apt/debs" && apt-get "${how[@]}" download zlib1g zlib1g-dev \
    libcmocka0 libcmocka-dev >>"$apt/log")
  local deb
  for deb in "$apt"/debs/*.deb; do dpkg-deb -x "$deb" "$sysroot"; done
}

# The tests that need neither a second to run nor what only this machine has:
# kernels for GPUs are C++ of the host's compiler, fixtures of other programs
# are little-endian files.
build_and_test() { # name tests cmake's arguments...
  local name=$1 tests=$2
  shift 2
  cmake -S . -B "$root/$name/build" -G Ninja "${launcher[@]}" \
    -DCMAKE_BUILD_TYPE=Release -DBSM_WERROR=ON -DBSM_HARDEN=none "$@" >"$root/$name/cmake.log" || {
    tail -20 "$root/$name/cmake.log"
    return 1
  }
  ninja -C "$root/$name/build" "${goals[@]}" >"$root/$name/ninja.log" || {
    grep -E 'error|warning|undefined' "$root/$name/ninja.log" | head -40
    return 1
  }
  [ -z "$tests" ] || ctest --test-dir "$root/$name/build" --no-tests=error -j2 \
    --output-on-failure -R "$tests" "${left_out[@]}"
}

# Cmake's arguments for the libraries of a sysroot.
libraries=()
use_sysroot() { # architecture triplet flags
  local sysroot=$root/$1/sysroot
  local include=$sysroot/usr/include lib=$sysroot/usr/lib/$2
  libraries=(-DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON -DNANOPB_LIBRARY=NO
    "-DZLIB_LIBRARY=$lib/libz.so" "-DZLIB_INCLUDE_DIR=$include"
    "-DCMOCKA_LIBRARY=$lib/libcmocka.so" "-DCMOCKA_INCLUDE_DIR=$include"
    "-DCMAKE_C_FLAGS=$3 -isystem $include/$2"
    "-DCMAKE_EXE_LINKER_FLAGS=-Wl,-rpath,$lib"
    "-DCMAKE_SHARED_LINKER_FLAGS=-Wl,-rpath,$lib")
  # Debian's links point to the folder of a whole system.
  ln -sf "$(basename "$(find "$sysroot" -name 'libz.so.1.*')")" "$lib/libz.so"
  find "$sysroot/lib" -name 'libz.so*' -exec cp -a {} "$lib" \;
}

# Tests that ask what CPU this is where qemu answers, and one of a signal that
# it does not pass on.
left_out=()
under_qemu='^base/file_test$'

# Groups of test programs, by their folders, and models that run.
small_tests='^(base|engine|ir|network|torchscript)/|^compiler/models_test$'
small_goals=(test_programs_base test_programs_engine test_programs_ir
  test_programs_network test_programs_torchscript models_test)

all_groups=(aten backend base builder compiler conformance conversion engine
  exported hostile ir lowering network partitioning planner plugin quantization
  quantized runtime signing torchscript trust)
# BSM_GROUPS: of these only.
[ -z "${BSM_GROUPS:-}" ] || read -ra all_groups <<<"$BSM_GROUPS"

# All kernels, too: they are others than here. Programs that take a sample of
# their work are given one, and seconds: qemu takes some thirty times as long.
arm64_goals=(bessemer-cli op_suite_engine_test op_suite_test
  test_programs_backend test_programs_base test_programs_conformance
  test_programs_engine)
arm64_tests='^(backend|base|engine|conformance/cpu)/|^aten/op_suite_test$|^compiler/op_suite_engine_test$'
# All of the C library is the cross compiler's: with a loader of another, threads
# would hang.
qemu_arm64=(qemu-aarch64-static -L /usr/aarch64-linux-gnu
  -E LD_LIBRARY_PATH=/usr/aarch64-linux-gnu/lib)
build_arm64() { # tests
  fetch arm64
  use_sysroot arm64 aarch64-linux-gnu ""
  goals=("${arm64_goals[@]}")
  build_and_test arm64 "$1" "${libraries[@]}" -DBSM_HOST_CXX=NO \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
    -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc \
    "-DCMAKE_CROSSCOMPILING_EMULATOR=$(IFS=';'; echo "${qemu_arm64[*]}")"
  local model
  for model in bert dense encoder mobilenet resnet squeezenet tagger unet vit; do
    check_engine "$model"
  done
}

# An engine that is built here for it gives there what this machine gives, and
# the same bits with one thread and with two.
check_engine() { # model
  local folder=$root/arm64 input=tests/data/models/$1.npz
  local engine=$folder/$1.bsm
  local there=("${qemu_arm64[@]}" "$folder/build/bessemer" run "$engine"
    --input "$input")
  rm -rf "$folder"/{here,one,two}
  build/bessemer compile "tests/data/models/$1-trace.ts" --no-timing \
    --inputs-from "$input" --target cpu:neon -o "$engine" >/dev/null
  build/bessemer run "tests/data/models/$1-trace.ts" --input "$input" \
    --output-dir "$folder/here"
  "${there[@]}" --threads=1 --output-dir "$folder/one"
  "${there[@]}" --threads=2 --output-dir "$folder/two"
  diff -r "$folder/one" "$folder/two"
  python3 - "$folder"/here/*.npy <<'END'
import array, sys

def floats(path):
    with open(path, "rb") as file:
        data = file.read()
    start = 10 + int.from_bytes(data[8:10], "little")
    if b"'<f4'" not in data[:start]:
        sys.exit(f"{path}: no float32")
    return array.array("f", data[start:])

for path in sys.argv[1:]:
    here, there = floats(path), floats(path.replace("/here/", "/one/"))
    worst = max(abs(x - y) for x, y in zip(here, there))
    if len(here) != len(there) or not worst <= 1e-5 * max(map(abs, here)):
        sys.exit(f"{path}: differs by {worst}")
END
}

check_arm64() {
  arm64_goals+=("${small_goals[@]}")
  left_out=(-E "$under_qemu")
  build_arm64 "$small_tests|$arm64_tests"
}

# Minutes, for each change.
check_arm64_sample() {
  export BSM_TEST_SAMPLE=${BSM_TEST_SAMPLE:-40} BSM_TEST_SECONDS=5
  left_out=(-E "$under_qemu|^base/(deep_stack|thread_pool)_test\$|^backend/(few_bits_step|gemm_kernel|layout_steps|vector_math|winograd_step)_test\$")
  build_arm64 "$arm64_tests"
}

# All tests but those of GPUs. Devices of two of them tell their addresses by a
# bit that 32 of them do not have.
check_m32() {
  fetch i386
  local flags="-m32 -msse2 -mfpmath=sse"
  use_sysroot i386 i386-linux-gnu \
    "$flags -idirafter /usr/include/$(cc -dumpmachine)"
  left_out=(-E '^runtime/(lazy_models|placement)_test$')
  goals=()
  local group
  for group in "${all_groups[@]}"; do goals+=("test_programs_$group"); done
  build_and_test i386 "^($(IFS='|'; echo "${all_groups[*]}"))/" \
    -DBSM_HOST_CXX=NO "${libraries[@]}"
}

check_s390x() {
  fetch s390x
  left_out=(-E "$under_qemu|^base/(cpus|caches)_test\$")
  use_sysroot s390x s390x-linux-gnu ""
  goals=(bessemer bessemer-runtime bessemer-cli "${small_goals[@]}"
    test_programs_exported int8_model_test move_step_test)
  build_and_test s390x "$small_tests|^exported/|^compiler/int8_model_test\$|^conformance/cpu/move" \
    "${libraries[@]}" \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=s390x \
    -DCMAKE_C_COMPILER=s390x-linux-gnu-gcc \
    "-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-s390x-static;-L;/usr/s390x-linux-gnu"
  # An engine of this machine is refused there.
  qemu-s390x-static -L /usr/s390x-linux-gnu "$root/s390x/build/bessemer" \
    inspect tests/data/engine/softmax_8_6.bsm 2>&1 | grep -q 'byte order'
}

check_musl() {
  mkdir -p "$root/musl"
  goals=(bessemer-runtime bessemer-runtime-shapes example_run_engine)
  build_and_test musl "" -DCMAKE_C_COMPILER=musl-gcc -DBSM_BUILD_COMPILER=OFF \
    -DBSM_BUILD_TESTS=OFF
  "$root/musl/build/example_run_engine" tests/data/engine/softmax_8_6.bsm
}

[ $# -gt 0 ] || set -- arm64 m32 s390x musl
for target in "$@"; do
  "check_$target"
  echo "$target: ok"
done
