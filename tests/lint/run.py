#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the lint checks: what a reviewer would otherwise have to look for.

    run.py [--builddir DIR] [--list] [CHECK...]

A check is a function that returns what is wrong, one line for each; none is a
pass. Without names all of them run. The build directory is needed by those
that look at objects or compile: purity, headers, tables, tidy, cppcheck.
"""
import argparse
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import build_checks  # noqa: E402
import text_checks  # noqa: E402
from tree import Tree  # noqa: E402

CHECKS = text_checks.CHECKS + build_checks.CHECKS


def run(check, tree):
    start = time.monotonic()
    try:
        found = check(tree)
    except OSError as e:
        found = [str(e)]
    name = check.__name__
    took = time.monotonic() - start
    print("%-4s %s (%.1f s)" % ("FAIL" if found else "ok", name, took))
    for line in found:
        print("     " + line)
    sys.stdout.flush()
    return not found


def main():
    parser = argparse.ArgumentParser(description="lint checks")
    parser.add_argument("--builddir", default=".")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("checks", nargs="*")
    args = parser.parse_args()

    if args.list:
        for check in CHECKS:
            print("%-10s %s" % (check.__name__, check.__doc__))
        return 0
    unknown = set(args.checks) - {check.__name__ for check in CHECKS}
    if unknown:
        parser.error("no such check: " + ", ".join(sorted(unknown)))

    tree = Tree(args.builddir)
    chosen = [c for c in CHECKS
              if not args.checks or c.__name__ in args.checks]
    passed = sum([run(check, tree) for check in chosen])
    failed = len(chosen) - passed
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
