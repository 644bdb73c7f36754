#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the integration tests against the programs of a build.

    run.py --builddir DIR [--only PATTERN] [--reduced] [--jobs N] [--times]

PATTERN is looked for in the names of tests (a regular expression). --reduced
runs those that are marked for slow builds. Files of tests run N at a time
(tests wait more than they work), each in a process of its own; what one says
is printed when it is done. The result is unittest's, per file; a last line
sums it up. Exit status 0: nothing failed, and something ran.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SUM = re.compile(r"^(\d+) tests, (\d+) failed, (\d+) skipped$", re.M)


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("--builddir", required=True,
                   help="where abided and abide-origin are")
    p.add_argument("--only", default="", metavar="PATTERN",
                   help="run the tests whose name matches")
    p.add_argument("--reduced", action="store_true",
                   help="run the subset for slow builds")
    p.add_argument("--jobs", type=int, default=2, metavar="N",
                   help="files at a time (default 2)")
    p.add_argument("--times", action="store_true",
                   help="print the slowest tests of each file")
    p.add_argument("--list", action="store_true", help="print the names")
    p.add_argument("--file", help=argparse.SUPPRESS)
    return p.parse_args()


def cases(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from cases(item)
        else:
            yield item


def wanted(test, args):
    if not re.search(args.only, test.id()):
        return False
    if not args.reduced:
        return True
    # A module that could not be loaded stands as a test that fails.
    method = getattr(test, getattr(test, "_testMethodName"), None)
    return getattr(method, "reduced", False) or \
        getattr(type(test), "reduced", False) or \
        type(test).__name__ == "_FailedTest"


def tests_of(args, pattern):
    found = unittest.defaultTestLoader.discover(HERE, pattern)
    return [t for t in cases(found) if wanted(t, args)]


class Result(unittest.TextTestResult):
    """A line per test; knows the seconds that each took."""

    def __init__(self, *args, **kw):
        super().__init__(*args, **kw)
        self.times = []
        self._began = 0.0

    def getDescription(self, test):
        return test.id()

    def startTest(self, test):
        self._began = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        self.times.append((time.monotonic() - self._began, test.id()))
        super().stopTest(test)


def run_file(args):
    """The tests of one file, in this process."""
    sys.stderr = sys.stdout
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2,
                                     resultclass=Result)
    result = runner.run(unittest.TestSuite(tests_of(args, args.file)))
    if args.times:
        for seconds, name in sorted(result.times, reverse=True)[:10]:
            print("%7.2f s  %s" % (seconds, name))
    failed = len(result.failures) + len(result.errors) + \
        len(result.unexpectedSuccesses)
    print("%d tests, %d failed, %d skipped" % (
        result.testsRun, failed, len(result.skipped)))
    return 0 if result.wasSuccessful() else 1


def spawn(args, name):
    """The tests of one file, in another process: its sums."""
    argv = [sys.executable, os.path.abspath(__file__), "--builddir",
            args.builddir, "--only", args.only, "--file", name]
    argv += [flag for flag in ("--reduced", "--times")
             if getattr(args, flag[2:])]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          errors="replace", check=False)
    m = SUM.search(done.stdout)
    sums = [int(n) for n in m.groups()] if m else [0, 0, 0]
    text = SUM.sub("", done.stdout).rstrip("\n")
    if done.returncode != 0 and sums[1] == 0:
        sums[1] = 1
        text += "\n%s ended with %d" % (name, done.returncode)
    print("=== %s\n%s\n" % (name, text), flush=True)
    return sums


def run_all(args):
    names = sorted({type(t).__module__ + ".py"
                    if type(t).__name__ != "_FailedTest" else
                    t.id().rpartition(".")[2] + ".py"
                    for t in tests_of(args, "test_*.py")})
    with concurrent.futures.ThreadPoolExecutor(max(1, args.jobs)) as pool:
        sums = list(pool.map(lambda n: spawn(args, n), names))
    tests, failed, skipped = (sum(s[i] for s in sums) for i in range(3))
    print("%d tests, %d failed, %d skipped" % (tests, failed, skipped))
    return 0 if tests and not failed else 1


def main():
    args = arguments()
    args.builddir = os.path.abspath(args.builddir)
    os.environ["ABIDED_BUILDDIR"] = args.builddir
    os.environ["ABIDE_ORIGIN"] = os.path.join(args.builddir, "abide-origin")
    for name in ("abided", "abide-origin"):
        path = os.path.join(args.builddir, name)
        if not os.access(path, os.X_OK):
            sys.exit("run.py: no %s: build first" % path)
    sys.path.insert(0, HERE)
    sys.dont_write_bytecode = True
    if args.list:
        for test in tests_of(args, "test_*.py"):
            print(test.id())
        return 0
    return run_file(args) if args.file else run_all(args)


if __name__ == "__main__":
    sys.exit(main())
