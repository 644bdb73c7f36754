#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the integration tests against the programs of a build.

    run.py --builddir DIR [--only PATTERN] [--reduced] [--list] [--times]

PATTERN is looked for in the names of tests (a regular expression). --reduced
runs those that are marked for slow builds. The result is unittest's; a last
line sums it up. Exit status 0: nothing failed, and something ran.
"""
import argparse
import os
import re
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("--builddir", required=True,
                   help="where abided and abide-origin are")
    p.add_argument("--only", default="", metavar="PATTERN",
                   help="run the tests whose name matches")
    p.add_argument("--reduced", action="store_true",
                   help="run the subset for slow builds")
    p.add_argument("--list", action="store_true", help="print the names")
    p.add_argument("--times", action="store_true",
                   help="print the slowest tests at the end")
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


class Result(unittest.TextTestResult):
    """A line per test, with the seconds that it took."""

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


def main():
    args = arguments()
    os.environ["ABIDED_BUILDDIR"] = os.path.abspath(args.builddir)
    os.environ["ABIDE_ORIGIN"] = os.path.join(
        os.environ["ABIDED_BUILDDIR"], "abide-origin")
    for name in ("abided", "abide-origin"):
        path = os.path.join(args.builddir, name)
        if not os.access(path, os.X_OK):
            sys.exit("run.py: no %s: build first" % path)
    sys.path.insert(0, HERE)
    sys.dont_write_bytecode = True
    found = unittest.defaultTestLoader.discover(HERE, "test_*.py")
    suite = unittest.TestSuite(t for t in cases(found) if wanted(t, args))
    if args.list:
        for test in suite:
            print(test.id())
        return 0
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2,
                                     resultclass=Result)
    result = runner.run(suite)
    if args.times:
        for seconds, name in sorted(result.times, reverse=True)[:25]:
            print("%7.2f s  %s" % (seconds, name))
    failed = len(result.failures) + len(result.errors) + \
        len(result.unexpectedSuccesses)
    print("%d tests, %d failed, %d skipped" % (
        result.testsRun, failed, len(result.skipped)))
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == "__main__":
    sys.exit(main())
