# SPDX-License-Identifier: MIT
"""parent_proxy: servers that are reached through another proxy."""
import json
import re
import signal
import socket
import threading
import unittest

from harness import Case, build_has, config, eventually, reduced
from names import NXDOMAIN, Names
from origin import answer, throttled
from proxies import ESTABLISHED, basic, forwards, tunnels
from wire import Cut, PATIENCE, noise

TARGET = "http://api.test/"     # no name server is asked for it
AUTH = "Proxy-Authorization"


def unused_port():
    """A port that nobody listens on, as long as the socket is open."""
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    return s, s.getsockname()[1]


class ParentCase(Case):
    def behind(self, parent, user="", defaults=None, **kw):
        """A daemon with that parent for all hosts. parent: an origin, or
        HOST:PORT."""
        where = parent if isinstance(parent, str) else parent.authority
        return self.daemon(defaults={
            "parent_proxy": "http://%s%s" % (user, where),
            **(defaults or {})}, **kw)

    def reload(self, d, text):
        d.write(text)
        n = len(d.log.matching(r"\breloaded: "))
        d.signal(signal.SIGHUP)
        d.wait_log(r"\breloaded: ", n + 1)

    def end_first(self, *daemons):
        """They are clients of the others."""
        for d in daemons:
            d.signal(signal.SIGTERM)
            self.assertEqual(0, d.wait_exit())

    def assert_parent(self, status, received, resp):
        """An answer of our own that says what the parent said."""
        doc = self.assert_own(status, "parent-proxy", resp)
        self.assertIn("received-status=%d;" % received, resp.says)
        self.assertEqual(received, doc["received_status"])
        return doc


class Plain(ParentCase):
    @reduced
    def test_the_request_has_the_whole_url(self):
        p = self.origin(answer(200, "via"))
        d = self.behind(p, "me:s%40cret@")
        r = self.get(d, "http://API.test:81/a/b?c=d",
                     AUTH + ": Basic Y2xpZW50", "X-A: 1")
        self.assert_status(200, r)
        self.assertEqual(b"via", r.body)
        req = p.requests[0]
        self.assertEqual("GET http://API.test:81/a/b?c=d HTTP/1.1",
                         req.start)
        self.assertEqual("API.test:81", req.get("Host"))
        self.assertEqual(basic("me", "s@cret"), req.get(AUTH))
        self.assertEqual("1", req.get("X-A"))
        self.assertRegex(req.get("Via"), r"^1\.1 abided")
        record = d.wait_records(1)[0]
        self.assertEqual(p.authority, record["parent"])
        self.assertEqual("api.test:81", record["host"])

    def test_each_form_of_target(self):
        p = self.origin(answer(200))
        d = self.behind(p, proxy={"allow_destinations": "*"})
        rows = (("GET", "http://a.test", "http://a.test/"),
                ("GET", "http://a.test:80/x", "http://a.test/x"),
                ("GET", "http://a.test?q", "http://a.test/?q"),
                ("GET", "http://[::1]:81/", "http://[::1]:81/"),
                ("OPTIONS", "http://a.test", "http://a.test"))
        for method, url, want in rows:
            self.assert_status(200, self.get(d, url, method=method))
            self.assertEqual("%s %s HTTP/1.1" % (method, want),
                             p.requests[-1].start)
            self.assertFalse(p.requests[-1].has(AUTH))

    def test_a_gateway_has_a_parent_too(self):
        p = self.origin(answer(200))
        d = self.daemon(services={"api": {
            "hosts": "api.test", "route": "/api/",
            "parent_proxy": "http://" + p.authority}})
        self.assert_status(200, self.get(d, "/api/x", "Host: other"))
        self.assertEqual("GET http://api.test/x HTTP/1.1",
                         p.requests[0].start)

    @reduced
    def test_what_throttles_is_absorbed(self):
        p = self.origin(throttled("Retry-After: 1"),
                        throttled(status=503), answer(200, "at last"))
        d = self.behind(p)
        body = noise(100000)
        r = self.get(d, TARGET, method="PUT", body=body)
        self.assertEqual(b"at last", r.body)
        self.assertEqual([body] * 3, [q.body for q in p.requests])
        self.assertEqual(["http://api.test/"] * 3,
                         [q.target for q in p.requests])

    def test_its_credentials_are_ours_to_mend(self):
        p = self.origin(answer(407, "who?", "Proxy-Authenticate: Basic"))
        d = self.behind(p, "me:secret@", {"retry_on": "407, 429"})
        r = self.get(d, TARGET)
        doc = self.assert_parent(502, 407, r)
        self.assertIn(p.authority, doc["detail"])
        self.assertFalse(r.has("Proxy-Authenticate"))
        self.assertEqual(1, len(p.requests))
        self.assertEqual("1", d.wait_records(1)[0]["attempts"])
        eventually(p.gone, "that connection is not used again")

    def test_a_connection_serves_one_server(self):
        p = self.origin(answer(200))
        d = self.behind(p, proxy={"workers": "1"})
        c = self.connect(d)
        for url in ("http://a.test/1", "http://a.test/2", "http://b.test/",
                    "http://a.test:81/", "http://a.test/3"):
            self.assert_status(200, c.get(url))
        self.assertEqual([1, 1, 2, 3, 1],
                         [q.connection for q in p.requests])

    def test_a_connection_serves_one_service(self):
        p = self.origin(answer(200))
        one = {"parent_proxy": "http://one:x@" + p.authority}
        two = {"parent_proxy": "http://two:x@" + p.authority}
        d = self.daemon(defaults={"allow_overrides": "yes"},
                        proxy={"workers": "1"},
                        services={"one": {"hosts": "a.test", **one},
                                  "two": {"hosts": "b.test", **two}})
        c = self.connect(d)
        for name in ("one", "two", "one", "two"):
            self.assert_status(200, c.get("http://a.test/",
                                          "Abide-Service: " + name))
        self.assertEqual([basic(n, "x") for n in ("one", "two") * 2],
                         [q.get(AUTH) for q in p.requests])
        self.assertEqual(2, len(p.conns))

    def test_a_dead_idle_connection_costs_nothing(self):
        def once(conn, _req):
            conn.send(answer(200, "x"))
            return False
        p = self.origin(once)
        d = self.behind(p, proxy={"workers": "1"})
        c = self.connect(d)
        for _ in range(3):
            self.assert_status(200, c.get(TARGET))

    def test_reload_changes_the_parent(self):
        old, new = self.origin(answer(200, "a")), self.origin(answer(200, "b"))
        direct = self.origin(answer(200, "c"))
        d = self.behind(old, "a:a@", proxy={"workers": "1"})
        c = self.connect(d)
        self.assertEqual(b"a", c.get(direct.url()).body)
        proxy = {"workers": "1"}
        self.reload(d, config(proxy, {"parent_proxy":
                                      "http://b:b@" + new.authority}))
        eventually(old.gone, "the old connection is closed")
        self.assertEqual(b"b", c.get(direct.url()).body)
        self.assertEqual(basic("b", "b"), new.requests[0].get(AUTH))
        self.reload(d, config(proxy))
        self.assertEqual(b"c", c.get(direct.url()).body)
        self.assertFalse(direct.requests[0].has(AUTH))
        self.assertEqual("/", direct.requests[0].target)

    def test_who_waits_keeps_its_parent(self):
        """A head is built for one way: it must not go another."""
        old = self.origin(throttled("Retry-After: 1"), answer(200, "a"))
        new = self.origin(answer(200, "b"))
        d = self.behind(old, "a:a@", proxy={"workers": "1"})
        c = self.connect(d)
        c.ask("GET", TARGET)
        d.wait_parked()
        self.reload(d, config({"workers": "1"}, {
            "parent_proxy": "http://b:b@" + new.authority}))
        self.assertEqual(b"b", self.get(d, "http://b.test/").body)
        self.assertEqual(b"a", c.response().body)
        self.assertEqual([basic("a", "a")] * 2,
                         [q.get(AUTH) for q in old.requests])

    def test_another_abided_is_a_parent(self):
        o = self.origin(throttled("Retry-After: 1"), answer(200, "x"))
        last = self.daemon()
        first = self.behind("127.0.0.1:%d" % last.port)
        c = self.connect(first)
        for _ in range(3):
            self.assertEqual(b"x", c.get(o.url()).body)
        records = last.wait_records(3)
        self.assertEqual(["429,200", "200", "200"],
                         [r["upstream"] for r in records])
        self.end_first(first)

    @reduced
    def test_credentials_are_nowhere_else(self):
        o = self.origin(answer(200, "x"))
        p = self.raw_origin(forwards)
        d = self.behind(p, "user:s3cret@", proxy={"log_level": "debug"})
        r = self.get(d, o.url("/x"))
        self.assert_status(200, r)
        self.assertFalse(o.requests[0].has(AUTH))
        self.assertEqual(basic("user", "s3cret"), p.requests[0].get(AUTH))
        p.close()
        bad = self.get(d, o.url("/x"))
        self.assert_own(502, "connect-failed", bad)
        d.wait_records(2)
        words = [basic("user", "s3cret")[6:], "s3cret"]
        for text in d.log.lines + [str(r.fields), str(bad.fields),
                                   str(bad.body)]:
            for word in words:
                self.assertNotIn(word, text)


class NoProxy(ParentCase):
    def through(self, no_proxy, url, parent=None):
        """Whether a request goes through the parent."""
        p = parent or self.origin(answer(200))
        names = Names({n: ["127.0.0.1"] for n in ("api.test", "a.api.test")})
        self.addCleanup(names.close)
        d = self.behind(p, defaults={"no_proxy": no_proxy},
                        dns={"servers": names.server})
        before = len(p.requests)
        self.assert_status(200, self.get(d, url))
        return len(p.requests) > before

    @reduced
    def test_patterns_and_addresses(self):
        o = self.origin(answer(200))
        at = ":%d/" % o.port
        rows = (("none", "127.0.0.1", True),
                ("api.test", "api.test", False),
                ("api.test", "API.test", False),
                ("api.test", "a.api.test", True),
                ("*.api.test", "a.api.test", False),
                ("*.api.test", "api.test", True),
                ("api.test:%d" % o.port, "api.test", False),
                ("api.test:%d" % (o.port ^ 1), "api.test", True),
                ("127.0.0.1", "127.0.0.1", False),
                ("10.0.0.0/8, 127.0.0.0/8", "127.0.0.1", False),
                ("10.0.0.0/8", "127.0.0.1", True),
                ("loopback", "127.0.0.1", False),
                # A name is looked at as it is given.
                ("127.0.0.0/8", "api.test", True),
                ("*", "api.test", False))
        p = self.origin(answer(200))
        for no_proxy, host, want in rows:
            with self.subTest(no_proxy=no_proxy, host=host):
                self.assertEqual(want, self.through(
                    no_proxy, "http://" + host + at, p))

    def test_a_service_has_its_own(self):
        o, p = self.origin(answer(200)), self.origin(answer(200))
        d = self.behind(p, services={
            "direct": {"hosts": "127.0.0.1", "parent_proxy": "none"}})
        self.assert_status(200, self.get(d, o.url()))
        self.assert_status(200, self.get(d, TARGET))
        self.assertEqual((1, 1), (len(o.requests), len(p.requests)))

    def test_connect_goes_direct_as_well(self):
        o = self.raw_origin(lambda conn: conn.send(conn.exactly(3)[::-1]))
        p = self.raw_origin(tunnels)
        d = self.behind(p, defaults={"no_proxy": "127.0.0.0/8"})
        c = self.connect(d)
        self.assert_status(200, c.open_tunnel(o.authority))
        c.send(b"abc")
        self.assertEqual(b"cba", c.exactly(3))
        self.assertEqual([], p.conns)


class Places(ParentCase):
    """What may be reached, where another proxy looks names up."""

    @reduced
    def test_the_parents_own_address_is_not_asked_for(self):
        p = self.origin(answer(200))
        d = self.behind(p, proxy={"allow_destinations": "none"})
        self.assert_status(200, self.get(d, TARGET))

    @reduced
    def test_what_needs_no_lookup_is_still_denied(self):
        p = self.raw_origin(forwards)
        d = self.behind(p, proxy={
            "allow_destinations": "none",
            "deny_destinations": "loopback, metadata, private, *.bad.test"})
        for host in ("127.0.0.1", "127.8.8.8", "[::1]", "169.254.169.254",
                     "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "10.0.0.1",
                     "localhost", "LOCALHOST.", "a.localhost", "x.bad.test"):
            with self.subTest(host=host):
                self.assert_own(403, "denied", self.get(
                    d, "http://%s:81/" % host))
                self.assert_own(403, "denied", self.get(
                    d, "%s:443" % host, method="CONNECT"))
        self.assertEqual([], p.conns)

    def test_allowed_ones_are_allowed(self):
        p = self.origin(answer(200))
        d = self.behind(p, proxy={
            "allow_destinations": "127.0.0.1, localhost, 10.0.0.0/8",
            "deny_destinations": "loopback, private"})
        for host in ("127.0.0.1", "localhost", "10.1.1.1", "notlocalhost",
                     "1.1.1.1", "[2001:db8::1]"):
            self.assert_status(200, self.get(d, "http://%s/" % host))


class Reached(ParentCase):
    """Whether there is a parent at all."""

    @reduced
    def test_nobody_listens(self):
        s, port = unused_port()
        with s:
            d = self.behind("127.0.0.1:%d" % port, "me:secret@",
                            {"max_retries": "1"})
            for kind in ({}, {"method": "CONNECT"}):
                url = "api.test:443" if kind else TARGET
                r = self.get(d, url, **kind)
                doc = self.assert_own(502, "connect-failed", r)
                self.assertIn("127.0.0.1:%d" % port, doc["detail"])
                self.assertNotIn("secret", str(r.fields) + str(r.body))
        self.assertEqual(["2", "2"],
                         [q["attempts"] for q in d.wait_records(2)])

    def test_its_name_is_looked_up(self):
        names = Names({"parent.test": ["127.0.0.1"], "no.test": NXDOMAIN})
        self.addCleanup(names.close)
        p = self.origin(answer(200))
        dns = {"servers": names.server}
        d = self.behind("parent.test:%d" % p.port, dns=dns)
        self.assert_status(200, self.get(d, TARGET))
        d = self.behind("no.test:%d" % p.port, dns=dns)
        doc = self.assert_own(502, "dns-failed", self.get(d, TARGET))
        self.assertIn("no.test:%d" % p.port, doc["detail"])
        self.assertNotIn("api.test", [q[0] for q in names.questions])

    @reduced
    def test_it_is_ourselves(self):
        d = self.daemon()
        own = "127.0.0.1:%d" % d.port
        names = Names({"own.test": ["127.0.0.1"]})
        self.addCleanup(names.close)
        self.reload(d, config({"listen": own}, {
            "parent_proxy": "http://own.test:%d" % d.port},
                              {"servers": names.server}))
        own = "own.test:%d" % d.port
        for kind in ({}, {"method": "CONNECT"}):
            r = self.get(d, "api.test:443" if kind else TARGET, **kind)
            doc = self.assert_own(502, "parent-proxy", r)
            self.assertIn("parent proxy %s is this proxy itself" % own,
                          doc["detail"])

    def test_two_that_are_each_others_parents(self):
        one = self.daemon()
        two = self.behind("127.0.0.1:%d" % one.port)
        self.reload(one, config(None, {
            "parent_proxy": "http://127.0.0.1:%d" % two.port}))
        r = self.get(two, TARGET)
        self.assertEqual((508, "loop"),
                         (r.status, json.loads(r.body)["reason"]))
        # The parent's refusal is passed on, whoever made it.
        r = self.get(two, "api.test:443", method="CONNECT")
        self.assert_parent(508, 508, r)
        self.end_first(two, one)


class Connect(ParentCase):
    """A client's own CONNECT."""

    def tunnel(self, established, script=None, early=b"", **kw):
        """A client behind an open tunnel through a parent."""
        o = self.raw_origin(script or (
            lambda conn: conn.send(conn.exactly(6)[::-1])))
        p = self.raw_origin(lambda conn: tunnels(conn, established))
        d = self.behind(p, **kw)
        c = self.connect(d)
        c.send(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n%s" % (
            o.authority.encode(), o.authority.encode(), early))
        self.assert_status(200, c.response("CONNECT"))
        return c, p, d, o

    @reduced
    def test_bytes_pass_both_ways(self):
        def echo(conn):
            while conn.more():
                conn.send(bytes(conn.buf))
                conn.buf.clear()
        c, p, d, o = self.tunnel(ESTABLISHED, echo)
        self.assertEqual("CONNECT", p.requests[0].method)
        self.assertEqual(o.authority, p.requests[0].target)
        self.assertEqual(o.authority, p.requests[0].get("Host"))
        for n in (1, 65536, 1 << 20):
            data = noise(n)
            t = threading.Thread(target=c.send, args=(data,), daemon=True)
            t.start()
            self.assertEqual(data, c.exactly(n))
            t.join(PATIENCE)
        c.close()
        self.assertEqual(p.authority, d.wait_records(1)[0]["parent"])

    def test_what_its_answer_may_look_like(self):
        for text in (b"HTTP/1.0 200 OK\r\n\r\n", b"HTTP/1.1 299\r\n\r\n",
                     b"HTTP/1.1 200 OK\n\n",
                     b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
                     b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                     b"HTTP/1.1 100 Continue\r\n\r\n"
                     b"HTTP/1.1 103 Hm\r\nA: b\r\n\r\n" + ESTABLISHED,
                     # The second head begins in the first read.
                     b"HTTP/1.1 103 Hm\r\nA: " + b"a" * 800 + b"\r\n\r\n" +
                     b"HTTP/1.1 200 OK\r\nX: " + b"x" * 5000 + b"\r\n\r\n",
                     b"HTTP/1.1 200 OK\r\nX: " + b"x" * 20000 + b"\r\n\r\n"):
            with self.subTest(text=text[:60]):
                c, _, _, _ = self.tunnel(text, early=b"abc")
                c.send(b"def")
                self.assertEqual(b"fedcba", c.exactly(6))

    def test_in_pieces(self):
        def script(conn):
            conn.request()
            for i in range(len(head)):
                conn.send(head[i:i + 1])
            conn.send(conn.exactly(6)[::-1])
        head = b"HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\n"
        p = self.raw_origin(script)
        c = self.connect(self.behind(p))
        self.assert_status(200, c.open_tunnel("api.test:443"))
        c.send(b"abcdef")
        self.assertEqual(b"fedcba", c.exactly(6))

    @reduced
    def test_bytes_behind_the_200_are_the_servers(self):
        for head in (ESTABLISHED, b"HTTP/1.1 200 OK\r\n\r\n"):
            for n in (1, 1000, 100000):
                data = noise(n)

                def script(conn, head=head, data=data):
                    conn.request()
                    conn.send(head + data)
                    conn.hang()
                p = self.raw_origin(script)
                c = self.connect(self.behind(p))
                self.assert_status(200, c.open_tunnel("api.test:443"))
                self.assertEqual(data, c.exactly(n))

    def test_a_fin_behind_the_200_passes_on(self):
        def script(conn):
            conn.request()
            conn.send(ESTABLISHED + b"bye")
            conn.end_sending()
            got.append(conn.rest())
        got = []
        p = self.raw_origin(script)
        c = self.connect(self.behind(p))
        self.assert_status(200, c.open_tunnel("api.test:443"))
        self.assertEqual(b"bye", c.rest())
        c.send(b"and you")
        c.end_sending()
        eventually(lambda: got == [b"and you"], "the other way stays open")

    def test_its_fields_pass(self):
        p = self.raw_origin(tunnels)
        o = self.raw_origin(lambda conn: conn.rest())
        d = self.behind(p, "u:p@")
        c = self.connect(d)
        c.get(o.authority, "User-Agent: tester", "Proxy-Connection: close",
              AUTH + ": Basic Y2xpZW50", "Via: 1.1 other",
              method="CONNECT")
        req = p.requests[0]
        self.assertEqual("tester", req.get("User-Agent"))
        self.assertEqual(basic("u", "p"), req.get(AUTH))
        self.assertFalse(req.has("Proxy-Connection"))
        self.assertEqual("1.1 other", req.all("Via")[0])
        self.assertRegex(req.all("Via")[1], "^1.1 abided")

    # --- what it may refuse with ---

    def refused(self, text, **kw):
        """What a client gets whose CONNECT was answered so; and the parent,
        the daemon, the client."""
        p = self.origin(text)
        d = self.behind(p, **kw)
        c = self.connect(d)
        r = c.open_tunnel("api.test:443")
        return r, p, d, c

    @reduced
    def test_refusals_are_relayed_and_not_retried(self):
        """C81: 429, 407 or 503 of the parent is the CONNECT's answer."""
        rows = ((429, ("Retry-After: 7",)), (503, ("Retry-After: 7",)),
                (504, ()), (403, ()), (404, ()), (500, ()), (599, ()),
                (407, ("Proxy-Authenticate: Basic realm=\"x\"",
                       "Proxy-Authenticate: Negotiate")))
        for status, fields in rows:
            with self.subTest(status=status):
                r, p, d, c = self.refused(answer(status, "no", *fields))
                doc = self.assert_parent(status, status, r)
                says = "parent proxy %s answered %d to CONNECT" % (
                    p.authority, status)
                self.assertIn(says, doc["detail"])
                self.assertIn(says, r.says)
                if fields and status != 407:
                    self.assertEqual("7", r.get("Retry-After"))
                else:
                    self.assertFalse(r.has("Retry-After"))
                self.assertEqual(
                    [f.partition(": ")[2] for f in fields
                     if status == 407], r.all("Proxy-Authenticate"))
                record = d.wait_records(1)[0]
                self.assertEqual("1", record["attempts"])
                self.assertEqual("parent-proxy", record["reason"])
                # It says nothing about the server: nobody is held up.
                c.ask("CONNECT", "api.test:443")
                self.assert_status(status, c.response())
                self.assertEqual(2, len(p.requests))
                self.assertEqual("0ms", d.wait_records(2)[1]["waited"])

    def test_what_makes_no_sense_is_a_502(self):
        for text, received in (
                (answer(302, "", "Location: http://x/"), 302),
                (answer(407, "no challenge"), 407), (answer(600), 600)):
            r, p, _, _ = self.refused(text)
            self.assert_parent(502, received, r)
            self.assertFalse(r.has("Location"))
            self.assertEqual(1, len(p.requests))

    @reduced
    def test_garbage_is_a_502(self):
        for text in (b"SSH-2.0-x\r\n", b"\x15\x03\x01\x00\x02\x02\x28",
                     b"HTTP/1.1 101 Switching\r\n\r\n",
                     b"HTTP/1.1 200 OK\r\n folded: x\r\n\r\n",
                     b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70000,
                     b"HTTP/1.1 102 Wait\r\n\r\n" * 20):
            with self.subTest(text=text[:40]):
                r, p, d, _ = self.refused(text)
                doc = self.assert_own(502, "parent-proxy", r)
                self.assertIn("parent proxy " + p.authority, doc["detail"])
                self.assertNotIn("received-status", r.says)
                self.assertEqual(1, len(p.conns))
                self.assertEqual("1", d.wait_records(1)[0]["attempts"])

    @reduced
    def test_it_closes_before_it_answers(self):
        def script(conn):
            conn.request()
            conn.send(part)
            (conn.reset if rst else conn.close)()
        for part in (b"", b"HTTP/1.1 200 OK\r\nA: "):
            for rst in (False, True):
                with self.subTest(part=part, rst=rst):
                    p = self.raw_origin(script)
                    d = self.behind(p, defaults={"max_retries": "2"})
                    r = self.connect(d).open_tunnel("api.test:443")
                    doc = self.assert_own(502, "connect-failed", r)
                    self.assertIn("parent proxy %s closed" % p.authority,
                                  doc["detail"])
                    self.assertEqual("3", d.wait_records(1)[0]["attempts"])
                    self.assertEqual(3, len(p.requests))

    def test_it_answers_early_and_closes(self):
        """Without having read all of our CONNECT."""
        def script(conn):
            conn.until(b"\r\n")
            conn.answer(403, "no")
            conn.close()
        p = self.raw_origin(script)
        r = self.connect(self.behind(p)).open_tunnel("api.test:443")
        self.assert_parent(403, 403, r)

    @reduced
    def test_it_stalls(self):
        def script(conn):
            conn.request()
            conn.send(part)
            conn.rest()
        for part in (b"", b"HTTP/1.1 200 OK\r\nA: "):
            p = self.raw_origin(script)
            d = self.behind(p, defaults={"connect_timeout": "100ms",
                                         "max_retries": "1"})
            r = self.connect(d).open_tunnel("api.test:443")
            doc = self.assert_own(504, "connect-timeout", r)
            self.assertIn("parent proxy " + p.authority, doc["detail"])
            self.assertEqual(2, len(p.requests))
            eventually(p.gone, "the parent is let go")

    def test_the_client_leaves_meanwhile(self):
        def script(conn):
            conn.request()
            conn.rest()
        for how in ("close", "reset"):
            p = self.raw_origin(script)
            d = self.behind(p)
            c = self.connect(d)
            c.ask("CONNECT", "api.test:443")
            p.wait_requests(1)
            getattr(c, how)()
            if how == "reset":
                eventually(p.gone, "the parent is let go")
                self.assertEqual("client-gone",
                                 d.wait_records(1)[0]["reason"])

    def test_drain_while_it_is_asked(self):
        def script(conn):
            conn.request()
            asked.set()
            go.wait(PATIENCE)
            conn.send(ESTABLISHED)
            conn.send(conn.exactly(6)[::-1])
        asked, go = threading.Event(), threading.Event()
        p = self.raw_origin(script)
        d = self.behind(p)
        c = self.connect(d)
        c.ask("CONNECT", "api.test:443")
        self.assertTrue(asked.wait(PATIENCE))
        d.signal(signal.SIGTERM)
        d.wait_log("draining")
        go.set()
        self.assert_status(200, c.response("CONNECT"))
        c.send(b"abcdef")
        self.assertEqual(b"fedcba", c.exactly(6))
        c.close()
        self.assertEqual(0, d.wait_exit())


class Checked(ParentCase):
    """What the check of a configuration says."""

    def problems(self, *settings):
        args = [a for s in settings for a in ("-s", s)]
        done = self.run_abided("-t", "-c", "/dev/null", *args)
        return done.returncode, done.stdout

    @reduced
    def test_a_parent_that_is_ourselves(self):
        for listen, parent in (
                ("127.0.0.1:3999", "127.0.0.1:3999"),
                ("0.0.0.0:3999", "127.0.0.1:3999"),
                ("[::]:3999", "[::1]:3999"),
                ("127.0.0.1:3999", "localhost:3999")):
            with self.subTest(listen=listen, parent=parent):
                code, text = self.problems(
                    "proxy.listen=" + listen,
                    "defaults.parent_proxy=http://u:s3cret@" + parent)
                self.assertEqual(1, code, text)
                self.assertRegex(text, r"parent_proxy.*%s.*itself" %
                                 re.escape(parent))
                self.assertNotIn("s3cret", text)
                self.assertEqual(1, len(text.strip().split("\n")), text)

    def test_another_port_or_host_is_fine(self):
        for parent in ("127.0.0.1:3998", "127.0.0.2:3999", "parent:3999"):
            code, text = self.problems(
                "proxy.listen=127.0.0.1:3999",
                "defaults.parent_proxy=http://" + parent)
            self.assertEqual(0, code, text)


class Allocation(ParentCase):
    """Debug builds let one allocation in so many fail, at random."""

    @reduced
    def test_without_memory_there_is_a_clear_answer(self):
        if not build_has("ABIDED_FAIL_ALLOC"):
            self.skipTest("not a debug build")

        def script(conn):
            while True:
                req = conn.request()
                if req is None:
                    return
                if len(p.requests) % 3 == 0:
                    conn.answer(407, "", "Proxy-Authenticate: Basic")
                elif req.method == "CONNECT":
                    conn.send(ESTABLISHED + b"abc")
                    conn.rest()
                    return
                else:
                    conn.answer(200, req.body)
        p = self.raw_origin(script)
        d = self.behind(p, "u:p@", env={"ABIDED_FAIL_ALLOC": "30"})
        seen = set()
        for n in range(300):
            c = self.connect(d)
            method = ("CONNECT", "PUT")[n % 2]
            try:
                c.ask(method, ("api.test:443", TARGET)[n % 2],
                      body=noise(500) if n % 2 else None)
                r = c.response(method)
                seen.add(r.status)
                if r.status == 200 and method == "CONNECT":
                    self.assertEqual(b"abc", c.exactly(3))
                elif r.status >= 500:
                    self.assert_own(r.status, None, r)
            except (Cut, ConnectionError):
                seen.add("cut")
            c.close()
        self.assertTrue(d.alive())
        self.assertLessEqual({200, 407, 502, 503}, seen)
        self.assertLessEqual(seen, {200, 407, 502, 503, "cut"})


if __name__ == "__main__":
    unittest.main()
