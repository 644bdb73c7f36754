# SPDX-License-Identifier: MIT
"""Checks that read the sources as text."""
import os
import re

# ctl, the commands of abidectl, stands on all of them.
FLOORS = {"base": 0, "proto": 1, "policy": 2, "engine": 3, "edge": 4, "ctl": 5}
# The simulator is a program beside the floors: it stands on policy and below,
# and nothing stands on it.
ORIGIN_MAY = ("base", "proto", "policy", "origin")

# System headers that a floor has no business with.
SOCKETS = ("sys/socket.h", "sys/epoll.h", "sys/un.h", "netdb.h", "poll.h")
LIBRARIES = ("event2/", "event.h", "ares.h", "ini.h", "openssl/", "evhtp")
PURE = SOCKETS + LIBRARIES + ("unistd.h", "fcntl.h", "sys/time.h",
                              "sys/random.h", "pthread.h", "base/log.h",
                              "base/rng.h")
UNWANTED = {"base": LIBRARIES, "proto": PURE, "policy": PURE,
            "engine": SOCKETS + LIBRARIES}

FUNCTION_MAX = 80
FILE_MAX = 500
WIDTH_MAX = 100
# Flat tables and switches may be longer: path:function.
LONG_FUNCTIONS = {
    "tests/unit/test_head.c:request_when_malformed_then_bad",
    "tests/unit/test_origin_words.c:"
    "hint_forms_round_up_and_say_what_they_promise",
}

CODE = (".c", ".h")
SOURCES = CODE + (".py", ".sh", ".am", ".mk", ".ac", ".m4", "dev", ".ci/run",
                  ".lua", ".clang-format", ".clang-tidy")


def floor_of(path):
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else ""


def floors(tree):
    """an include points to the same floor or down"""
    found = []
    for path in tree.files(*CODE, under=("src/",)):
        mine = floor_of(path)
        for number, line in enumerate(tree.lines(path), 1):
            m = re.match(r'\s*#\s*include\s*(["<])([^">]+)', line)
            if not m:
                continue
            why = include_fault(path, mine, m.group(1), m.group(2))
            if why:
                found.append("%s:%d: %s" % (path, number, why))
    return found


def include_fault(path, mine, mark, name):
    if name.startswith(UNWANTED.get(mine, ())):
        return "%s has no business with %s" % (mine, name)
    if mark == "<" or name == "config.h":
        return None
    beside = os.path.join(os.path.dirname(path), name)
    target = beside if os.path.exists(beside) else "src/" + name
    if not os.path.exists(target):
        return "no such header: " + name
    theirs = floor_of(target)
    if mine == "":
        return None
    if mine == "origin":
        ok = theirs in ORIGIN_MAY
    else:
        ok = FLOORS.get(theirs, 99) <= FLOORS.get(mine, -1)
    return None if ok else "%s may not include %s" % (mine, name)


def heap(tree):
    """base/mem.c alone calls the C library's heap"""
    found = []
    call = re.compile(r"(?<![\w.>])(malloc|calloc|realloc|reallocarray|free|"
                      r"strn?dup|v?asprintf|getline|getdelim)\s*\(")
    for path in tree.files(*CODE, under=("src/",)):
        if path == "src/base/mem.c":
            continue
        for number, line in enumerate(tree.code(path).split("\n"), 1):
            m = call.search(line)
            if m:
                found.append("%s:%d: %s, not through base/mem.h" %
                             (path, number, m.group(1)))
    return found


def size(tree):
    """functions of 80 lines at most, lines of 100, files of 500 in src"""
    found = []
    for path in tree.files(*CODE, under=("src/", "tests/")):
        lines = tree.lines(path)
        if len(lines) - 1 > FILE_MAX and path.startswith("src/"):
            found.append("%s: %d lines" % (path, len(lines) - 1))
        for number, line in enumerate(lines, 1):
            if len(line.expandtabs(8)) > WIDTH_MAX:
                found.append("%s:%d: wider than %d columns" %
                             (path, number, WIDTH_MAX))
        found += long_functions(path, tree.code(path).split("\n"))
    return found


def long_functions(path, lines):
    """The layout makes it easy: a function's name starts a line, and so do
    its braces."""
    found, name, start = [], "", 0
    for number, line in enumerate(lines, 1):
        m = re.match(r"(\w+)\(", line)
        if m:
            name = m.group(1)
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start:
            length = number - start - 1
            if length > FUNCTION_MAX and \
                    path + ":" + name not in LONG_FUNCTIONS:
                found.append("%s:%d: %s has %d lines" %
                             (path, start, name, length))
            start = 0
    return found


def spdx(tree):
    """a licence line on top of every source"""
    found = []
    for path in tree.files(*SOURCES):
        top = "\n".join(tree.lines(path)[:3])
        if "SPDX-License-Identifier: MIT" not in top:
            found.append(path + ": no SPDX-License-Identifier")
    return found


def words(tree):
    """no unfinished work in the sources"""
    found = []
    pattern = re.compile(
        r"\b(TODO|FIXME|XXX|stubs?)\b", re.I)
    for path in tree.files(*CODE, under=("src/",)):
        for number, line in enumerate(tree.lines(path), 1):
            m = pattern.search(line)
            if m:
                found.append("%s:%d: %s" % (path, number, m.group(0)))
    return found


def space(tree):
    """LF line ends, no space at the end of a line, C indented by tabs"""
    found = []
    for path in tree.files(*SOURCES, ".md", ".conf", ".sim", ".1", ".5", ".8"):
        text = tree.text(path)
        if not text.endswith("\n"):
            found.append(path + ": no newline at the end")
        for number, line in enumerate(text.split("\n"), 1):
            if re.search(r"[ \t\r]$", line):
                found.append("%s:%d: space at the end" % (path, number))
            if path.endswith(CODE) and re.match(r" {8}", line):
                found.append("%s:%d: indented by spaces" % (path, number))
    return found


def listed(tree):
    """every source is in a fragment of the Makefile"""
    listed_in = "".join(tree.text(p) for p in tree.files(".mk", ".am"))
    listed_in = re.sub(r"#.*", "", listed_in)
    have = set(re.findall(r"[\w./-]+", listed_in))
    found = []
    for path in tree.files(*CODE, under=("src/",)):
        if path not in have:
            found.append("%s is in no src/*/local.mk" % path)
    for path in tree.files(".c", under=("tests/unit/", "tests/fuzz/",
                                        "tests/sim/")):
        if path not in have and path[:-2] not in have:
            found.append("%s is not in %s/local.mk" %
                         (path, os.path.dirname(path)))
    for path in sorted(have):
        if re.match(r"(src|tests)/[\w/-]+\.[ch]$", path) and \
                not os.path.exists(path):
            found.append(path + " is listed and does not exist")
    return found


def sleeps(tree):
    """unit tests and scenarios don't wait for the wall clock"""
    found = []
    call = re.compile(r"\b(sleep|usleep|nanosleep|clock_gettime|time|"
                      r"gettimeofday|clock_mono_ms|clock_wall_ms)\s*\(")
    for path in tree.files(*CODE, under=("tests/unit/", "tests/sim/")):
        if path.endswith("/test_clock.c"):
            continue
        # Certificates are good by the wall clock, which OpenSSL reads itself.
        dated = path.endswith(("/test_ca.c", "/test_mint.c", "/mint_rig.h"))
        for number, line in enumerate(tree.code(path).split("\n"), 1):
            m = call.search(line)
            if m and not (dated and m.group(1) == "time"):
                found.append("%s:%d: %s" % (path, number, m.group(1)))
    return found


CHECKS = [floors, heap, size, spdx, words, space, listed, sleeps]
