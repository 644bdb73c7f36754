# SPDX-License-Identifier: MIT
"""Clients that leave, in each state of their request."""
import threading
import unittest

from harness import Case, eventually, reduced
from origin import answer, throttled
from wire import PATIENCE, noise

FIN, RST = "FIN", "RST"


class Leave(Case):
    def leave(self, c, how):
        if how == RST:
            c.reset()
        else:
            c.close()

    def gone(self, d, n=1):
        """The request's line; its descriptors are back soon after."""
        record = d.wait_records(n)[n - 1]
        self.assertEqual("client-gone", record["reason"])
        return record

    def each(self, begin):
        """begin(d) -> client, origin, attempts; it then leaves."""
        for how in (FIN, RST):
            with self.subTest(how=how):
                d = self.daemon(proxy={"workers": "1"})
                c, o, attempts = begin(d)
                self.leave(c, how)
                self.gone(d)
                o.close()
                eventually(lambda: d.fds() <= d.base_fds,
                           "descriptors are back")
                self.assertEqual(attempts, len(o.requests))

    def test_while_the_head_comes(self):
        for how in (FIN, RST):
            d = self.daemon()
            c = self.connect(d)
            c.send(b"GET http://x/ HT")
            eventually(lambda: d.fds() > d.base_fds, "it is connected")
            self.leave(c, how)
            eventually(lambda: d.fds() <= d.base_fds, "it is gone")

    def test_while_the_body_comes(self):
        def begin(d):
            o = self.origin(answer(200))
            c = self.connect(d)
            c.ask("POST", o.url(), "Expect: 100-continue",
                  "Content-Length: 10")
            c.until(b"100 Continue\r\n\r\n")
            c.send(b"12345")
            return c, o, 0
        self.each(begin)

    @reduced
    def test_while_parked(self):
        """C48: no second attempt, and its place is free."""
        def begin(d):
            o = self.origin(throttled("Retry-After: 20"))
            c = self.connect(d)
            c.ask("GET", o.url())
            d.wait_parked()
            return c, o, 1
        self.each(begin)

    def test_while_parked_with_a_spilled_body(self):
        def begin(d):
            o = self.origin(throttled("Retry-After: 20"))
            c = self.connect(d)
            c.ask("PUT", o.url(), body=noise(3000000))
            d.wait_parked()
            return c, o, 1
        self.each(begin)

    @reduced
    def test_while_waiting_in_line(self):
        """It gives its place up; those behind it move on."""
        go = threading.Event()

        def script(conn, req, _n):
            go.wait(PATIENCE)
            conn.answer(200, req.target)
        o = self.serving(script)
        d = self.daemon(defaults={"concurrency": "1"})
        clients = [self.connect(d) for _ in range(4)]
        clients[0].ask("GET", o.url("/0"))
        o.wait_requests(1)
        for n, c in enumerate(clients[1:], 1):
            c.ask("GET", o.url("/%d" % n))
            d.wait_parked(n)
        clients[1].close()
        clients[2].reset()
        d.wait_records(2)
        go.set()
        self.assertEqual(b"/0", clients[0].response().body)
        self.assertEqual(b"/3", clients[3].response().body)
        self.assertEqual(["/0", "/3"], [q.target for q in o.requests])

    def test_reset_together_with_the_request(self):
        """Its RST comes along with the bytes of the request."""
        for _ in range(10):
            o = self.origin(throttled("Retry-After: 20"))
            d = self.daemon()
            c = self.connect(d)
            c.ask("GET", o.url())
            c.reset()
            # It was read or it was not; it must not stay.
            eventually(lambda: d.fds() <= d.base_fds + 1, "it is gone")
            self.assertLessEqual(len(o.requests), 1)
            d.kill()
            d.code = 0

    def test_while_the_origin_thinks(self):
        def begin(d):
            o = self.serving(lambda conn, req, n: conn.hang())
            c = self.connect(d)
            c.ask("GET", o.url())
            o.wait_requests(1)
            return c, o, 1
        # A FIN alone is no departure here: the answer may still be wanted.
        d = self.daemon(proxy={"workers": "1"})
        c, o, _ = begin(d)
        c.reset()
        self.gone(d)
        eventually(lambda: d.fds() <= d.base_fds, "the attempt is ended")
        self.assertEqual(1, len(o.requests))

    def test_half_close_while_the_origin_thinks_is_served(self):
        go = threading.Event()

        def script(conn, _req, _n):
            go.wait(PATIENCE)
            conn.answer(200, "for you")
        o, d = self.serving(script), self.daemon()
        c = self.connect(d)
        c.ask("GET", o.url())
        c.end_sending()
        o.wait_requests(1)
        go.set()
        self.assertEqual(b"for you", c.response().body)
        self.assertTrue(c.at_end())

    def test_half_closed_while_parked(self):
        """allow_half_close says whether it left."""
        for allow, served in (("no", False), ("yes", True)):
            with self.subTest(allow=allow):
                o = self.origin(throttled("Retry-After: 1"),
                                answer(200, "x"))
                d = self.daemon(defaults={"allow_half_close": allow})
                c = self.connect(d)
                c.ask("GET", o.url())
                d.wait_parked()
                c.end_sending()
                if served:
                    self.assertEqual(b"x", c.response().body)
                else:
                    self.gone(d)
                    self.assertEqual(1, len(o.requests))

    @reduced
    def test_while_the_answer_is_relayed(self):
        """C52: the transfer stops, nothing is retried."""
        def begin(d):
            def script(conn, _req, _n):
                conn.send(answer(200, b"", "Content-Length: 1000000000",
                                 length=False))
                while True:
                    conn.send(noise(100000))
            o = self.serving(script)
            c = self.connect(d)
            c.ask("GET", o.url())
            c.exactly(300000)
            return c, o, 1
        self.each(begin)

    def test_while_a_slow_answer_is_relayed(self):
        """Nothing to write: the departure must be seen all the same."""
        def script(conn, _req, _n):
            conn.send(answer(200, b"x", "Content-Length: 2", length=False))
            return conn.hang()
        o, d = self.serving(script), self.daemon()
        c = self.connect(d)
        c.ask("GET", o.url())
        c.until(b"\r\n\r\nx")
        c.reset()
        self.gone(d)
        eventually(lambda: d.fds() <= d.base_fds, "the transfer is ended")

    def test_while_a_streamed_body_is_sent(self):
        for how in (FIN, RST):
            with self.subTest(how=how):
                d = self.daemon(defaults={"body_buffer": "1KiB",
                                          "body_spill": "0"})
                o = self.raw_origin(lambda conn: conn.request())
                c = self.connect(d)
                c.ask("PUT", o.url(), "Content-Length: 100000000")
                c.send(noise(400000))
                eventually(lambda: o.conns and o.conns[0].total > 300000,
                           "the body comes")
                self.leave(c, how)
                self.gone(d)
                eventually(o.gone, "the origin sees the cut")
                self.assertEqual([], o.requests)

    def test_with_requests_pipelined_behind(self):
        o = self.origin(throttled("Retry-After: 20"))
        d = self.daemon()
        c = self.connect(d)
        for n in range(5):
            c.ask("GET", o.url("/%d" % n))
        d.wait_parked()
        c.close()
        self.gone(d)
        self.assertEqual(["/0"], [q.target for q in o.requests])

    def test_reset_behind_a_request(self):
        """What is unread hides the RST from a read that only looks."""
        for size in (10, 300000):
            o, d = self.origin(throttled("Retry-After: 20")), self.daemon()
            c = self.connect(d)
            c.ask("GET", o.url())
            d.wait_parked()
            c.ask("POST", o.url(), body=noise(size))
            c.reset()
            self.assertEqual("client-gone", d.wait_records(1)[0]["reason"])

    @reduced
    def test_crowd_that_leaves_at_once(self):
        o = self.origin(throttled("Retry-After: 20"))
        d = self.daemon()
        clients = [self.connect(d) for _ in range(100)]
        for n, c in enumerate(clients):
            c.ask("GET", o.url("/%d" % n))
        d.wait_parked(100)
        for n, c in enumerate(clients):
            self.leave(c, FIN if n % 2 else RST)
        d.wait_records(100)
        eventually(lambda: d.fds() <= d.base_fds + 100, "all are gone")
        self.assertEqual({"client-gone"}, {r["reason"] for r in d.records()})


if __name__ == "__main__":
    unittest.main()
