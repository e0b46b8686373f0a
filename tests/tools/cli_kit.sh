# SPDX-License-Identifier: Apache-2.0
# What the tests of the command share; they source it in an empty folder, with
# $bessemer set and failures=0. `out` and `err` are what it printed last.

fail() {
  echo "FAILED: $*"
  sed 's/^/  out: /' out | head -20
  sed 's/^/  err: /' err | head -20
  failures=$((failures + 1))
}

# expect CODE TEXT ARGUMENT...: the command exits with CODE and prints TEXT, on
# the standard output when CODE is 0 (or 3: diff), else on the standard error.
expect() {
  code=$1 text=$2
  shift 2
  "$bessemer" "$@" >out 2>err
  got=$?
  [ $got -eq "$code" ] || fail "exit code $got, not $code: $*"
  case $code in 0 | 3) stream=out ;; *) stream=err ;; esac
  [ -z "$text" ] || grep -qF -e "$text" $stream || fail "no '$text': $*"
}
