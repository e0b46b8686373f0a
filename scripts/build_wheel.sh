#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build_wheel.sh OUT_DIR [PYTHON]: builds the wheel of the Python package with
# what PyPI has for it, checks what it needs of the system, and names it after
# manylinux_2_28 where that holds. PYTHON: 3.9 or later, any will do.
set -eu
cd "$(dirname "$0")/.."
out=${1:?usage: build_wheel.sh OUT_DIR [PYTHON]}
python=${2:-python3}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m venv "$work/venv"
PATH=$work/venv/bin:$PATH
export PATH
pip install --quiet --disable-pip-version-check build scikit-build-core \
  'numpy>=2.0' wheel
! command -v ccache >/dev/null || export CMAKE_C_COMPILER_LAUNCHER=ccache
: "${CMAKE_BUILD_PARALLEL_LEVEL:=$(nproc)}"
export CMAKE_BUILD_PARALLEL_LEVEL
python -m build --no-isolation --wheel --outdir "$work/dist" \
  "-Cbuild-dir=$work/build" . >"$work/log" 2>&1 || {
  tail -50 "$work/log" >&2
  exit 1
}
wheel=$(echo "$work"/dist/*.whl)
python scripts/check_wheel.py "$wheel"
tag=manylinux_2_28_$(uname -m)
python -m wheel tags --remove --platform-tag "$tag" "$wheel" >/dev/null
mv "$work"/dist/*.whl "$out/"
ls "$out"/*.whl
