#!/usr/bin/env python3
"""Checks the pages (*.md): that what they link to within the repository is there, file and heading, and that no merge has left its marks.

usage: check_pages.py REPOSITORY
       check_pages.py --self-test
"""
import pathlib
import re
import sys
import tempfile

LINK = re.compile(r"\[[^\]\[]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+\s+(.*?)\s*$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"^(<{7}|={7}|>{7})( |$)")


def anchor_of(heading):
    """The anchor that a heading of Markdown gets on the usual sites."""
    plain = re.sub(r"[^\w\- ]", "", heading.lower())
    return plain.replace(" ", "-")


def anchors(text):
    return {anchor_of(heading) for heading in HEADING.findall(FENCED.sub("", text))}


def faults(page, text):
    """What is wrong with a page, one line each."""
    for number, line in enumerate(text.splitlines(), 1):
        if MARK.match(line):
            yield f"{page}:{number}: a mark that a merge has left"
    for target in LINK.findall(FENCED.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = page.parent / path if path else page
        if not linked.exists():
            yield f"{page}: there is no {target}"
        elif anchor and linked.suffix == ".md" and anchor not in anchors(linked.read_text()):
            yield f"{page}: {path or 'this page'} has no heading #{anchor}"


def pages(repository):
    """All of them but what has been built."""
    return [page for page in sorted(repository.rglob("*.md")) if "build" not in page.relative_to(repository).parts]


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        page, other = pathlib.Path(folder, "page.md"), pathlib.Path(folder, "other.md")
        other.write_text("# What it is\n\n```\n# no heading\n```\n")
        good = "[one](other.md) [two](other.md#what-it-is) [three](https://example.org/x) [four](#here)\n\n# Here\n"
        bad = "[one](another.md) [two](other.md#what-it-was) [three](other.md#no-heading)\n<<<<<<< HEAD\n=======\n>>>>>>> branch\n"
        page.write_text(good)
        assert not list(faults(page, good)), list(faults(page, good))
        assert len(list(faults(page, bad))) == 6, list(faults(page, bad))


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = [fault for page in pages(pathlib.Path(sys.argv[1])) for fault in faults(page, page.read_text())]
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
