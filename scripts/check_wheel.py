#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_wheel.py WHEEL: what a wheel of Bessemer needs of a system is what
manylinux_2_28 promises, and it has less than 6 MB.

The policy is that of PEP 600: libraries that every such system has, and no
symbol of glibc that is newer than 2.28. readelf and objdump tell what is asked
for."""
import os
import re
import subprocess
import sys
import tempfile
import zipfile

GLIBC = (2, 28)
LIMIT = 6_000_000
SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1",
          "libz.so.1", "libgcc_s.so.1", "ld-linux-x86-64.so.2",
          "ld-linux-aarch64.so.1"}


def lines(*command):
    return subprocess.run(command, check=True, capture_output=True,
                          text=True).stdout.splitlines()


def problems_of(path, own):
    """What one file asks for beyond the policy; `own` are the wheel's files."""
    name = os.path.basename(path)
    for line in lines("readelf", "-d", path):
        needed = re.search(r"\(NEEDED\).*\[(.*)\]", line)
        if needed and needed[1] not in SYSTEM | own:
            yield f"{name} needs {needed[1]}"
        if "(RELR)" in line:
            yield f"{name} has packed relocations, which need glibc 2.36"
    for line in lines("objdump", "-T", path):
        version = re.search(r"\(?GLIBC_([0-9.]+)\)?\s+(\S+)$", line)
        if version and tuple(map(int, version[1].split("."))) > GLIBC:
            yield f"{name} refers to {version[2]} of glibc {version[1]}"


def main():
    wheel, problems = sys.argv[1], []
    size = os.path.getsize(wheel)
    if size >= LIMIT:
        problems.append(f"it has {size:,} bytes, more than {LIMIT:,}")
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
            files = [name for name in archive.namelist() if ".so" in name]
        own = {os.path.basename(name) for name in files}
        if not any(name.endswith(".abi3.so") for name in own):
            problems.append("it has no extension by the stable ABI")
        for name in files:
            problems.extend(problems_of(os.path.join(folder, name), own))
    for problem in problems:
        print(f"check_wheel: {problem}", file=sys.stderr)
    if not problems:
        print(f"check_wheel: {os.path.basename(wheel)}, {size:,} bytes, ok")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
