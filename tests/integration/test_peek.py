# SPDX-License-Identifier: MIT
"""Answers whose body is looked at before they are judged, and the heartbeat."""
import gzip
import time
import unittest

from harness import Case, reduced
from origin import answer, throttled
from wire import Cut, noise

BUSY = b'{"error":{"code":"busy"}}'
BILL = b'{"error":{"code":"insufficient_quota"}}'
RULES = {
    "throttled_when": ["200|400 json error.code = busy",
                       "200 body \"please slow down\""],
    "permanent_when": "429 json error.code = insufficient_quota",
    "wait_body": "200|400|429 json error.wait : s",
    "wait_headers": "retry-after:auto",
    "retry_non_idempotent": "429, 200, 400",
}
JSON = "Content-Type: application/json"
STREAM = "Content-Type: text/event-stream"
OVERLOADED = (b"event: error\ndata: {\"error\":{\"code\":\"busy\"}}\n\n")
HELLO = b"event: start\ndata: {\"x\":1}\n\ndata: end\n\n"


def in_pieces(conn, body, size):
    for at in range(0, len(body), size):
        conn.send(b"%x\r\n" % len(body[at:at + size]) +
                  body[at:at + size] + b"\r\n")
    conn.send(b"0\r\n\r\n")


def chunked(status, body, *fields, size=1):
    """An answer in chunks of so many bytes."""
    def say(conn, _req):
        conn.send(answer(status, b"", "Transfer-Encoding: chunked", *fields,
                         length=False))
        in_pieces(conn, body, size)
    return say


def dribble(status, body, *fields):
    """An answer byte by byte, each in a packet of its own as far as may be."""
    def say(conn, _req):
        for byte in answer(status, body, *fields):
            conn.send(bytes([byte]))
    return say


class Peeks(Case):
    def ruled(self, **more):
        return self.daemon(defaults={**RULES, **more})

    @reduced
    def test_rule_makes_a_success_a_refusal(self):
        for busy in (answer(200, BUSY, JSON), answer(400, BUSY, JSON),
                     chunked(200, BUSY, JSON), dribble(200, BUSY, JSON),
                     chunked(400, BUSY, JSON, size=7),
                     answer(200, b"x Please slow DOWN x",
                            "Content-Type: text/html"),
                     answer(200, gzip.compress(BUSY), JSON,
                            "Content-Encoding: gzip")):
            with self.subTest(busy=busy):
                o = self.origin(busy, answer(200, b'{"fine":1}', JSON))
                d = self.ruled()
                r = self.get(d, o.url(), method="POST", body=b"same")
                self.assert_status(200, r)
                self.assertEqual(b'{"fine":1}', r.body)
                self.assertEqual(2, len(o.requests))
                self.assertEqual([b"same"] * 2, [q.body for q in o.requests])

    def test_last_refusal_is_relayed_untouched(self):
        body = gzip.compress(BUSY)
        for busy in (answer(200, body, JSON, "Content-Encoding: gzip"),
                     chunked(200, body, JSON, "Content-Encoding: gzip",
                             size=3)):
            with self.subTest(busy=busy):
                o = self.origin(busy)
                d = self.ruled(max_retries="1")
                r = self.get(d, o.url())
                self.assert_status(200, r)
                self.assertEqual(body, r.body)
                self.assertEqual("gzip", r.get("Content-Encoding"))
                self.assert_reason("retries-exhausted", r)
                self.assertEqual(2, len(o.requests))

    def test_permanent_refusal_is_relayed_at_once(self):
        """C35: and it holds nobody up."""
        o = self.origin(answer(429, BILL, JSON, "Retry-After: 30"),
                        answer(200, b"{}", JSON))
        d = self.ruled()
        r = self.get(d, o.url())
        self.assert_status(429, r)
        self.assertEqual(BILL, r.body)
        self.assertEqual("30", r.get("Retry-After"))
        self.assert_reason("permanent-refusal", r)
        self.assert_status(200, self.get(d, o.url()))
        self.assertEqual(2, len(o.requests))
        self.assertEqual([], d.records("park"))

    def test_wait_of_the_body_is_kept(self):
        o = self.origin(answer(429, b'{"error":{"wait":0.4}}', JSON),
                        answer(200, b"{}", JSON))
        d = self.ruled()
        self.assert_status(200, self.get(d, o.url()))
        self.assertGreaterEqual(o.requests[1].at - o.requests[0].at, 0.4)

    def test_connection_serves_again_after_a_look(self):
        o = self.origin(answer(200, BUSY, JSON), chunked(200, BUSY, JSON),
                        answer(200, b"[]", JSON))
        d = self.ruled()
        self.assertEqual(b"[]", self.get(d, o.url()).body)
        self.assertEqual(1, len({q.connection for q in o.requests}))

    def test_long_bodies_pass_whole(self):
        """Longer than what is looked at, in every framing."""
        body = b'{"x":"' + noise(300000).hex().encode() + b'"}'

        def until_close(conn, _req):
            conn.send(answer(200, b"", JSON, "Connection: close",
                             length=False) + body)
            return False
        for what in (answer(200, body, JSON), chunked(200, body, JSON,
                                                      size=1000),
                     until_close):
            with self.subTest(what=callable(what)):
                o = self.origin(what)
                d = self.ruled()
                r = self.get(d, o.url())
                self.assertEqual(body, r.body)
                self.assertEqual(1, len(o.requests))

    def test_short_body_until_close(self):
        def busy(conn, _req):
            conn.send(answer(200, b"", JSON, "Connection: close",
                             length=False) + BUSY)
            return False
        o = self.origin(busy, answer(200, b"{}", JSON))
        d = self.ruled()
        self.assertEqual(b"{}", self.get(d, o.url()).body)
        self.assertEqual(2, len(o.requests))

    def test_slow_body_is_not_waited_for(self):
        """A long poll: what is there after a second decides, and goes on."""
        def slow(conn, _req):
            conn.send(answer(200, b"", JSON, "Transfer-Encoding: chunked",
                             length=False) + b"5\r\n{\"a\":\r\n")
            return conn.hang()
        o = self.origin(slow)
        d = self.ruled()
        c = self.connect(d)
        c.ask("GET", o.url())
        head = c.until(b"\r\n\r\n")
        self.assertIn(b" 200 ", head.split(b"\r\n")[0])
        self.assertEqual(b"5\r\n{\"a\":\r\n", c.exactly(10))

    def test_cut_body_is_cut(self):
        def cut(conn, _req):
            conn.send(answer(200, b"", JSON, "Content-Length: 1000",
                             length=False) + b"{")
            conn.cut()
            return False
        o = self.origin(cut)
        d = self.ruled()
        with self.assertRaises(Cut):
            self.get(d, o.url())
        self.assertEqual("upstream-cut", d.wait_records(1)[0]["reason"])
        self.assertEqual(1, len(o.requests))

    def test_bad_chunk_is_cut(self):
        o = self.origin(answer(200, b"zz\r\n", JSON,
                               "Transfer-Encoding: chunked", length=False))
        d = self.ruled()
        with self.assertRaises(Cut):
            self.get(d, o.url())

    def test_client_leaves_during_a_look(self):
        def slow(conn, _req):
            conn.send(answer(200, b"{", JSON, "Content-Length: 9",
                             length=False))
            return conn.hang()
        o = self.origin(slow)
        d = self.ruled()
        c = self.connect(d)
        c.ask("GET", o.url())
        o.wait_requests(1)
        c.reset()
        self.assertEqual("client-gone", d.wait_records(1)[0]["reason"])

    def test_deadline_during_a_look_relays_what_is_there(self):
        def slow(conn, _req):
            conn.send(answer(200, b"{", JSON, "Content-Length: 2",
                             length=False))
            time.sleep(0.6)
            conn.send(b"}")
        o = self.origin(slow)
        d = self.ruled(deadline="400ms")
        r = self.get(d, o.url())
        self.assert_status(200, r)
        self.assertEqual(b"{}", r.body)

    def test_pictures_and_heads_are_not_looked_at(self):
        o = self.origin(answer(200, BUSY, "Content-Type: image/png"),
                        answer(400, b"", JSON, "Content-Length: 25",
                               length=False))
        d = self.daemon(defaults={
            "throttled_when": "200|400 json error.code = busy"})
        self.assertEqual(BUSY, self.get(d, o.url()).body)
        self.assert_status(400, self.get(d, o.url(), method="HEAD"))
        self.assertEqual(2, len(o.requests))


class Streams(Case):
    """C73."""

    def ruled(self, **more):
        return self.daemon(defaults={**RULES, **more})

    @reduced
    def test_refusal_in_the_first_event_is_absorbed(self):
        for size in (1, 1000):
            with self.subTest(size=size):
                o = self.origin(chunked(200, OVERLOADED, STREAM, size=size),
                                chunked(200, HELLO, STREAM))
                d = self.ruled(stream_peek="4KiB")
                r = self.get(d, o.url(), method="POST", body=b"{}")
                self.assertEqual(HELLO, r.body)
                self.assertEqual(2, len(o.requests))

    def test_without_peek_a_stream_goes_on(self):
        o = self.origin(chunked(200, OVERLOADED, STREAM))
        d = self.ruled()
        self.assertEqual(OVERLOADED, self.get(d, o.url()).body)
        self.assertEqual(1, len(o.requests))

    def test_first_event_is_enough(self):
        """The stream goes on as soon as its first event is whole."""
        def stream(conn, _req):
            conn.send(answer(200, b"", STREAM, length=False) + b": ping\n\n" +
                      HELLO)
            return conn.hang()
        o = self.origin(stream)
        d = self.ruled(stream_peek="4KiB", response_timeout="30s")
        c = self.connect(d)
        began = time.monotonic()
        c.ask("GET", o.url())
        c.until(b"data: end")
        self.assertLess(time.monotonic() - began, 1.9)

    def test_later_refusals_are_the_clients(self):
        o = self.origin(chunked(200, HELLO + OVERLOADED, STREAM))
        d = self.ruled(stream_peek="4KiB")
        self.assertEqual(HELLO + OVERLOADED, self.get(d, o.url()).body)
        self.assertEqual(1, len(o.requests))

    def test_look_is_bounded_in_bytes(self):
        long = b"data: " + b"x" * 5000 + b"\n\n"

        def stream(conn, _req):
            conn.send(answer(200, b"", STREAM, length=False) + long[:4500])
            return conn.hang()
        o = self.origin(stream)
        d = self.ruled(stream_peek="4KiB")
        c = self.connect(d)
        began = time.monotonic()
        c.ask("GET", o.url())
        c.until(b"data: xxx")
        self.assertLess(time.monotonic() - began, 1.9)

    def test_look_is_bounded_in_time(self):
        def stream(conn, _req):
            conn.send(answer(200, b"", STREAM, length=False) + b": ping\n\n")
            return conn.hang()
        o = self.origin(stream)
        d = self.ruled(stream_peek="4KiB")
        c = self.connect(d)
        c.ask("GET", o.url())
        c.until(b": ping")

    def test_coded_stream_goes_on(self):
        body = gzip.compress(OVERLOADED)
        o = self.origin(answer(200, body, STREAM, "Content-Encoding: gzip"))
        d = self.ruled(stream_peek="4KiB")
        self.assertEqual(body, self.get(d, o.url()).body)
        self.assertEqual(1, len(o.requests))


class Beats(Case):
    def test_waiting_client_hears_of_it(self):
        o = self.origin(throttled("Retry-After: 1"), answer(200, b"x"))
        d = self.daemon(defaults={"heartbeat": "200ms"})
        r = self.get(d, o.url())
        self.assert_status(200, r)
        self.assertGreaterEqual(len(r.interims), 2)
        self.assertEqual({102}, {i.status for i in r.interims})

    def test_off_by_default(self):
        o = self.origin(throttled("Retry-After: 0.5"), answer(200, b"x"))
        d = self.daemon()
        self.assertEqual([], self.get(d, o.url()).interims)

    def test_old_clients_get_none(self):
        o = self.origin(throttled("Retry-After: 0.5"), answer(200, b"x"))
        d = self.daemon(defaults={"heartbeat": "100ms"})
        r = self.get(d, o.url(), version="HTTP/1.0")
        self.assert_status(200, r)
        self.assertEqual([], r.interims)

    def test_own_answer_ends_it(self):
        o = self.origin(throttled("Retry-After: 30"))
        d = self.daemon(defaults={"heartbeat": "100ms", "deadline": "40s",
                                  "queue_timeout": "500ms"})
        first = self.connect(d)
        first.ask("GET", o.url())
        d.wait_parked(1)
        c = self.connect(d)
        r = c.get(o.url())
        self.assert_own(503, "queue-timeout", r)
        self.assertGreaterEqual(len(r.interims), 2)


if __name__ == "__main__":
    unittest.main()
