#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_dead.py: functions of src/ that nothing calls, not even a test.

A name that the sources mention only where it is declared and defined is dead.
A name that a macro pastes together (bsm_ ## name) is mentioned when the part
that it gets is a word of the sources. Public functions are for others to call.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("include", "src", "tools", "tests", "fuzz", "bench", "examples")
SUFFIXES = (".c", ".h", ".inl")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
WORD = re.compile(r"\b[A-Za-z_]\w*")
# A declaration or definition begins its line; what is called is indented.
DECLARED = re.compile(r"^(?![ \t#}])(?!typedef\b)[\w \t\n*]*?\b(bsm_\w+)\(", re.M)
PUBLIC = re.compile(r"BSM_API[^;(]*?\b(bsm_\w+)\(", re.S)
PASTED = re.compile(r"\b(bsm_\w*?)##\w+(?:##(\w*))?")


def main():
    mentions = collections.Counter()
    declared = collections.Counter()
    public, pasted = set(), set()
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            text = COMMENT.sub(" ", path.read_text())
            if folder == "include":
                public.update(PUBLIC.findall(text))
            pasted.update(PASTED.findall(text))
            text = STRING.sub('""', text)
            mentions.update(WORD.findall(text))
            if folder == "src":
                declared.update(DECLARED.findall(text))

    def is_pasted(name):
        return any(name.startswith(head) and name.endswith(tail) and
                   name[len(head):len(name) - len(tail)] in mentions
                   for head, tail in pasted)

    dead = [name for name, count in sorted(declared.items())
            if name not in public and mentions[name] <= count and
            not is_pasted(name)]
    for name in dead:
        print(f"check_dead: nothing calls {name}")
    if not declared:
        print("check_dead: no functions found")
        return 1
    if not dead:
        print(f"check_dead: {len(declared)} functions ok")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())
