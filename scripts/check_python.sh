#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_python.sh [PYTHON [BUILD_DIR]]: builds the wheel, installs it into a
# fresh virtual environment with the newest NumPy, and runs the package's tests
# and an example there, not in the source tree. Where PYTHON has PyTorch, the
# tests that need it run in a second one that sees PYTHON's packages; what this
# version of PyTorch does not have is skipped. BUILD_DIR, with the stand-ins of
# CUDA (docs/gpu.md), is for the tests of GPUs.
set -eu
cd "$(dirname "$0")/.."
python=${1:-python3}
source=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
scripts/build_wheel.sh "$work/dist" "$python"
[ -z "${2:-}" ] || {
  BESSEMER_STANDIN=$(cd "$2" && pwd)
  export BESSEMER_STANDIN
}
BESSEMER_SOURCE=$source
export BESSEMER_SOURCE
cp -r python/tests "$work/tests"

run_tests() { # name arguments of venv, "--" and those of pytest
  name=$1 options=
  shift
  while [ "$1" != -- ]; do
    options="$options $1"
    shift
  done
  shift
  # shellcheck disable=SC2086
  "$python" -m venv $options "$work/$name"
  "$work/$name/bin/pip" install --quiet --disable-pip-version-check \
    "$work"/dist/*.whl pytest
  (cd "$work/tests" && "$work/$name/bin/python" -m pytest -q \
    -p no:cacheprovider -W ignore "$@")
}

run_tests fresh -- .
"$work/fresh/bin/python" examples/python/digits.py >"$work/output"
grep -q "of 360 are right" "$work/output"
if "$python" -c 'import torch' 2>/dev/null; then
  run_tests torch --system-site-packages -- test_torch.py \
    test_torch_compile.py test_torch_tensorrt.py test_stubs.py
fi
echo "check_python: ok"
