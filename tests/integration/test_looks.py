# SPDX-License-Identifier: MIT
"""What is looked at goes on as it came: every framing, cut where it may be.

Each request names a number; the answer to it is drawn from that number alone,
by the origin and by the test, so that they agree without a word.
"""
import gzip
import json
import random
import socket
import threading
import unittest

from harness import Case
from wire import Cut, noise

RULES = {
    "throttled_when": ["* json error.code = busy", "* body \"slow down\""],
    "permanent_when": "4xx|5xx json error.code = bill",
    "wait_body": "* json error.wait : ms",
    "wait_headers": "retry-after-ms:ms",
    "retry_non_idempotent": "always",
    "stream_peek": "4KiB",
    "max_retries": "2", "base_delay": "1ms", "max_delay": "2ms",
    "jitter": "0ms", "failure_cutoff": "1000000", "retry_on": "503",
}
TYPES = ("application/json", "text/html", "text/event-stream", None)
BUSY, BILL, PLAIN = "busy", "bill", "plain"
SCRIPTS = 300


class Script:
    """The answers to request n."""

    def __init__(self, n):
        self.rng = rng = random.Random(n)
        self.n = n
        self.method = rng.choice(("GET", "GET", "POST", "HEAD"))
        self.turns = [BUSY] * rng.choice((0, 0, 1, 2)) + [
            PLAIN if self.method == "HEAD" else
            rng.choice((PLAIN, PLAIN, PLAIN, BILL))]
        self.upload = rng.choice((0, 10, 100000)) \
            if self.method == "POST" else None
        self.early = self.method == "POST" and rng.random() < 0.3
        self.answers = [Said(rng, self.method, what) for what in self.turns]


class Said:
    """One answer, with all that may go wrong on its way."""

    def __init__(self, rng, method, what):
        self.what = what
        self.kind = rng.choice(("length", "chunked", "close"))
        self.type = rng.choice(TYPES)
        self.head_only = method == "HEAD"
        self.status = rng.choice((200, 404, 400, 503 if what == BUSY else 201))
        if what == PLAIN and rng.random() < 0.1:
            self.status = rng.choice((204, 304))
        if what == BILL:
            self.status = rng.choice((400, 429, 503))
        if self.head_only and what == BUSY:
            self.status = 503
        self.body = self.text(rng)
        if self.status in (204, 304):
            self.body = b""
        self.coded = self.type != "text/event-stream" and rng.random() < 0.3
        self.wire = gzip.compress(self.body, mtime=0) if self.coded else \
            self.body
        self.trailer = rng.random() < 0.3
        # What is cut can't be retried on purpose; only the last one is.
        self.end = rng.choice(("whole", "whole", "whole", "more", "cut",
                               "reset")) if what == PLAIN else "whole"
        if self.bodiless or not self.body or (
                self.kind != "length" and self.end == "more"):
            self.end = "whole"
        self.size = rng.choice((1, 7, 1000, 100000))
        self.pieces = rng.choice((1, 5, 1400, 1 << 20))
        self.seed = rng.random()
        if self.end == "more":
            # What comes once the connection is idle is the next one's answer.
            self.pieces = 1 << 20
            self.end = "more" if len(self.wire) < 4000 else "whole"

    def text(self, rng):
        if self.what == PLAIN:
            size = rng.choice((0, 1, 3000, 70000, 300000))
            if self.type == "text/event-stream":
                return (b"data: " + noise(30).hex().encode() + b"\n\n") * (
                    1 + size // 70)
            return json.dumps({"x": noise(size // 2).hex()}).encode()
        said = json.dumps({"error": {"code": self.what, "wait": 2}}).encode()
        if self.type == "text/event-stream":
            return b"event: error\ndata: " + said + b"\n\n"
        return said

    @property
    def bodiless(self):
        return self.head_only or self.status in (204, 304)

    def raw(self):
        """Head and body as they go out."""
        lines = ["HTTP/1.1 %d Word" % self.status]
        if self.type:
            lines.append("Content-Type: " + self.type)
        if self.coded:
            lines.append("Content-Encoding: gzip")
        wire = self.wire
        if self.status not in (204, 304):
            if self.kind == "length":
                lines.append("Content-Length: %d" % len(wire))
            elif self.kind == "chunked":
                lines.append("Transfer-Encoding: chunked")
                wire = b"".join(
                    b"%x\r\n%s\r\n" % (len(wire[i:i + self.size]),
                                       wire[i:i + self.size])
                    for i in range(0, len(wire), self.size)) + b"0\r\n"
                wire += b"X-Sum: 1\r\n\r\n" if self.trailer else b"\r\n"
            else:
                lines.append("Connection: close")
        head = ("\r\n".join(lines) + "\r\n\r\n").encode()
        if self.bodiless:
            return head, b""
        return head, wire

    def cut_at(self, n):
        return random.Random(self.seed).randrange(n)

    def send(self, conn):
        """False: the connection is over."""
        head, body = self.raw()
        if self.end in ("cut", "reset"):
            body = body[:self.cut_at(len(body))]
        out = head + body + (b"garbage" if self.end == "more" else b"")
        # Small pieces of the beginning: the rest is not looked at.
        for at in range(0, min(len(out), 2000 * self.pieces), self.pieces):
            conn.send(out[at:at + self.pieces])
        conn.send(out[2000 * self.pieces:])
        if self.end == "reset":
            conn.reset()
            return False
        return self.end == "whole" and (self.kind != "close" or
                                        self.bodiless)


class Looks(Case):
    def setUp(self):
        super().setUp()
        self.lock = threading.Lock()
        self.tries = {}

    def step(self, conn):
        while True:
            req = conn.request(body=False)
            if req is None:
                return
            n = int(req.target.rsplit("/", 1)[1])
            script = Script(n)
            with self.lock:
                k = self.tries.get(n, 0)
                self.tries[n] = k + 1
            if not script.early and script.upload:
                conn.exactly(script.upload)
            said = script.answers[min(k, len(script.answers) - 1)]
            goes_on = said.send(conn)
            if script.early and script.upload and said.end != "reset":
                conn.exactly(script.upload)
            if not goes_on:
                return

    def check(self, c, n):
        """Reads the answer to n. False: this connection is over."""
        script = Script(n)
        said = script.answers[-1]
        try:
            r = c.response(script.method)
        except Cut as e:
            self.assertIn(said.end, ("cut", "reset"), "%d: %r" % (n, e))
            return False
        if said.end == "reset" and r.status == 502:
            return "close" not in (r.get("Connection") or "")
        self.assertEqual(said.status, r.status, n)
        body = b"" if said.bodiless else said.wire
        if said.kind == "close" and said.end == "cut":
            body = body[:said.cut_at(len(body))]
        if r.body != body:
            self.fail("%d: %d bytes, not %d" % (n, len(r.body), len(body)))
        trailers = [("X-Sum", "1")] if said.kind == "chunked" and \
            said.trailer and not said.bodiless else []
        self.assertEqual(trailers, r.trailers, n)
        self.assertEqual("gzip" if said.coded else None,
                         r.get("Content-Encoding"), n)
        if said.end != "reset":
            self.assertEqual(len(script.turns), self.tries[n], n)
        return "close" not in (r.get("Connection") or "")

    def one_client(self, d, o, numbers):
        numbers = list(numbers)
        while numbers:
            c = self.connect(d)
            c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 30000)
            batch = []
            for n in numbers[:4]:
                batch.append(n)
                script = Script(n)
                c.ask(script.method, o.url("/%d" % n),
                      body=b"u" * script.upload
                      if script.upload is not None else None)
                if script.upload or script.answers[-1].end != "whole":
                    break               # the connection may end here
            for n in batch:
                numbers.remove(n)
                if not self.check(c, n):
                    break
            c.close()

    def run_all(self, d, o, seeds, clients):
        faults = []

        def run(mine):
            try:
                self.one_client(d, o, mine)
            except Exception as e:      # pylint: disable=broad-except
                faults.append(e)
        threads = [threading.Thread(target=run, args=(seeds[i::clients],))
                   for i in range(clients)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for e in faults:
            raise e

    def test_every_framing_cut_anywhere(self):
        o = self.raw_origin(self.step)
        d = self.daemon(defaults=RULES)
        self.run_all(d, o, list(range(SCRIPTS)), 8)


if __name__ == "__main__":
    unittest.main()
