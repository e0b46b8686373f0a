#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# export_test.sh BESSEMER SOURCES: the ONNX files of models: whole and in order,
# and what cannot be written. scripts/check_onnx.py runs them in ONNX Runtime.
set -u
bessemer=$1
data=$2/tests/data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
. "$2/tests/tools/cli_kit.sh"

expect 2 "no output given" export "$2/examples/digits/digits.ts"
"$bessemer" export "$2/examples/digits/digits.ts" -o digits.onnx >out 2>err
if grep -q "libnanopb-dev" err; then
  echo "export_test: this build has no nanopb: nothing was written"
  exit $failures
fi
expect 0 "digits.onnx: " export "$2/examples/digits/digits.ts" -o digits.onnx
expect 0 "" export "$2/examples/digits/digits.ts" -o -
cmp -s out digits.onnx || fail "another file on the standard output"

# Each layer that cannot be written is named, and no file is left behind.
expect 1 "cannot express" export "$data/models/tagger-script.ts" \
  --inputs-from "$data/models/tagger.npz" -o tagger.onnx
grep -q "recurrent %output.1, .*: a recurrent layer with a projection" err ||
  fail "the layer is not named"
[ ! -e tagger.onnx ] || fail "a file was left behind"
cat >branch.ir <<'END'
graph(%x : Float(6)):
  %at : Tensor = aten::nonzero(%x)
  return (%at)
END
expect 1 "branch on data" export branch.ir -o branch.onnx
cat >two.ir <<'END'
graph(%x : Float(6)):
  %a : Tensor = aten::digamma(%x)
  %b : Tensor = aten::lgamma(%a)
  return (%b)
END
expect 1 "ONNX cannot express 2 of the model's layers" export two.ir -o x.onnx

command -v python3 >/dev/null || {
  echo "export_test: no python3: the files were not read"
  exit $failures
}
# Reads the wire format of protobuf by itself.
cat >read.py <<'END'
import sys

def fields(data):
    at = 0
    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, varint()
        else:
            size = 4 if kind == 5 else varint()
            assert kind in (2, 5) and at + size <= len(data), (kind, at, size)
            yield tag >> 3, data[at:at + size]
            at += size

def get(message, field):
    return [value for number, value in fields(message) if number == field]

def text(message, field):
    return [value.decode() for value in get(message, field)]

model = open(sys.argv[1], "rb").read()
assert get(model, 1) == [8] and text(model, 2) == ["bessemer"]
(opset,) = get(model, 8)
assert get(opset, 2) == [18]
(graph,) = get(model, 7)
known, nodes = set(), set()
sizes = {1: 4, 2: 1, 3: 1, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 16: 2}
for tensor in get(graph, 5):
    (name,), (raw,), (dtype,) = text(tensor, 8), get(tensor, 9), get(tensor, 2)
    count = 1
    for dim in get(tensor, 1):
        count *= dim
    assert len(raw) == count * sizes[dtype], name
    assert name not in known
    known.add(name)
for value in get(graph, 11):
    known.update(text(value, 1))
for node in get(graph, 1):
    (name,) = text(node, 3)
    assert name not in nodes, name
    nodes.add(name)
    for value in text(node, 1):
        assert value == "" or value in known, (name, value)
    for value in text(node, 2):
        assert value not in known, (name, value)
        known.add(value)
for value in get(graph, 12):
    assert text(value, 1)[0] in known
print(" ".join(op for node in get(graph, 1) for op in text(node, 4)))
END
python3 read.py digits.onnx >ops 2>err || fail "digits.onnx"
[ "$(cat ops)" = "Conv Mul Add Relu Conv Mul Add Relu MaxPool Conv Mul Add Relu\
 MaxPool Reshape Transpose MatMul Add Relu Transpose MatMul Add Softmax\
 Identity" ] || fail "other nodes: $(cat ops)"
for model in "$data"/onnx/*.ts; do
  expect 0 "" export "$model" -o model.onnx --inputs-from "${model%.ts}.npz"
  python3 read.py model.onnx >ops 2>err || fail "$model"
done
exit $failures
