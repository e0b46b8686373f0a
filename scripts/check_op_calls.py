#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the tables of the reference library name what their ops call.

An op that calls others by name finds them in its own table and in those that
BSM_ATEN_TABLE_CALLING names; so the linker knows what it needs. A table that
is missing would show only when the call is made, one too many would keep code
in every program.
"""
import glob
import os
import re
import sys

OPS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                   "src/aten/ops")
SCHEMA = re.compile(r'"([a-z_]+::\w+(?:\.\w+)?)\(')
NAME = re.compile(r'"(aten::\w+(?:\.\w+)?)"')
TABLE = re.compile(r"BSM_ATEN_TABLE(?:_CALLING)?\((\w+),\s*\w+([^;]*)\);")
# What op_reduce_loss of op_compose.h calls.
REDUCE_LOSS = {"aten::mean", "aten::sum"}


def main():
    texts, home, problems = {}, {}, 0
    for path in sorted(glob.glob(os.path.join(OPS, "*.c"))):
        with open(path, encoding="utf-8") as file:
            texts[path] = file.read()
        table = TABLE.search(texts[path])
        for name in SCHEMA.findall(texts[path]):
            home[name] = table.group(1)
    for path, text in texts.items():
        table = TABLE.search(text)
        calls = set(NAME.findall(text))
        if "op_reduce_loss" in text:
            calls |= REDUCE_LOSS
        needed = {home.get(name, name) for name in calls} - {table.group(1)}
        named = set(re.findall(r"&bsm_aten_ops_(\w+)", table.group(2)))
        for name in sorted(needed ^ named):
            why = "calls, but does not name" if name in needed else (
                "names, but does not call")
            print(f"{os.path.relpath(path)}: the table {why} {name}")
            problems += 1
    print(f"check_op_calls: {len(texts)} tables, {problems} problems")
    return 1 if problems or not texts else 0


if __name__ == "__main__":
    sys.exit(main())
