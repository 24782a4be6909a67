#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails where a page of the documentation, or a comment, names a file of ours that is not there."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = {"tests/check_includes.cmake", "tests/check_licence.cmake"}  # they plant files of their own
MADE = {"tools/mpif.h", "tools/chart_page.inc"}  # by the build
PATH = re.compile(
    r"(?<![\w/.-])((?:adi|armci|base|cmake|design|engine|examples|methods|mpi|rma|shm|shmem|start|tcp|tests|tools)"
    r"/[\w/]+\.(?:cpp|hpp|h|c|def|inc|cmake|py|sh|md|txt))\b")


def tracked():
    """The files of the tree: those of git, or where it is no clone, all."""
    got = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if got.returncode == 0 and got.stdout:
        return got.stdout.split()
    return [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if p.is_file() and "build" not in p.relative_to(ROOT).parts]


def main():
    bad = 0
    for name in tracked():
        file = ROOT / name
        if file.suffix not in {".md", ".cpp", ".hpp", ".h", ".c", ".def", ".cmake", ".txt", ".inc", ".py", ".sh"} or name in SKIPPED:
            continue
        if not file.is_file() or "corpus" in name:
            continue
        for number, line in enumerate(file.read_text(encoding="utf8", errors="replace").splitlines(), 1):
            for path in PATH.findall(line):
                beside = file.parent / path
                if path in MADE or "NAME" in path or (ROOT / path).exists() or beside.exists() or (ROOT / "tests" / path).exists():
                    continue
                print(f"{name}:{number}: there is no {path}")
                bad += 1
    return 1 if bad else 0


sys.exit(main())
