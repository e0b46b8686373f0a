#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# walkthroughs_test.sh BESSEMER SOURCES RUNTIME CC: does what
# docs/walkthroughs.md says. In its blocks, a line "$ command" is run in a copy of
# examples, and what follows is what it prints, where "..." stands for anything.
# `cc` and pkg-config are those of this build, whose libraries are shared ones.
# Commands of Python train the models, which takes minutes; they run only where
# BSM_TORCH_PYTHON names one that has PyTorch.
set -u
bessemer=$1 sources=$2 cc=$(command -v "$4")
build=$(cd "$(dirname "$bessemer")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$sources/examples" "$work/examples"
mkdir -p "$work/tests/data" "$work/bin" "$work/scripts"
cp -r "$sources/tests/data/plugin" "$work/tests/data/plugin"
cp "$sources/scripts/relative_paths.py" "$work/scripts/"

ln -s "$build/bessemer" "$work/bin/bessemer"
cat >"$work/bin/pkg-config" <<END
#!/bin/sh
for last; do :; done
echo "-I$sources/include -L$build -l\$last"
END
cat >"$work/bin/cc" <<END
#!/bin/sh
exec $cc -Wall -Wextra -Werror "\$@"
END
cat >"$work/bin/python3" <<END
#!/bin/sh
[ -n "\${BSM_TORCH_PYTHON:-}" ] || { echo skipped; exit 0; }
exec "\$BSM_TORCH_PYTHON" "\$@"
END
chmod +x "$work"/bin/*
PATH=$work/bin:$PATH LD_LIBRARY_PATH=$build
export PATH LD_LIBRARY_PATH

# The commands, one a file with what it prints: N.sh and N.txt.
mkdir "$work/steps"
awk -v out="$work/steps" '
  /^    \$ / {
    name = sprintf("%s/%03d", out, ++count)
    print substr($0, 7) >(name ".sh")
    printf "" >(name ".txt")
    more = /\\$/
    next
  }
  /^    / && count && !over {
    text = substr($0, 5)
    if (more) print text >(name ".sh")
    else print text >(name ".txt")
    more = more && /\\$/
    next
  }
  { over = 1; more = 0 }
  /^$/ { over = 0 }
' "$sources/docs/walkthroughs.md"

# same EXPECTED GOT: line by line, "..." being any lines, or any part of one.
same() {
  awk '
    function is(line, text,   parts, count, i, at) {
      count = split(line, parts, /\.\.\./)
      if (count < 2) return line == text
      if (substr(text, 1, length(parts[1])) != parts[1]) return 0
      for (i = 1; i <= count; i++) {
        at = index(text, parts[i])
        if (parts[i] != "" && !at) return 0
        if (parts[i] != "") text = substr(text, at + length(parts[i]))
      }
      return parts[count] == "" || text == ""
    }
    NR == FNR { want[++n] = $0; next }
    { got[++m] = $0 }
    END {
      i = 1
      for (k = 1; k <= m; k++) {
        if (i <= n && want[i] == "...") {
          if (i < n && is(want[i + 1], got[k])) i += 2
        } else if (i <= n && is(want[i], got[k])) i++
        else exit 1
      }
      if (i <= n && want[i] == "...") i++
      exit i <= n
    }' "$1" "$2"
}

failures=0 count=0
cd "$work/examples" || exit 1
for step in "$work"/steps/*.sh; do
  count=$((count + 1))
  case $(cat "$step") in
    cd\ *)
      cd "$work/$(cut -c4- "$step")" || failures=$((failures + 1))
      continue
      ;;
    python3\ *) [ -n "${BSM_TORCH_PYTHON:-}" ] || continue ;;
  esac
  sh "$step" >"$work/out" 2>&1 </dev/null
  code=$?
  if [ $code -ne 0 ] || ! same "${step%.sh}.txt" "$work/out"; then
    failures=$((failures + 1))
    echo "FAILED (exit code $code): $(cat "$step")"
    sed 's/^/  should print: /' "${step%.sh}.txt"
    sed 's/^/  prints: /' "$work/out"
  fi
done
[ $count -ge 20 ] || {
  echo "only $count commands in the page"
  exit 1
}
[ $failures -eq 0 ] && echo "walkthroughs_test: $count commands, ok"
exit $((failures > 0))
