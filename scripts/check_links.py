#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds what the documentation refers to and is not there.

check_links.py             the README, CONTRIBUTING and the pages of docs: links
                           to files and headings, and names of files of this
                           tree, such as `src/ir/graph.c`
check_links.py --site DIR  pages of a site: links to pages, files and places

Nothing is asked of a network.
"""
import glob
import html.parser
import os
import re
import sys
import urllib.parse

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`]+)`")
# What names a file of the tree: a path from one of these folders, or a page.
FOLDERS = ("bench", "bindings", "cmake", "docs", "examples", "fuzz", "include",
           "python", "scripts", "site", "src", "tests", "tools")
NAME = re.compile(r"(?:%s)/[\w./*{},<>-]*|[\w-]+\.md" % "|".join(FOLDERS))


def slug(heading):
    text = re.sub(r"[^\w\s-]", "", heading.strip().lower())
    return re.sub(r"\s+", "-", text)


def anchors(path):
    with open(path, encoding="utf-8") as file:
        return {slug(line.lstrip("#")) for line in file if line.startswith("#")}


def expand(name):
    """a/{b,c}.py as two names; <x> as anything."""
    name = re.sub(r"<\w+>", "*", name)
    braces = re.search(r"\{([^{}]*)\}", name)
    if not braces:
        return [name]
    return [each for part in braces.group(1).split(",")
            for each in expand(name[:braces.start()] + part + name[braces.end():])]


def page_problems(path):
    folder = os.path.dirname(path)
    fenced = False
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            fenced = not fenced
        if fenced or line.startswith("    "):
            continue
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if urllib.parse.urlsplit(target).scheme:
                continue
            name, _, anchor = target.partition("#")
            there = os.path.join(folder, name) if name else path
            if not os.path.exists(there):
                yield number, target
            elif anchor and anchor not in anchors(there):
                yield number, target
        for code in CODE.findall(line):
            name = code.split()[0] if code.split() else ""
            if not NAME.fullmatch(name):
                continue
            for each in expand(name):
                places = [os.path.join(ROOT, each), os.path.join(folder, each)]
                if not any(glob.glob(place) for place in places):
                    yield number, name


def check_pages():
    pages = [os.path.join(ROOT, name) for name in ("README.md", "CONTRIBUTING.md")]
    pages += sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))
    problems = [f"{os.path.relpath(page, ROOT)}:{number}: there is no {what}"
                for page in pages for number, what in page_problems(page)]
    return problems, len(pages)


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.places = [], set()
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            if name in ("id", "name") and value:
                self.places.add(value)


def check_site(site):
    pages = {os.path.realpath(path): Page(path) for path in
             glob.glob(os.path.join(site, "**", "*.html"), recursive=True)}
    problems = []
    for path, page in sorted(pages.items()):
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("/"):
                continue
            there = path
            if parts.path:
                name = urllib.parse.unquote(parts.path)
                there = os.path.realpath(os.path.join(os.path.dirname(path), name))
            if os.path.isdir(there):
                there = os.path.join(there, "index.html")
            known = pages.get(there)
            place = urllib.parse.unquote(parts.fragment)
            if not os.path.exists(there) or (
                    place and known and place not in known.places):
                problems.append(f"{os.path.relpath(path, site)}: {link} leads nowhere")
    return problems, len(pages)


def main():
    if sys.argv[1:2] == ["--site"]:
        problems, count = check_site(sys.argv[2])
    elif len(sys.argv) == 1:
        problems, count = check_pages()
    else:
        sys.exit(__doc__.strip())
    print("".join(problem + "\n" for problem in problems), end="")
    if problems or not count:
        sys.exit(f"check_links: {len(problems)} links of {count} pages lead nowhere")
    print(f"check_links: {count} pages, ok")


if __name__ == "__main__":
    main()
