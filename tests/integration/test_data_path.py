# SPDX-License-Identifier: MIT
"""Requests and answers that nobody throttles: what goes in comes out."""
import hashlib
import socket
import threading
import unittest

from harness import Case, eventually, reduced
from origin import answer
from wire import CRLF, Cut, Reset, noise

KI = 1024
SIZES = (0, 1, 64 * KI - 1, 64 * KI, 64 * KI + 1, 5 * KI * KI)


def digest(data):
    return hashlib.sha256(data).hexdigest()


class Forms(Case):
    """How a request may be written."""

    @reduced
    def test_absolute_form_goes_out_in_origin_form(self):
        o, d = self.origin(answer(200, "hello")), self.daemon()
        r = self.get(d, o.url("/a/b?c=d&e"), "X-Mine: 1", "Accept: */*")
        self.assert_status(200, r)
        self.assertEqual(b"hello", r.body)
        req = o.requests[0]
        self.assertEqual("GET /a/b?c=d&e HTTP/1.1", req.start)
        self.assertEqual(o.authority, req.get("Host"))
        self.assertEqual("1", req.get("X-Mine"))
        self.assertRegex(req.get("Via"), r"^1\.1 abided\S*$")
        self.assertRegex(r.get("Via"), r"^1\.1 abided\S*$")
        self.assertRegex(r.says, r"^abided; received-status=200\b")

    def test_target_beats_host(self):
        o, d = self.origin(answer(200)), self.daemon()
        c = self.connect(d)
        c.send(b"GET %s HTTP/1.1\r\nHost: other.test\r\n\r\n" %
               o.url("/x").encode())
        self.assert_status(200, c.response())
        self.assertEqual(o.authority, o.requests[0].get("Host"))

    def test_absolute_form_without_path(self):
        o, d = self.origin(answer(200)), self.daemon()
        self.assert_status(200, self.get(d, "http://" + o.authority))
        self.assert_status(200, self.get(d, "http://%s?q=1" % o.authority))
        self.assertEqual(["/", "/?q=1"], [r.target for r in o.requests])

    def test_gateway_by_host(self):
        o = self.origin(answer(200, "by host"))
        d = self.daemon(services={"api": {"hosts": o.authority}})
        c = self.connect(d)
        r = c.get("/v1/x?y=z", "Host: " + o.authority)
        self.assert_status(200, r)
        self.assertEqual(b"by host", r.body)
        self.assertEqual("/v1/x?y=z", o.requests[0].target)
        self.assertEqual("api", d.wait_records(1)[0]["service"])

    def test_gateway_by_route_takes_the_route_off(self):
        o = self.origin(answer(200, "by route"))
        d = self.daemon(services={
            "api": {"hosts": o.authority, "route": "/svc/"}})
        r = self.connect(d).get("/svc/v1/x?y=z", "Host: gateway.test")
        self.assert_status(200, r)
        req = o.requests[0]
        self.assertEqual("/v1/x?y=z", req.target)
        self.assertEqual(o.authority, req.get("Host"))

    def test_origin_form_for_nobody_is_refused_and_says_how(self):
        d = self.daemon()
        r = self.connect(d).get("/x", "Host: nowhere.test")
        doc = self.assert_own(400, None, r)
        self.assertIn("HTTP_PROXY", doc["detail"])

    def test_options_asterisk_is_about_the_proxy(self):
        d = self.daemon()
        c = self.connect(d)
        r = c.get("*", "Host: x", method="OPTIONS")
        self.assert_status(200, r)
        self.assertIn("CONNECT", r.get("Allow"))
        self.assert_status(200, c.get("*", "Host: x", method="OPTIONS"))

    def test_options_absolute_reaches_the_origin(self):
        o, d = self.origin(answer(200, "", "Allow: GET")), self.daemon()
        r = self.get(d, o.url("/x"), method="OPTIONS")
        self.assertEqual("GET", r.get("Allow"))
        self.assertEqual("OPTIONS", o.requests[0].method)

    def test_max_forwards_zero_is_answered_here(self):
        o, d = self.origin(answer(200)), self.daemon()
        c = self.connect(d)
        self.assert_status(200, c.get(o.url(), "Max-Forwards: 0",
                                      method="OPTIONS"))
        self.assertEqual([], o.requests)
        self.assert_status(200, c.get(o.url(), "Max-Forwards: 3",
                                      method="OPTIONS"))
        self.assertEqual("2", o.requests[0].get("Max-Forwards"))

    def test_http10_client_gets_a_close(self):
        o, d = self.origin(answer(200, "ten")), self.daemon()
        c = self.connect(d)
        r = c.get(o.url(), "Connection: keep-alive", version="HTTP/1.0",
                  host=False)
        self.assert_status(200, r)
        self.assertEqual(b"ten", r.body)
        self.assertTrue(c.at_end())
        self.assertEqual("HTTP/1.1", o.requests[0].version)
        self.assertRegex(o.requests[0].get("Via"), r"^1\.0 abided")

    def test_http10_client_gets_chunks_unwrapped(self):
        body = noise(100000)
        o = self.serving(chunked_answer(body))
        d = self.daemon()
        c = self.connect(d)
        r = c.get(o.url(), version="HTTP/1.0")
        self.assertEqual([], r.all("Transfer-Encoding"))
        self.assertEqual("close", r.framing)
        self.assertEqual(digest(body), digest(r.body))

    def test_hop_by_hop_fields_stay_here(self):
        o = self.origin(answer(200, "", "Connection: X-Theirs, keep-alive",
                               "X-Theirs: 1", "Keep-Alive: timeout=5",
                               "X-End: 1", "Proxy-Authenticate: Basic"))
        d = self.daemon()
        r = self.get(d, o.url(), "Connection: X-Mine", "X-Mine: 1",
                     "Proxy-Connection: keep-alive", "Keep-Alive: 3",
                     "TE: trailers", "X-Stays: 1", "Abide-Max-Wait: 3s",
                     "Proxy-Authorization: Basic c2VjcmV0")
        req = o.requests[0]
        for name in ("X-Mine", "Proxy-Connection", "Keep-Alive",
                     "Abide-Max-Wait", "Proxy-Authorization"):
            self.assertFalse(req.has(name), name)
        self.assertEqual("1", req.get("X-Stays"))
        self.assertEqual("1", r.get("X-End"))
        for name in ("X-Theirs", "Keep-Alive"):
            self.assertFalse(r.has(name), name)

    def test_https_target_is_spoken_to_over_tls_only(self):
        """A server that answers TLS with plain HTTP gets no request."""
        o, d = self.raw_origin(lambda conn: conn.more() and
                               conn.send(answer(400))), self.daemon()
        r = self.get(d, "https://%s/" % o.authority)
        self.assert_own(502, "tls-handshake", r)
        self.assertIn("tls_protocol_error", r.says)
        self.assertEqual(1, len(o.conns))

    def test_bad_requests_get_an_answer_and_a_close(self):
        o, d = self.origin(answer(200)), self.daemon()
        host = o.authority.encode()
        many = b"".join(b"X-%d: y\r\n" % i for i in range(2000))
        table = (
            (400, b"GET http://%s/ HTTP/1.1\r\n\r\n" % host),
            (400, b"GET http://%s/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" %
             host),
            (400, b"GET http://%s/ HTTP/1.1\r\nHost: a\r\nX Y: 1\r\n\r\n" %
             host),
            (400, b"POST http://%s/ HTTP/1.1\r\nHost: a\r\n"
             b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n" %
             host),
            (400, b"POST http://%s/ HTTP/1.1\r\nHost: a\r\n"
             b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n" % host),
            (505, b"GET http://%s/ HTTP/2.0\r\nHost: a\r\n\r\n" % host),
            (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9 +
             b"\r\n\r\n"),
            (414, b"GET http://%s/%s HTTP/1.1\r\n" % (host, b"a" * 70000)),
            (431, b"GET http://%s/ HTTP/1.1\r\nHost: a\r\n%s\r\n" %
             (host, many)),
            (431, b"GET http://%s/ HTTP/1.1\r\nHost: a\r\nX: %s\r\n\r\n" %
             (host, b"a" * 70000)),
            (417, b"POST http://%s/ HTTP/1.1\r\nHost: a\r\nExpect: magic\r\n"
             b"Content-Length: 1\r\n\r\n" % host),
        )
        for status, raw in table:
            with self.subTest(status=status, raw=raw[:60]):
                c = self.connect(d)
                c.send(raw)
                self.assert_own(status, None, c.response())
                self.assertTrue(c.at_end())
        self.assertEqual([], o.requests)


def chunked_answer(body, *fields, trailer=b"", piece=8192):
    """A script: body in chunks of that size."""
    def script(conn, _req, _n=0):
        conn.send(answer(200, b"", "Transfer-Encoding: chunked", *fields,
                         length=False))
        for at in range(0, len(body), piece):
            conn.chunk(body[at:at + piece])
        conn.send(b"0\r\n" + trailer + CRLF)
    return script


class Connections(Case):
    """Many requests on one connection."""

    @reduced
    def test_keep_alive_serves_many_on_one_connection(self):
        o, d = self.serving(lambda c, r, n: c.answer(200, r.target)), \
            self.daemon()
        c = self.connect(d)
        for i in range(20):
            self.assertEqual(b"/%d" % i, c.get(o.url("/%d" % i)).body)

    def test_connection_close_is_obeyed_and_said(self):
        o, d = self.origin(answer(200, "x")), self.daemon()
        c = self.connect(d)
        r = c.get(o.url(), "Connection: close")
        self.assertEqual("close", r.get("Connection"))
        self.assertTrue(c.at_end())

    def test_upstream_close_does_not_close_the_client(self):
        def script(conn, req, _n):
            conn.answer(200, req.target, "Connection: close")
            return False
        o, d = self.serving(script), self.daemon()
        c = self.connect(d)
        for i in range(3):
            r = c.get(o.url("/%d" % i))
            self.assertEqual(b"/%d" % i, r.body)
            self.assertEqual([], r.all("Connection"))
        self.assertEqual(3, len(o.conns))

    @reduced
    def test_pipelined_fifty_are_answered_in_order(self):
        o, d = self.serving(lambda c, r, n: c.answer(200, r.target)), \
            self.daemon()
        c = self.connect(d)
        c.send(b"".join(
            b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" %
            (o.url("/%d" % i).encode(), o.authority.encode())
            for i in range(50)))
        self.assertEqual([b"/%d" % i for i in range(50)],
                         [c.response().body for _ in range(50)])

    def test_pipelined_order_is_kept_where_the_first_is_slow(self):
        slow = self.raw_origin(self.slow)
        self.go = threading.Event()
        fast = self.origin(answer(200, "fast"))
        d = self.daemon()
        c = self.connect(d)
        for o in (slow, fast):
            c.ask("GET", o.url())
        slow.wait_requests(1)
        self.go.set()
        self.assertEqual([b"slow", b"fast"],
                         [c.response().body for _ in range(2)])

    def slow(self, conn):
        conn.request()
        self.go.wait(20)
        conn.answer(200, "slow")

    def test_pipelined_bodies_do_not_run_into_each_other(self):
        o, d = self.serving(lambda c, r, n: c.answer(200, r.body)), \
            self.daemon()
        c = self.connect(d)
        raw = b""
        for i in range(20):
            body = noise(i * 37, i)
            head = b"POST %s HTTP/1.1\r\nHost: x\r\n" % o.url().encode()
            if i % 2:
                raw += head + b"Content-Length: %d\r\n\r\n" % len(body) + body
                continue
            raw += head + b"Transfer-Encoding: chunked\r\n\r\n"
            if body:
                raw += b"%x\r\n" % len(body) + body + CRLF
            raw += b"0\r\n\r\n"
        c.send(raw)
        for i in range(20):
            self.assertEqual(digest(noise(i * 37, i)),
                             digest(c.response().body), i)

    def test_blank_line_before_a_request_is_forgiven(self):
        o, d = self.origin(answer(200, "x")), self.daemon()
        c = self.connect(d)
        c.send(CRLF)
        self.assert_status(200, c.get(o.url()))

    def test_head_in_single_bytes(self):
        o, d = self.origin(answer(200, "x")), self.daemon()
        c = self.connect(d)
        for byte in ("GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % o.url()).encode():
            c.send(bytes((byte,)))
        self.assertEqual(b"x", c.response().body)

    def test_garbage_behind_a_body_is_a_bad_request_of_its_own(self):
        o, d = self.origin(answer(200, "x")), self.daemon()
        c = self.connect(d)
        c.ask("POST", o.url(), body=b"abc")
        c.send(b"}}}\x00\x01 what?\r\n\r\n")
        self.assert_status(200, c.response("POST"))
        self.assert_own(400, None, c.response())
        self.assertTrue(c.at_end())
        self.assertEqual([b"abc"], [r.body for r in o.requests])

    def test_garbage_behind_an_answer_is_thrown_away(self):
        def script(conn, req, n):
            conn.send(answer(200, "good") + (b"HTTP/1.1 200 Evil\r\n"
                      b"Content-Length: 4\r\n\r\nevil" if n == 1 else b""))
        o, d = self.serving(script), self.daemon()
        c = self.connect(d)
        self.assertEqual(b"good", c.get(o.url()).body)
        self.assertEqual(b"good", c.get(o.url()).body)
        self.assertEqual(2, len(o.conns))


class Bodies(Case):
    """Every size, both framings, both ways."""

    @reduced
    def test_answers_of_every_size_with_length(self):
        o, d = self.serving(
            lambda c, r, n: c.answer(200, noise(int(r.target[1:])))), \
            self.daemon()
        c = self.connect(d)
        for n in SIZES:
            r = c.get(o.url("/%d" % n))
            self.assertEqual(str(n), r.get("Content-Length"))
            self.assertEqual(digest(noise(n)), digest(r.body), n)

    @reduced
    def test_answers_of_every_size_in_chunks(self):
        o = self.serving(lambda c, r, n: chunked_answer(
            noise(int(r.target[1:])))(c, r))
        d = self.daemon()
        c = self.connect(d)
        for n in SIZES:
            r = c.get(o.url("/%d" % n))
            self.assertEqual("chunked", r.framing)
            self.assertEqual(digest(noise(n)), digest(r.body), n)

    def test_answers_in_tiny_chunks(self):
        body = noise(20000)
        o, d = self.serving(chunked_answer(body, piece=3)), self.daemon()
        self.assertEqual(digest(body), digest(self.get(d, o.url()).body))

    def test_chunk_extensions_are_dropped(self):
        o = self.origin(answer(200, b"5;a=b;c=\"d\"\r\nhello\r\n0;x\r\n\r\n",
                               "Transfer-Encoding: chunked", length=False))
        r = self.get(self.daemon(), o.url())
        self.assertEqual(b"hello", r.body)

    @reduced
    def test_requests_of_every_size_with_length(self):
        o, d = self.serving(
            lambda c, r, n: c.answer(200, digest(r.body))), self.daemon()
        c = self.connect(d)
        for n in SIZES:
            r = c.get(o.url(), method="POST", body=noise(n))
            self.assertEqual(digest(noise(n)), r.body.decode(), n)
            self.assertEqual(str(n), o.requests[-1].get("Content-Length"))

    @reduced
    def test_requests_of_every_size_in_chunks(self):
        o, d = self.serving(
            lambda c, r, n: c.answer(200, digest(r.body))), self.daemon()
        c = self.connect(d)
        for n in SIZES:
            body = noise(n)
            c.ask("POST", o.url(), "Transfer-Encoding: chunked")
            for at in range(0, n, 50000):
                c.chunk(body[at:at + 50000])
            c.send(b"0\r\n\r\n")
            r = c.response("POST")
            self.assertEqual(digest(body), r.body.decode(), n)
            self.assertEqual("chunked", o.requests[-1].framing)

    def test_trailers_pass_both_ways(self):
        o = self.serving(chunked_answer(
            b"abc", "Trailer: X-Sum", trailer=b"X-Sum: 7\r\nX-More: 8\r\n"))
        d = self.daemon()
        c = self.connect(d)
        c.ask("POST", o.url(), "Transfer-Encoding: chunked", "TE: trailers",
              "Trailer: X-Up")
        c.send(b"3\r\nxyz\r\n0\r\nX-Up: 1\r\nX-Too: 2\r\n\r\n")
        r = c.response("POST")
        self.assertEqual([("X-Sum", "7"), ("X-More", "8")], r.trailers)
        self.assertEqual([("X-Up", "1"), ("X-Too", "2")],
                         o.requests[0].trailers)
        self.assertEqual(b"xyz", o.requests[0].body)

    def test_until_close_body_is_whole_and_the_client_stays(self):
        body = noise(300000)

        def script(conn, _req, _n):
            conn.send(answer(200, body, length=False))
            return False
        o, d = self.serving(script), self.daemon()
        c = self.connect(d)
        for _ in range(2):
            r = c.get(o.url())
            self.assertEqual("chunked", r.framing)
            self.assertEqual(digest(body), digest(r.body))

    def test_until_close_body_to_an_http10_client(self):
        def script(conn, _req, _n):
            conn.send(answer(200, b"to the end", length=False,
                             version="HTTP/1.0"))
            return False
        o, d = self.serving(script), self.daemon()
        r = self.get(d, o.url(), version="HTTP/1.0")
        self.assertEqual("close", r.framing)
        self.assertEqual(b"to the end", r.body)

    def test_head_and_bodiless_statuses(self):
        o = self.serving(lambda c, r, n: c.send({
            "/head": answer(200, "", "Content-Length: 500", length=False),
            "/204": answer(204, "", length=False),
            "/304": answer(304, "", "Content-Length: 77", 'ETag: "x"',
                           length=False),
            "/chunked": answer(200, "", "Transfer-Encoding: chunked",
                               length=False)}[r.target]))
        d = self.daemon()
        c = self.connect(d)
        r = c.get(o.url("/head"), method="HEAD")
        self.assertEqual("500", r.get("Content-Length"))
        self.assert_status(204, c.get(o.url("/204")))
        r = c.get(o.url("/304"))
        self.assert_status(304, r)
        self.assertEqual('"x"', r.get("ETag"))
        c.get(o.url("/chunked"), method="HEAD")
        self.assert_status(204, c.get(o.url("/204")))
        self.assertEqual(1, len(o.conns))

    def test_status_and_fields_are_verbatim(self):
        fields = ["X-Case: MiXeD", "Set-Cookie: a=1; Path=/",
                  "Set-Cookie: b=2", "x-empty:", "Server: theirs/1",
                  "Date: Tue, 15 Nov 1994 08:12:31 GMT"]
        o = self.origin(answer(299, "x", *fields, reason="Strange But True"))
        r = self.get(self.daemon(), o.url())
        self.assertEqual("HTTP/1.1 299 Strange But True", r.start)
        self.assertEqual([tuple(p.strip() for p in f.split(":", 1))
                          for f in fields], r.fields[:len(fields)])


class Interim(Case):
    """1xx."""

    def test_103_is_relayed_before_the_answer(self):
        o = self.origin(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                        b"HTTP/1.1 102 Processing\r\n\r\n" + answer(200, "x"))
        r = self.get(self.daemon(), o.url())
        self.assertEqual([103, 102], [i.status for i in r.interims])
        self.assertEqual("</a>", r.interims[0].get("Link"))
        self.assertEqual(b"x", r.body)

    def test_1xx_is_not_for_http10(self):
        o = self.origin(b"HTTP/1.1 103 Early Hints\r\n\r\n" +
                        answer(200, "x"))
        c = self.connect(self.daemon())
        c.ask("GET", o.url(), version="HTTP/1.0")
        self.assertTrue(c.until(CRLF).startswith(b"HTTP/1.1 200"))

    @reduced
    def test_expect_gets_one_100_and_one_final(self):
        o, d = self.serving(
            lambda c, r, n: c.answer(201, digest(r.body))), self.daemon()
        c = self.connect(d)
        body = noise(200000)
        c.ask("PUT", o.url(), "Expect: 100-continue",
              "Content-Length: %d" % len(body))
        first = c.head(lambda start, fields: start)
        self.assertEqual("HTTP/1.1 100 Continue", first)
        c.send(body)
        r = c.response("PUT")
        self.assert_status(201, r)
        self.assertEqual([], r.interims)
        self.assertEqual(digest(body), r.body.decode())
        self.assert_status(201, c.get(o.url()))

    def test_expect_of_a_client_that_does_not_wait(self):
        o, d = self.serving(
            lambda c, r, n: c.answer(200, digest(r.body))), self.daemon()
        c = self.connect(d)
        r = c.get(o.url(), "Expect: 100-continue", method="PUT",
                  body=b"at once")
        self.assert_status(200, r)
        self.assertLessEqual(len(r.interims), 1)
        self.assertEqual(digest(b"at once"), r.body.decode())

    def test_upstream_100_is_not_passed_on_twice(self):
        def script(conn):
            req = conn.request(body=False)
            conn.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            conn.read_body(req)
            conn.answer(200, req.body)
        o, d = self.raw_origin(script), self.daemon()
        c = self.connect(d)
        c.ask("PUT", o.url(), "Expect: 100-continue", "Content-Length: 3")
        self.assertEqual("HTTP/1.1 100 Continue",
                         c.head(lambda start, fields: start))
        c.send(b"abc")
        r = c.response("PUT")
        self.assertEqual([], r.interims)
        self.assertEqual(b"abc", r.body)


class CutAnswers(Case):
    """What the upstream cuts is cut for the client: no clean end."""

    def cut(self, first, reset=False, **kw):
        def script(conn, _req, _n):
            conn.send(first)
            if reset:
                conn.reset()
            return False
        o, d = self.serving(script), self.daemon()
        c = self.connect(d)
        c.ask("GET", o.url(), **kw)
        return c, o, d

    def test_length(self):
        c, o, d = self.cut(answer(200, "half", "Content-Length: 8",
                                  length=False))
        with self.assertRaises(Cut) as caught:
            c.response()
        self.assertEqual(b"half", caught.exception.got)
        self.assertEqual("upstream-cut", d.wait_records(1)[0]["reason"])
        self.assertEqual(1, len(o.requests))

    def test_length_by_reset(self):
        c, _, d = self.cut(answer(200, noise(100000), "Content-Length: "
                                  "200000", length=False), reset=True)
        self.assertRaises(Cut, c.response)
        self.assertEqual("upstream-cut", d.wait_records(1)[0]["reason"])

    def test_chunks(self):
        c, _, _ = self.cut(answer(200, b"4\r\nhalf\r\n",
                                  "Transfer-Encoding: chunked",
                                  length=False))
        with self.assertRaises(Cut) as caught:
            c.response()
        self.assertNotIn(b"0\r\n\r\n", caught.exception.got)

    def test_inside_a_chunk(self):
        c, _, _ = self.cut(answer(200, b"8\r\nhalf",
                                  "Transfer-Encoding: chunked",
                                  length=False))
        self.assertRaises(Cut, c.response)

    def test_bad_chunk(self):
        c, _, _ = self.cut(answer(200, b"4\r\nhalf\r\nzz\r\n",
                                  "Transfer-Encoding: chunked",
                                  length=False))
        self.assertRaises(Cut, c.response)

    def test_until_close_by_reset_in_chunks(self):
        """The client's framing can tell: there is no last chunk."""
        go = threading.Event()

        def script(conn, _req, _n):
            conn.send(answer(200, b"half", length=False))
            go.wait(20)
            conn.reset()
            return False
        o, d = self.serving(script), self.daemon()
        c = self.connect(d)
        c.ask("GET", o.url())
        self.assertIn(b"half", c.until(b"half") + b"half")
        go.set()
        self.assertRaises(Cut, c.until, b"0\r\n\r\n")

    def test_until_close_by_reset_to_http10_is_a_reset(self):
        go = threading.Event()

        def script(conn, _req, _n):
            conn.send(answer(200, b"half", length=False))
            go.wait(20)
            conn.reset()
            return False
        o, d = self.serving(script), self.daemon()
        c = self.connect(d)
        c.ask("GET", o.url(), version="HTTP/1.0")
        c.until(b"half")
        go.set()
        self.assertRaises(Reset, c.rest)

    def test_chunks_cut_to_http10_are_a_reset(self):
        go = threading.Event()

        def script(conn, _req, _n):
            conn.send(answer(200, b"4\r\nhalf\r\n",
                             "Transfer-Encoding: chunked", length=False))
            go.wait(20)
            return False
        o, d = self.serving(script), self.daemon()
        c = self.connect(d)
        c.ask("GET", o.url(), version="HTTP/1.0")
        c.until(b"half")
        go.set()
        self.assertRaises(Reset, c.rest)


class Pressure(Case):
    """A fast side does not fill the memory when the other one is slow."""

    BIG = 200 * 1000 * 1000
    GROWTH = 48 << 20
    PIECE = noise(1 << 20)

    def setUp(self):
        super().setUp()
        self.sent, self.total = 0, hashlib.sha256()

    @staticmethod
    def narrow(sock):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)

    def flood(self, conn):
        """Sends BIG bytes, and counts and sums what has gone."""
        while self.sent < self.BIG:
            part = self.PIECE[:self.BIG - self.sent]
            self.total.update(part)
            for at in range(0, len(part), 65536):
                conn.send(part[at:at + 65536])
                self.sent += len(part[at:at + 65536])

    def stalled(self):
        """Until the flood is held back: all that may be read ahead is."""
        still, last = [0], [-1]

        def fact():
            still[0] = still[0] + 1 if self.sent == last[0] else 0
            last[0] = self.sent
            return still[0] >= 60
        eventually(fact, "the flood stands still")

    def test_slow_reader(self):
        def script(conn, _req, _n):
            conn.send(answer(200, b"", "Content-Length: %d" % self.BIG,
                             length=False))
            self.flood(conn)
        o, d = self.serving(script), self.daemon()
        c = self.connect(d)
        self.narrow(c.sock)
        base, got = d.peak(), hashlib.sha256()
        c.ask("GET", o.url())
        o.wait_requests(1)
        self.stalled()
        self.assertLess(self.sent, self.BIG // 2)
        self.assert_status(200, c.response(sink=got.update))
        self.assertLess(d.peak() - base, self.GROWTH)
        self.assertEqual(self.total.hexdigest(), got.hexdigest())

    def test_slow_writer(self):
        """The origin reads late; the body is over the replay buffers."""
        go, got = threading.Event(), hashlib.sha256()

        def script(conn):
            self.narrow(conn.sock)
            req = conn.request(body=False)
            go.wait(30)
            conn.read_body(req, sink=got.update)
            conn.answer(200, "thanks")
        o = self.raw_origin(script)
        d = self.daemon(defaults={"body_buffer": "64KiB",
                                  "body_spill": "64KiB"})
        c = self.connect(d)
        base = d.peak()
        c.ask("PUT", o.url(), "Content-Length: %d" % self.BIG)
        t = threading.Thread(target=self.flood, args=(c,), daemon=True)
        t.start()
        o.wait_requests(1)
        self.stalled()
        self.assertLess(self.sent, self.BIG // 2)
        go.set()
        r = c.response("PUT")
        t.join(30)
        self.assertEqual(b"thanks", r.body)
        self.assertLess(d.peak() - base, self.GROWTH)
        self.assertEqual(self.total.hexdigest(), got.hexdigest())


if __name__ == "__main__":
    unittest.main()
