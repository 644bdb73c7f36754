# SPDX-License-Identifier: MIT
"""Connections to origins: used again, and for how long."""
import threading
import time
import unittest

from harness import Case, eventually, reduced
from origin import answer
from wire import PATIENCE


class Reuse(Case):
    @reduced
    def test_one_connection_serves_many_requests_of_many_clients(self):
        o, d = self.origin(answer(200, "x")), self.one_worker()
        for i in range(10):
            self.assert_status(200, self.get(d, o.url("/%d" % i)))
        self.assertEqual(1, len(o.conns))

    def one_worker(self, **kw):
        """Each worker has a pool of its own."""
        return self.daemon(proxy={"workers": "1"}, **kw)

    def test_two_origins_do_not_share(self):
        a, b = self.origin(answer(200, "a")), self.origin(answer(200, "b"))
        d = self.one_worker()
        c = self.connect(d)
        for _ in range(3):
            self.assertEqual(b"a", c.get(a.url()).body)
            self.assertEqual(b"b", c.get(b.url()).body)
        self.assertEqual([1, 1], [len(a.conns), len(b.conns)])

    def test_answers_that_end_with_close_are_not_reused(self):
        o, d = self.origin(answer(200, "x", "Connection: close")), \
            self.one_worker()
        c = self.connect(d)
        for _ in range(3):
            self.assert_status(200, c.get(o.url()))
        self.assertEqual(3, len(o.conns))

    def test_http10_answers_are_not_reused_unless_they_say_so(self):
        o = self.origin(answer(200, "x", version="HTTP/1.0"))
        d = self.one_worker()
        c = self.connect(d)
        for _ in range(2):
            self.assert_status(200, c.get(o.url()))
        self.assertEqual(2, len(o.conns))
        o = self.origin(answer(200, "x", "Connection: keep-alive",
                               version="HTTP/1.0"))
        for _ in range(2):
            self.assert_status(200, c.get(o.url()))
        self.assertEqual(1, len(o.conns))

    def test_early_answer_to_an_unread_body_ends_the_connection(self):
        """The rest of the body must never be taken for a request."""
        def script(conn):
            conn.request(body=False)
            conn.answer(413, "too much")
            conn.rest()
        o, d = self.raw_origin(script), self.one_worker(
            defaults={"body_buffer": "1KiB", "body_spill": "0"})
        c = self.connect(d)
        c.ask("POST", o.url(), "Content-Length: 100000")
        c.send(b"x" * 50000)
        self.assert_status(413, c.response("POST"))
        self.assert_status(413, self.get(d, o.url()))
        self.assertEqual(2, len(o.conns))

    def test_idle_timeout_closes(self):
        o = self.origin(answer(200, "x"))
        d = self.one_worker(defaults={"idle_timeout": "300ms"})
        self.assert_status(200, self.get(d, o.url()))
        eventually(o.gone, "it is closed")

    def test_keep_alive_timeout_is_honoured(self):
        o = self.origin(answer(200, "x", "Keep-Alive: timeout=1"))
        d = self.one_worker()
        began = time.monotonic()
        self.assert_status(200, self.get(d, o.url()))
        eventually(o.gone, "it is closed")
        self.assertLess(time.monotonic() - began, 10)

    def test_keep_alive_timeout_zero_is_not_pooled(self):
        o = self.origin(answer(200, "x", "Keep-Alive: timeout=0"))
        d = self.one_worker()
        for _ in range(2):
            self.assert_status(200, self.get(d, o.url()))
        self.assertEqual(2, len(o.conns))

    def test_connections_of_a_crowd_serve_the_next_one(self):
        n = 100
        gate = threading.Barrier(n + 1)

        def script(conn, _req, _n):
            gate.wait(PATIENCE)         # all of a round run at once
            conn.answer(200, "x")
        o, d = self.serving(script), self.one_worker()
        clients = [self.connect(d) for _ in range(n)]
        for round_ in (1, 2):
            for c in clients:
                c.ask("GET", o.url())
            o.wait_requests(round_ * n)
            gate.wait(PATIENCE)
            for c in clients:
                self.assert_status(200, c.response())
        self.assertEqual(n, len(o.conns))


class Stale(Case):
    """Rule 14: the origin closed just as its connection was taken."""

    def stale(self, reset=False):
        """Serves one request per connection, then dies with the next."""
        def script(conn):
            conn.request()
            conn.answer(200, "x")
            conn.request(body=False)
            if reset:
                conn.reset()
        o = self.raw_origin(script)
        d = self.daemon(proxy={"workers": "1"})
        c = self.connect(d)
        self.assert_status(200, c.get(o.url()))
        return o, d, c

    @reduced
    def test_get_is_retried_once_on_a_fresh_connection(self):
        for reset in (False, True):
            with self.subTest(reset=reset):
                o, d, c = self.stale(reset)
                r = c.get(o.url("/again"))
                self.assert_status(200, r)
                self.assertEqual(2, len(o.conns))
                self.assertEqual(3, len(o.requests))
                record = d.wait_records(2)[1]
                self.assertEqual("1", record["attempts"], "it is silent")
                self.assertEqual("0ms", record["waited"])

    def test_post_that_was_sent_is_not(self):
        o, d, c = self.stale()
        r = c.get(o.url(), method="POST", body=b"x")
        self.assert_own(502, "connection-lost", r)
        self.assertEqual(2, len(o.requests))
        self.assertEqual(1, len(o.conns))

    def test_put_with_body_is_sent_again_whole(self):
        o, _, c = self.stale()
        self.assert_status(200, c.get(o.url(), method="PUT", body=b"abc"))
        self.assertEqual(b"abc", o.requests[-1].body)

    def test_fresh_connection_that_dies_is_a_failure(self):
        """Nothing silent where no connection was reused."""
        def script(conn, _req, _n):
            return False
        o = self.serving(script)
        d = self.daemon(defaults={"retry_reset": "never"})
        self.assert_own(502, "connection-lost", self.get(d, o.url()))
        self.assertEqual(1, len(o.requests))

    def test_end_of_an_idle_connection_is_noticed(self):
        def script(conn, _req, _n):
            conn.answer(200, "x")
            return False
        o, d = self.serving(script), self.daemon(proxy={"workers": "1"})
        c = self.connect(d)
        for _ in range(5):
            self.assert_status(200, c.get(o.url()))
            eventually(lambda: d.fds() <= d.base_fds + 1, "it is closed")

    def test_bytes_on_an_idle_connection_end_it(self):
        said = threading.Event()

        def script(conn, _req, _n):
            conn.answer(200, "x")
            said.wait(PATIENCE)
            conn.send(answer(408, "you are slow"))
        o, d = self.serving(script), self.daemon(proxy={"workers": "1"})
        c = self.connect(d)
        self.assert_status(200, c.get(o.url()))
        said.set()
        eventually(lambda: d.fds() <= d.base_fds + 1, "it is closed")
        self.assert_status(200, c.get(o.url()))


if __name__ == "__main__":
    unittest.main()
