# SPDX-License-Identifier: MIT
"""What once broke: moments that no other test looks at."""
import os
import select
import signal
import socket
import threading
import time
import unittest

from harness import Case, eventually, reduced
from origin import answer, throttled
from wire import Cut, PATIENCE, Wire, noise

# Refused as soon as the head is read, and its body is still to come.
REFUSED_EARLY = (b"POST http://127.0.0.1:1/ HTTP/1.1\r\nHost: 127.0.0.1:1\r\n"
                 b"Expect: the-unexpected\r\nContent-Length: 200000\r\n\r\n")


class Clients(Case):
    @reduced
    def test_refused_client_may_still_send_its_body(self):
        """No RST while it does: it might destroy the answer on its way."""
        d = self.daemon()
        c = self.connect(d)
        c.send(REFUSED_EARLY)
        r = c.response()
        self.assert_own(417, "bad-request", r)
        self.assertEqual("close", r.get("Connection"))
        for _ in range(20):
            c.send(b"x" * 10000)
        self.assertTrue(c.at_end())

    def test_refused_client_that_only_sends_is_left_in_the_end(self):
        d = self.daemon()
        c = self.connect(d)
        c.send(REFUSED_EARLY)
        self.assert_own(417, "bad-request", c.response())
        with self.assertRaises(ConnectionError):
            while True:
                c.send(b"x" * 100000)

    def test_asked_to_close_it_closes_whatever_it_answers(self):
        d = self.daemon()
        for head in (b"OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close",
                     b"OPTIONS * HTTP/1.0",
                     b"TRACE http://a/ HTTP/1.1\r\nHost: a\r\n"
                     b"Max-Forwards: 0\r\nConnection: close"):
            with self.subTest(head=head):
                c = self.connect(d)
                c.send(head + b"\r\n\r\n")
                self.assertEqual("close", c.response().get("Connection"))
                self.assertTrue(c.at_end())

    def test_refused_head_gets_no_body(self):
        d = self.daemon(proxy={"deny_destinations": "denied.example"})
        c = self.connect(d)
        r = c.get("http://denied.example/", method="HEAD")
        self.assert_status(403, r)
        self.assertNotEqual("0", r.get("Content-Length"))
        self.assertTrue(c.at_end())


    def test_upload_that_stalls_is_the_clients_fault(self):
        """Whether it was to be kept or is streamed: 408, not 504."""
        o = self.raw_origin(lambda conn: conn.request())
        for keep in "64KiB", "0":
            with self.subTest(keep=keep):
                d = self.daemon(defaults={
                    "idle_timeout": "1s", "body_buffer": keep,
                    "body_spill": "0"})
                c = self.connect(d)
                c.ask("POST", o.url(), "Content-Length: 100")
                c.send(b"ten bytes.")
                self.assert_own(408, "client-timeout", c.response())


class Origins(Case):
    @reduced
    def test_many_interim_answers_are_whole_or_left_out(self):
        def chatty(conn):
            conn.request()
            for i in range(40):
                conn.answer(103, b"", "X-Number: %d" % i,
                            "X-Pad: " + "y" * 1000, length=False)
            conn.answer(200, b"hello")
        o = self.raw_origin(chatty)
        r = self.get(self.daemon(), o.url())
        self.assert_status(200, r)
        self.assertEqual(b"hello", r.body)
        self.assertEqual([str(i) for i in range(len(r.interims))],
                         [i.get("X-Number") for i in r.interims])
        self.assertEqual({"y" * 1000}, {i.get("X-Pad") for i in r.interims})
        self.assertGreater(len(r.interims), 10)

    def test_reused_connection_that_breaks_in_the_head_has_answered(self):
        """Rule 14 is for those that die before any byte of an answer."""
        def half(conn):
            conn.request()
            conn.answer(200)
            conn.request()
            conn.send(b"HTTP/1.1 20")
        o = self.raw_origin(half)
        d = self.daemon(defaults={"retry_reset": "never"})
        c = self.connect(d)
        self.assert_status(200, c.get(o.url()))
        self.assert_own(502, "connection-lost", c.get(o.url()))
        self.assertEqual(2, len(o.requests))

    @reduced
    def test_post_on_a_connection_that_was_reset_meanwhile(self):
        """Rule 14: nothing of it was sent, so it may go on a fresh one."""
        gone = threading.Event()

        def rude(conn):
            conn.request()
            conn.send(answer(200, b"kept alive"))
            if conn.ordinal == 1:
                conn.reset()
                gone.set()
            else:
                conn.request()
        o = self.raw_origin(rude)
        d = self.daemon(proxy={"workers": "1"})
        for _ in range(2):
            r = self.get(d, o.url(), method="POST", body=b"once")
            self.assert_status(200, r)
            # Sent into a connection that stands still it could not be.
            self.assertTrue(gone.wait(PATIENCE))
        self.assertEqual([b"once"] * 2, [q.body for q in o.requests])

    @reduced
    def test_hold_that_begins_while_a_connection_is_made(self):
        """Rule 6: it holds those too that were let go before, and have not
        sent anything yet."""
        # With one connection waiting there the next SYN is dropped, and comes
        # again a second later.
        narrow = socket.socket()
        self.addCleanup(narrow.close)
        narrow.bind(("127.0.0.1", 0))
        narrow.listen(0)
        url = "http://127.0.0.1:%d/" % narrow.getsockname()[1]
        d = self.daemon(proxy={"workers": "1"})
        first, second = self.connect(d), self.connect(d)
        first.ask("GET", url)
        a = self.accepted(narrow)
        a.request()
        stopper = socket.create_connection(narrow.getsockname())
        self.addCleanup(stopper.close)
        second.ask("GET", url)
        eventually(lambda: len(self.list_fds(d)) > d.base_fds + 3,
                   "the second one dials")
        a.send(throttled("Retry-After: 4"))
        told = time.monotonic()
        d.wait_parked(1)
        self.accepted(narrow)
        b = self.accepted(narrow)
        d.wait_parked(2)
        for _ in range(2):
            early, _, _ = select.select([a.sock, b.sock], [], [])
            self.assertGreaterEqual(time.monotonic() - told, 4)
            conn = a if a.sock in early else b
            self.assertIsNotNone(conn.request())
            conn.send(answer(200))
        for c in first, second:
            self.assert_status(200, c.response())
        self.assertEqual(["1", "2"],
                         sorted(r["attempts"] for r in d.wait_records(2)))
        a.close()
        b.close()

    def accepted(self, listener):
        listener.settimeout(PATIENCE)
        w = Wire(listener.accept()[0])
        self.addCleanup(w.close)
        return w

    def test_the_last_of_many_statuses_is_the_one_told(self):
        o = self.origin(*[throttled(status=503)] * 9, throttled(),
                        lambda conn, _req: conn.hang())
        d = self.daemon(defaults={"max_retries": "20", "failure_cutoff": "0",
                                  "deadline": "2s"})
        r = self.get(d, o.url())
        self.assert_own(504, "deadline", r)
        self.assertIn("received-status=429", r.says)

    def test_reload_that_denies_reaches_idle_connections(self):
        o = self.origin(answer(200))
        d = self.daemon(proxy={"workers": "1"})
        c = self.connect(d)
        self.assert_status(200, c.get(o.url()))
        with open(d.conf, encoding="utf-8") as f:
            text = f.read()
        d.write(text.replace("allow_destinations", "; allow_destinations"))
        d.signal(signal.SIGHUP)
        d.wait_log("reloaded")
        self.assert_own(403, "denied", c.get(o.url()))

    def test_reload_that_denies_reaches_busy_connections(self):
        def slow(conn, _req, n):
            if n == 1:
                d.wait_log("reloaded")
            conn.answer(200)
        o = self.serving(slow)
        d = self.daemon(proxy={"workers": "1"})
        c = self.connect(d)
        c.ask("GET", o.url())
        o.wait_requests(1)
        with open(d.conf, encoding="utf-8") as f:
            text = f.read()
        d.write(text.replace("allow_destinations", "; allow_destinations"))
        d.signal(signal.SIGHUP)
        self.assert_status(200, c.response())
        self.assert_own(403, "denied", c.get(o.url()))


class Bodies(Case):
    def test_unreadable_spill_cuts_an_answer_that_has_begun(self):
        """A second answer must not be put inside the first one's body."""
        body = noise(16 << 20)

        def early(conn):
            conn.request(body=False)
            conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegin")
            truncated.wait()
            try:
                conn.exactly(len(body), sink=len)
            finally:
                conn.close()
        truncated = threading.Event()
        o = self.raw_origin(early)
        d = self.daemon(defaults={"body_buffer": "64KiB",
                                  "body_spill": "64MiB"})
        c = self.connect(d)
        c.ask("PUT", o.url(), body=body)
        try:
            self.assertEqual(200, c.response("PUT", body=False).status)
            self.assertEqual(b"begin", c.exactly(5))
            for fd in os.listdir("/proc/%d/fd" % d.pid):
                path = "/proc/%d/fd/%s" % (d.pid, fd)
                if d.folder in os.readlink(path) and \
                        "deleted" in os.readlink(path):
                    os.truncate(path, 0)
        finally:
            truncated.set()
        self.assertEqual(b"", c.rest())


class Tunnels(Case):
    def test_what_a_side_said_before_it_broke_arrives(self):
        """An answer to an upload that is not read to its end, through a
        tunnel: the bytes behind it must not cost the client the answer."""
        def refuse(conn):
            conn.exactly(1000)
            conn.send(b"too large")
        o = self.raw_origin(refuse)
        d = self.daemon(proxy={"workers": "1"})
        for _ in range(40):
            c = self.connect(d)
            c.ask("CONNECT", o.authority)
            self.assertEqual(200, c.response("CONNECT").status)
            try:
                for _ in range(40):
                    c.send(b"x" * 50000)
            except ConnectionError:
                pass
            try:
                self.assertEqual(b"too large", c.rest())
            except Cut as cut:
                self.assertEqual(b"too large", cut.got)


if __name__ == "__main__":
    unittest.main()
