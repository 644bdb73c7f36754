# SPDX-License-Identifier: MIT
"""Throttled answers become one slower answer. C..: the case bank's numbers."""
import email.utils
import gzip
import threading
import time
import unittest

from harness import Case, eventually, reduced
from origin import answer, throttled
from test_data_path import digest
from wire import PATIENCE, Cut, noise


def gaps(o):
    """Seconds between the attempts."""
    return [b.at - a.at for a, b in zip(o.requests, o.requests[1:])]


class Absorbs(Case):
    @reduced
    def test_demo(self):
        """Two refusals with a hint become one 200, two seconds later."""
        o = self.origin(throttled("Retry-After: 1"),
                        throttled("Retry-After: 1"), answer(200, "at last"))
        d = self.daemon()
        began = time.monotonic()
        r = self.get(d, o.url("/demo"))
        took = time.monotonic() - began
        self.assert_status(200, r)
        self.assertEqual(b"at last", r.body)
        self.assertEqual([], r.all("Retry-After"))
        self.assertEqual(3, len(o.requests))
        for gap in gaps(o):
            self.assertGreaterEqual(gap, 1.0)
        self.assertLess(took, 10)
        self.assertRegex(r.says, r"attempts=3 waited=2\.\ds")
        record = d.wait_records(1)[0]
        self.assertEqual("429,429,200", record["upstream"])
        self.assertEqual("3", record["attempts"])
        self.assertEqual("-", record["reason"])
        self.assertEqual(2, len(d.records("park")))

    @reduced
    def test_each_status_that_means_throttled(self):
        for status in (429, 503, 504):
            with self.subTest(status=status):
                o = self.origin(throttled(status=status), answer(200, "x"))
                d = self.daemon()
                self.assert_status(200, self.get(d, o.url()))
                self.assertEqual(2, len(o.requests))

    def test_other_failures_are_relayed_at_once(self):
        for status in (400, 401, 403, 404, 500, 502):
            with self.subTest(status=status):
                o = self.origin(throttled("Retry-After: 1", status=status))
                d = self.daemon()
                r = self.get(d, o.url())
                self.assert_status(status, r)
                self.assertEqual("1", r.get("Retry-After"))
                self.assertEqual(1, len(o.requests))

    def test_successes_with_a_hint_are_relayed_at_once(self):
        """C27, C28."""
        for status in (200, 201, 202, 301):
            with self.subTest(status=status):
                o = self.origin(answer(status, "x", "Retry-After: 30",
                                       "Location: /y"))
                d = self.daemon()
                r = self.get(d, o.url(), method="POST", body=b"x")
                self.assert_status(status, r)
                self.assertEqual("30", r.get("Retry-After"))
                self.assertEqual(1, len(o.requests))

    def test_last_answer_is_relayed_verbatim(self):
        """C36: the last of the refusals, with body and fields."""
        page = noise(5000)

        def script(conn, _req, n):
            conn.send(answer(503, b"", "Transfer-Encoding: chunked",
                             "Server: cdn", "Content-Type: text/html",
                             "X-Try: %d" % n, length=False))
            for at in range(0, len(page), 1000):
                conn.chunk(page[at:at + 1000])
            conn.send(b"0\r\n\r\n")
        o = self.serving(script)
        d = self.daemon(defaults={"max_retries": "3"})
        r = self.get(d, o.url())
        self.assert_status(503, r)
        self.assertEqual("4", r.get("X-Try"))
        self.assertEqual("cdn", r.get("Server"))
        self.assertEqual("chunked", r.framing)
        self.assertEqual(digest(page), digest(r.body))
        self.assert_reason("retries-exhausted", r)
        self.assertEqual(4, len(o.requests))

    def test_hint_forms(self):
        """C07, C11, C14 to C23 end to end: never earlier."""
        now = int(time.time())
        soon = now + 1
        plain = email.utils.formatdate(soon, usegmt=True)
        date = "Date: " + email.utils.formatdate(now, usegmt=True)
        table = (
            (1.0, ["Retry-After: 1"]),
            (0.3, ["Retry-After: 0.3"]),
            (0.25, ["retry-after-ms: 250", "Retry-After: 9"]),
            (0.2, ["x-ms-retry-after-ms: 200"]),
            (1.0, ["Retry-After: " + plain, date]),
            (1.0, ["Retry-After: " + time.strftime(
                "%A, %d-%b-%y %H:%M:%S GMT", time.gmtime(soon)), date]),
            (1.0, ["Retry-After: " + time.strftime(
                "%a %b %d %H:%M:%S %Y", time.gmtime(soon)), date]),
            (1.0, ["x-ratelimit-remaining: 0",
                   "x-ratelimit-reset: %d" % soon, date]),
            (1.0, ["x-ratelimit-reset: 1"]),
            (1.0, ["x-ratelimit-remaining: 0",
                   "x-ratelimit-reset-after: 1.0"]),
            (1.0, ["x-ratelimit-remaining-requests: 9",
                   "x-ratelimit-reset-requests: 6m0s",
                   "x-ratelimit-remaining-tokens: 0",
                   "x-ratelimit-reset-tokens: 1.0s"]),
            (1.0, ["anthropic-ratelimit-tokens-remaining: 0",
                   "anthropic-ratelimit-tokens-reset: " + time.strftime(
                       "%Y-%m-%dT%H:%M:%SZ", time.gmtime(soon)), date]),
            (1.0, ['RateLimit: "default";r=0;t=1, "day";r=7;t=900']),
            (1.0, ["RateLimit: limit=5, remaining=0, reset=1"]),
            (1.0, ["RateLimit-Limit: 5", "RateLimit-Remaining: 0",
                   "RateLimit-Reset: 1"]),
        )
        d = self.daemon()
        for least, fields in table:
            with self.subTest(fields=fields):
                o = self.origin(throttled(*fields), answer(200))
                self.assert_status(200, self.get(d, o.url()))
                self.assertGreaterEqual(gaps(o)[0], least)
                self.assertLess(gaps(o)[0], least + 5)

    def test_no_hints_fall_back_to_own_delay(self):
        """C01, C05, C08."""
        d = self.daemon()
        for value in ("0", "-5", "+5", "", "abc", "0x10", "1e3",
                      "Sun, 06 Nov 1994 08:49:37 GMT"):
            with self.subTest(value=value):
                o = self.origin(throttled("Retry-After: " + value),
                                answer(200))
                self.assert_status(200, self.get(d, o.url()))
                self.assertEqual(2, len(o.requests))
                self.assertLess(gaps(o)[0], 3)

    def test_folded_hint_does_not_hurt(self):
        """C25: an obs-fold line is no hint, and no crash."""
        o = self.origin(b"HTTP/1.1 429 X\r\nRetry-After:\r\n 1\r\n"
                        b"Content-Length: 0\r\n\r\n", answer(200))
        r = self.get(self.daemon(), o.url())
        self.assertIn(r.status, (200, 502))

    @reduced
    def test_hint_over_max_wait_is_relayed_at_once(self):
        """C06, C32: body and fields untouched, never shortened."""
        d = self.daemon(defaults={"max_wait": "5s"})
        for value in ("6", "9999999999", "1" * 40):
            with self.subTest(value=value):
                o = self.origin(throttled("Retry-After: " + value, "X-A: b",
                                          body=b"come later"))
                r = self.get(d, o.url())
                self.assert_status(429, r)
                self.assertEqual("Too Fast", r.reason)
                self.assertEqual(value, r.get("Retry-After"))
                self.assertEqual("b", r.get("X-A"))
                self.assertEqual(b"come later", r.body)
                self.assert_reason("hint-over-max-wait", r)
                self.assertEqual(1, len(o.requests))

    @reduced
    def test_shut_for_longer_is_answered_here_with_the_true_wait(self):
        """Rule 6: no attempt, the status that shut it."""
        o = self.origin(throttled("Retry-After: 50", status=503))
        d = self.daemon(defaults={"max_wait": "5s"})
        self.assert_status(503, self.get(d, o.url()))
        r = self.get(d, o.url())
        self.assert_own(503, "service-shut", r)
        self.assertIn(int(r.get("Retry-After")), range(45, 52))
        self.assertEqual(1, len(o.requests))

    def test_client_may_ask_for_less_patience(self):
        """C33, and that it is taken out either way."""
        o = self.origin(throttled("Retry-After: 10"), answer(200))
        d = self.daemon(defaults={"allow_overrides": "yes"})
        r = self.get(d, o.url(), "Abide-Max-Wait: 3s")
        self.assert_status(429, r)
        self.assert_reason("hint-over-max-wait", r)
        self.assertFalse(o.requests[0].has("Abide-Max-Wait"))
        o = self.origin(throttled("Retry-After: 1"), answer(200))
        r = self.get(d, o.url(), "Abide-Max-Retries: 0")
        self.assert_status(429, r)
        self.assertFalse(o.requests[0].has("Abide-Max-Retries"))
        o = self.origin(throttled("Retry-After: 1"), answer(200))
        d = self.daemon()
        self.assert_status(200, self.get(d, o.url(), "Abide-Max-Retries: 0"))

    def test_deadline_ends_in_the_answer_in_hand(self):
        o = self.origin(throttled("Retry-After: 1"))
        d = self.daemon(defaults={"deadline": "1500ms"})
        began = time.monotonic()
        r = self.get(d, o.url())
        self.assert_status(429, r)
        self.assert_reason("deadline", r)
        self.assertEqual(2, len(o.requests))
        self.assertLess(time.monotonic() - began, 1.5 + 3)

    def test_retries_off(self):
        o = self.origin(throttled("Retry-After: 1"))
        d = self.daemon(defaults={"max_retries": "0"})
        r = self.get(d, o.url())
        self.assert_status(429, r)
        self.assert_reason("retries-off", r)
        self.assertEqual(1, len(o.requests))

    def test_dry_run_waits_for_nothing(self):
        o = self.origin(throttled("Retry-After: 9"))
        d = self.daemon(defaults={"dry_run": "yes"})
        for _ in range(2):
            self.assert_status(429, self.get(d, o.url()))
        self.assertEqual(2, len(o.requests))

    def test_post_on_503_is_relayed_on_429_retried(self):
        """C54, rule 10."""
        d = self.daemon()
        o = self.origin(throttled(status=503), answer(201))
        r = self.get(d, o.url(), method="POST", body=b"x")
        self.assert_status(503, r)
        self.assert_reason("method-not-repeatable", r)
        self.assertEqual(1, len(o.requests))
        o = self.origin(throttled(status=503), answer(201))
        self.assert_status(201, self.get(
            d, o.url(), "Idempotency-Key: 1", method="POST", body=b"x"))
        o = self.origin(throttled(status=429), answer(201))
        self.assert_status(201, self.get(d, o.url(), method="POST",
                                         body=b"x"))

    def test_failure_cutoff_makes_one_try(self):
        """C37."""
        o = self.origin(throttled())
        d = self.daemon(defaults={"failure_cutoff": "3",
                                  "max_retries": "10"})
        r = self.get(d, o.url())
        self.assert_status(429, r)
        self.assert_reason("failure-cutoff", r)
        self.assertEqual(3, len(o.requests))
        self.assert_status(429, self.get(d, o.url()))
        self.assertEqual(4, len(o.requests))

    @reduced
    def test_attempts_are_alike(self):
        """C87: the same head each time; nothing grows."""
        o = self.origin(throttled(), throttled(), throttled(), answer(200))
        d = self.daemon()
        r = self.get(d, o.url("/x?y"), "Proxy-Authorization: Basic eDp5",
                     "Via: 1.1 other", "X-Forwarded-For: 10.0.0.1", "A: b",
                     "Cookie: c=d")
        self.assert_status(200, r)
        heads = {req.raw for req in o.requests}
        self.assertEqual(4, len(o.requests))
        self.assertEqual(1, len(heads))
        req = o.requests[0]
        self.assertFalse(req.has("Proxy-Authorization"))
        self.assertEqual(["10.0.0.1"], req.all("X-Forwarded-For"))
        self.assertEqual(2, len(", ".join(req.all("Via")).split(", ")))

    def test_loop_is_detected(self):
        """C88: a request that comes back is answered, not parked."""
        d = self.daemon(services={"self": {"hosts": "loop.test"}})
        o = self.serving(lambda conn, req, n: self.pass_on(d, conn, req))
        r = self.get(d, o.url("/x"))
        self.assert_status(508, r)
        self.assertEqual(1, len(o.requests))
        self.assertEqual([], d.records("park"))

    def pass_on(self, d, conn, req):
        """A server that uses the proxy for what it is asked."""
        c = self.connect(d)
        c.send(req.raw.replace(b"GET /x", b"GET http://%s/x" %
                               req.get("Host").encode()))
        inner = c.response()
        conn.answer(inner.status, inner.body)

    def test_own_address_as_target_is_no_endless_loop(self):
        d = self.daemon()
        r = self.get(d, d.url + "/x")
        self.assertIn(r.status, (400, 403, 502, 508))

    def test_key_by_header_parks_one_and_not_the_other(self):
        """C45."""
        def script(conn, req, _n):
            if req.get("Authorization") == "slow" and not seen.is_set():
                seen.set()
                conn.send(throttled("Retry-After: 1"))
            else:
                conn.answer(200, req.get("Authorization"))
        seen = threading.Event()
        o = self.serving(script)
        d = self.daemon(services={"api": {"hosts": o.authority,
                                          "key": "header:Authorization"}})
        slow = self.connect(d)
        slow.ask("GET", o.url(), "Authorization: slow")
        d.wait_parked()
        r = self.get(d, o.url(), "Authorization: fast")
        self.assertEqual(b"fast", r.body)
        self.assertNotIn("waited", r.says)
        self.assertEqual(b"slow", slow.response().body)
        self.assertGreaterEqual(o.requests[-1].at - o.requests[0].at, 1.0)
        self.assertEqual(3, len(o.requests))

    def test_one_service_parked_does_not_hold_the_other(self):
        """C44."""
        a = self.origin(throttled("Retry-After: 2"), answer(200, "a"))
        b = self.origin(answer(200, "b"))
        d = self.daemon()
        c = self.connect(d)
        c.ask("GET", a.url())
        d.wait_parked()
        r = self.get(d, b.url())
        self.assertEqual(b"b", r.body)
        self.assertFalse(c.buf)
        self.assertEqual(b"a", c.response().body)

    @reduced
    def test_concurrency_is_a_gate(self):
        active, most, lock = [0], [0], threading.Lock()
        together = threading.Barrier(3)

        def script(conn, _req, _n):
            with lock:
                active[0] += 1
                most[0] = max(most[0], active[0])
            together.wait(PATIENCE)     # exactly three at a time can pass
            with lock:
                active[0] -= 1
            conn.answer(200, "x")
        o = self.serving(script)
        d = self.daemon(defaults={"concurrency": "3"})
        clients = [self.connect(d) for _ in range(12)]
        for c in clients:
            c.ask("GET", o.url())
        for c in clients:
            self.assert_status(200, c.response())
        self.assertEqual(3, most[0])

    def test_queue_over_its_limit_is_told_at_once(self):
        """C43, small."""
        go = threading.Event()

        def script(conn, _req, _n):
            go.wait(PATIENCE)
            conn.answer(200, "x")
        o = self.serving(script)
        d = self.daemon(defaults={"concurrency": "1", "queue": "3"})
        clients = [self.connect(d) for _ in range(4)]
        clients[0].ask("GET", o.url())
        o.wait_requests(1)
        for n, c in enumerate(clients[1:], 1):
            c.ask("GET", o.url())
            d.wait_parked(n)
        r = self.get(d, o.url())
        self.assert_own(503, "queue-full", r)
        self.assertGreaterEqual(int(r.get("Retry-After")), 1)
        go.set()
        for c in clients:
            self.assert_status(200, c.response())

    def test_max_parked_holds_over_all_services(self):
        origins = [self.origin(throttled("Retry-After: 1"), answer(200))
                   for _ in range(3)]
        d = self.daemon(proxy={"max_parked": "2", "workers": "1"})
        clients = [self.connect(d) for _ in range(2)]
        for n, c in enumerate(clients):
            c.ask("GET", origins[n].url())
            d.wait_parked(n + 1)
        r = self.get(d, origins[0].url())
        self.assert_own(503, "queue-full", r)
        for c in clients:
            self.assert_status(200, c.response())

    def test_queue_timeout(self):
        def script(conn, _req, _n):
            return conn.hang()
        o = self.serving(script)
        d = self.daemon(defaults={"concurrency": "1",
                                  "queue_timeout": "200ms"})
        c = self.connect(d)
        c.ask("GET", o.url())
        o.wait_requests(1)
        r = self.get(d, o.url())
        self.assert_own(503, "queue-timeout", r)
        self.assertTrue(r.has("Retry-After"))


class Discarded(Case):
    """The answer that nobody gets to see."""

    @reduced
    def test_chunked_with_trailer_is_drained_and_the_connection_kept(self):
        """C63."""
        def refuse(conn, _req):
            conn.send(answer(429, b"", "Transfer-Encoding: chunked",
                             length=False))
            for _ in range(3):
                conn.chunk(b"slow down please")
            conn.send(b"0\r\nX-Sum: 1\r\n\r\n")
        o = self.origin(refuse, answer(200, "x"))
        d = self.daemon(proxy={"workers": "1"})
        r = self.get(d, o.url())
        self.assert_status(200, r)
        self.assertEqual([], r.trailers)
        self.assertEqual([1, 1], [q.connection for q in o.requests])

    def test_large_one_is_not_drained_for_ever(self):
        """Rule 13: over 64 KiB the connection goes."""
        def refuse(conn, _req):
            conn.send(answer(429, b"", "Content-Length: 10000000",
                             length=False))
            for _ in range(100):
                conn.send(noise(100000))
        o = self.origin(refuse, answer(200, "x"))
        d = self.daemon(proxy={"workers": "1"})
        self.assert_status(200, self.get(d, o.url()))
        self.assertEqual([1, 2], [q.connection for q in o.requests])

    def test_endless_one_is_not_drained_for_ever(self):
        sent = []

        def refuse(conn, _req):
            conn.send(answer(429, b"", "Transfer-Encoding: chunked",
                             length=False))
            while True:
                conn.chunk(noise(10000))
                sent.append(10000)
        o = self.origin(refuse, answer(200, "x"))
        d = self.daemon()
        self.assert_status(200, self.get(d, o.url()))
        eventually(o.gone, "it is closed")
        # What the kernel holds between the two is more than what is read.
        self.assertLess(sum(sent), 16 << 20)

    def test_trickling_one_is_not_waited_for(self):
        def refuse(conn, _req):
            conn.send(answer(429, b"x", "Content-Length: 10", length=False))
            conn.hang()
            return False
        o = self.origin(refuse, answer(200, "x"))
        d = self.daemon()
        began = time.monotonic()
        self.assert_status(200, self.get(d, o.url()))
        self.assertLess(time.monotonic() - began, 10)

    def test_head_has_no_body_to_wait_for(self):
        """C66."""
        o = self.origin(answer(429, "", "Content-Length: 500",
                               length=False),
                        answer(200, "", "Content-Length: 700",
                               length=False))
        d = self.daemon(proxy={"workers": "1"})
        r = self.get(d, o.url(), method="HEAD")
        self.assert_status(200, r)
        self.assertEqual("700", r.get("Content-Length"))
        self.assertEqual([1, 1], [q.connection for q in o.requests])

    def test_http10_close_delimited(self):
        """C68."""
        def refuse(conn, _req):
            conn.send(answer(503, noise(3000), length=False,
                             version="HTTP/1.0"))
            return False
        o = self.origin(refuse, answer(200, "x"))
        d = self.daemon()
        self.assert_status(200, self.get(d, o.url()))
        self.assertEqual(2, len(o.requests))

    def test_encoded_final_is_untouched(self):
        """C69."""
        body = gzip.compress(b"insufficient quota " * 1000)
        o = self.origin(throttled("Content-Encoding: gzip", body=body))
        d = self.daemon(defaults={"max_retries": "1"})
        r = self.get(d, o.url())
        self.assert_status(429, r)
        self.assertEqual("gzip", r.get("Content-Encoding"))
        self.assertEqual(body, r.body)

    def test_head_over_the_limit_is_a_clean_502(self):
        """C71."""
        many = ["X-%d: y" % i for i in range(1000)]
        long = ["X: " + "y" * 65536]
        for fields in (many, long):
            with self.subTest(fields=len(fields)):
                o = self.origin(throttled(*fields))
                d = self.daemon()
                r = self.get(d, o.url())
                self.assert_own(502, "bad-response", r)
                self.assertIn("http_protocol_error", r.says)

    def test_1xx_of_discarded_attempts_are_not_relayed(self):
        """Rule 1."""
        hint = b"HTTP/1.1 103 Early Hints\r\nLink: <%s>\r\n\r\n"
        o = self.origin(hint % b"one" + throttled(),
                        hint % b"two" + answer(200, "x"))
        r = self.get(self.daemon(), o.url())
        self.assertEqual(["<two>"], [i.get("Link") for i in r.interims])


class Streams(Case):
    """text/event-stream."""

    EVENT = b"data: %d\n\n"

    @reduced
    def test_events_reach_the_client_as_they_come(self):
        """C74: a refusal first; then nothing is held back."""
        seen = [threading.Event() for _ in range(5)]

        def stream(conn, _req):
            conn.send(answer(200, b"", "Content-Type: text/event-stream",
                             "Transfer-Encoding: chunked", length=False))
            for n, event in enumerate(seen):
                conn.chunk(self.EVENT % n)
                if not event.wait(PATIENCE):
                    raise TimeoutError("the client has not seen it")
            conn.send(b"0\r\n\r\n")
        o = self.origin(throttled("Retry-After: 0.1"), stream)
        d = self.daemon()
        c = self.connect(d)
        c.ask("GET", o.url(), "Accept: text/event-stream")
        for n, event in enumerate(seen):
            c.until(self.EVENT % n)
            event.set()
        c.until(b"0\r\n\r\n")
        self.assertEqual(2, len(o.requests))

    def test_reset_stream_is_cut_and_not_retried(self):
        """C72."""
        go = threading.Event()

        def stream(conn, _req):
            conn.send(answer(200, b"", "Content-Type: text/event-stream",
                             "Transfer-Encoding: chunked", length=False))
            for n in range(2):
                conn.chunk(self.EVENT % n)
            go.wait(PATIENCE)
            conn.reset()
            return False
        o = self.origin(stream, answer(200, "never"))
        d = self.daemon()
        c = self.connect(d)
        c.ask("GET", o.url(), "Accept: text/event-stream")
        c.until(self.EVENT % 1)
        go.set()
        self.assertRaises(Cut, c.until, b"0\r\n\r\n")
        self.assertEqual("upstream-cut", d.wait_records(1)[0]["reason"])
        self.assertEqual(1, len(o.requests))


if __name__ == "__main__":
    unittest.main()
