# SPDX-License-Identifier: MIT
"""How connections over TLS end: what is whole ends cleanly, what is cut shows."""
import signal
import ssl
import threading
import unittest

from harness import eventually
from origin import answer, throttled
from tlscase import API, TlsCase
from wire import Alerted, Cut, PATIENCE, Ragged, Reset, noise

UPGRADE = ("Connection: Upgrade", "Upgrade: echo")
SWITCH = (b"HTTP/1.1 101 Switching Protocols\r\n"
          b"Connection: Upgrade\r\nUpgrade: echo\r\n\r\n")


class EndsCase(TlsCase):
    def fetch(self, c, o, path="/x", *fields, **kw):
        return c.get(path, "Host: " + o.authority, *fields, **kw)


class EarlyAnswer(EndsCase):
    """A server that wants no more says why and closes; bytes of the upload
    that it has not read make that close a RST."""

    def script(self, conn):
        conn.request(body=False)
        conn.exactly(100000)
        conn.answer(413, "too much", "Connection: close")
        conn.cut()

    def post(self, url, o, d):
        c = self.connect(d)
        t = threading.Thread(target=self.upload, args=(c, o, url), daemon=True)
        t.start()
        r = c.response("POST")
        t.join(PATIENCE)
        self.assert_status(413, r)
        self.assertEqual(b"too much", r.body)

    def upload(self, c, o, url):
        body = noise(1 << 20)
        try:
            c.ask("POST", url, "Host: " + o.authority,
                  "Content-Length: %d" % (len(body) * 16))
            for _ in range(16):
                c.send(body)
        except (OSError, Cut):
            pass                        # an early answer may close

    def test_over_tls_of_an_upload_that_is_kept(self):
        o = self.secure_raw(self.script)
        d = self.secure_daemon({"api": {"hosts": API, "tls": "originate"}})
        self.post(o.url(scheme="http"), o, d)

    def test_over_tls_of_an_upload_that_is_streamed(self):
        o = self.secure_raw(self.script)
        d = self.secure_daemon({"api": {"hosts": API, "tls": "originate"}},
                               defaults={"body_buffer": "64KiB",
                                         "body_spill": "0"})
        self.post(o.url(scheme="http"), o, d)

    def test_429_is_absorbed(self):
        left = [self.script]

        def script(conn):
            if left:
                left.pop()
                conn.request(body=False)
                conn.exactly(100000)
                conn.send(throttled("Connection: close"))
                conn.cut()
                return
            conn.request()
            conn.answer(200, "x")
        o = self.secure_raw(script)
        d = self.secure_daemon({"api": {"hosts": API, "tls": "originate"}})
        c = self.connect(d)
        r = c.get(o.url(scheme="http"), method="POST", body=noise(16 << 20))
        self.assert_status(200, r)
        self.assertEqual("429,200", d.wait_records(1)[0]["upstream"])


class Pipelined(EndsCase):
    """What a client sent ahead hides neither its end nor its RST."""

    def leaves(self, how, size):
        o, d = self.secure_origin(throttled("Retry-After: 20")), \
            self.intercepting()
        c = self.inside(d, o)
        c.ask("GET", "/x", "Host: " + o.authority)
        d.wait_parked()
        c.ask("POST", "/x", "Host: " + o.authority, body=noise(size))
        getattr(c, how)()
        self.assertEqual("client-gone", d.wait_records(1)[0]["reason"])
        self.assertEqual(1, len(o.requests))

    def test_reset_behind_a_request(self):
        self.leaves("reset", 10)

    def test_reset_behind_a_body(self):
        self.leaves("reset", 300000)

    def test_end_behind_a_request(self):
        self.leaves("close", 10)

    def test_cut_behind_a_request(self):
        self.leaves("cut", 10)

    def test_close_notify_in_one_record_train_with_the_request(self):
        o, d = self.secure_origin(throttled("Retry-After: 20")), \
            self.intercepting()
        c = self.inside(d, o)
        tls = c.sock.tls
        tls.write(b"GET /x HTTP/1.1\r\nHost: %s\r\n\r\n" %
                  o.authority.encode())
        with self.assertRaises(ssl.SSLWantReadError):
            tls.unwrap()
        c.sock.fly()
        self.assertEqual("client-gone", d.wait_records(1)[0]["reason"])


class Upgraded(EndsCase):
    """A tunnel of ours, between two sessions of TLS."""

    def upgraded(self, script):
        """script(conn) behind the 101; what a client has for it."""
        self.seen = []

        def first(conn, _req):
            conn.send(SWITCH)
            try:
                script(conn)
                self.seen.append(b"done")
            except Cut as e:
                self.seen.append(type(e))
            return False
        o, d = self.secure_origin(first), self.intercepting()
        c = self.inside(d, o)
        self.assert_status(101, self.fetch(c, o, "/", *UPGRADE))
        return d, c

    def assert_seen(self, *what):
        eventually(lambda: self.seen, "the origin has seen the end")
        self.assertIn(self.seen[0], what)

    def test_server_ends_cleanly(self):
        def script(conn):
            conn.send(b"bye")
            conn.end_sending()
            self.assertEqual(b"late", conn.rest())
        _, c = self.upgraded(script)
        self.assertEqual(b"bye", c.rest())
        c.send(b"late")
        c.end_sending()
        self.assert_seen(b"done")

    def test_server_is_cut(self):
        def script(conn):
            conn.send(b"bye")
            conn.cut()
        _, c = self.upgraded(script)
        self.assertRaises((Ragged, Reset), c.rest)

    def test_last_words_of_a_server_that_takes_no_more(self):
        def script(conn):
            conn.exactly(100000)
            conn.send(b"enough")
            conn.cut()                  # a RST, since bytes are unread
        _, c = self.upgraded(script)

        def send():
            try:
                for _ in range(64):
                    c.send(noise(1 << 18))
            except OSError:
                pass
        t = threading.Thread(target=send, daemon=True)
        t.start()
        self.assertEqual(b"enough", c.exactly(6))
        with self.assertRaises((Ragged, Reset)):
            c.rest()
        t.join(PATIENCE)

    def test_client_is_cut(self):
        _, c = self.upgraded(lambda conn: conn.rest())
        c.send(b"bye")
        c.cut()
        self.assert_seen(Ragged, Reset)

    def test_client_is_reset(self):
        _, c = self.upgraded(lambda conn: conn.rest())
        c.send(b"bye")
        c.reset()
        self.assert_seen(Ragged, Reset)

    def test_bulk_both_ways_and_a_clean_end(self):
        def script(conn):
            while conn.more():
                conn.send(bytes(conn.buf))
                conn.buf.clear()
        _, c = self.upgraded(script)
        data = noise(3 << 20)
        t = threading.Thread(target=lambda: (c.send(data), c.end_sending()),
                             daemon=True)
        t.start()
        self.assertEqual(data, c.rest())
        t.join(PATIENCE)
        self.assert_seen(b"done")


class SlowReader(EndsCase):
    """HTTP/1.0: only the end tells that an answer is whole."""

    def slow(self, script, **kw):
        o = self.secure_serving(script)
        d = self.intercepting(**kw)
        c = self.inside(d, o)
        c.ask("GET", "/", "Host: " + o.authority, version="HTTP/1.0")
        return d, c

    def test_whole_answer_ends_cleanly_however_slow(self):
        size = 9 << 20

        def script(conn, _req, _n):
            conn.send(answer(200, noise(size), length=False))
            conn.close()
            return False
        d, c = self.slow(script)
        c.exactly(1000)
        self.assertTrue(c.rest().endswith(noise(size)[-1000:]))
        self.assertTrue(c.sock.closed)
        self.assertEqual(str(size), d.wait_records(1)[0]["out"])

    def test_reader_that_stops_is_cut(self):
        size = 6 << 20

        def script(conn, _req, _n):
            conn.send(answer(200, noise(size), length=False))
            conn.close()
            return False
        d, c = self.slow(script, service={"idle_timeout": "1s"})
        c.exactly(1000)
        eventually(lambda: d.fds() <= d.base_fds, "it is given up")
        self.assertRaises((Ragged, Reset), c.rest)

    def stopped(self, d, c):
        """A second signal ends it at once."""
        c.until(b"half")
        d.signal(signal.SIGTERM)
        d.wait_log("draining")
        eventually(lambda: not d.alive() or d.signal(signal.SIGTERM) or
                   d.log.matching("stopping at once"), "it stops")
        self.assertEqual(0, d.wait_exit())
        self.assertRaises((Ragged, Reset), c.rest)

    @staticmethod
    def half(conn, _req, _n):
        conn.send(answer(200, "half", length=False))
        conn.hang()

    def test_stop_cuts_over_tls(self):
        self.stopped(*self.slow(self.half))

    def test_stop_cuts_in_plain(self):
        o, d = self.serving(self.half), self.daemon()
        c = self.connect(d)
        c.ask("GET", o.url(), version="HTTP/1.0")
        self.stopped(d, c)


if __name__ == "__main__":
    unittest.main()
