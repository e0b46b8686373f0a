# SPDX-License-Identifier: Apache-2.0
"""What mkdocs does not do by itself: the README and CONTRIBUTING become pages,
and names of pages in the text, `docs/engine.md` or `engine.md`, become links to
them, so that the pages read well in an editor, too."""
import os
import re

from mkdocs.structure.files import File

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PAGES = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md"}
API = """# The C API

The headers in `include/bessemer` document each function: what it does, who owns
what, which threads may call it, and which failures there are.

[**The reference of the C API**](API_FOLDER/index.html) is made of them by Doxygen:
[functions, types and macros](API_FOLDER/globals.html), [headers](API_FOLDER/files.html).

Programs begin with one of the two:

| | |
|---|---|
| `bessemer/bessemer.h` | all of it: compiling and running, `libbessemer` |
| `bessemer/engine.h` | running engines: `libbessemer-runtime`, `libbessemer-runtime-shapes` |

`examples` has whole programs; *Walk-throughs* lead through some.
"""
NAME = re.compile(r"`((?:docs/)?([\w-]+)\.md|README|README\.md|CONTRIBUTING\.md)`")
names = set()


def on_files(files, config):
    for page, source in PAGES.items():
        with open(os.path.join(ROOT, source), encoding="utf-8") as file:
            files.append(File.generated(config, page, content=file.read()))
    files.append(File.generated(config, "api.md", content=API))
    names.update(file.src_uri for file in files.documentation_pages())
    return files


def on_page_markdown(markdown, page, **_):
    def link(match):
        name = {"README": "index.md", "README.md": "index.md",
                "CONTRIBUTING.md": "contributing.md"}.get(
                    match.group(1), f"{match.group(2)}.md")
        if name not in names or name == page.file.src_uri:
            return match.group(0)
        return f"[{match.group(0)}]({name})"

    # The folder is beside the page's, which is one of its own.
    markdown = markdown.replace("API_FOLDER", "../c-api")
    out, fenced = [], False
    for line in markdown.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
        code = fenced or line.startswith("    ")
        out.append(line if code or "](" in line else NAME.sub(link, line))
    return "\n".join(out)
