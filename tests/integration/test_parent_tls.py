# SPDX-License-Identifier: MIT
"""parent_proxy and TLS: the handshake is with the server, through a tunnel
that the other proxy is asked for."""
import socket
import unittest

from harness import eventually, reduced
from origin import answer, throttled
from proxies import ESTABLISHED, basic, dial, join, tunnels
from tls import client_context
from tlscase import API, WWW, TlsCase
from wire import PATIENCE, noise

AUTH = "Proxy-Authorization"


class ParentTls(TlsCase):
    def behind(self, parent, service=None, user="me:s3cret@", **kw):
        """A daemon that speaks TLS to API for plain clients, through that
        parent."""
        return self.originating(service={
            "parent_proxy": "http://%s%s" % (user, parent.authority),
            **(service or {})}, **kw)

    def plain_url(self, origin, path="/"):
        return "http://%s%s" % (origin.authority, path)

    @reduced
    def test_a_429_inside_is_absorbed(self):
        o = self.secure_origin(throttled("Retry-After: 1"), answer(200, "x"))
        p = self.raw_origin(tunnels)
        d = self.behind(p, proxy={"workers": "1", "log_level": "debug"})
        r = self.get(d, self.plain_url(o, "/a?b"))
        self.assert_status(200, r)
        self.assertEqual(["/a?b"] * 2, [q.target for q in o.requests])
        # The tunnel that is open serves again.
        self.assertEqual(1, len(p.requests))
        req = p.requests[0]
        self.assertEqual("CONNECT %s HTTP/1.1" % o.authority, req.start)
        self.assertEqual(o.authority, req.get("Host"))
        self.assertEqual(basic("me", "s3cret"), req.get(AUTH))
        self.assertRegex(req.get("Via"), "^1.1 abided")
        for q in o.requests:
            self.assertFalse(q.has(AUTH))
            self.assertEqual(o.authority, q.get("Host"))
        record = d.wait_records(1)[0]
        self.assertEqual(("https", p.authority),
                         (record["scheme"], record["parent"]))
        words = "\n".join(d.log.lines)
        self.assertNotIn("s3cret", words)
        self.assertNotIn(basic("me", "s3cret")[6:], words)

    def test_nothing_of_a_request_is_in_its_connect(self):
        o = self.secure_origin(answer(200))
        p = self.raw_origin(tunnels)
        d = self.behind(p)
        self.assert_status(200, self.get(
            d, self.plain_url(o, "/secret"), "Authorization: Bearer t",
            "Cookie: a=b", "X-Key: k"))
        self.assertEqual({"Host", "Via", AUTH},
                         {f[0] for f in p.requests[0].fields})
        self.assertNotIn(b"/secret", p.requests[0].raw)

    def test_https_targets(self):
        o = self.secure_origin(answer(200, "x"))
        p = self.raw_origin(tunnels)
        d = self.secure_daemon(defaults={
            "parent_proxy": "http://" + p.authority})
        self.assertEqual(b"x", self.get(d, o.url()).body)
        self.assertEqual(o.authority, p.requests[0].target)

    @reduced
    def test_intercepted_requests(self):
        o = self.secure_origin(throttled(), answer(200, "x"))
        p = self.raw_origin(tunnels)
        d = self.intercepting(service={
            "parent_proxy": "http://a:b@" + p.authority})
        c = self.inside(d, o)
        for _ in range(2):
            self.assertEqual(b"x", c.get("/y", "Host: " + o.authority).body)
        self.assertEqual([basic("a", "b")],
                         [q.get(AUTH) for q in p.requests])
        self.assertEqual(["/y"] * 3, [q.target for q in o.requests])

    def test_a_tunnel_is_not_intercepted(self):
        """tls = tunnel: the handshake is the client's own."""
        o = self.secure_origin(answer(200, "x"))
        p = self.raw_origin(tunnels)
        d = self.daemon(defaults={"parent_proxy": "http://" + p.authority})
        c = self.connect(d)
        self.assert_status(200, c.open_tunnel(o.authority))
        c.secure(client_context(self.pki.ca), API)
        self.assertEqual(b"x", c.get("/y", "Host: " + o.authority).body)

    def test_bodies(self):
        big = noise(3 << 20)

        def echo(conn, req, _n):
            conn.answer(200, req.body)
        o = self.secure_serving(echo)
        p = self.raw_origin(tunnels)
        r = self.get(self.behind(p), self.plain_url(o), method="POST",
                     body=big)
        self.assertEqual(big, r.body)

    def test_another_server_has_another_tunnel(self):
        o = self.secure_origin(answer(200), leaf=self.pki.leaf(API, WWW))
        p = self.raw_origin(tunnels)
        d = self.behind(p, services={"www": {
            "hosts": WWW, "tls": "originate",
            "parent_proxy": "http://" + p.authority}},
                        proxy={"workers": "1"})
        c = self.connect(d)
        for name in (API, WWW, API, WWW):
            self.assert_status(200, c.get("http://%s:%d/" % (name, o.port)))
        self.assertEqual(["%s:%d" % (n, o.port) for n in (API, WWW)],
                         [q.target for q in p.requests])

    def test_the_certificate_is_the_servers(self):
        o = self.secure_origin(answer(200), leaf=self.pki.leaf(WWW))
        p = self.raw_origin(tunnels)
        d = self.behind(p)
        self.assert_own(502, "tls-certificate",
                        self.get(d, self.plain_url(o)))
        self.assertEqual(1, len(p.requests))
        self.assertEqual([], o.requests)

    # --- what goes wrong ---

    @reduced
    def test_refusals_of_the_parent(self):
        """C81 for a client that knows of no tunnel."""
        rows = ((429, 429), (503, 503), (504, 504), (407, 502), (403, 502),
                (302, 502), (500, 502))
        for status, want in rows:
            with self.subTest(status=status):
                p = self.origin(answer(status, "no", "Retry-After: 7",
                                       "Proxy-Authenticate: Basic"))
                d = self.behind(p)
                r = self.get(d, "http://%s/" % API)
                doc = self.assert_own(want, "parent-proxy", r)
                self.assertEqual(status, doc["received_status"])
                self.assertIn("received-status=%d" % status, r.says)
                self.assertIn("parent proxy %s answered %d to CONNECT" % (
                    p.authority, status), doc["detail"])
                self.assertEqual("7", r.get("Retry-After"))
                self.assertFalse(r.has("Proxy-Authenticate"))
                self.assertEqual(1, len(p.requests))
                self.assertEqual("CONNECT %s:443 HTTP/1.1" % API,
                                 p.requests[0].start)
                # Nobody is held up by it.
                self.assertEqual(want, self.get(
                    d, "http://%s/" % API).status)
                self.assertEqual(
                    ["0ms"] * 2, [q["waited"] for q in d.wait_records(2)])

    def test_head_has_no_body(self):
        p = self.origin(answer(503))
        r = self.get(self.behind(p), "http://%s/" % API, method="HEAD")
        self.assertEqual((503, b""), (r.status, r.body))

    def test_a_refusal_with_a_body_under_way(self):
        p = self.origin(answer(503))
        d = self.behind(p, {"body_buffer": "1KiB", "body_spill": "0"})
        r = self.get(d, "http://%s/" % API, method="POST",
                     body=noise(300000))
        self.assert_own(503, "parent-proxy", r)

    def test_no_tls_behind_the_200(self):
        def script(conn):
            conn.request()
            conn.send(ESTABLISHED + b"HTTP/1.1 400 Bad\r\n\r\n")
            conn.rest()
        p = self.raw_origin(script)
        self.assert_own(502, "tls-handshake", self.get(
            self.behind(p), "http://%s/" % API))
        self.assertEqual(1, len(p.requests))

    def test_the_tunnel_ends_in_the_handshake(self):
        def script(conn):
            conn.request()
            conn.send(ESTABLISHED)
            conn.exactly(5)
            conn.close()
        p = self.raw_origin(script)
        d = self.behind(p, {"max_retries": "2"})
        self.assert_own(502, "connect-failed", self.get(
            d, "http://%s/" % API))
        self.assertEqual(3, len(p.requests))

    @reduced
    def test_all_of_it_is_within_connect_timeout(self):
        def script(conn):
            conn.request()
            if stalls_at == "connect":
                conn.rest()
                return
            conn.send(ESTABLISHED)
            conn.rest()
        for stalls_at in ("connect", "handshake"):
            p = self.raw_origin(script)
            d = self.behind(p, {"connect_timeout": "100ms",
                                "max_retries": "0"})
            doc = self.assert_own(504, "connect-timeout", self.get(
                d, "http://%s/" % API))
            self.assertIn(p.authority, doc["detail"])
            eventually(p.gone, "the parent is let go")

    def test_a_client_hello_waits_for_the_200(self):
        """Not a byte for the server before the way is open."""
        early = []

        def script(conn):
            req = conn.request()
            conn.sock.settimeout(0.2)
            try:
                early.append(conn.sock.recv(1))
            except socket.timeout:
                pass
            conn.sock.settimeout(PATIENCE)
            with dial(req.target) as s:
                for i in range(len(ESTABLISHED)):
                    conn.send(ESTABLISHED[i:i + 1])
                join(conn, s)
        o = self.secure_origin(answer(200, "x"))
        p = self.raw_origin(script)
        self.assertEqual(b"x", self.get(self.behind(p),
                                        self.plain_url(o)).body)
        self.assertEqual([], early)


if __name__ == "__main__":
    unittest.main()
