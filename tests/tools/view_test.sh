#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# view_test.sh BESSEMER SOURCES: bessemer view: pages and graphs, and, where
# there is Chromium or Firefox, clicks through a page and the time that a large
# one takes.
set -u
bessemer=$1
sources=$2
digits=$2/examples/digits
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
. "$2/tests/tools/cli_kit.sh"

expect 0 "" compile "$digits/digits.ts" -o digits.bsm --no-timing
expect 2 "no output given" view digits.bsm
expect 0 "" view digits.bsm -o page.html
for part in '"steps": \[' '"tensors": \[' 'winograd_4' 'features.3' \
  '"workspace": 12288'; do
  grep -q "$part" page.html || fail "the page lacks $part"
done
grep "http" page.html && fail "the page reads from a network"
expect 0 "<!DOCTYPE html>" view digits.bsm -o -

# A name cannot end the script that holds the data.
cat >"odd<script>.ir" <<'END'
graph(%x : Float(2, 3)):
  %y : Tensor = aten::relu(%x)
  return (%y)
END
expect 0 "" view "odd<script>.ir" -o odd.html
[ "$(grep -c '<script>' odd.html)" -eq 1 ] || fail "a name is a tag"

# Graphviz.
expect 0 's0 -> s1 [label="float32[1, 16, 8, 8]"];' view digits.bsm --dot -o -
grep -q '"input x" -> s0' out || fail "the input has no edge"
expect 0 "" view digits.bsm --dot -o digits.dot
cmp -s out digits.dot && fail "a graph was printed that goes to a file"
grep -q '^digraph engine {$' digits.dot || fail "no graph in the file"

chromium=$(command -v chromium || command -v chromium-browser ||
  command -v google-chrome || true)
firefox=$(command -v firefox || command -v firefox-esr || true)
[ -n "$chromium$firefox" ] || {
  echo "view_test: no Chromium, no Firefox: the page was not clicked through"
  exit $failures
}
# browse PAGE TEXT: every browser that there is shows TEXT as the result of the
# page.
browse() {
  start=$(date +%s%N)
  [ -z "$chromium" ] || {
    timeout 60 "$chromium" --headless --no-sandbox --disable-gpu \
      --user-data-dir="$work/profile" --window-size=1400,800 \
      --virtual-time-budget=10000 --dump-dom "file://$work/$1" >dom 2>browser.log
    took=$((($(date +%s%N) - start) / 1000000))
    grep -q "<pre id=\"result\">$2" dom || {
      grep -o '<pre id="result">.*' dom >err
      : >out
      fail "$1 in Chromium"
    }
    echo "view_test: Chromium: $2 after $took ms, with its start"
  }
  if [ -n "$firefox" ] && command -v python3 >/dev/null; then
    python3 "$sources/tests/tools/firefox_result.py" "$firefox" "$1" 60 \
      >out 2>err || fail "$1 in Firefox"
    grep -q "^$2" out || fail "$1 in Firefox"
    echo "view_test: Firefox: $(head -1 out)"
  else
    echo "view_test: no Firefox: it was not asked"
  fi
}
# with_script PAGE SCRIPT: the page, with a script behind its own.
with_script() {
  sed '/^<\/body>$/,$d' "$1"
  echo "<script>"
  cat "$2"
  echo "</script></body></html>"
}
expect 0 "" view "$digits/digits.ts" --with digits.bsm -o both.html \
  --no-timing --profile --iterations 20
with_script both.html "$2/tests/tools/view_clicks.js" >clicks.html
browse clicks.html "ALL RIGHT"

# Two thousand layers.
awk 'BEGIN {
  print "graph(%y0 : Float(2, 8)):"
  print "  %one : int = prim::Constant[value=1]()"
  print "  %none : NoneType = prim::Constant()"
  for (i = 0; i < 2000; i++)
    printf "  %%y%d : Tensor = aten::softmax(%%y%d, %%one, %%none)\n", i + 1, i
  print "  return (%y2000)"
}' >large.ir
expect 0 "" view large.ir -o large.html --no-timing
cat >clock.js <<'END'
drawGraph();
const result = document.createElement("pre");
result.id = "result";
result.textContent = `${graphs[0].boxes.length} layers`;
document.body.append(result);
END
with_script large.html clock.js >clock.html
browse clock.html "2000 layers"
exit $((failures > 0))
