#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the seeds fuzz/corpus/{zip,pickle,module} from the archives in
tests/data/torchscript. Usage: make_fuzz_torchscript.py"""
import os
import struct
import zipfile

TESTS = os.path.dirname(os.path.abspath(__file__))
ARCHIVES = os.path.join(TESTS, "torchscript")
CORPUS = os.path.join(TESTS, "..", "..", "fuzz", "corpus")
FINDINGS = os.path.join(TESTS, "..", "..", "fuzz", "findings")

# The order of `names` in fuzz/module_fuzz.c.
NAMES = ["data.pkl", "constants.pkl", "code/__torch__.py",
         "code/__torch__.py.debug_pkl", "traced_inputs.pkl", "data/0",
         "data/1", "constants/0", "version", "byteorder",
         "code/__torch__/a.py", "code/__torch__/torch/nn/modules/linear.py"]


def write(folder, name, data):
    refused = os.path.exists(os.path.join(FINDINGS, folder, name))
    path = os.path.join(FINDINGS if refused else CORPUS, folder)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, name), "wb") as file:
        file.write(data)


def members(path):
    with zipfile.ZipFile(path) as archive:
        prefix = archive.namelist()[0].split("/")[0] + "/"
        return {name[len(prefix):]: archive.read(name)
                for name in archive.namelist()}


def main():
    for name in ("v113_function.pt", "v113_dict.pt", "v211_linspace.v2.tar.pt"):
        with open(os.path.join(ARCHIVES, name), "rb") as file:
            write("zip", name, file.read())
    for name in ("v211_misc", "v14_net", "v211_dt", "v211_qtensor", "traced"):
        files = members(os.path.join(ARCHIVES, name + ".pt"))
        for member in ("data.pkl", "traced_inputs.pkl",
                       "code/__torch__.py.debug_pkl"):
            if len(files.get(member, "x" * 9999)) < 3000:
                short = os.path.basename(member)
                write("pickle", f"{name}.{short}", files[member])
    with open(os.path.join(ARCHIVES, "v211_dict.pt"), "rb") as file:
        write("module", "v211_dict.pt", file.read())
    for name in ("v14_net", "v113_dict", "v211_namedtuple", "v211_getstate",
                 "v211_tconst", "v113_function"):
        files = members(os.path.join(ARCHIVES, name + ".pt"))
        data = b"".join(
            bytes([i]) + struct.pack("<H", len(files[member])) + files[member]
            for i, member in enumerate(NAMES)
            if member in files and not member.endswith(".debug_pkl"))
        write("module", name, data)


if __name__ == "__main__":
    main()
