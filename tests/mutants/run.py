#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Seeded faults against the generator of programs: which of them it finds, and after how long.

  run.py --check [--rules FILE]  whether each rule of mutants.txt, or of FILE, fits the sources
  run.py --work FOLDER [--rules FILE] [--only NAME]... [--seconds N] [--build TARGET]... [--jobs N] COMMAND...

A rule says which lines are taken out and which are put in their place. Where a fault needs several places, a line `also`
begins the next one; each fits exactly one place of the sources, in whatever file.
The second form copies the sources to FOLDER/source and builds them in FOLDER/build (both are kept for the next time: a
mutant costs what one source costs to compile). For each rule it changes the copy, builds the targets, runs COMMAND in
FOLDER/build with a shell, its output to FOLDER/NAME.log, and puts the source back. A mutant is killed when COMMAND ends
with another code than 0 or is still running after --seconds and as many again. A mutant that does not compile is an
error of its rule.
It prints a line for each, and "N killed, N survived" at the end; the code is 1 when a rule is wrong.
"""
import argparse
import os
import pathlib
import re
import signal
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
METHODS = re.findall(r"^RMQ_METHOD\((\w+),", (HERE.parent.parent / "methods/methods.def").read_text(), re.MULTILINE)
FLOORS = ["adi", "armci", "base", "engine", "methods", "mpi", "rma", "shmem", "start", *METHODS]


class Change:
    def __init__(self):
        self.old, self.new = [], []

    def pattern(self):
        """Of the old lines, however they are broken and indented."""
        words = " ".join(line.strip() for line in self.old).split()
        return re.compile(r"\s+".join(re.escape(word) for word in words))


class Rule:
    def __init__(self, name):
        self.name = name
        self.changes = [Change()]


def read_rules(file):
    rules = []
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if line.startswith("mutant "):
            rules.append(Rule(line.split()[1]))
        elif line == "also":
            rules[-1].changes.append(Change())
        elif line.startswith("- ") or line == "-":
            rules[-1].changes[-1].old.append(line[2:])
        elif line.startswith("+ ") or line == "+":
            rules[-1].changes[-1].new.append(line[2:])
        elif line.strip() and not line.startswith("#"):
            sys.exit(f"{file}:{number}: neither a name, nor also, nor a line that is taken out or put in")
    names = [rule.name for rule in rules]
    if len(set(names)) != len(names):
        sys.exit(f"{file}: two rules have one name")
    return rules


def sources(top):
    for floor in FLOORS:
        for path in sorted((top / floor).rglob("*")):
            if path.suffix in (".cpp", ".hpp"):
                yield path


def changed_by(rule, texts):
    """The files of the rule with their texts when changed, or a word why there are none."""
    changed = {}
    for number, change in enumerate(rule.changes, 1):
        now = {**texts, **changed}
        pattern = change.pattern()
        found = [(path, match) for path, text in now.items() for match in pattern.finditer(text)]
        it = "it" if len(rule.changes) == 1 else f"its change {number}"
        if len(found) != 1:
            return None, f"{it} fits nowhere" if not found else f"{it} fits {len(found)} places"
        path, match = found[0]
        text = now[path]
        changed[path] = text[: match.start()] + "\n".join(change.new) + text[match.end():]
        if changed[path] == text:
            return None, f"{it} changes nothing"
    return changed, ""


def run_for(command, folder, log_file, seconds):
    """The code of the command, ended with all that it has started when it takes longer."""
    with open(log_file, "wb") as log:
        process = subprocess.Popen(command, shell=True, cwd=folder, stdout=log, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "still running"


def build(folder, targets, jobs):
    command = ["cmake", "--build", str(folder), "--parallel", str(jobs)]
    for target in targets:
        command += ["--target", target]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true")
    options.add_argument("--rules", type=pathlib.Path, default=HERE / "mutants.txt")
    options.add_argument("--source", type=pathlib.Path, default=HERE.parent.parent)
    options.add_argument("--work", type=pathlib.Path)
    options.add_argument("--only", action="append", default=[])
    options.add_argument("--seconds", type=float, default=600)
    options.add_argument("--build", action="append", default=[])
    options.add_argument("--jobs", type=int, default=os.cpu_count())
    options.add_argument("command", nargs="*")
    given = options.parse_args()
    rules = read_rules(given.rules)

    if given.check:
        texts = {path: path.read_text() for path in sources(given.source)}
        wrong = 0
        for rule in rules:
            changed, why = changed_by(rule, texts)
            if changed is None:
                print(f"{rule.name}: {why}", file=sys.stderr)
                wrong += 1
        print(f"{len(rules) - wrong} rules fit, {wrong} do not")
        return 1 if wrong else 0

    if not given.work or not given.command:
        options.error("--work and a command are needed")
    work = given.work.resolve()  # cmake gets it with the copy as its working folder
    copy, folder = work / "source", work / "build"
    copy.mkdir(parents=True, exist_ok=True)
    names = subprocess.run(["git", "-C", str(given.source), "ls-files", "-z"], stdout=subprocess.PIPE, check=True).stdout
    for name in filter(None, names.decode().split("\0")):
        to, origin = copy / name, given.source / name
        if to.exists() and to.read_bytes() == origin.read_bytes():
            continue  # its time stays, and what is built of it
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(origin, to)
    if not (folder / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "release", "-DRMQ_SEEDED_FAULT=ON", "-B", str(folder)], cwd=copy, check=True, stdout=subprocess.DEVNULL)
    made = build(folder, given.build, given.jobs)
    if made.returncode:
        sys.exit(made.stdout[-4000:] + "\nthe sources do not build without a mutant")

    texts = {path: path.read_text() for path in sources(copy)}
    killed, survived, wrong = 0, 0, 0
    for rule in rules:
        if given.only and rule.name not in given.only:
            continue
        changed, why = changed_by(rule, texts)
        if changed is None:
            print(f"{rule.name}: {why}", flush=True)
            wrong += 1
            continue
        try:
            for path, text in changed.items():
                path.write_text(text)
            made = build(folder, given.build, given.jobs)
            if made.returncode:
                print(f"{rule.name}: does not compile\n{made.stdout[-2000:]}", flush=True)
                wrong += 1
                continue
            begin = time.monotonic()
            code = run_for(" ".join(given.command), folder, work / f"{rule.name}.log", 2 * given.seconds)
            took = time.monotonic() - begin
            if code == 0:
                survived += 1
                print(f"{rule.name}: survived {took:.0f} s", flush=True)
            else:
                killed += 1
                print(f"{rule.name}: killed after {took:.0f} s ({code})", flush=True)
        finally:
            for path in changed:
                path.write_text(texts[path])
    print(f"{killed} killed, {survived} survived, {wrong} rules wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
