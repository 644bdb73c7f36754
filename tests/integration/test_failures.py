# SPDX-License-Identifier: MIT
"""Origins that fail, and a machine that has run out of something."""
import resource
import socket
import time
import unittest

from harness import Case, build_has, eventually, is_sanitized, reduced
from origin import answer, throttled
from test_data_path import digest
from wire import Cut, noise


def bound():
    """A port where nobody listens, kept from others."""
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    return s


class Upstream(Case):
    @reduced
    def test_refused_connections_are_retried_for_any_method(self):
        for method in ("GET", "POST"):
            with self.subTest(method=method), bound() as s:
                d = self.daemon(defaults={"max_retries": "2"})
                r = self.get(d, "http://127.0.0.1:%d/" % s.getsockname()[1],
                             method=method,
                             body=b"x" if method == "POST" else None)
                self.assert_own(502, "connect-failed", r)
                self.assertIn("error=connection_refused", r.says)
                record = d.wait_records(1)[0]
                self.assertEqual("3", record["attempts"])
                self.assertEqual("502", record["status"])

    def test_refused_once_then_there(self):
        """Nothing listens at first; the retry finds it."""
        s = bound()
        d = self.daemon(defaults={"base_delay": "300ms",
                                  "max_delay": "300ms", "max_retries": "50"})
        c = self.connect(d)
        c.ask("POST", "http://127.0.0.1:%d/x" % s.getsockname()[1],
              body=b"abc")
        d.wait_parked()
        port = s.getsockname()[1]
        s.close()
        o = self.origin(answer(200, "there"), port=port)
        self.assertEqual(b"there", c.response("POST").body)
        self.assertEqual(b"abc", o.requests[0].body)

    def test_refused_without_retry(self):
        with bound() as s:
            d = self.daemon(defaults={"retry_connect": "no"})
            r = self.get(d, "http://127.0.0.1:%d/" % s.getsockname()[1])
        self.assert_own(502, "connect-failed", r)
        self.assertEqual("1", d.wait_records(1)[0]["attempts"])

    def test_connect_timeout(self):
        """A full backlog takes no connection."""
        s = socket.socket()
        s.bind(("127.0.0.1", 0))
        s.listen(0)
        full = []
        for _ in range(4):
            f = socket.socket()
            f.setblocking(False)
            f.connect_ex(s.getsockname())
            full.append(f)
        d = self.daemon(defaults={"connect_timeout": "300ms",
                                  "max_retries": "1"})
        try:
            r = self.get(d, "http://127.0.0.1:%d/" % s.getsockname()[1])
            self.assert_own(504, "connect-timeout", r)
            self.assertEqual("2", d.wait_records(1)[0]["attempts"])
        finally:
            for f in full + [s]:
                f.close()

    def failing(self, act):
        """An origin whose first connection does that, the second serves."""
        def script(conn):
            if conn.ordinal == 1:
                act(conn)
                return
            while True:
                req = conn.request()
                if req is None:
                    return
                conn.answer(200, "x")
        return self.raw_origin(script)

    @reduced
    def test_lost_before_the_head(self):
        def fin(conn):
            conn.request()

        def rst(conn):
            conn.request()
            conn.reset()

        def rst_unread(conn):
            conn.reset()
        for act in (fin, rst, rst_unread):
            with self.subTest(act=act.__name__):
                d = self.daemon()
                o = self.failing(act)
                self.assert_status(200, self.get(d, o.url()))
                self.assertEqual(2, len(o.conns))

    def test_lost_before_the_head_for_ever(self):
        o = self.serving(lambda conn, req, n: False)
        d = self.daemon()
        r = self.get(d, o.url())
        self.assert_own(502, "connection-lost", r)
        self.assertIn("error=connection_terminated", r.says)
        self.assertEqual(2, len(o.requests), "a lost one is retried once")

    def test_lost_within_the_head(self):
        for rst in (False, True):
            with self.subTest(rst=rst):
                def act(conn):
                    conn.request()
                    conn.send(b"HTTP/1.1 200 OK\r\nContent-Le")
                    if rst:
                        conn.reset()
                d = self.daemon()
                o = self.failing(act)
                self.assert_status(200, self.get(d, o.url()))
                r = self.get(d, self.failing(act).url(), method="POST",
                             body=b"x")
                self.assert_own(502, "connection-lost", r)

    def test_hangs_before_the_head(self):
        """504 in time; it may have been acted on, so no retry."""
        o = self.serving(lambda conn, req, n: conn.hang())
        d = self.daemon(defaults={"response_timeout": "400ms"})
        began = time.monotonic()
        r = self.get(d, o.url())
        self.assert_own(504, "response-timeout", r)
        self.assertGreaterEqual(time.monotonic() - began, 0.4)
        self.assertEqual(1, len(o.requests))
        self.assertIn("error=http_response_timeout", r.says)

    def test_hangs_within_the_head(self):
        def script(conn):
            conn.request()
            conn.send(b"HTTP/1.1 200 OK\r\nX: ")
            conn.hang()
        o = self.raw_origin(script)
        d = self.daemon(defaults={"response_timeout": "400ms"})
        self.assert_own(504, "response-timeout", self.get(d, o.url()))

    def test_hangs_within_the_body(self):
        def script(conn):
            conn.request()
            conn.answer(200, b"half", "Content-Length: 8", length=False)
            conn.hang()
        o = self.raw_origin(script)
        d = self.daemon(defaults={"idle_timeout": "400ms"})
        c = self.connect(d)
        c.ask("GET", o.url())
        self.assertRaises(Cut, c.response)
        d.wait_records(1)

    def test_trickled_head_arrives(self):
        raw = answer(200, "drip", "X-Long: " + "y" * 300)

        def script(conn):
            conn.request()
            for byte in raw:
                conn.send(bytes((byte,)))
        o = self.raw_origin(script)
        r = self.get(self.daemon(), o.url())
        self.assertEqual(b"drip", r.body)
        self.assertEqual("y" * 300, r.get("X-Long"))

    def test_trickled_head_is_bounded_by_response_timeout(self):
        def script(conn):
            conn.request()
            conn.send(b"HTTP/1.1 200 OK\r\nX: ")
            while not conn.origin.over.wait(0.05):
                conn.send(b"y")
        o = self.raw_origin(script)
        d = self.daemon(defaults={"response_timeout": "500ms"})
        self.assert_own(504, "response-timeout", self.get(d, o.url()))

    def test_what_is_no_answer(self):
        bad = (b"SSH-2.0-server\r\n\r\n",
               b"\x15\x03\x01\x00\x02\x02\x46\r\n\r\n" * 3,
               b"HTTP/1.1 20 OK\r\n\r\n",
               b"HTTP/1.1 200 OK\r\nA B: c\r\n\r\n",
               b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"
               b"Content-Length: 6\r\n\r\n",
               b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"
               b"Transfer-Encoding: chunked\r\n\r\n",
               b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
               b"HTTP/2 200\r\n\r\n",
               b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70000 + b"\r\n\r\n",
               b"HTTP/1.1 100 Go\r\n\r\n" * 100)
        for raw in bad:
            with self.subTest(raw=raw[:50]):
                o, d = self.origin(raw), self.daemon()
                r = self.get(d, o.url())
                self.assert_own(502, "bad-response", r)
                self.assertIn("error=http_protocol_error", r.says)
                self.assertEqual(1, len(o.requests))

    def test_own_answers_are_whole_on_keep_alive(self):
        """The client's connection goes on after a 502."""
        o = self.origin(b"what?\r\n\r\n", answer(200, "x"))
        d = self.daemon()
        c = self.connect(d)
        self.assert_own(502, "bad-response", c.get(o.url()))
        self.assertEqual(b"x", c.get(o.url()).body)

    def test_own_answer_to_head_has_no_body(self):
        o = self.origin(b"what?\r\n\r\n", answer(200, "x"))
        d = self.daemon()
        c = self.connect(d)
        r = c.get(o.url(), method="HEAD")
        self.assert_status(502, r)
        self.assertEqual(b"x", c.get(o.url()).body)

    def test_loses_the_request_half_way(self):
        """The origin closes while a large body is sent: no answer."""
        def act(conn):
            conn.request(body=False)
            conn.exactly(1000)
            conn.reset()
        body = noise(3000000)
        o = self.failing(act)
        d = self.daemon()
        r = self.get(d, o.url(), method="PUT", body=body)
        self.assert_status(200, r)
        self.assertEqual(digest(body), digest(o.requests[-1].body))
        r = self.get(self.daemon(), self.failing(act).url(), method="POST",
                     body=body)
        self.assert_own(502, "connection-lost", r)


class Descriptors(Case):
    """EMFILE."""

    def few(self, n):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))
        return limit

    @reduced
    def test_out_of_descriptors_and_back(self):
        """Everybody waits or is told; nobody is lost; it recovers."""
        o = self.origin(answer(200, "x"))
        d = self.daemon(before=self.few(48), proxy={
            "max_connections": "1000"})
        clients = [self.connect(d) for _ in range(100)]
        d.wait_log("accept: ")
        for c in clients:
            c.ask("GET", o.url(), "Connection: close")
        statuses = set()
        for c in clients:
            r = c.response()
            statuses.add(r.status)
            if r.status != 200:
                self.assert_own(503, None, r)
            c.close()
        self.assertLessEqual(statuses, {200, 503})
        eventually(lambda: d.fds() < 40, "it is calm again")
        for _ in range(5):
            self.assert_status(200, self.get(d, o.url()))

    def test_idle_upstream_connections_make_room(self):
        """Their descriptors are the cheapest to get back."""
        origins = [self.origin(answer(200, "x")) for _ in range(40)]
        d = self.daemon(before=self.few(48), proxy={"workers": "1"})
        c = self.connect(d)
        for o in origins:
            self.assert_status(200, c.get(o.url()))


class Memory(Case):
    def test_many_parked_bodies_stay_within_bounds(self):
        """Parked bodies over the buffer are on disk, not in memory."""
        o = self.origin(throttled("Retry-After: 20"))
        d = self.daemon(defaults={"body_buffer": "16KiB",
                                  "body_spill": "10MiB"})
        base = d.memory()
        body = noise(4 << 20)
        clients = [self.connect(d) for _ in range(20)]
        for c in clients:
            c.ask("PUT", o.url(), body=body)
        d.wait_parked(20)
        self.assertLess(d.memory() - base, 40 << 20)
        for c in clients:
            c.close()
        d.wait_records(20)

    def test_parked_requests_are_cheap(self):
        """Some KiB each; far more would be a leak of buffers."""
        o = self.origin(throttled("Retry-After: 20"))
        d = self.daemon()
        first = self.connect(d)
        first.ask("GET", o.url())
        d.wait_parked()
        base, n = d.memory(), 400
        clients = [self.connect(d) for _ in range(n)]
        for c in clients:
            c.ask("GET", o.url("/" + "x" * 500))
        d.wait_parked(n + 1)
        self.assertLess((d.memory() - base) / n, 40000 if is_sanitized()
                        else 10000)
        self.assertEqual(1, len(o.requests))


class Allocation(Case):
    """Debug builds let one allocation in so many fail, at random."""

    @reduced
    def test_requests_without_memory_get_a_clear_answer(self):
        if not build_has("ABIDED_FAIL_ALLOC"):
            self.skipTest("not a debug build")
        seen = set()

        def script(conn, req, n):
            if n % 3 == 0:
                conn.send(throttled("retry-after-ms: 5"))
            else:
                conn.answer(200, req.body)
        o = self.serving(script)
        d = self.daemon(env={"ABIDED_FAIL_ALLOC": "60"},
                        defaults={"failure_cutoff": "0",
                                  "body_buffer": "8KiB"})
        for n in range(400):
            body = noise(n * 100 % 30000, n)
            c = self.connect(d)
            try:
                c.ask("PUT", o.url("/%d" % n), body=body)
                r = c.response("PUT")
                seen.add(r.status)
                if r.status == 200:
                    self.assertEqual(body, r.body)
                elif r.status == 503:
                    self.assert_own(503, "out-of-memory", r)
            except (Cut, ConnectionError):
                seen.add("cut")         # no memory even to say so
            c.close()
        self.assertTrue(d.alive())
        self.assertIn(200, seen)
        self.assertIn(503, seen)
        # A body that could not be kept is not sent again: 429.
        self.assertLessEqual(seen, {200, 429, 502, 503, "cut"})


class Endurance(Case):
    @reduced
    def test_a_mixed_crowd_leaves_nothing_behind(self):
        """Good, throttled, cut and lost answers, all at once."""
        def script(conn, req, n):
            kind = n % 7
            if kind == 0:
                conn.send(throttled())
            elif kind == 1:
                return False
            elif kind == 2:
                conn.send(answer(200, b"half", "Content-Length: 9",
                                 length=False))
                return False
            elif kind == 3:
                conn.reset()
                return False
            elif kind == 4:
                conn.send(b"nonsense\r\n\r\n")
            else:
                conn.answer(200, req.target)
            return None
        o = self.serving(script)
        d = self.daemon(defaults={"failure_cutoff": "0"})
        seen = {}
        for batch in range(4):
            clients = [self.connect(d) for _ in range(50)]
            for n, c in enumerate(clients):
                c.ask("GET", o.url("/%d/%d" % (batch, n)))
            for c in clients:
                try:
                    status = c.response().status
                except Cut:
                    status = "cut"
                seen[status] = seen.get(status, 0) + 1
                c.close()
        self.assertEqual(200, sum(seen.values()))
        self.assertGreater(seen[200], 50)
        self.assertLessEqual(set(seen), {200, 429, 502, "cut"})


if __name__ == "__main__":
    unittest.main()
