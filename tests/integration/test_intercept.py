# SPDX-License-Identifier: MIT
"""TLS behind CONNECT: what is listed is opened, all else is passed on."""
import hashlib
import os
import re
import resource
import signal
import socket
import ssl
import threading
import unittest

from harness import eventually, is_sanitized, reduced
from origin import answer, throttled
from tls import (OpensslProgram, TLS11, TLS12, TLS13, TlsSocket, Trickle,
                 client_context, openssl, secure)
from tlscase import ABIDECTL, API, TlsCase, WWW
from wire import Cut, PATIENCE, Ragged, Reset, noise


def digest(data):
    return hashlib.sha256(data).hexdigest()


class Blind(TlsCase):
    """Hosts that are not listed."""

    def through(self, d, o, **kw):
        return self.inside(d, o, context=client_context(self.pki.ca), **kw)

    @reduced
    def test_429_of_a_host_that_is_not_listed_is_invisible(self):
        """C79."""
        o = self.secure_origin(throttled("Retry-After: 9"), answer(200, "x"))
        d = self.intercepting(WWW)
        c = self.through(d, o)
        self.assertIn("Issuer: CN = Test CA", c.sock.text())
        self.assertEqual(API, o.conns[0].sock.sni)
        r = c.get("/x", "Host: " + API)
        self.assert_status(429, r)
        self.assertFalse(r.has("Via"))
        self.assertEqual(b"x", c.get("/x", "Host: " + API).body)
        c.close()
        self.assertEqual("CONNECT", d.wait_records(1)[0]["method"])

    def test_bulk_passes_both_ways_at_once(self):
        def echo(conn):
            while conn.more():
                conn.send(bytes(conn.buf))
                conn.buf.clear()
        c = self.through(self.secure_daemon(), self.secure_raw(echo))
        data = noise(5 << 20)
        t = threading.Thread(target=c.send, args=(data,), daemon=True)
        t.start()
        self.assertEqual(data, c.exactly(len(data)))
        t.join(PATIENCE)

    def test_the_end_is_the_origins(self):
        ends = {"/clean": lambda conn: None, "/cut": lambda conn: conn.cut()}

        def script(conn):
            ends[conn.request().target](conn)
        d, o = self.secure_daemon(), self.secure_raw(script)
        c = self.through(d, o)
        c.ask("GET", "/clean", "Host: " + API)
        self.assertEqual(b"", c.rest())
        c = self.through(d, o)
        c.ask("GET", "/cut", "Host: " + API)
        self.assertRaises(Ragged, c.rest)

    def test_a_name_that_the_certificate_lacks_is_the_clients_to_refuse(self):
        o = self.secure_origin(answer(200))
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.through(self.secure_daemon(), o, name=WWW)
        eventually(lambda: o.refused, "the origin has its alert")
        self.assertIn("BAD_CERTIFICATE", str(o.refused[0]).upper())

    def test_tunnel_wins_over_a_wildcard(self):
        """For programs that pin their server's certificate."""
        d = self.intercepting("*.wild.test", services={
            "pinned": {"hosts": "a.wild.test", "tls": "tunnel"}})
        context = self.pki.server("*.wild.test")
        for name, issuer in (("a.wild.test", "Test CA"),
                             ("b.wild.test", None)):
            o = self.secure_origin(answer(200, "x"), name=name, tls=context)
            if issuer:
                c = self.through(d, o, name=name)
                self.assertIn("Issuer: CN = " + issuer, c.sock.text())
            else:
                c = self.inside(d, o, name)
            self.assertEqual(b"x", c.get("/", "Host: " + o.authority).body)

    def test_tunnel_wins_over_a_clients_wish(self):
        """Abide-Service lends another policy, and no look into the tunnel."""
        over = {"allow_overrides": "yes"}
        d = self.intercepting(service=over, services={
            "pinned": {"hosts": WWW, "tls": "tunnel", **over}})
        o = self.secure_origin(answer(200, "x"))
        for host, wish, says in ((WWW, "api", False), (API, "pinned", True)):
            c = self.connect(d)
            r = c.get("%s:%d" % (host, o.port), "Abide-Service: " + wish,
                      method="CONNECT")
            self.assert_status(200, r)
            self.assertEqual(says, "intercepted" in r.says)


class InnerCase(TlsCase):
    def pair(self, *answers, **kw):
        """An origin, a daemon that sees what is said to it, and a client."""
        o = self.secure_origin(*(answers or (answer(200, "x"),)))
        d = self.intercepting(**kw)
        return o, d, self.inside(d, o)

    def fetch(self, c, o, path="/x", *fields, **kw):
        return c.get(path, "Host: " + o.authority, *fields, **kw)


class Intercept(InnerCase):
    @reduced
    def test_429_is_absorbed(self):
        """C80."""
        o = self.secure_origin(throttled("Retry-After: 1"), answer(200, "x"))
        d = self.intercepting()
        c = self.inside(d, o, context=client_context(
            d.ca, alpn=("h2", "http/1.1")))
        self.assertEqual("http/1.1", c.sock.alpn)
        r = self.fetch(c, o, "/x?y")
        self.assertEqual(b"x", r.body)
        self.assertRegex(r.says, r"^abided; .*attempts=2")
        self.assertTrue(r.has("Via"))
        first, second = o.requests
        self.assertEqual(("/x?y", o.authority, "GET"), (
            second.target, second.get("Host"), second.method))
        self.assertGreaterEqual(second.at - first.at, 1.0)
        self.assertEqual((API, "http/1.1"), (
            o.conns[0].sock.sni, o.conns[0].sock.alpn))
        record = d.wait_records(1)[0]
        self.assertEqual(("https", "api", "429,200", "200"), (
            record["scheme"], record["service"], record["upstream"],
            record["status"]))

    @reduced
    def test_requests_follow_one_another(self):
        o, d, c = self.pair(proxy={"workers": "1"})
        for n in range(5):
            self.assertEqual(b"x", self.fetch(c, o, "/%d" % n).body)
        self.assertEqual(1, len(o.conns))
        self.assertEqual(["/%d" % n for n in range(5)],
                         [q.target for q in o.requests])
        self.assertEqual(5, len(d.wait_records(5)))

    def test_pipelined_requests(self):
        o = self.secure_serving(lambda conn, req, n: conn.answer(
            200, req.target))
        c = self.inside(self.intercepting(), o)
        c.send(b"".join(b"GET /%d HTTP/1.1\r\nHost: %s\r\n\r\n" % (
            n, o.authority.encode()) for n in range(10)))
        for n in range(10):
            self.assertEqual(b"/%d" % n, c.response().body)

    def test_big_bodies_both_ways(self):
        up, down = noise(6 << 20, 1), noise(8 << 20, 2)

        def script(conn, req, n):
            if n == 1:
                conn.send(throttled())
            else:
                conn.answer(200, down, "X-Got: " + digest(req.body))
        o = self.secure_serving(script)
        c = self.inside(self.intercepting(), o)
        r = self.fetch(c, o, method="PUT", body=up)
        self.assertEqual((digest(up), digest(down)),
                         (r.get("X-Got"), digest(r.body)))

    def test_expect_continue(self):
        o, _, c = self.pair()
        c.ask("PUT", "/x", "Host: " + o.authority, "Content-Length: 5",
              "Expect: 100-continue")
        self.assertEqual(100, c.head(lambda start, _f: int(
            start.split()[1])))
        c.send(b"abcde")
        self.assert_status(200, c.response())
        self.assertEqual(b"abcde", o.requests[0].body)

    def test_upstream_that_is_not_trusted_is_a_502_inside(self):
        """A client sees our certificate: it could not judge for itself."""
        o = self.secure_origin(answer(200), leaf=self.pki.leaf(
            API, expired=True))
        c = self.inside(self.intercepting(), o)
        r = self.fetch(c, o)
        self.assert_own(502, "tls-certificate", r)
        self.assertIn("error=tls_certificate_error", r.says)

    @reduced
    def test_upgrade(self):
        def chat(conn, _req):
            conn.send(b"HTTP/1.1 101 Switching Protocols\r\n"
                      b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\nhi")
            while conn.more():
                conn.send(bytes(conn.buf)[::-1])
                conn.buf.clear()
            return False
        o, d, c = self.pair(throttled(), chat)
        r = self.fetch(c, o, "/chat", "Connection: Upgrade",
                       "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                       "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
        self.assert_status(101, r)
        self.assertEqual(b"hi", c.exactly(2))
        c.send(b"abcde")
        self.assertEqual(b"edcba", c.exactly(5))
        c.send(noise(200000))
        c.exactly(200000)
        c.close()
        d.wait_records(1)

    def test_events_come_one_by_one(self):
        go = threading.Semaphore(0)

        def script(conn, _req):
            conn.send(answer(200, b"", "Content-Type: text/event-stream",
                             "Transfer-Encoding: chunked", length=False))
            for n in range(3):
                conn.chunk(b"data: %d\n\n" % n)
                self.assertTrue(go.acquire(timeout=PATIENCE))
            conn.send(b"0\r\n\r\n")
        o, _, c = self.pair(throttled(), script)
        c.ask("GET", "/events", "Host: " + o.authority)
        c.head(lambda start, _f: self.assertIn(" 200 ", start))
        for n in range(3):
            self.assertEqual(b"data: %d\n\n" % n, c.exactly(
                int(c.until(b"\r\n"), 16)))
            self.assertEqual(b"", c.until(b"\r\n"))
            go.release()
        self.assertEqual(b"0", c.until(b"\r\n"))

    def test_http10_ends_with_close_notify_or_is_cut(self):
        def whole(conn, _req):
            conn.send(answer(200, "to the end", length=False))
            return False

        def half(conn, _req):
            conn.send(answer(200, "to the", length=False))
            conn.cut()
            return False
        o = self.secure_origin(whole, half)
        d = self.intercepting()
        c = self.inside(d, o)
        c.ask("GET", "/", "Host: " + o.authority, version="HTTP/1.0")
        self.assertTrue(c.rest().endswith(b"\r\n\r\nto the end"))
        self.assertTrue(c.sock.closed)
        c = self.inside(d, o)
        c.ask("GET", "/", "Host: " + o.authority, version="HTTP/1.0")
        with self.assertRaises((Ragged, Reset)):
            c.rest()

    def test_body_without_an_end_is_cut(self):
        def script(conn, _req):
            conn.send(answer(200, b"", "Transfer-Encoding: chunked",
                             length=False))
            conn.chunk(b"one")
            return False
        o, _, c = self.pair(script)
        with self.assertRaises(Cut):
            self.fetch(c, o)

    def test_close_is_kept(self):
        o, _, c = self.pair()
        r = self.fetch(c, o, "/x", "Connection: close")
        self.assertEqual("close", r.get("Connection"))
        self.assertTrue(c.at_end())
        self.assertTrue(c.sock.closed)

    def test_proxy_fields_do_not_go_upstream(self):
        o, d, c = self.pair()
        self.fetch(c, o, "/x", "Proxy-Authorization: Basic c2VjcmV0",
                   "Authorization: Bearer mine")
        req = o.requests[0]
        self.assertFalse(req.has("Proxy-Authorization"))
        self.assertEqual("Bearer mine", req.get("Authorization"))
        c.close()
        d.wait_records(1)
        self.assertFalse([s for s in d.log.lines if "c2VjcmV0" in s or
                          "mine" in s])

    def test_what_is_not_allowed_is_refused_to_the_connect(self):
        for proxy in ({"connect_ports": "443"},
                      {"allow_destinations": "none"}):
            d = self.intercepting(proxy=proxy)
            c = self.connect(d)
            r = c.open_tunnel(API + ":1234")
            if r.status == 200:         # known only when it is dialled
                secure(c, client_context(d.ca), name=API)
                r = c.get("/", "Host: %s:1234" % API)
            self.assert_own(403, "denied", r)


class Names(InnerCase):
    """Who is meant: CONNECT, SNI, Host and the certificate agree."""

    @reduced
    def test_another_sni_is_refused(self):
        o, d = self.secure_origin(answer(200)), self.intercepting(
            "%s, %s" % (API, WWW))
        c = self.tunnel(d, o.authority)
        with self.assertRaisesRegex(ssl.SSLError, "UNRECOGNIZED_NAME"):
            secure(c, client_context(d.ca), name=WWW)
        self.assertEqual([], o.conns)
        self.assertIn("SNI", self.client_faults(d, 1)[0])

    def test_no_sni_is_fine(self):
        o, d = self.secure_origin(answer(200, "x")), self.intercepting()
        context = client_context(d.ca)
        context.check_hostname = False
        c = self.inside(d, o, None, context)
        self.assertIn("DNS:" + API, c.sock.text())
        self.assertEqual(b"x", self.fetch(c, o).body)
        self.assertEqual(API, o.conns[0].sock.sni)

    def test_a_trailing_dot_does_not_matter(self):
        o, d = self.secure_origin(answer(200, "x")), self.intercepting()
        context = client_context(d.ca)
        context.check_hostname = False
        for where in (API + "..", API + "."):
            host = "%s:%d" % (where[:-1], o.port)
            c = self.inside(d, host, API + ".", context)
            self.assertEqual(b"x", c.get("/", "Host: " + host).body)

    def test_case_does_not_matter(self):
        o, d = self.secure_origin(answer(200, "x")), self.intercepting()
        c = self.inside(d, "API.test:%d" % o.port, "Api.TEST")
        self.assertEqual(b"x", c.get("/", "Host: aPi.test:%d" %
                                     o.port).body)

    @reduced
    def test_another_host_inside_is_421(self):
        o, d, c = self.pair(hosts="%s, %s" % (API, WWW))
        for host in ("%s:%d" % (WWW, o.port), "%s:1" % API, API):
            self.assert_own(421, "misdirected", self.inside(d, o).get(
                "/", "Host: " + host))
        self.assert_own(421, "misdirected", self.inside(d, o).get(
            "https://%s:%d/" % (WWW, o.port)))
        self.assertEqual([], o.requests)
        self.assertEqual(b"x", c.get(o.url()).body)
        self.assertEqual(b"x", self.fetch(c, o).body)

    def test_connect_inside_is_refused(self):
        o, _, c = self.pair()
        self.assert_own(400, "bad-request", c.open_tunnel(o.authority))
        self.assertEqual([], o.requests)

    def test_addresses(self):
        d = self.intercepting("127.0.0.1, [::1]")
        for host in ("127.0.0.1", "::1"):
            o = self.secure_origin(answer(200, "x"), host=host, name=host)
            c = self.inside(d, o, host)
            self.assertIn("IP Address:", c.sock.text())
            self.assertEqual(b"x", self.fetch(c, o).body)
            self.assertIsNone(o.conns[0].sock.sni)

    @reduced
    def test_leaf_as_openssl_sees_it(self):
        o, d = self.secure_origin(answer(200, "x")), self.intercepting()
        out = openssl("s_client", "-proxy", "127.0.0.1:%d" % d.port,
                      "-connect", o.authority, "-servername", API,
                      "-CAfile", d.ca, "-x509_strict", "-verify_hostname",
                      API, "-verify_return_error", "-alpn", "h2,http/1.1",
                      "-purpose", "sslserver", stdin="")
        self.assertIn("Verify return code: 0 (ok)", out)
        self.assertIn("ALPN protocol: http/1.1", out)
        pem = re.search("(?s)-----BEGIN CERT.*END CERTIFICATE-----\n",
                        out).group(0)
        self.assertEqual(1, out.count("BEGIN CERTIFICATE"))
        text = openssl("x509", "-noout", "-text", stdin=pem)
        issuer = openssl("x509", "-noout", "-subject", "-in", d.ca)
        self.assertIn("Issuer: " + issuer.strip().partition("=")[2], text)
        for fact in (
                r"Version: 3 ", r"Subject: CN = api\.test\n",
                r"ASN1 OID: prime256v1",
                r"X509v3 Basic Constraints: critical\n\s+CA:FALSE\n",
                r"X509v3 Key Usage: critical\n\s+Digital Signature\n",
                r"X509v3 Extended Key Usage: ?\n"
                r"\s+TLS Web Server Authentication\n",
                r"X509v3 Subject Alternative Name: ?\n\s+DNS:api\.test\n",
                r"X509v3 Subject Key Identifier",
                r"X509v3 Authority Key Identifier",
                r"Signature Algorithm: ecdsa-with-SHA256"):
            self.assertRegex(text, fact)
        leaf = os.path.join(self.folder, "leaf.pem")
        with open(leaf, "w", encoding="ascii") as f:
            f.write(pem)
        for ok, *flags in (
                (True, "-verify_hostname", API), (False, "-verify_hostname",
                                                  WWW),
                (False, "-purpose", "sslclient"),
                (True, "-checkend", "86400"),
                (False, "-checkend", "%d" % (31 * 86400))):
            if "-checkend" in flags:
                said = openssl("x509", "-in", leaf, "-noout", *flags,
                               ok=False)
                self.assertEqual(ok, "will not expire" in said, said)
                continue
            said = openssl("verify", "-x509_strict", "-CAfile", d.ca, *flags,
                           leaf, ok=False)
            self.assertEqual(ok, "OK" in said, said)

    @unittest.skipUnless(os.access(ABIDECTL, os.X_OK), "no abidectl here")
    def test_an_authority_below_another_is_shown(self):
        """Clients trust the root, and have never heard of what is below."""
        below = self.pki.under("Own CA below")
        o = self.secure_origin(answer(200, "x"))
        d = self.secure_daemon({"api": {"hosts": API, "tls": "intercept"}},
                               {"ca_cert": below.ca, "ca_key": below.key})
        d.ca = self.pki.ca
        self.assertEqual(b"x", self.fetch(self.inside(d, o), o).body)

    def test_the_ca_is_good_for_its_hosts_only(self):
        """Name constraints: a stolen key makes no certificate for others."""
        other = self.intercepting(WWW)
        o = self.secure_origin(answer(200, "x"), name=WWW,
                               tls=self.pki.server(WWW))
        self.inside(other, o, WWW)
        with self.assertRaisesRegex(AssertionError, "does not start:\n.*"
                                    "don't let it sign for " + WWW):
            self.secure_daemon(
                {"all": {"hosts": "%s, %s" % (API, WWW),
                         "tls": "intercept"}},
                {"ca_cert": self.ca_of(API)[0],
                 "ca_key": self.ca_of(API)[1]})


class ClientTls(InnerCase):
    """What clients do in the way of TLS."""

    @reduced
    def test_versions(self):
        o, d = self.secure_origin(answer(200, "x")), self.intercepting()
        for version, name in ((TLS12, "TLSv1.2"), (TLS13, "TLSv1.3")):
            c = self.inside(d, o, context=client_context(
                d.ca, highest=version))
            self.assertEqual(name, c.sock.version)
            self.assertEqual(b"x", self.fetch(c, o).body)
        with self.assertRaisesRegex(ssl.SSLError, "PROTOCOL_VERSION"):
            self.inside(d, o, context=client_context(d.ca, highest=TLS11))

    def test_min_version_holds_for_clients_too(self):
        d = self.intercepting(tls={"min_version": "1.3"})
        with self.assertRaisesRegex(ssl.SSLError, "PROTOCOL_VERSION"):
            self.inside(d, API + ":1", context=client_context(
                d.ca, highest=TLS12))

    def test_a_client_that_speaks_h2_only(self):
        d = self.intercepting()
        with self.assertRaisesRegex(ssl.SSLError, "(?i)no.application.protocol"):
            self.inside(d, API + ":1", context=client_context(
                d.ca, alpn=("h2",)))

    @reduced
    def test_sessions_are_resumed_by_any_worker(self):
        o, d = self.secure_origin(answer(200, "x")), self.intercepting(
            proxy={"workers": "3"})
        for version in (TLS12, TLS13):
            context = client_context(d.ca, highest=version)
            c = self.inside(d, o, context=context)
            self.assertEqual(b"x", self.fetch(c, o).body)
            self.assertFalse(c.sock.reused)
            session = c.sock.session
            for _ in range(6):
                c = self.inside(d, o, context=context, session=session)
                self.assertTrue(c.sock.reused)
                self.assertEqual(b"x", self.fetch(c, o).body)

    def test_a_session_with_one_host_is_none_with_another(self):
        d = self.intercepting("%s, %s" % (API, WWW))
        context = client_context(d.ca, highest=TLS12)
        o = self.secure_origin(answer(200, "x"))
        c = self.inside(d, o, context=context)
        self.fetch(c, o)
        context.check_hostname = False
        c = self.inside(d, "%s:%d" % (WWW, o.port), WWW, context,
                        session=c.sock.session)
        self.assertFalse(c.sock.reused)
        self.assertIn("DNS:" + WWW, c.sock.text())

    @reduced
    def test_hello_in_pieces_of_a_byte(self):
        o, d = self.secure_origin(answer(200, "x")), self.intercepting()
        for version in (TLS12, TLS13):
            c = self.tunnel(d, o.authority)
            c.sock = Trickle(c.sock)
            secure(c, client_context(d.ca, highest=version), name=API)
            self.assertEqual(b"x", self.fetch(c, o).body)

    @reduced
    def test_hello_in_the_same_packet_as_connect(self):
        o, d = self.secure_origin(answer(200, "x")), self.intercepting()
        for cut in (None, 1, 5, 100):
            c = self.connect(d)
            hello = TlsSocket(c.sock, client_context(d.ca), name=API)
            with self.assertRaises(ssl.SSLWantReadError):
                hello.tls.do_handshake()
            first = hello.take()
            c.send(b"CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n" %
                   o.authority.encode() + first[:cut])
            self.assert_status(200, c.response("CONNECT"))
            hello.put(bytes(c.buf))
            c.buf.clear()
            if cut:
                c.send(first[cut:])
            c.sock = hello
            hello.handshake()
            self.assertEqual(b"x", self.fetch(c, o).body)

    def test_requests_behind_the_handshake_in_one_packet(self):
        """Finished and a request come together."""
        o, d = self.secure_origin(answer(200, "x")), self.intercepting()
        c = self.tunnel(d, o.authority)
        tls = TlsSocket(c.sock, client_context(d.ca), name=API)
        while True:
            try:
                tls.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                tls.fly()
                self.assertTrue(tls.feed())
        tls.tls.write(b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" %
                      o.authority.encode())
        tls.fly()
        c.sock = tls
        self.assertEqual(b"x", c.response().body)

    @reduced
    def test_a_client_that_does_not_trust_the_ca(self):
        d = self.intercepting()
        for version in (TLS12, TLS13):
            with self.assertRaises(ssl.SSLCertVerificationError):
                self.inside(d, API + ":1", context=client_context(
                    self.pki.ca, highest=version))
        for line in self.client_faults(d, 2):
            self.assertIn("does not trust", line)
            self.assertIn("tls = tunnel", line)

    def test_renegotiation_is_refused(self):
        o, d = self.secure_origin(answer(200, "x")), self.intercepting()
        s = OpensslProgram("s_client", "-proxy", "127.0.0.1:%d" % d.port,
                           "-connect", o.authority, "-servername", API,
                           "-CAfile", d.ca, "-tls1_2")
        self.addCleanup(s.close)
        s.wait("Verify return code: 0")
        s.say("GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % o.authority)
        s.wait("200 Word")
        s.say("R\n")
        s.wait("RENEGOTIATING")
        s.wait("(?i)no.renegotiation|alert|error|closed")
        self.assertEqual(1, s.count("depth=0"))

    def test_key_update(self):
        o, d = self.secure_origin(answer(200, "x")), self.intercepting()
        s = OpensslProgram("s_client", "-proxy", "127.0.0.1:%d" % d.port,
                           "-connect", o.authority, "-servername", API,
                           "-CAfile", d.ca, "-tls1_3")
        self.addCleanup(s.close)
        s.wait("Verify return code: 0")
        for n in range(1, 4):
            s.say("GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % o.authority)
            s.wait("200 Word", n)
            s.say("K\n")
            s.wait("KEYUPDATE", n)
        self.assertEqual(3, len(o.requests))

    @reduced
    def test_a_crowd_shakes_hands_at_once(self):
        n = 200 if is_sanitized() else 1000
        self.lift_limit(4 * n)
        o = self.secure_serving(lambda conn, req, k: conn.answer(
            200, req.target))
        d = self.intercepting(defaults={"concurrency": "16",
                                        "head_timeout": "120s",
                                        "deadline": "120s"})
        context, crowd = client_context(d.ca), []
        for _ in range(n):
            c = self.connect(d)
            c.ask("CONNECT", o.authority)
            crowd.append(c)
        for c in crowd:
            self.assert_status(200, c.response("CONNECT"))
            c.sock = TlsSocket(c.sock, context, name=API)
            with self.assertRaises(ssl.SSLWantReadError):
                c.sock.tls.do_handshake()
        for c in crowd:
            c.sock.fly()
        for k, c in enumerate(crowd):
            c.sock.handshake()
            c.ask("GET", "/%d" % k, "Host: " + o.authority)
        for k, c in enumerate(crowd):
            self.assertEqual(b"/%d" % k, c.response().body)
        self.assertLess(d.peak(), (400 if is_sanitized() else 150) << 20)
        for c in crowd:
            c.close()

    def lift_limit(self, n):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < n:
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(n, hard), hard))
            self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE,
                            (soft, hard))


class NoTls(InnerCase):
    """After CONNECT comes something else, or nothing."""

    def test_a_banner_is_ended(self):
        """That of ssh looks like HTTP; that of others does not."""
        d = self.intercepting()
        c = self.tunnel(d, API + ":22")
        c.send(b"SSH-2.0-OpenSSH_9.2\r\n")
        self.assert_own(400, "bad-request", c.response())
        self.assertTrue(c.at_end())
        for banner in (b"\x00\x01\x02\x03", b"* OK imap\r\n", b"\x15\x03"):
            c = self.tunnel(d, API + ":143")
            c.send(banner)
            try:
                self.assertEqual(b"", c.rest())
            except Reset:
                pass
        self.assertEqual({"neither TLS nor HTTP came"},
                         set(self.client_faults(d, 3)))

    def test_plain_http_on_443_is_told_so(self):
        c = self.tunnel(self.intercepting(), API + ":443")
        r = c.get("/", "Host: " + API)
        doc = self.assert_own(400, "bad-request", r)
        self.assertIn("https://", doc["detail"])
        self.assertTrue(c.at_end())

    def test_plain_http_on_another_port_is_http(self):
        """As a client that tunnels all it says: throttling is absorbed."""
        o = self.origin(throttled(), answer(200, "x"), name=API)
        c = self.tunnel(self.intercepting(), o.authority)
        self.assertEqual(b"x", c.get("/", "Host: " + o.authority).body)
        self.assert_own(421, "misdirected", c.get("/", "Host: " + WWW))

    def test_silence_ends(self):
        d = self.intercepting(defaults={"head_timeout": "150ms"})
        for first in (b"", b"\x16", b"\x16\x03\x01\x02\x00\x01"):
            c = self.tunnel(d, API + ":443")
            c.send(first)
            try:
                self.assertEqual(b"", c.rest())
            except Reset:
                pass
        self.assertEqual({"the TLS handshake took too long"},
                         set(self.client_faults(d, 3)))

    def test_silence_after_the_handshake_ends(self):
        d = self.intercepting(defaults={"head_timeout": "150ms"})
        c = self.inside(d, API + ":1")
        self.assertTrue(c.at_end())
        self.assertTrue(c.sock.closed)

    def test_garbage_after_the_hello(self):
        d = self.intercepting()
        c = self.tunnel(d, API + ":443")
        tls = TlsSocket(c.sock, client_context(d.ca), name=API)
        with self.assertRaises(ssl.SSLWantReadError):
            tls.tls.do_handshake()
        c.send(tls.take() + b"and now for something completely different")
        with self.assertRaises((Cut, ssl.SSLError, OSError)):
            tls.handshake()
            tls.recv(1)
            raise Cut("an end")
        d.wait_log(API)

    def test_hello_that_is_broken(self):
        d = self.intercepting()
        c = self.tunnel(d, API + ":443")
        c.send(b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00")
        try:
            self.assertEqual(b"\x15", c.rest()[:1])     # an alert
        except Reset:
            pass

    def test_a_client_that_leaves_at_each_step(self):
        d = self.intercepting()
        for step in range(4):
            for leave in ("close", "reset"):
                c = self.tunnel(d, API + ":443")
                tls = TlsSocket(c.sock, client_context(d.ca), name=API)
                with self.assertRaises(ssl.SSLWantReadError):
                    tls.tls.do_handshake()
                if step in (1, 2):
                    c.send(tls.take()[:50 * step])
                elif step == 3:
                    c.send(tls.take())
                getattr(c, leave)()
        eventually(lambda: d.fds() <= d.base_fds, "all are gone")


class Buffered(InnerCase):
    """A record holds more than was asked for: no event tells of the rest."""

    @reduced
    def test_many_requests_in_few_records(self):
        n, pad = 300, "x" * 700
        o = self.secure_serving(lambda conn, req, k: conn.answer(
            200, req.target))
        c = self.inside(self.intercepting(), o)
        c.send("".join("GET /%d HTTP/1.1\r\nHost: %s\r\nX-Pad: %s\r\n\r\n" % (
            k, o.authority, pad) for k in range(n)).encode())
        for k in range(n):
            self.assertEqual(b"/%d" % k, c.response().body)

    def test_bodies_with_requests_behind_in_one_record(self):
        o = self.secure_serving(lambda conn, req, k: conn.answer(
            200, digest(req.body)))
        c = self.inside(self.intercepting(), o)
        for size in (1, 4000, 9000, 15000):
            body = noise(size)
            one = b"POST /x HTTP/1.1\r\nHost: %s\r\nContent-Length: %d" \
                b"\r\n\r\n" % (o.authority.encode(), size) + body
            c.send(one * 5)
            for _ in range(5):
                self.assertEqual(digest(body).encode(), c.response().body)

    def test_chunks_of_a_byte_in_one_record(self):
        o = self.secure_serving(lambda conn, req, k: conn.answer(
            200, digest(req.body)))
        c = self.inside(self.intercepting(), o)
        body = noise(3000)
        c.send(b"PUT /x HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked"
               b"\r\n\r\n" % o.authority.encode() +
               b"".join(b"1\r\n%c\r\n" % b for b in body) + b"0\r\n\r\n")
        self.assertEqual(digest(body).encode(), c.response().body)

    def test_bytes_for_the_tunnel_behind_the_upgrade(self):
        def chat(conn, _req):
            conn.send(b"HTTP/1.1 101 Switching Protocols\r\n"
                      b"Connection: Upgrade\r\nUpgrade: chat\r\n\r\n" +
                      noise(12000, 2))
            conn.send(conn.exactly(15000)[::-1])
            conn.send(conn.exactly(5))
            return False
        o = self.secure_origin(throttled(), chat)
        c = self.inside(self.intercepting(), o)
        c.send(b"GET /chat HTTP/1.1\r\nHost: %s\r\nConnection: upgrade\r\n"
               b"Upgrade: chat\r\n\r\n" % o.authority.encode() +
               noise(15000))
        self.assert_status(101, c.response())
        self.assertEqual(noise(12000, 2), c.exactly(12000))
        self.assertEqual(noise(15000)[::-1], c.exactly(15000))
        c.send(b"after")
        self.assertEqual(b"after", c.exactly(5))

    def test_slow_readers_of_a_tunnel_lose_nothing(self):
        """Both sides are held back in turns, at odd places."""
        size = 3 << 20

        def chat(conn, _req):
            conn.send(b"HTTP/1.1 101 Switching Protocols\r\n"
                      b"Connection: Upgrade\r\nUpgrade: chat\r\n\r\n")
            conn.send(noise(size, 1))
            conn.send(digest(conn.exactly(size)).encode())
            return False
        o = self.secure_origin(chat)
        c = self.inside(self.intercepting(), o)
        self.assert_status(101, self.fetch(c, o, "/", "Connection: upgrade",
                                           "Upgrade: chat"))
        t = threading.Thread(target=c.send, args=(noise(size, 2),),
                             daemon=True)
        t.start()                       # blocks: the origin does not read yet
        self.assertEqual(digest(noise(size, 1)), digest(c.exactly(size)))
        t.join(PATIENCE)
        self.assertEqual(digest(noise(size, 2)).encode(), c.exactly(64))

    def test_an_answer_that_a_slow_client_takes_in_bits(self):
        """The origin says no more: what is buffered must not wait for it."""
        body = noise(300000)
        o = self.secure_origin(answer(200, body))
        d = self.intercepting(proxy={"workers": "1"})
        c = self.tunnel(d, o.authority)
        c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20000)
        secure(c, client_context(d.ca), name=API)
        for _ in range(2):
            self.assertEqual(body, self.fetch(c, o).body)

    def test_a_parked_client_with_requests_behind_may_leave(self):
        for leave in ("close", "reset", "cut"):
            o = self.secure_origin(throttled("Retry-After: 20"))
            d = self.intercepting()
            c = self.inside(d, o)
            c.send(b"GET /x HTTP/1.1\r\nHost: %s\r\n\r\n" %
                   o.authority.encode() * 100)
            d.wait_parked()
            getattr(c, leave)()
            self.assertEqual("client-gone", d.wait_records(1)[0]["reason"])
            self.assertEqual(1, len(o.requests))


class Leaving(InnerCase):
    def parked(self):
        o = self.secure_origin(throttled("Retry-After: 20"))
        d = self.intercepting()
        c = self.inside(d, o)
        c.ask("GET", "/x", "Host: " + o.authority)
        d.wait_parked()
        return o, d, c

    def gone(self, o, d):
        self.assertEqual("client-gone", d.wait_records(1)[0]["reason"])
        self.assertEqual(1, len(o.requests))

    @reduced
    def test_close_notify_and_fin_while_parked(self):
        o, d, c = self.parked()
        c.close()
        self.gone(o, d)

    def test_close_notify_alone_while_parked(self):
        o, d, c = self.parked()
        c.sock.notify()
        self.gone(o, d)
        self.assertTrue(c.at_end())

    def test_fin_alone_while_parked(self):
        o, d, c = self.parked()
        c.cut()
        self.gone(o, d)

    @reduced
    def test_reset_while_parked(self):
        o, d, c = self.parked()
        c.reset()
        self.gone(o, d)

    def test_half_close_while_the_origin_thinks_is_served(self):
        go = threading.Event()

        def script(conn, _req, _n):
            go.wait(PATIENCE)
            conn.answer(200, noise(100000))
        o, d = self.secure_serving(script), self.intercepting()
        c = self.inside(d, o)
        c.ask("GET", "/x", "Host: " + o.authority)
        o.wait_requests(1)
        c.end_sending()
        go.set()
        self.assertEqual(noise(100000), c.response().body)
        self.assertTrue(c.at_end())

    def test_half_close_while_parked_with_allow_half_close(self):
        o = self.secure_origin(throttled("Retry-After: 1"), answer(200, "x"))
        d = self.intercepting(service={"allow_half_close": "yes"})
        c = self.inside(d, o)
        c.ask("GET", "/x", "Host: " + o.authority)
        d.wait_parked()
        c.end_sending()
        self.assertEqual(b"x", c.response().body)

    def test_reset_while_the_answer_is_relayed(self):
        def script(conn, _req, _n):
            conn.send(answer(200, b"", "Content-Length: 100000000",
                             length=False))
            while True:
                conn.send(noise(1 << 16))
        o, d = self.secure_serving(script), self.intercepting()
        c = self.inside(d, o)
        c.ask("GET", "/x", "Host: " + o.authority)
        c.exactly(100000)
        c.reset()
        eventually(o.gone, "the origin is left as well")


class Life(InnerCase):
    """Reloads and stops in between."""

    def services(self, tls="intercept"):
        return {"api": {"hosts": API, "tls": tls}}

    def authority(self, *hosts):
        cert, key = self.ca_of(*hosts)
        return {"ca_cert": cert, "ca_key": key}

    @reduced
    def test_a_reload_does_not_end_what_is_open(self):
        o = self.secure_origin(answer(200, "x"))
        d = self.intercepting(proxy={"workers": "1"})
        c, old = self.inside(d, o), d.ca
        self.assertEqual(b"x", self.fetch(c, o).body)
        tls = self.authority(API, WWW)
        self.reload(d, self.secure_text(self.services(), tls,
                                        proxy={"workers": "1"}))
        self.assertEqual(b"x", self.fetch(c, o).body)
        # New ones see the new authority, at once.
        d.ca = tls["ca_cert"]
        self.assertEqual(b"x", self.fetch(self.inside(d, o), o).body)
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.inside(d, o, context=client_context(old))

    def test_intercept_becomes_tunnel(self):
        o = self.secure_origin(throttled("Retry-After: 9"))
        d = self.intercepting(proxy={"workers": "1"})
        self.reload(d, self.secure_text(self.services("tunnel"),
                                        proxy={"workers": "1"}))
        c = self.inside(d, o, context=client_context(self.pki.ca))
        self.assert_status(429, self.fetch(c, o))

    def test_stop_while_parked_inside(self):
        """The drain serves it, then the connection ends in order."""
        o = self.secure_origin(throttled("Retry-After: 1"), answer(200, "x"))
        d = self.intercepting()
        c, idle = self.inside(d, o), self.inside(d, o)
        c.ask("GET", "/x", "Host: " + o.authority)
        d.wait_parked()
        d.signal(signal.SIGTERM)
        self.assertTrue(idle.at_end())
        self.assertTrue(idle.sock.closed)
        r = c.response()
        self.assertEqual(b"x", r.body)
        self.assertEqual("close", r.get("Connection"))
        self.assertTrue(c.at_end())
        self.assertEqual(0, d.wait_exit())

    def test_stop_in_the_handshake(self):
        d = self.intercepting()
        c = self.tunnel(d, API + ":443")
        c.send(b"\x16\x03\x01")
        d.signal(signal.SIGTERM)
        self.assertEqual(0, d.wait_exit())


if __name__ == "__main__":
    unittest.main()
