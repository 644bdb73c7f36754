# SPDX-License-Identifier: MIT
"""Private keys: who may read them, and where they must not turn up."""
import os
import re
import shutil
import stat
import tempfile
import unittest

from harness import ABIDED, is_sanitized
from origin import answer
from tlscase import API, TlsCase

NOBODY = 65534


def reachable(path):
    """Whether everybody may run this file where it is."""
    while True:
        if not os.stat(path).st_mode & stat.S_IXOTH:
            return False
        if path == "/":
            return True
        path = os.path.dirname(path)


class Keys(TlsCase):
    def copy_of_ca(self, mode):
        cert, key = self.ca_of(API)
        folder = tempfile.mkdtemp(dir=self.folder)
        own = shutil.copy(key, os.path.join(folder, "ca.key"))
        os.chmod(own, mode)
        return cert, own

    def text_with(self, cert, key):
        return self.secure_text(
            {"api": {"hosts": API, "tls": "intercept"}},
            {"ca_cert": cert, "ca_key": key}, proxy={"workers": "1"})

    def file_with(self, text):
        path = os.path.join(self.folder, "abided.conf")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def test_a_key_that_others_can_read_is_refused(self):
        cert, key = self.copy_of_ca(0o644)
        path = self.file_with(self.text_with(cert, key))
        for args, code in ((["-t"], 1), ([], 2)):
            done = self.run_abided(*args, "-c", path)
            self.assertEqual(code, done.returncode, done.stdout)
            self.assertRegex(done.stdout, r"abided\.conf:\d+: ")
            self.assertIn(key, done.stdout)
            self.assertIn("chmod 600", done.stdout)

    def test_a_reload_with_such_a_key_changes_nothing(self):
        cert, key = self.copy_of_ca(0o600)
        o = self.secure_origin(answer(200, "x"))
        d = self.daemon(text=self.text_with(cert, key))
        d.ca = cert
        os.chmod(key, 0o644)
        d.signal(1)
        d.wait_log("the configuration in force stays as it is")
        self.assertEqual(b"x", self.inside(d, o).get(
            "/", "Host: " + o.authority).body)

    def test_core_dumps_are_off_with_a_key_only(self):
        cert, key = self.copy_of_ca(0o600)
        core = r"Max core file size +(\S+) "
        with open("/proc/self/limits", encoding="ascii") as f:
            ours = re.search(core, f.read()).group(1)
        for text, limit in ((self.text_with(cert, key), "0"),
                            (self.secure_text(), ours)):
            d = self.daemon(text=text)
            with open("/proc/%d/limits" % d.pid, encoding="ascii") as f:
                self.assertEqual(limit, re.search(core, f.read()).group(1))

    @unittest.skipIf(is_sanitized(), "a leak checker looks into the process")
    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be somebody else")
    @unittest.skipUnless(reachable(ABIDED), "others can't run this build")
    def test_nobody_looks_into_the_process(self):
        """Not dumpable: files in /proc/PID are root's (proc(5))."""
        cert, key = self.copy_of_ca(0o600)
        for text, owner in ((self.text_with(cert, key), 0),
                            (self.secure_text(), NOBODY)):
            for path in (cert, self.pki.ca, key):
                while path != tempfile.gettempdir():
                    path = os.path.dirname(path)
                    os.chmod(path, os.stat(path).st_mode | 0o055)
            os.chown(key, NOBODY, NOBODY)
            d = self.daemon(text=text, before=self.become_nobody)
            self.assertEqual(owner, os.stat("/proc/%d/maps" % d.pid).st_uid)

    def become_nobody(self):
        for folder, _, files in os.walk(self.folder):
            os.chmod(folder, 0o755)
            for name in files:
                if name == "abided.conf":
                    os.chmod(os.path.join(folder, name), 0o644)
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    def test_no_key_and_no_credentials_in_any_log(self):
        cert, key = self.copy_of_ca(0o600)
        o = self.secure_origin(answer(200, "x", "Set-Cookie: s=c00kie1"))
        d = self.daemon(text=self.text_with(cert, key), args=["-vv"])
        d.ca = cert
        c = self.inside(d, o)
        r = c.get("/q?token=qu3ry", "Host: " + o.authority,
                  "Authorization: Bearer b3arer",
                  "Cookie: a=c00kie2", "Proxy-Authorization: Basic pr0xy")
        self.assert_status(200, r)
        d.wait_records(1)
        log = "\n".join(d.log.lines)
        with open(key, encoding="ascii") as f:
            secrets = [s for s in f.read().split("\n") if s[:5] != "-----"]
        secrets += ["qu3ry", "b3arer", "c00kie", "pr0xy"]
        self.assertEqual([], [s for s in secrets if s and s in log])
        self.assertFalse(o.requests[0].has("Proxy-Authorization"))


if __name__ == "__main__":
    unittest.main()
