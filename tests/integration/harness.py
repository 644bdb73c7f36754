# SPDX-License-Identifier: MIT
"""The daemon under test, and what must hold after every test.

A Case starts daemons, origins and clients; at its end it closes them in order
and then demands of each daemon that it still runs, that its descriptors are
back to the base line, that SIGTERM ends it with 0, and that its log has no
report of a sanitizer and no "never" line.

Ports are the kernel's choice; readiness is read from the log. Nothing sleeps
to let others catch up: eventually() and wait_log() wait for a fact, and fail
after PATIENCE.
"""
import collections
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from origin import Origin
from tls import secure
from wire import PATIENCE, Wire

BUILDDIR = os.environ.get("ABIDED_BUILDDIR", ".")
ABIDED = os.path.join(BUILDDIR, "abided")
ABIDE_ORIGIN = os.path.join(BUILDDIR, "abide-origin")

# Own waits so short that no test needs to be patient for them; hints are as
# long as a test makes them.
QUICK = {"base_delay": "10ms", "max_delay": "40ms", "jitter": "0"}

BAD_WORDS = re.compile(r"AddressSanitizer|LeakSanitizer|ThreadSanitizer|"
                       r"runtime error:|\bnever: |Assertion|Sanitizer:")


def reduced(what):
    """Marks a class or test for the short run (ThreadSanitizer)."""
    what.reduced = True
    return what


def eventually(fact, what, patience=PATIENCE):
    """Waits until fact() is true; returns what it was."""
    end = time.monotonic() + patience
    while True:
        value = fact()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("never came true: %s (%r)" % (what, value))
        time.sleep(0.005)


def build_has(*words):
    """Whether one of these is in the program: what kind of build it is."""
    with open(ABIDED, "rb") as f:
        blob = f.read()
    return any(word.encode() in blob for word in words)


def is_sanitized():
    """A build that runs several times slower, and needs more memory."""
    return build_has("__asan_init", "__tsan_init")


# What a machine may have set that is not a test's: whom to trust, above all.
FOREIGN = {"ABIDED_SET", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
           "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
           "NODE_EXTRA_CA_CERTS", "OPENSSL_CONF"}


def clean_env(extra=None):
    env = {k: v for k, v in os.environ.items()
           if not k.lower().endswith("_proxy") and k not in FOREIGN}
    # The quarantine keeps freed memory: a small one lets tests of memory
    # tell growth from habit.
    env["ASAN_OPTIONS"] = "quarantine_size_mb=4:detect_leaks=1"
    env["UBSAN_OPTIONS"] = "print_stacktrace=1"
    env["TSAN_OPTIONS"] = "exitcode=66:suppressions=" + os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "tsan.supp")
    env.update(extra or {})
    return env


def config(proxy=None, defaults=None, dns=None, services=None, tls=None):
    """The text of a configuration. A list value becomes repeated keys."""
    text = []
    own = {"listen": "127.0.0.1:0", "workers": "2",
           "allow_destinations": "127.0.0.0/8, ::1/128",
           "connect_ports": "*", "drain_timeout": "10s"}
    own.update(proxy or {})
    sections = [("proxy", own), ("defaults", {**QUICK, **(defaults or {})})]
    for name, keys in (("dns", dns), ("tls", tls)):
        if keys:
            sections.append((name, keys))
    for name, keys in (services or {}).items():
        sections.append(("service " + name, keys))
    for name, keys in sections:
        text.append("[%s]" % name)
        for key, values in keys.items():
            for value in values if isinstance(values, list) else [values]:
                text.append("%s = %s" % (key, value))
    return "\n".join(text) + "\n"


class Log:
    """Lines of a file that a program writes, as they come.

    A file and not a pipe: a pipe that is full for a moment loses lines of
    abided, which never waits for who reads its log.
    """

    def __init__(self, path, proc):
        self.lines = []
        self.ended = False              # all there will be has been read
        self.changed = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True,
                                        args=(path, proc))
        self._thread.start()

    def _read(self, path, proc):
        part = ""
        with open(path, encoding="utf-8", errors="replace") as f:
            while not self.ended:
                last = proc.poll() is not None
                part += f.read()
                *whole, part = part.split("\n")
                if whole or last:
                    with self.changed:
                        self.lines += whole
                        self.ended = last
                        self.changed.notify_all()
                else:
                    time.sleep(0.002)

    def join(self):
        """Until all is read that the program, which has ended, has left."""
        self._thread.join(PATIENCE)

    def matching(self, pattern):
        with self.changed:
            return [m for m in (re.search(pattern, s) for s in self.lines)
                    if m]

    def wait(self, pattern, count=1, patience=PATIENCE):
        """The count-th line that matches, as a match."""
        found = []

        def ready():
            found[:] = [m for m in (re.search(pattern, s)
                                    for s in self.lines) if m]
            return len(found) >= count or self.ended
        with self.changed:
            self.changed.wait_for(ready, patience)
        if len(found) < count:
            raise AssertionError("the log has %d of %d lines /%s/:\n%s" % (
                len(found), count, pattern, "\n".join(self.lines[-40:])))
        return found[count - 1]


def fields_of(line):
    """A log line as a dict; its first word behind the level is "msg"."""
    if line.startswith("{"):
        return json.loads(line)
    when, level, msg, rest = (line + " ").split(" ", 3)
    out = {"time": when, "level": level, "msg": msg}
    for name, quoted, bare in re.findall(
            r'([\w-]+)=(?:"((?:[^"\\]|\\.)*)"|(\S*))', rest):
        out[name] = quoted or bare
    return out


class Daemon:
    """A running abided."""

    def __init__(self, folder, text, args=(), env=None, before=None):
        self.folder = folder
        self.conf = os.path.join(folder, "abided.conf")
        self.write(text)
        # Beside the folder, where spill files are looked for.
        path = folder + ".log"
        with open(path, "ab") as f:
            self.proc = subprocess.Popen(
                [ABIDED, "-c", self.conf, *args], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=f, preexec_fn=before,
                env=clean_env({"TMPDIR": folder, **(env or {})}))
        self.pid = self.proc.pid
        self.log = Log(path, self.proc)
        eventually(lambda: self.log.matching(r"\bready: ")
                   or not self.alive(), "abided is ready")
        if not self.alive():
            self.log.join()
            raise AssertionError("abided does not start:\n" +
                                 "\n".join(self.log.lines))
        self.at = []                    # (host, port) or a path, per listener
        for m in self.log.matching(
                r"listening on (unix:|tls:|transparent:)?([^\s\"]+)"):
            if m.group(1) == "unix:":
                self.at.append(m.group(2))
                continue
            host, _, port = m.group(2).rpartition(":")
            self.at.append((host.strip("[]"), int(port)))
        self.base_fds = self.fds()
        self.code = None

    def write(self, text):
        with open(self.conf, "w", encoding="utf-8") as f:
            f.write(text)

    @property
    def port(self):
        return self.at[0][1]

    @property
    def url(self):
        """For HTTP_PROXY; nothing for a unix socket."""
        if isinstance(self.at[0], str):
            return ""
        return "http://%s:%d" % self.at[0]

    def fds(self):
        return len(os.listdir("/proc/%d/fd" % self.pid))

    def memory(self, name="VmRSS"):
        """Resident memory in bytes: now, or VmHWM: the most there was."""
        with open("/proc/%d/status" % self.pid, encoding="ascii") as f:
            return int(re.search(name + r":\s+(\d+)", f.read()).group(1)) << 10

    def peak(self):
        return self.memory("VmHWM")

    def signal(self, number):
        os.kill(self.pid, number)

    def alive(self):
        return self.proc.poll() is None

    def wait_log(self, pattern, count=1):
        return self.log.wait(pattern, count)

    def records(self, msg="request"):
        """The lines about requests so far, as dicts."""
        return [fields_of(s) for s in list(self.log.lines)
                if re.search(r" info %s |\"msg\":\"%s\"" % (msg, msg), s)]

    def wait_records(self, n, msg="request"):
        self.log.wait(r" info %s |\"msg\":\"%s\"" % (msg, msg), n)
        return self.records(msg)

    def wait_parked(self, n=1):
        """Until n requests have been parked, ever."""
        return self.wait_records(n, "park")

    def wait_exit(self):
        self.code = self.proc.wait(PATIENCE)
        self.log.join()
        return self.code

    def kill(self):
        if self.alive():
            self.proc.kill()
        self.proc.wait(PATIENCE)
        self.log.join()


class Client(Wire):
    """A client's connection to a proxy."""

    def __init__(self, where, source=None):
        if isinstance(where, str):
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(PATIENCE)
            sock.connect(where)
        else:
            sock = socket.create_connection(
                where, PATIENCE, (source, 0) if source else None)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().__init__(sock)

    def ask(self, method, url, *fields, body=None, version="HTTP/1.1",
            host=True):
        """Sends a request. A body has Content-Length."""
        lines = ["%s %s %s" % (method, url, version)]
        if host and not any(f.lower().startswith("host:") for f in fields):
            authority = re.match(r"(?:https?://)?([^/?]*)", url).group(1)
            lines.append("Host: " + (authority or "localhost"))
        lines += fields
        if body is not None:
            lines.append("Content-Length: %d" % len(body))
        self.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") +
                  (body or b""))

    def get(self, url, *fields, method="GET", **kw):
        self.ask(method, url, *fields, **kw)
        return self.response(method)

    def open_tunnel(self, authority):
        """CONNECT; the answer, whatever it is."""
        return self.get(authority, method="CONNECT")

    def secure(self, context, name=None, **kw):
        """Speaks TLS from here on."""
        return secure(self, context, name=name, **kw)


class Case(unittest.TestCase):
    """A test with daemons, origins and clients that end with it."""

    maxDiff = 2000

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="abided-test-")
        self.daemons, self.origins, self.clients = [], [], []
        self.procs = []
        self.addCleanup(self.end)       # also where a setUp goes wrong

    # --- the cast ---

    def daemon(self, proxy=None, defaults=None, dns=None, services=None,
               tls=None, text=None, **kw):
        folder = tempfile.mkdtemp(dir=self.folder)
        if text is None:
            text = config(proxy, defaults, dns, services, tls)
        d = Daemon(folder, text, **kw)
        self.daemons.append(d)
        return d

    def origin(self, *answers, **kw):
        """An origin that gives these answers, one per request."""
        return self.keep(Origin.script(*answers, **kw))

    def serving(self, fn, **kw):
        return self.keep(Origin.serving(fn, **kw))

    def raw_origin(self, fn, **kw):
        return self.keep(Origin(fn, **kw))

    def keep(self, origin):
        self.origins.append(origin)
        return origin

    def connect(self, daemon, n=0, **kw):
        c = Client(daemon.at[n] if isinstance(daemon, Daemon) else daemon,
                   **kw)
        self.clients.append(c)
        return c

    def get(self, daemon, url, *fields, **kw):
        """One request on a connection of its own."""
        c = self.connect(daemon)
        try:
            return c.get(url, *fields, **kw)
        finally:
            c.close()

    def abide_origin(self, *args):
        """A running abide-origin; its URL."""
        path = os.path.join(self.folder, "origin.log")
        with open(path, "ab") as f:
            proc = subprocess.Popen(
                [ABIDE_ORIGIN, "--listen", "127.0.0.1:0", *args], stdout=f,
                stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT,
                env=clean_env())
        log = Log(path, proc)
        self.procs.append((proc, log))
        return "http://" + log.wait(r"^listening on (\S+)").group(1)

    def run_abided(self, *args, env=None):
        """abided to its end; what it printed is in stdout."""
        return subprocess.run(
            [ABIDED, *args], stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=PATIENCE, env=clean_env(env), check=False)

    # --- the end ---

    def end(self):
        faults = []
        for c in self.clients:
            c.close()
        for o in self.origins:
            o.close()
            faults += ["origin: %r" % f for f in o.faults]
        for proc, log in self.procs:
            self.end_origin(proc, log, faults)
        for d in self.daemons:
            try:
                self.end_daemon(d, faults)
            finally:
                d.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        if faults or self.has_failed():
            self.tell()
        self.assertEqual([], faults)

    def has_failed(self):
        result = self._outcome.result   # pylint: disable=protected-access
        return any(getattr(t, "test_case", t) is self
                   for t, _ in result.failures + result.errors)

    def end_daemon(self, d, faults):
        if d.code is not None:
            self.check_log(d, faults)
            return                      # the test has ended it itself
        if not d.alive():
            d.log.join()
            faults.append("abided has died: %r" % d.proc.poll())
            self.check_log(d, faults)
            return
        try:
            eventually(lambda: d.fds() <= d.base_fds, "descriptors are back")
        except AssertionError:
            faults.append("descriptors: %d, at the start %d: %s" % (
                d.fds(), d.base_fds, collections.Counter(
                    re.sub(r"\d+", "N", x) for x in self.list_fds(d))))
        d.signal(signal.SIGTERM)
        try:
            if d.wait_exit() != 0:
                faults.append("abided ended with %r" % d.code)
        except subprocess.TimeoutExpired:
            faults.append("SIGTERM does not end abided")
            d.kill()
        self.check_log(d, faults)

    @staticmethod
    def list_fds(d):
        out = []
        for fd in os.listdir("/proc/%d/fd" % d.pid):
            try:
                out.append(os.readlink("/proc/%d/fd/%s" % (d.pid, fd)))
            except OSError:
                pass
        return out

    @staticmethod
    def check_log(d, faults):
        for line in d.log.lines:
            if BAD_WORDS.search(line):
                faults.append("the log says: " + line)
                break

    @staticmethod
    def end_origin(proc, log, faults):
        proc.terminate()
        try:
            code = proc.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            proc.kill()
            code = proc.wait(PATIENCE)
        log.join()
        if code != 0:
            faults.append("abide-origin ended with %r: %s" % (
                code, log.lines[-20:]))

    def tell(self):
        for d in self.daemons:
            print("--- log of abided %d in %s" % (d.pid, self.id()),
                  file=sys.stderr)
            for line in d.log.lines[-25:]:
                print("  | " + line[:200], file=sys.stderr)

    # --- what nearly every test asserts ---

    def assert_status(self, status, resp):
        self.assertEqual(status, resp.status, "%s: %r" % (
            resp.says, resp.body[:300]))

    def assert_reason(self, reason, resp):
        self.assertRegex(resp.says, r"\breason=%s\b" % re.escape(reason))

    def assert_own(self, status, reason, resp):
        """An answer that abided made itself: never a blank page."""
        self.assert_status(status, resp)
        self.assertEqual("application/problem+json", resp.get("Content-Type"))
        doc = json.loads(resp.body)
        self.assertEqual(status, doc["status"])
        self.assertTrue(doc["title"])
        if reason:
            self.assertEqual(reason, doc["reason"])
        return doc
