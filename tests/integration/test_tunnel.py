# SPDX-License-Identifier: MIT
"""CONNECT and Upgrade: bytes that are nobody's business."""
import hashlib
import socket
import threading
import time
import unittest

from harness import Case, eventually, reduced
from origin import answer, throttled
from wire import PATIENCE, Reset, noise


class Connect(Case):
    def tunnel(self, script, early=b"", daemon=None, **kw):
        """An open tunnel to an origin with that script."""
        o = self.raw_origin(script)
        d = daemon or self.daemon(**kw)
        c = self.connect(d)
        c.send(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n%s" % (
            o.authority.encode(), o.authority.encode(), early))
        r = c.response("CONNECT")
        self.assert_status(200, r)
        self.assertEqual([], r.all("Content-Length"))
        self.assertEqual([], r.all("Transfer-Encoding"))
        self.assertRegex(r.says, "^abided")
        return c, o, d

    @reduced
    def test_bytes_pass_both_ways(self):
        def echo(conn):
            while conn.more():
                conn.send(bytes(conn.buf))
                conn.buf.clear()
        c, _, d = self.tunnel(echo)
        for n in (1, 100, 65536, 1 << 20):
            data = noise(n)
            t = threading.Thread(target=c.send, args=(data,), daemon=True)
            t.start()
            self.assertEqual(data, c.exactly(n))
            t.join(PATIENCE)
        c.close()
        record = d.wait_records(1)[0]
        self.assertEqual("CONNECT", record["method"])
        self.assertEqual("tunnel", record["scheme"])
        total = str(1 + 100 + 65536 + (1 << 20))
        self.assertEqual((total, total), (record["in"], record["out"]))

    @reduced
    def test_bytes_behind_the_head_go_first(self):
        c, _, _ = self.tunnel(lambda conn: conn.send(conn.exactly(10)[::-1]),
                              early=b"01234")
        c.send(b"56789")
        self.assertEqual(b"9876543210", c.exactly(10))

    def test_client_half_close_passes_on(self):
        def script(conn):
            data = conn.rest()
            conn.send(b"got %d" % len(data))
        c, _, _ = self.tunnel(script)
        c.send(noise(300000))
        c.end_sending()
        self.assertEqual(b"got 300000", c.rest())

    def test_upstream_half_close_passes_on(self):
        got = []

        def script(conn):
            conn.send(b"bye")
            conn.end_sending()
            got.append(conn.rest())
        c, o, d = self.tunnel(script)
        self.assertEqual(b"bye", c.rest())
        c.send(b"one more thing")
        c.end_sending()
        d.wait_records(1)
        eventually(lambda: got, "the origin has it")
        self.assertEqual([b"one more thing"], got)

    def test_reset_ends_it(self):
        c, o, d = self.tunnel(lambda conn: conn.rest())
        c.send(b"x")
        c.reset()
        d.wait_records(1)
        eventually(o.gone, "upstream ends")

    def test_upstream_end_ends_it(self):
        c, _, _ = self.tunnel(lambda conn: conn.exactly(1))
        c.send(b"x")
        try:
            self.assertEqual(b"", c.rest())
        except Reset:
            pass

    def test_slow_reader_holds_the_writer_back(self):
        big, sums, started = 100 * 1000 * 1000, [], []
        piece = noise(1 << 20)

        def script(conn):
            left, total = big, hashlib.sha256()
            started.append(True)
            while left > 0:
                part = piece[:left]
                conn.send(part)
                total.update(part)
                left -= len(part)
            sums.append(total.hexdigest())
        c, _, d = self.tunnel(script)
        base, total = d.peak(), hashlib.sha256()
        eventually(lambda: started, "it floods")
        c.rest(total.update)
        self.assertEqual(sums, [total.hexdigest()])
        self.assertLess(d.peak() - base, 32 << 20)

    def test_idle_tunnel_ends(self):
        c, _, d = self.tunnel(lambda conn: conn.rest(),
                              defaults={"idle_timeout": "300ms"})
        began = time.monotonic()
        try:
            self.assertEqual(b"", c.rest())
        except Reset:
            pass
        self.assertGreater(time.monotonic() - began, 0.1)
        d.wait_records(1)

    def test_refused_port_and_host(self):
        o = self.origin(answer(200))
        d = self.daemon(proxy={"connect_ports": "443",
                               "allow_destinations": "127.0.0.0/8"})
        doc = self.assert_own(403, None, self.get(
            d, o.authority, method="CONNECT"))
        self.assertIn("connect_ports", doc["detail"])
        d = self.daemon(proxy={"connect_ports": "*",
                               "allow_destinations": "none"})
        self.assert_own(403, None, self.get(d, o.authority,
                                            method="CONNECT"))
        self.assertEqual([], o.conns)

    def test_nobody_listens(self):
        d = self.daemon(defaults={"max_retries": "1"})
        s = socket.socket()
        s.bind(("127.0.0.1", 0))        # bound, but not listening
        with s:
            r = self.get(d, "127.0.0.1:%d" % s.getsockname()[1],
                         method="CONNECT")
        self.assertEqual(502, r.status)
        self.assertEqual("2", d.wait_records(1)[0]["attempts"])

    def test_inner_429_is_invisible(self):
        """C79: what passes in a tunnel is opaque."""
        def script(conn):
            conn.request()
            conn.send(throttled("Retry-After: 9"))
        c, o, _ = self.tunnel(script)
        r = c.get("/x", "Host: inner")
        self.assert_status(429, r)
        self.assertEqual("9", r.get("Retry-After"))
        self.assertEqual(1, len(o.requests))

    def test_pipelined_behind_connect_goes_into_the_tunnel(self):
        def script(conn):
            req = conn.request()
            conn.answer(200, req.target)
        c, _, _ = self.tunnel(
            script, early=b"GET /inner HTTP/1.1\r\nHost: x\r\n\r\n")
        self.assertEqual(b"/inner", c.response().body)


class Upgrade(Case):
    @staticmethod
    def chat(conn, req, status=b"101 Switching Protocols"):
        conn.send(b"HTTP/1.1 " + status + b"\r\nConnection: Upgrade\r\n"
                  b"Upgrade: chat\r\nX-Key: y\r\n\r\nfirst")
        conn.send(conn.exactly(5)[::-1])
        return False

    def ask(self, c, o):
        return c.get(o.url("/chat"), "Connection: upgrade", "Upgrade: chat")

    @reduced
    def test_101_becomes_a_tunnel(self):
        o, d = self.origin(self.chat), self.daemon()
        c = self.connect(d)
        r = self.ask(c, o)
        self.assert_status(101, r)
        self.assertEqual("chat", r.get("Upgrade").lower())
        self.assertEqual("upgrade", r.get("Connection").lower())
        self.assertEqual("y", r.get("X-Key"))
        self.assertEqual(b"first", c.exactly(5))
        c.send(b"abcde")
        self.assertEqual(b"edcba", c.exactly(5))
        self.assertEqual("chat", o.requests[0].get("Upgrade").lower())

    @reduced
    def test_429_before_the_upgrade_is_absorbed(self):
        """C75."""
        o = self.origin(throttled(), throttled(), self.chat)
        d = self.daemon()
        c = self.connect(d)
        self.assert_status(101, self.ask(c, o))
        self.assertEqual(b"first", c.exactly(5))
        c.send(b"abcde")
        self.assertEqual(b"edcba", c.exactly(5))
        self.assertEqual(3, len(o.requests))
        for req in o.requests:
            self.assertEqual("chat", req.get("Upgrade").lower())

    def test_upgrade_that_is_declined_is_an_answer(self):
        o, d = self.origin(answer(200, "no")), self.daemon()
        c = self.connect(d)
        self.assertEqual(b"no", self.ask(c, o).body)
        self.assertEqual(b"no", self.ask(c, o).body)

    def test_101_that_nobody_asked_for_is_a_bad_response(self):
        o, d = self.origin(self.chat), self.daemon()
        self.assert_own(502, "bad-response", self.get(d, o.url()))

    def test_bytes_that_come_before_the_101_wait(self):
        """A client may send at once; nothing of it is lost."""
        o, d = self.origin(throttled(), self.chat), self.daemon()
        c = self.connect(d)
        c.ask("GET", o.url(), "Connection: upgrade", "Upgrade: chat")
        c.send(b"abcde")
        self.assert_status(101, c.response())
        self.assertEqual(b"firstedcba", c.exactly(10))


if __name__ == "__main__":
    unittest.main()
