#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sign_test.sh BESSEMER SOURCES: keys, signing and verifying, as a user sees
# them, and with the keys of OpenSSL where it is installed.
set -u
bessemer=$1
digits=$2/examples/digits
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
BESSEMER_BUILT_ENGINES=$work/built
export BESSEMER_BUILT_ENGINES
failures=0
. "$2/tests/tools/cli_kit.sh"

# same A B: the same bytes.
same() {
  cmp -s "$1" "$2" || fail "$1 and $2 differ"
}

"$bessemer" compile "$digits/digits.ts" -o plain.bsm --no-timing \
  "(360,1,8,8)" >out 2>err ||
  { cat err; exit 1; }
# Without machine code there is nothing to note.
[ ! -e built ] || fail "an engine for the CPU was noted"

# Usage.
expect 2 "no file given" keygen
expect 2 "no key given: --key" sign plain.bsm
expect 2 "no key given: --public-key" verify plain.bsm
for command in keygen sign verify; do
  expect 0 "Usage: bessemer $command" $command --help
done

# Keys.
expect 0 "my.key.pub: the public key" keygen my.key
[ "$(stat -c %a my.key)" = 600 ] || fail "my.key is not the user's alone"
cp my.key before
expect 1 "there is a file already" keygen my.key
same my.key before
expect 0 "" keygen other.key
touch third.key.pub
expect 1 "there is a file already" keygen third.key
[ ! -e third.key ] || fail "a key without its other half was left"
chmod 644 other.key
expect 1 "others may use it" sign plain.bsm --key other.key
chmod 600 other.key

# Signing.
expect 1 "it is not signed" verify plain.bsm --public-key my.key.pub
expect 0 "signed.bsm: signed" sign plain.bsm --key my.key -o signed.bsm
expect 0 "with the key of my.key.pub" verify signed.bsm --public-key my.key.pub
expect 0 "with the key of my.key.pub" \
  verify signed.bsm --public-key other.key.pub --public-key my.key.pub
expect 1 "none of the public keys" verify signed.bsm --public-key other.key.pub
expect 1 "not a public" verify signed.bsm --public-key my.key
cp my.key.pub public.key
chmod 600 public.key
expect 1 "not a secret" sign plain.bsm --key public.key
cp plain.bsm copy.bsm
expect 0 "copy.bsm: signed" sign copy.bsm --key my.key
same copy.bsm signed.bsm
expect 0 "" sign copy.bsm --key other.key
expect 1 "none of the public keys" verify copy.bsm --public-key my.key.pub
expect 0 "" sign copy.bsm --key my.key
same copy.bsm signed.bsm
expect 1 "not an engine" sign my.key --key my.key
expect 1 "cannot open" sign nowhere.bsm --key my.key
expect 1 "cannot open" sign plain.bsm --key nowhere.key

# A signed engine is an engine.
expect 0 "" run plain.bsm --input "$digits/digits_images.npy" --output a.npz
expect 0 "" run signed.bsm --input "$digits/digits_images.npy" --output b.npz
same a.npz b.npz
expect 0 "" run signed.bsm --input "$digits/digits_images.npy" --output c.npz \
  --public-key my.key.pub --ignore-built
expect 0 "engine" inspect signed.bsm

# Damage: at the start, in the zeros, in the weights, in the signature, the end.
size=$(stat -c %s signed.bsm)
for at in 3 16 50 70 $((size / 2)) $((size - 130)) $((size - 120)) \
  $((size - 100)) $((size - 70)) $((size - 64)) $((size - 1)); do
  cp signed.bsm x.bsm
  byte=$(od -An -tu1 -j "$at" -N 1 x.bsm | tr -d ' ')
  # shellcheck disable=SC2059
  printf "\\$(printf %o $((byte ^ 64)))" |
    dd of=x.bsm bs=1 seek="$at" conv=notrunc 2>dd.log
  ! cmp -s x.bsm signed.bsm || fail "byte $at did not change"
  expect 1 "" verify x.bsm --public-key my.key.pub
done
for cut in 1 64 127 128 129; do
  head -c $((size - cut)) signed.bsm >x.bsm
  expect 1 "truncated" verify x.bsm --public-key my.key.pub
done
cat signed.bsm my.key >x.bsm
expect 1 "truncated or damaged" verify x.bsm --public-key my.key.pub

# OpenSSL has the same files, and verifies the same signature.
if command -v openssl >/dev/null && command -v b2sum >/dev/null &&
  command -v xxd >/dev/null &&
  openssl genpkey -algorithm ed25519 -out theirs.key 2>err &&
  openssl pkey -in theirs.key -pubout -out theirs.pub 2>err; then
  chmod 600 theirs.key
  expect 0 "" sign plain.bsm --key theirs.key -o theirs.bsm
  expect 0 "" verify theirs.bsm --public-key theirs.pub
  openssl pkey -in my.key -pubout -out my.pub 2>err || fail "openssl pkey"
  same my.pub my.key.pub
  size=$(stat -c %s theirs.bsm)
  head -c $((size - 64)) theirs.bsm >covered
  tail -c 64 theirs.bsm >signature
  { printf 'Bessemer engine\n'; b2sum covered | cut -c -128 | xxd -r -p; } >message
  openssl pkeyutl -verify -pubin -inkey theirs.pub -rawin -in message \
    -sigfile signature >out 2>err || fail "OpenSSL does not verify"
fi

[ $failures -eq 0 ] && echo "sign_test: ok"
exit $((failures > 0))
