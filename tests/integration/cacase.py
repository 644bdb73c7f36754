# SPDX-License-Identifier: MIT
"""A folder with a CA in it, and abidectl."""
import os
import shutil
import stat
import subprocess
import tempfile
import unittest

from harness import clean_env
from tls import openssl
from tlscase import ABIDECTL
from wire import PATIENCE

CONF = """
[tls]
ca_cert = {0}/ca.pem
ca_key = {0}/ca.key
[service api]
hosts = api.test, *.wild.test:8443
tls = intercept
[service plain]
hosts = plain.test
tls = originate
[service bank]
hosts = bank.test
tls = tunnel
"""


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


class Authority(unittest.TestCase):
    """A folder for files, and abidectl."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="abided-ca-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.cert, self.key = self.path("ca.pem"), self.path("ca.key")
        self.conf = self.write("abided.conf", CONF.format(self.folder))
        self.empty = self.write("empty.conf", "")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def files(self):
        return sorted(set(os.listdir(self.folder)) -
                      {"abided.conf", "empty.conf"})

    def ctl(self, *args, code=0, umask=0o022, env=None, **kw):
        """Runs abidectl; stdout and stderr as one text."""
        done = subprocess.run(
            [ABIDECTL, *args], stdin=subprocess.DEVNULL, text=True,
            stdout=kw.pop("stdout", subprocess.PIPE), cwd=self.folder,
            stderr=subprocess.STDOUT, timeout=PATIENCE, umask=umask,
            env=clean_env(env), check=False, **kw)
        self.assertEqual(code, done.returncode, done.stdout)
        return done.stdout or ""

    def ca(self, command, *args, **kw):
        """A command about the CA of this folder, without a configuration."""
        return self.ctl("ca", command, "-c", self.empty, "--cert", self.cert,
                        "--key", self.key, *args, **kw)

    def init(self, *hosts, args=(), **kw):
        for host in hosts:
            args = (*args, "--host", host)
        return self.ca("init", *args, **kw)

    def fact(self, *what, path=None):
        return openssl("x509", "-noout", "-in", path or self.cert,
                       *what).strip()
