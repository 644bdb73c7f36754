# SPDX-License-Identifier: MIT
"""parent_proxy with proxies that others have written, where installed."""
import os
import shutil
import signal
import socket
import subprocess
import unittest

from harness import clean_env, eventually
from origin import answer, throttled
from proxies import basic
from tls import openssl
from tlscase import TlsCase
from wire import PATIENCE, noise

USER, PASSWORD = "abided", "s3cret"
NCSA = "/usr/lib/squid/basic_ncsa_auth"


def free_port():
    """These programs can't say which one they were given."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), PATIENCE).close()
        return True
    except OSError:
        return False


class RealCase(TlsCase):
    """What any proxy must be good for."""

    program = None

    def setUp(self):
        super().setUp()
        if not self.program or not shutil.which(self.program):
            self.skipTest("%s is not installed" % self.program)
        self.port = free_port()
        self.proc = self.start(*self.command())
        self.addCleanup(self.stop)
        eventually(lambda: answers(self.port) or self.proc.poll() is not None,
                   self.program + " answers")
        self.assertIsNone(self.proc.poll(), "%s has ended" % self.program)

    def command(self):
        raise NotImplementedError

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def start(self, *args):
        return subprocess.Popen(args, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, env=clean_env())

    def stop(self):
        self.proc.send_signal(signal.SIGTERM)
        try:
            self.proc.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()

    def behind(self, password=PASSWORD, services=None):
        return self.secure_daemon(services, defaults={
            "parent_proxy": "http://%s:%s@127.0.0.1:%d" % (
                USER, password, self.port)})

    def test_plain_requests(self):
        o = self.origin(throttled("Retry-After: 1"), answer(200, "x"))
        d = self.behind()
        body = noise(100000)
        for method, kw in (("GET", {}), ("PUT", {"body": body})):
            r = self.get(d, o.url("/a?b=c"), method=method, **kw)
            self.assertEqual((200, b"x"), (r.status, r.body))
        self.assertEqual(["/a?b=c"] * 3, [q.target for q in o.requests])
        self.assertEqual(body, o.requests[-1].body)
        for q in o.requests:
            self.assertFalse(q.has("Proxy-Authorization"))

    def test_tunnels(self):
        def echo(conn):
            while conn.more():
                conn.send(bytes(conn.buf))
                conn.buf.clear()
        o = self.raw_origin(echo)
        c = self.tunnel(self.behind(), o.authority)
        c.send(b"abcdef")
        self.assertEqual(b"abcdef", c.exactly(6))

    def test_requests_over_tls(self):
        o = self.secure_origin(throttled("Retry-After: 1"), answer(200, "x"),
                               name="127.0.0.1")
        r = self.get(self.behind(), o.url("/y"))
        self.assertEqual((200, b"x"), (r.status, r.body))
        self.assertEqual(["/y"] * 2, [q.target for q in o.requests])

    def test_wrong_credentials(self):
        o = self.origin(answer(200))
        d = self.behind("wrong")
        self.refused(self.get(d, o.url()),
                     self.get(d, o.authority, method="CONNECT"))
        self.assertNotIn(basic(USER, "wrong")[6:],
                         "\n".join(d.log.lines))
        self.assertEqual([], o.conns)

    def refused(self, plain, tunnel):
        doc = self.assert_own(502, "parent-proxy", plain)
        self.assertEqual(407, doc["received_status"])
        self.assert_own(407, "parent-proxy", tunnel)
        self.assertRegex(tunnel.all("Proxy-Authenticate")[0], "^Basic")

    def test_nobody_listens_behind_it(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            r = self.get(self.behind(), "127.0.0.1:%d" % s.getsockname()[1],
                         method="CONNECT")
        self.assertIn(r.status, (500, 502, 503))
        self.assert_own(r.status, "parent-proxy", r)


class Tinyproxy(RealCase):
    program = "tinyproxy"

    def command(self):
        return self.program, "-d", "-c", self.file("tinyproxy.conf", """
Port %d
Listen 127.0.0.1
Timeout 60
MaxClients 50
Allow 127.0.0.1
BasicAuth %s %s
""" % (self.port, USER, PASSWORD))

    def refused(self, plain, tunnel):
        """It has a 401 for wrong ones, as if it were the server."""
        self.assertEqual(401, plain.status)
        self.assert_own(401, "parent-proxy", tunnel)


class Squid(RealCase):
    program = "squid"

    def command(self):
        users = self.file("users", "%s:%s\n" % (
            USER, openssl("passwd", "-apr1", PASSWORD).strip()))
        os.chmod(self.folder, 0o755)    # it gives up root's rights
        os.chmod(users, 0o644)
        return self.program, "-N", "-f", self.file("squid.conf", """
http_port 127.0.0.1:%d
auth_param basic program %s %s
auth_param basic realm here
acl known proxy_auth REQUIRED
http_access allow known
http_access deny all
cache deny all
cache_mem 8 MB
access_log none
cache_log /dev/null
pid_filename none
netdb_filename none
coredump_dir /tmp
pinger_enable off
shutdown_lifetime 0 seconds
visible_hostname parent.test
""" % (self.port, NCSA, users))


del RealCase    # it is no test itself


if __name__ == "__main__":
    unittest.main()
