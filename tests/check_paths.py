#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails where a page of the documentation, or a comment, names a file of ours that is not there; where a page names a folder
or a source without its suffix that is not there; and where a page or a README names a `Class::member` that no source has."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = {"tests/check_includes.cmake", "tests/check_licence.cmake"}  # they plant files of their own
MADE = {"tools/mpif.h", "tools/chart_page.inc"}  # by the build
FOLDER = r"(?<![\w/.-])((?:adi|armci|base|cmake|design|engine|examples|methods|mpi|rma|shm|shmem|start|tcp|tests|tools)"
PATH = re.compile(FOLDER + r"/[\w/]+\.(?:cpp|hpp|h|c|def|inc|cmake|py|sh|md|txt))\b")
STEM = re.compile(FOLDER + r"(?:/\w+)+)/?(?![\w*/<{$-]|\.\w|\.\*)")
PROGRAM = re.compile(r"tests/(\w+)/\1(?:_\w+)?")  # of tests: made by the build, and named after its folder
DEFINED = re.compile(
    r"\b(?:class|struct|union|enum|namespace|using)\s+(?:class\s+)?(?:alignas\(\w+\)\s+|\[\[.*?\]\]\s+)?(?:\w+::)*(\w+)"
    r"(?:\s+final)?(?:\s*:\s*(?:public|private)\s+(?:\w+::)*(\w+))?")
MEMBER = re.compile(r"(?<![\w:])(?:\w+::)*([A-Z]\w*)::(\w+)")
SOURCES = {".cpp", ".hpp", ".h", ".c", ".def", ".inc"}
PAGES = {".md", ".cmake", ".txt", ".py", ".sh"} | SOURCES
OTHERS = {"tests/test_onesided"}  # what others have
OTHERS_MEMBERS = {"MethodId::NAME"}


def tracked():
    """The files of the tree: those of git, or where it is no clone, all."""
    got = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if got.returncode == 0 and got.stdout:
        return got.stdout.split()
    return [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if p.is_file() and "build" not in p.relative_to(ROOT).parts]


def without_suffix(names):
    """All folders, and all files without their suffixes."""
    files = [pathlib.PurePath(name) for name in names]
    return {str(file.with_suffix("")) for file in files} | {str(folder) for file in files for folder in file.parents}


class Types:
    """What the sources say of types and their members."""

    def __init__(self, texts):
        self.words = [set(re.findall(r"\w+", text)) for text in texts]  # by source
        self.qualified = {pair for text in texts for pair in re.findall(r"\b(\w+)::(?=(\w+))", text)}
        self.defined = {}  # in which sources
        self.base = {}
        for place, text in enumerate(texts):
            for name, base in DEFINED.findall(text):
                self.defined.setdefault(name, set()).add(place)
                if base:
                    self.base[name] = base

    def has(self, owner, member):
        """Whether a source says `owner::member`, or one that defines the owner, or a base of it, has the member's name."""
        seen = set()  # two namespaces may have types of one name
        while owner and owner not in seen:
            seen.add(owner)
            if (owner, member) in self.qualified or any(member in self.words[place] for place in self.defined.get(owner, ())):
                return True
            owner = self.base.get(owner)
        return False


def main():
    names = tracked()
    texts = {}
    for name in names:
        file = ROOT / name
        if file.suffix in PAGES and name not in SKIPPED and file.is_file() and "corpus" not in name:
            texts[name] = file.read_text(encoding="utf8", errors="replace")
    known = without_suffix(names)
    types = Types([text for name, text in texts.items() if pathlib.PurePath(name).suffix in SOURCES])
    bad = 0

    def missing(name, number, what):
        nonlocal bad
        print(f"{name}:{number}: there is no {what}")
        bad += 1

    for name, text in texts.items():
        folder = (ROOT / name).parent
        is_page = name.startswith("design/") and name.endswith(".md")
        has_members = is_page or name.endswith("README.md")
        for number, line in enumerate(text.splitlines(), 1):
            for path in PATH.findall(line):
                beside = folder / path
                if path in MADE or "NAME" in path or (ROOT / path).exists() or beside.exists() or (ROOT / "tests" / path).exists():
                    continue
                missing(name, number, path)
            for stem in STEM.findall(line) if is_page else ():
                if stem not in known | OTHERS and not PROGRAM.fullmatch(stem) and not re.search("NAME|FOLDER|CHAPTER", stem):
                    missing(name, number, stem)
            for owner, member in MEMBER.findall(line) if has_members else ():
                if f"{owner}::{member}" not in OTHERS_MEMBERS and not types.has(owner, member):
                    missing(name, number, f"{owner}::{member}")
    return 1 if bad else 0


sys.exit(main())
