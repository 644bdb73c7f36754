# SPDX-License-Identifier: MIT
"""Bodies of requests that are sent again. C..: the case bank's numbers."""
import os
import subprocess
import threading
import unittest

from harness import Case, eventually, reduced
from origin import answer, throttled
from test_data_path import digest
from wire import Cut, noise

KI = 1024


def limits(memory, disk="0"):
    return {"body_buffer": memory, "body_spill": disk}


class Replay(Case):
    @reduced
    def test_post_is_sent_again_byte_by_byte(self):
        """C53."""
        o = self.origin(throttled(), throttled(), answer(201, "made"))
        d = self.daemon()
        body = b"0123456789"
        r = self.get(d, o.url("/x?y=z"), "Content-Type: a/b", method="POST",
                     body=body)
        self.assert_status(201, r)
        self.assertEqual([(q.raw, body) for q in o.requests[:1]] * 3,
                         [(q.raw, q.body) for q in o.requests])
        self.assertEqual("10", o.requests[0].get("Content-Length"))

    @reduced
    def test_chunked_post_is_sent_again_with_its_trailer(self):
        o = self.origin(throttled(), answer(201))
        d = self.daemon()
        c = self.connect(d)
        body = noise(200 * KI)
        c.ask("POST", o.url(), "Transfer-Encoding: chunked")
        for at in range(0, len(body), 30000):
            c.chunk(body[at:at + 30000])
        c.send(b"0\r\nX-Sum: 1\r\n\r\n")
        self.assert_status(201, c.response("POST"))
        for q in o.requests:
            self.assertEqual(digest(body), digest(q.body))
            self.assertEqual([("X-Sum", "1")], q.trailers)
        self.assertEqual(2, len(o.requests))

    def test_body_limit_less_one_exact_and_more(self):
        """C56."""
        limit = 64 * KI
        for n, status, attempts in ((limit - 1, 200, 2), (limit, 200, 2),
                                    (limit + 1, 429, 1)):
            with self.subTest(n=n):
                o = self.origin(throttled(), answer(200))
                d = self.daemon(defaults=limits("64KiB"))
                r = self.get(d, o.url(), method="PUT", body=noise(n))
                self.assert_status(status, r)
                self.assertEqual(attempts, len(o.requests))
                for q in o.requests:
                    self.assertEqual(digest(noise(n)), digest(q.body))
                if status == 429:
                    self.assert_reason("body-too-large", r)

    @reduced
    def test_memory_and_disk_limits_less_one_exact_and_more(self):
        limit = 64 * KI + 256 * KI
        for n, status in ((limit - 1, 200), (limit, 200), (limit + 1, 429)):
            with self.subTest(n=n):
                o = self.origin(throttled(), answer(200))
                d = self.daemon(defaults=limits("64KiB", "256KiB"))
                r = self.get(d, o.url(), method="PUT", body=noise(n))
                self.assert_status(status, r)
                for q in o.requests:
                    self.assertEqual(digest(noise(n)), digest(q.body))

    def test_spilled_body_is_replayed_and_leaves_nothing(self):
        o = self.origin(throttled("Retry-After: 1"), answer(200))
        d = self.daemon(defaults=limits("64KiB", "64MiB"))
        body = noise(5 * KI * KI)
        c = self.connect(d)
        c.ask("PUT", o.url(), body=body)
        d.wait_parked()
        spills = [name for name in self.list_fds(d) if d.folder + "/" in name]
        self.assertEqual(1, len(spills), "the spill file is open")
        self.assertEqual(["abided.conf"], os.listdir(d.folder))
        self.assert_status(200, c.response("PUT"))
        self.assertEqual([digest(body)] * 2,
                         [digest(q.body) for q in o.requests])
        eventually(lambda: not [name for name in self.list_fds(d)
                                if d.folder + "/" in name], "it is closed")

    def test_chunked_over_the_limit_is_never_replayed(self):
        """C57: no truncated replay."""
        o = self.origin(throttled(), answer(200))
        d = self.daemon(defaults=limits("64KiB"))
        c = self.connect(d)
        body = noise(300 * KI)
        c.ask("POST", o.url(), "Transfer-Encoding: chunked")
        for at in range(0, len(body), 10000):
            c.chunk(body[at:at + 10000])
        c.send(b"0\r\n\r\n")
        r = c.response("POST")
        self.assert_status(429, r)
        self.assert_reason("body-too-large", r)
        self.assertEqual([digest(body)], [digest(q.body) for q in o.requests])

    def test_large_streamed_body_arrives_whole(self):
        body = noise(20 * KI * KI)
        o = self.serving(lambda c, q, n: c.answer(200, digest(q.body)))
        d = self.daemon(defaults=limits("64KiB", "64KiB"))
        r = self.get(d, o.url(), method="PUT", body=body)
        self.assertEqual(digest(body), r.body.decode())

    def test_early_refusal_of_a_streamed_body(self):
        """The answer comes while the client still sends: relayed once."""
        def refuse(conn):
            conn.request(body=False)
            conn.send(throttled("Retry-After: 1"))
            conn.rest()
        o = self.raw_origin(refuse)
        d = self.daemon(defaults=limits("1KiB"))
        c = self.connect(d)
        c.ask("POST", o.url(), "Content-Length: 10000000")
        c.send(noise(100000))
        r = c.response("POST")
        self.assert_status(429, r)
        self.assertEqual(1, len(o.requests))

    def test_early_refusal_of_a_stored_body_is_retried_whole(self):
        """The origin refuses before it has read; the replay starts at 0."""
        def refuse(conn):
            conn.request(body=False)
            conn.answer(429, "no", "Connection: close")
            # what is left unread makes the close a RST: read it
            conn.rest()
        body = noise(900 * KI)
        first = threading.Event()

        def script(conn):
            if not first.is_set():
                first.set()
                refuse(conn)
                return
            conn.request()
            conn.answer(200, "x")
        o = self.raw_origin(script)
        d = self.daemon()
        r = self.get(d, o.url(), method="PUT", body=body)
        self.assert_status(200, r)
        self.assertEqual(digest(body), digest(o.requests[-1].body))

    def test_expect_with_a_refusal_first(self):
        """C60: one 100, one final, no deadlock."""
        def second(conn):
            req = conn.request(body=False)
            conn.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            conn.read_body(req)
            conn.answer(200, digest(req.body))
        first = threading.Event()

        def script(conn):
            if first.is_set():
                second(conn)
                return
            first.set()
            conn.request()
            conn.send(throttled("Connection: close"))
        o, d = self.raw_origin(script), self.daemon()
        c = self.connect(d)
        body = noise(50 * KI)
        c.ask("POST", o.url(), "Expect: 100-continue",
              "Content-Length: %d" % len(body))
        self.assertEqual("HTTP/1.1 100 Continue",
                         c.head(lambda start, fields: start))
        c.send(body)
        r = c.response("POST")
        self.assert_status(200, r)
        self.assertEqual([], r.interims)
        self.assertEqual(digest(body), r.body.decode())
        self.assertEqual(2, len(o.requests))

    @reduced
    def test_expect_where_the_service_is_shut(self):
        """C61: a final answer, no 100; no body is taken for a request."""
        o = self.origin(throttled("Retry-After: 50"))
        d = self.daemon(defaults={"max_wait": "5s"})
        self.assert_status(429, self.get(d, o.url()))
        c = self.connect(d)
        c.ask("POST", o.url(), "Expect: 100-continue", "Content-Length: 10")
        r = c.response("POST")
        self.assert_own(429, "service-shut", r)
        self.assertEqual([], r.interims)
        self.assertEqual("close", r.get("Connection"))
        self.assertTrue(c.at_end())
        self.assertEqual(1, len(o.requests))

    def test_post_lost_after_it_was_sent_is_502_and_get_retried(self):
        """C55."""
        once = threading.Event()

        def script(conn, req, _n):
            if req.method == "POST" or not once.is_set():
                once.set()
                return False
            conn.answer(200, "x")
            return None
        o, d = self.serving(script), self.daemon()
        r = self.get(d, o.url(), method="POST", body=b"x")
        self.assert_own(502, "connection-lost", r)
        self.assertEqual(1, len(o.requests))
        once.clear()
        self.assert_status(200, self.get(d, o.url()))
        self.assertEqual(3, len(o.requests))

    @reduced
    def test_many_bodies_at_once_are_not_mixed_up(self):
        """Each is refused once; each comes back its own."""
        seen, lock = set(), threading.Lock()

        def script(conn, req, _n):
            with lock:
                new = req.target not in seen
                seen.add(req.target)
            if new:
                conn.send(throttled())
            else:
                conn.answer(200, digest(req.body))
        o = self.serving(script)
        d = self.daemon(defaults={**limits("16KiB", "10MiB"),
                                  "max_retries": "50",
                                  "failure_cutoff": "0"})
        clients = [self.connect(d) for _ in range(24)]
        for n, c in enumerate(clients):
            c.ask("PUT", o.url("/%d" % n), body=noise(10000 * n, n))
        for n, c in enumerate(clients):
            self.assertEqual(digest(noise(10000 * n, n)),
                             c.response("PUT").body.decode())


class Disk(Case):
    """The spill goes wrong: the request does not."""

    def ask(self, d, o):
        body = noise(600 * KI)
        r = self.get(d, o.url(), method="PUT", body=body)
        self.assertEqual([digest(body)], [digest(q.body) for q in o.requests])
        return r

    def test_full_disk_streams_and_says_why(self):
        """A body that could not be kept is sent once, whole."""
        folder = os.path.join(self.folder, "small")
        os.mkdir(folder)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k",
                           "abided-test", folder], stderr=subprocess.DEVNULL,
                          check=False).returncode:
            self.skipTest("needs the right to mount a tmpfs")
        try:
            o = self.origin(throttled("Retry-After: 1"))
            d = self.daemon(proxy={"spill_dir": folder},
                            defaults=limits("64KiB", "64MiB"))
            r = self.ask(d, o)
            self.assert_status(429, r)
            self.assert_reason("spill-failed", r)
            d.signal(15)
            self.assertEqual(0, d.wait_exit())
        finally:
            subprocess.run(["umount", folder], check=True)

    def test_vanished_folder_streams_and_says_why(self):
        folder = os.path.join(self.folder, "gone")
        os.mkdir(folder)
        o = self.origin(throttled("Retry-After: 1"))
        d = self.daemon(proxy={"spill_dir": folder},
                        defaults=limits("64KiB", "64MiB"))
        os.rmdir(folder)
        r = self.ask(d, o)
        self.assert_status(429, r)
        self.assert_reason("spill-failed", r)

    def test_file_size_limit_streams_and_says_why(self):
        def limit():
            import resource     # pylint: disable=import-outside-toplevel
            resource.setrlimit(resource.RLIMIT_FSIZE, (128 * KI, 128 * KI))
        o = self.origin(throttled("Retry-After: 1"))
        d = self.daemon(defaults=limits("64KiB", "64MiB"), before=limit)
        r = self.ask(d, o)
        self.assert_status(429, r)
        self.assert_reason("spill-failed", r)


class Incomplete(Case):
    """A body that does not arrive."""

    def test_stalled_body_is_408(self):
        o = self.origin(answer(200))
        d = self.daemon(defaults={"idle_timeout": "300ms"})
        c = self.connect(d)
        c.ask("POST", o.url(), "Content-Length: 10")
        c.send(b"12345")
        r = c.response("POST")
        self.assert_own(408, "client-timeout", r)
        self.assertTrue(c.at_end())
        self.assertEqual([], o.requests)

    def test_stalled_streamed_body_ends_the_attempt(self):
        o = self.raw_origin(lambda conn: conn.request())
        d = self.daemon(defaults={**limits("1KiB"), "idle_timeout": "300ms"})
        c = self.connect(d)
        c.ask("POST", o.url(), "Content-Length: 100000")
        c.send(noise(50000))
        try:
            r = c.response("POST")
            self.assertIn(r.status, (408, 502, 504))
        except Cut:
            pass
        eventually(o.gone, "upstream ends")

    def test_slow_head_is_408(self):
        d = self.daemon(defaults={"head_timeout": "300ms"})
        c = self.connect(d)
        c.send(b"GET http://x/ HTTP/1.1\r\nHo")
        self.assert_own(408, "client-timeout", c.response())
        self.assertTrue(c.at_end())

    def test_silent_client_is_closed(self):
        d = self.daemon(defaults={"head_timeout": "300ms",
                                  "idle_timeout": "300ms"})
        self.assertTrue(self.connect(d).at_end())

    def test_bad_chunk_is_400_and_nothing_goes_out(self):
        o, d = self.origin(answer(200)), self.daemon()
        c = self.connect(d)
        c.ask("POST", o.url(), "Transfer-Encoding: chunked")
        c.send(b"3\r\nabc\r\nzz\r\n")
        self.assert_own(400, "bad-request", c.response("POST"))
        self.assertEqual([], o.requests)

    def test_bad_chunk_in_a_streamed_body_cuts_the_attempt(self):
        """The origin must not see an end that was none."""
        ends = []

        def script(conn):
            req = conn.request(body=False)
            try:
                conn.read_body(req)
                ends.append("whole")
            except Cut:
                ends.append("cut")
        o = self.raw_origin(script)
        d = self.daemon(defaults=limits("1KiB"))
        c = self.connect(d)
        c.ask("POST", o.url(), "Transfer-Encoding: chunked")
        c.chunk(noise(10000))
        o.wait_requests(1)
        c.send(b"zz\r\n")
        eventually(lambda: ends, "the origin sees an end")
        self.assertEqual(["cut"], ends)


if __name__ == "__main__":
    unittest.main()
