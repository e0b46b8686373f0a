#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes the folders of a machine out of models that PyTorch has saved.

PyTorch notes for every operator the file and line that it comes from, with the
whole path. What is committed shall not tell where it was made, and shall be the
same wherever it is made again: torch/nn/modules/conv.py instead of
/home/me/venv/lib/python3.11/site-packages/torch/nn/modules/conv.py. Generators
call rewrite() for what they have saved. Archives keep their layout: order of
members, which of them are deflated, data descriptors, alignment.

Usage: relative_paths.py FILE...            rewrites archives and pickles
       relative_paths.py --check FOLDER...  names the files that hold such paths
"""
import io
import os
import pickletools
import re
import struct
import sys
import zipfile
import zlib

PATH = re.compile(r"(?<![\w.])/(?:[\w.+@~-]+/)+[\w.+@~<>-]+\.pyc?\b")
# What a path is relative to: the first folder of these that it goes through.
ROOTS = (re.compile(r".*/(?:site|dist)-packages/"),
         re.compile(r".*/lib/python3\.\d+/"),
         re.compile(r".*/(?=(?:tests|examples|bench|demo)/)"),
         re.compile(r".*?/(?=torch(?:vision|ao)?/)"))
HOMES = re.compile(rb"(?<![\w.])/(?:home|root|tmp|work|Users)/[\w.~-]+/?")
PICKLES = (".pkl", ".debug_pkl")
ALIGNMENT = 64  # of the members' data, as PyTorch's writer has it


def relative(match):
    path = match.group(0)
    for root in ROOTS:
        found = root.match(path)
        if found:
            return path[found.end():]
    return os.path.basename(path)


def rewrite_pickle(data):
    """The pickle with other strings: they have their lengths before them, and
    nothing refers to a place in the file."""
    out, done = [], 0
    for opcode, argument, at in pickletools.genops(data):
        if opcode.name != "BINUNICODE":
            continue
        old = argument.encode("utf-8", "surrogatepass")
        new = PATH.sub(relative, argument).encode("utf-8", "surrogatepass")
        if new != old:
            out += [data[done:at + 1], struct.pack("<I", len(new)), new]
            done = at + 5 + len(old)
    return b"".join(out) + data[done:]


def rewrite_member(name, data):
    if name.endswith(PICKLES):
        return rewrite_pickle(data)
    if name.endswith(".json"):
        return PATH.sub(relative, data.decode()).encode()
    if data[:4] == b"PK\3\4":
        return rewrite_archive(data)
    return data


def deflate(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


class Member:
    """One member: its entry of the directory, local header, data, descriptor."""

    def __init__(self, archive, at):
        self.entry_at = at
        name, extra, comment = struct.unpack_from("<HHH", archive, at + 28)
        self.entry = bytearray(archive[at:at + 46 + name + extra + comment])
        self.method, = struct.unpack_from("<H", archive, at + 10)
        self.packed, = struct.unpack_from("<I", archive, at + 20)
        self.start, = struct.unpack_from("<I", archive, at + 42)
        if 0xffffffff in (self.packed, self.start):
            raise ValueError("an archive of more than 4 GB")
        name, extra = struct.unpack_from("<HH", archive, self.start + 26)
        begin = self.start + 30 + name
        self.header = bytearray(archive[self.start:begin])
        self.name = bytes(self.header[30:]).decode()
        self.extra = archive[begin:begin + extra]
        self.data = archive[begin + extra:begin + extra + self.packed]
        self.end = begin + extra + self.packed

    def replace(self, content):
        self.data = content if self.method == 0 else deflate(content)
        sizes = zlib.crc32(content), len(self.data), len(content)
        struct.pack_into("<III", self.entry, 16, *sizes)
        if any(self.header[14:26]):
            struct.pack_into("<III", self.header, 14, *sizes)
        if self.descriptor:
            head = self.descriptor[:4]
            wide = len(self.descriptor) == 24
            if head != b"PK\7\x08" or len(self.descriptor) not in (16, 24):
                raise ValueError("another kind of data descriptor")
            self.descriptor = head + struct.pack("<IQQ" if wide else "<III", *sizes)

    def place(self, at):
        """The member's bytes where they begin at `at`."""
        struct.pack_into("<I", self.entry, 42, at)
        if self.extra[:2] == b"FB":
            pad = -(at + len(self.header) + 4) % ALIGNMENT
            self.extra = b"FB" + struct.pack("<H", pad) + b"Z" * pad
            struct.pack_into("<H", self.header, 28, len(self.extra))
        return bytes(self.header) + self.extra + self.data + self.descriptor


def rewrite_archive(archive):
    source = zipfile.ZipFile(io.BytesIO(archive))
    directory, members, at = source.start_dir, [], source.start_dir
    for _ in source.infolist():
        members.append(Member(archive, at))
        at += len(members[-1].entry)
    by_place = sorted(members, key=lambda m: m.start)
    changed = False
    for member, following in zip(by_place, by_place[1:] + [None]):
        member.descriptor = archive[member.end:following.start if following else directory]
        content = source.read(member.name)
        new = rewrite_member(member.name, content)
        if new != content:
            member.replace(new)
            changed = True
    if not changed:
        return archive
    out = bytearray(archive[:by_place[0].start])
    for member in by_place:
        out += member.place(len(out))
    moved = len(out) - directory
    for member in members:
        out += member.entry
    tail = bytearray(archive[at:])  # has the directory's place, as zip64 too
    if tail[:4] == b"PK\6\6":
        for place in (48, 56 + 8):
            value, = struct.unpack_from("<Q", tail, place)
            struct.pack_into("<Q", tail, place, value + moved)
    end = tail.rindex(b"PK\5\6")
    struct.pack_into("<I", tail, end + 16, directory + moved)
    return bytes(out + tail)


def rewrite(path):
    """Rewrites the file at `path`, if there is something to change."""
    with open(path, "rb") as file:
        data = file.read()
    pickle = path.endswith(PICKLES)
    new = rewrite_pickle(data) if pickle else rewrite_archive(data)
    if new != data:
        with open(path, "wb") as file:
            file.write(new)


def find(data):
    """A path of a machine in `data` or in a member of it, or None."""
    if data[:4] == b"PK\3\4":
        try:
            archive = zipfile.ZipFile(io.BytesIO(data))
            members = [archive.read(member) for member in archive.infolist()]
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError,
                NotImplementedError):
            members = []  # what tests of broken archives are about
        for member in members:
            found = find(member)
            if found:
                return found
    found = HOMES.search(data)
    return found and found.group(0).decode()


def check(folders):
    bad = count = 0
    for folder in folders:
        for base, _, names in os.walk(folder):
            for name in names:
                if name.endswith((".c", ".h", ".py", ".sh")):
                    continue
                path = os.path.join(base, name)
                with open(path, "rb") as file:
                    found = find(file.read())
                count += 1
                if found:
                    bad += 1
                    print(f"{path}: holds {found}")
    if bad or not count:
        sys.exit(f"{bad} of {count} files hold paths of the machine that made "
                 "them: run scripts/relative_paths.py on them")
    print(f"relative_paths: {count} files hold no paths of a machine")


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.exit(__doc__.strip())
    if arguments[0] == "--check":
        check(arguments[1:])
    else:
        for path in arguments:
            rewrite(path)


if __name__ == "__main__":
    main()
