# SPDX-License-Identifier: MIT
"""Checks that need a compiler, the archives or another tool."""
import difflib
import os
import re
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor

from tree import command

JOBS = os.cpu_count() or 1
STANDARD = ["-std=gnu11", "-D_GNU_SOURCE"]


def flags(tree):
    """The flags of a build, as far as a checker needs them."""
    with open(os.path.join(tree.builddir, "Makefile"),
              encoding="utf-8") as makefile:
        libraries = re.findall(r"^[A-Z]+_CFLAGS = (.*)$", makefile.read(),
                               re.M)
    return STANDARD + ["-I" + tree.builddir, "-include", "config.h",
                       "-DAB_SYSCONFDIR=\"/etc\"", "-Isrc",
                       *(x for line in libraries for x in line.split()
                         if x.startswith("-I"))]


def need(*tools):
    return ["%s is not installed" % t for t in tools if not shutil.which(t)]


def in_parallel(work, items):
    with ThreadPoolExecutor(JOBS) as pool:
        return [line for lines in pool.map(work, items) for line in lines]


def purity(tree):
    """no clock, chance, socket or log in proto and policy"""
    env = dict(os.environ, NM=os.environ.get("NM", "nm"))
    status, lines = command(
        ["sh", os.path.join(tree.top, "tests/lint/purity.sh")],
        cwd=tree.builddir, env=env)
    return [x for x in lines if not x.startswith(("ok", "1.."))] \
        if status else []


def headers(tree):
    """each header compiles alone, with gcc and clang"""
    missing = need("gcc", "clang")
    if missing:
        return missing

    def compile_alone(header):
        found = []
        for cc in ("gcc", "clang"):
            status, lines = command(
                [cc, *flags(tree), "-Wall", "-Wextra", "-Werror",
                 "-fsyntax-only", "-x", "c", "-"],
                input='#include "%s"\n' % header[len("src/"):])
            if status:
                found += ["%s (%s)" % (header, cc)] + lines
        return found

    return in_parallel(compile_alone, tree.files(".h", under=("src/",)))


def tables(tree):
    """etc/abided.conf, docs/OPTIONS.md are the option table ("make tables")"""
    found = []
    printer = os.path.join(tree.builddir, "tests/lint/print_table")
    for path, which in (("etc/abided.conf", "example"),
                        ("docs/OPTIONS.md", "options")):
        status, printed = command([printer, which])
        if status:
            found += printed + ["print_table failed"]
        found += list(difflib.unified_diff(
            tree.text(path).splitlines(), printed, path, "option table",
            lineterm="", n=0))[:20]
    return found


def presets(tree):
    """docs/PRESETS.md is what the files of presets say ("make tables")"""
    path = "docs/PRESETS.md"
    files = tree.files(".conf", under=("etc/presets/",))
    status, printed = command(["awk", "-f", "tests/lint/presets.awk"] + files)
    if status:
        return printed + ["presets.awk failed"]
    lines = tree.text(path).splitlines()
    marks = [i for i, s in enumerate(lines) if s.startswith("<!-- presets: ")]
    if len(marks) != 2:
        return [path + ": two marks are needed, <!-- presets: begin, end"]
    return list(difflib.unified_diff(
        lines[marks[0] + 1:marks[1]], printed, path, "etc/presets",
        lineterm="", n=0))[:20]


def format(tree):  # the name of the check
    """.c files as clang-format lays them out ("./dev format")"""
    missing = need("clang-format")
    if missing:
        return missing
    files = tree.files(".c", under=("src/", "tests/"))
    _, lines = command(["clang-format", "--dry-run", *files])
    places = [x.split(": warning:")[0] for x in lines if ": warning:" in x]
    return [p + ": not as clang-format has it" for p in places][:40]


def tidy(tree):
    """clang-tidy with the checks of .clang-tidy"""
    missing = need("clang-tidy")
    if missing:
        return missing

    def one(path):
        status, lines = command(
            ["clang-tidy", "--quiet", path, "--", *flags(tree)])
        noise = ("warnings generated", "warning generated", "Suppressed",
                 "Use -header-filter")
        return [x for x in lines if not any(n in x for n in noise)] \
            if status else []

    return in_parallel(one, tree.files(".c", under=("src/",)))


def cppcheck(tree):
    """cppcheck: warnings, performance and portability"""
    missing = need("cppcheck")
    if missing:
        return missing
    with tempfile.TemporaryDirectory() as cache:
        status, lines = command(
            ["cppcheck", "--quiet", "--std=c11", "-j%d" % JOBS,
             "--cppcheck-build-dir=" + cache, "-Isrc", "-D_GNU_SOURCE",
             "-D__linux__", "--enable=warning,performance,portability",
             "--inline-suppr", "--error-exitcode=1",
             "--suppress=missingIncludeSystem",
             # Takes an array that is being filled for one that is read.
             "--suppress=legacyUninitvar", "--template=gcc",
             *tree.files(".c", under=("src/",))])
    return lines if status else []


def shell(tree):
    """shellcheck on every script"""
    missing = need("shellcheck")
    if missing:
        return missing
    scripts = [p for p in ("dev", "autogen.sh", ".ci/run")
               if os.path.exists(p)] + tree.files(".sh", under=("tests/",))
    status, lines = command(["shellcheck", "-x", "--format=gcc", *scripts])
    return lines if status else []


CHECKS = [purity, headers, tables, presets, format, tidy, cppcheck, shell]
