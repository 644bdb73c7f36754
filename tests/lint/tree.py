# SPDX-License-Identifier: MIT
"""The source tree as the checks see it."""
import os
import re
import subprocess

SKIP_DIRS = {".git", "build", "build-aux", "autom4te.cache", "__pycache__",
             "corpus"}
# What autogen.sh makes.
MADE = {"aclocal.m4", "configure", "Makefile.in", "config.h.in"}


class Tree:
    def __init__(self, builddir):
        here = os.path.dirname(os.path.abspath(__file__))
        self.builddir = os.path.abspath(builddir)
        self.top = os.path.dirname(os.path.dirname(here))
        os.chdir(self.top)
        self.all = sorted(self._walk())
        self._text = {}

    @staticmethod
    def _walk():
        for base, dirs, files in os.walk("."):
            dirs[:] = [d for d in dirs if d not in SKIP_DIRS
                       and not re.match(r"abided-\d", d)]
            for name in files:
                if name in MADE:
                    continue
                yield os.path.normpath(os.path.join(base, name))

    def files(self, *ends, under=()):
        """Paths that end so and, if given, lie under one of the folders."""
        return [p for p in self.all if p.endswith(tuple(ends))
                and (not under or p.startswith(tuple(under)))]

    def text(self, path):
        if path not in self._text:
            with open(path, encoding="utf-8") as f:
                self._text[path] = f.read()
        return self._text[path]

    def lines(self, path):
        return self.text(path).split("\n")

    def code(self, path):
        """The text with comments, strings and characters blanked out; line
        and column of all else stay."""
        def blank(m):
            return re.sub(r"[^\n]", " ", m.group(0))
        return re.sub(
            r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'",
            blank, self.text(path), flags=re.S)


def command(argv, **kw):
    """Runs a tool; its status and the lines that it wrote."""
    done = subprocess.run(argv, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True,
                          errors="replace", **kw)
    return done.returncode, done.stdout.splitlines()
