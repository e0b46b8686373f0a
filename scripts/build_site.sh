#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build_site.sh OUT_DIR [MKDOCS]: the documentation as a site of plain HTML: the
# pages of docs/ by mkdocs, and the C API by Doxygen. Fails for links that lead
# nowhere. Without MKDOCS, mkdocs is installed from PyPI into a scratch folder.
# Doxygen is Debian's (scripts/setup.sh ci).
set -eu
cd "$(dirname "$0")/.."
out=${1:?usage: build_site.sh OUT_DIR [MKDOCS]}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdocs=${2:-}
[ -n "$mkdocs" ] || {
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet --disable-pip-version-check 'mkdocs<2'
  mkdocs=$work/venv/bin/mkdocs
}
"$mkdocs" build --quiet --strict --clean --config-file site/mkdocs.yml \
  --site-dir "$out"
{
  cat site/Doxyfile
  echo "OUTPUT_DIRECTORY = $out"
} >"$work/Doxyfile"
doxygen "$work/Doxyfile"
python3 scripts/check_links.py --site "$out"
