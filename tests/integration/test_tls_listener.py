# SPDX-License-Identifier: MIT
"""A proxy that is itself spoken to over TLS: listen = tls:HOST:PORT."""
import os
import ssl
import subprocess
import unittest

from harness import clean_env, reduced
from origin import answer, throttled
from test_clients import need
from tls import (Leaf, TLS11, TLS12, TLS13, TlsSocket, client_context, pki,
                 secure)
from tlscase import API, TlsCase, own_ca
from wire import Cut, Malformed, PATIENCE, Reset, noise

PROXY = "proxy.test"


class ListenerCase(TlsCase):
    def listening(self, services=None, tls=None, leaf=None, **kw):
        """A daemon with a plain listener and, in at[1], one with TLS."""
        leaf = leaf or self.pki.leaf(PROXY, "127.0.0.1")
        proxy = {"listen": "127.0.0.1:0, tls:127.0.0.1:0",
                 **kw.pop("proxy", {})}
        return self.secure_daemon(services, {
            "listen_cert": leaf.cert, "listen_key": leaf.key, **(tls or {})},
            proxy=proxy, **kw)

    def intercepting_too(self):
        cert, key = own_ca(API)
        d = self.listening({"api": {"hosts": API, "tls": "intercept"}},
                           {"ca_cert": cert, "ca_key": key})
        d.ca = cert
        return d

    def over_tls(self, d, context=None, name=PROXY, **kw):
        """A client whose connection to the proxy is secure."""
        return self.connect(d, 1).secure(
            context or client_context(self.pki.ca), name, **kw)


class Listener(ListenerCase):
    @reduced
    def test_requests_of_each_kind(self):
        o = self.origin(throttled(), answer(200, "x"))
        s = self.secure_origin(answer(200, "y"))
        d = self.listening()
        c = self.over_tls(d, client_context(self.pki.ca, alpn=(
            "h2", "http/1.1")))
        self.assertEqual("http/1.1", c.sock.alpn)
        self.assertEqual(b"x", c.get(o.url()).body)
        self.assertEqual(b"y", c.get(s.url()).body)
        self.assertEqual(b"x", c.get(o.url()).body)
        self.assert_status(200, self.get(d, o.url()))   # the plain one
        self.assertEqual("127.0.0.1", d.wait_records(4)[0]["client"])

    @reduced
    def test_a_tunnel_within(self):
        """TLS in TLS: the inner one is the origin's."""
        o = self.secure_origin(throttled("Retry-After: 9"))
        d = self.listening()
        self.assertTrue(d.log.matching(r"listening on tls:127\.0\.0\.1:\d+$"))
        c = self.over_tls(d)
        self.assert_status(200, c.open_tunnel(o.authority))
        secure(c, client_context(self.pki.ca), name=API)
        self.assert_status(429, c.get("/", "Host: " + o.authority))

    @reduced
    def test_an_intercepted_connection_within(self):
        """TLS in TLS: both are ours."""
        up, down = noise(2 << 20, 1), noise(3 << 20, 2)

        def script(conn, req, n):
            conn.send(throttled() if n == 1 else answer(
                200, down if req.body == up else "no"))
        o = self.secure_serving(script)
        d = self.intercepting_too()
        c = self.over_tls(d)
        self.assert_status(200, c.open_tunnel(o.authority))
        secure(c, client_context(d.ca), name=API)
        r = c.get("/", "Host: " + o.authority, method="PUT", body=up)
        self.assertEqual(down, r.body)
        self.assertEqual(2, len(o.requests))
        # Both sessions end in order.
        r = c.get("/", "Host: " + o.authority, "Connection: close")
        self.assertTrue(c.at_end())
        self.assertTrue(c.sock.closed)
        self.assertEqual(b"", c.sock.sock.recv(1))
        self.assertTrue(c.sock.sock.closed)

    def test_hello_of_the_inner_session_along_with_connect(self):
        o, d = self.secure_origin(answer(200, "x")), self.intercepting_too()
        c = self.over_tls(d)
        inner = TlsSocket(c.sock, client_context(d.ca), name=API)
        with self.assertRaises(ssl.SSLWantReadError):
            inner.tls.do_handshake()
        c.send(b"CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n" %
               o.authority.encode() + inner.take())
        self.assert_status(200, c.response("CONNECT"))
        inner.put(bytes(c.buf))
        c.buf.clear()
        c.sock = inner
        inner.handshake()
        self.assertEqual(b"x", c.get("/", "Host: " + o.authority).body)

    def test_versions_and_resumption(self):
        o, d = self.origin(answer(200, "x")), self.listening()
        for version in (TLS12, TLS13):
            context = client_context(self.pki.ca, highest=version)
            c = self.over_tls(d, context)
            self.assertEqual(b"x", c.get(o.url()).body)
            c = self.over_tls(d, context, session=c.sock.session)
            self.assertTrue(c.sock.reused)
            self.assertEqual(b"x", c.get(o.url()).body)
        with self.assertRaisesRegex(ssl.SSLError, "PROTOCOL_VERSION"):
            self.over_tls(d, client_context(self.pki.ca, highest=TLS11))

    def test_plain_http_is_no_way_in(self):
        o, d = self.origin(answer(200)), self.listening()
        for method in ("GET", "POST", "CONNECT"):
            c = self.connect(d, 1)
            r = c.get(o.authority if method == "CONNECT" else o.url(),
                      method=method)
            self.assert_own(400, "client-tls", r)
            self.assertTrue(c.at_end())
            self.assertIn(b"https://", r.body)
        c = self.connect(d, 1)
        c.ask("OPTIONS", o.url())       # OpenSSL does not know it by sight
        with self.assertRaises((Cut, Malformed)):
            c.response()
        self.assertEqual([], o.conns)
        d.wait_log("reason=client-tls")

    def test_silence_ends(self):
        d = self.listening(defaults={"head_timeout": "150ms"})
        for first in (b"", b"\x16\x03\x01"):
            c = self.connect(d, 1)
            c.send(first)
            try:
                self.assertEqual(b"", c.rest())
            except Reset:
                pass
        c = self.over_tls(d)            # nothing behind the handshake
        self.assertTrue(c.at_end())

    def test_a_client_that_leaves_while_parked(self):
        o = self.origin(throttled("Retry-After: 20"))
        d = self.listening()
        for n, leave in enumerate(("close", "reset", "cut"), 1):
            c = self.over_tls(d)
            c.ask("GET", o.url())
            d.wait_parked(n)
            getattr(c, leave)()
            self.assertEqual("client-gone", d.wait_records(n)[-1]["reason"])
        self.assertEqual(1, len(o.requests))

    def test_bulk_with_a_slow_reader(self):
        big = noise(16 << 20)
        o = self.origin(answer(200, big))
        d = self.listening()
        c = self.over_tls(d)
        c.ask("GET", o.url())
        self.assertEqual(big, c.response().body)

    def test_a_new_certificate_comes_with_a_reload(self):
        leaf = self.pki.leaf(PROXY)
        cert, key = (os.path.join(self.folder, n) for n in ("c", "k"))
        self.copy(leaf.cert, cert)
        self.copy(leaf.key, key)
        o, d = self.origin(answer(200, "x")), self.listening(
            leaf=Leaf(cert, key), proxy={"workers": "1"})
        old = self.over_tls(d)
        self.assertEqual(b"x", old.get(o.url()).body)
        other = pki("Unknown CA").leaf(PROXY)
        self.copy(other.cert, cert)
        self.copy(other.key, key)
        with open(d.conf, encoding="ascii") as f:
            self.reload(d, f.read())
        self.assertEqual(b"x", old.get(o.url()).body)
        c = self.over_tls(d, client_context(pki("Unknown CA").ca))
        self.assertEqual(b"x", c.get(o.url()).body)

    @staticmethod
    def copy(path, to):
        with open(path, "rb") as f:
            data = f.read()
        fd = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(fd, "wb") as f:
            f.write(data)

    def test_a_crowd(self):
        o = self.serving(lambda conn, req, n: conn.answer(200, req.target))
        d, crowd = self.listening(), []
        context = client_context(self.pki.ca)
        for n in range(100):
            c = self.connect(d, 1)
            c.sock = TlsSocket(c.sock, context, name=PROXY)
            with self.assertRaises(ssl.SSLWantReadError):
                c.sock.tls.do_handshake()
            c.sock.fly()
            crowd.append(c)
        for n, c in enumerate(crowd):
            c.sock.handshake()
            c.ask("GET", o.url("/%d" % n))
        for n, c in enumerate(crowd):
            self.assertEqual(b"/%d" % n, c.response().body)


class Programs(ListenerCase):
    def run_it(self, *argv):
        return subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            timeout=PATIENCE, check=True, env=clean_env()).stdout

    @need("curl")
    def test_curl(self):
        plain, tls = self.origin(throttled(), answer(200, "x")), \
            self.secure_origin(throttled(), answer(200, "y"))
        d = self.intercepting_too()
        proxy = ("-x", "https://127.0.0.1:%d" % d.at[1][1],
                 "--proxy-cacert", self.pki.ca)
        self.assertEqual(b"x", self.run_it("curl", "-sSf", *proxy,
                                           plain.url()))
        self.assertEqual(b"y", self.run_it("curl", "-sSf", *proxy,
                                           "--cacert", d.ca, tls.url()))


if __name__ == "__main__":
    unittest.main()
