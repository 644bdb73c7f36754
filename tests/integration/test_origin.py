#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""abide-origin over real sockets.

    ABIDE_ORIGIN=build/plain/abide-origin tests/integration/test_origin.py

One simulator serves all tests: each counts under a key of its own. Times are
only ever checked from below; a slow machine is late, never early.
"""
import email.utils
import http.client
import json
import os
import re
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import zlib

BINARY = os.environ.get("ABIDE_ORIGIN", "./abide-origin")
PATIENCE = 30  # seconds, for what comes at once on an idle machine


class Origin:
    """A running simulator."""

    def __init__(self, *args, listen="127.0.0.1:0", **kwargs):
        self.process = subprocess.Popen(
            [BINARY, "--listen", listen, *args], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, **kwargs)
        line = self.process.stdout.readline()
        m = re.fullmatch(r"listening on (.+):(\d+)\n", line)
        if not m:
            raise AssertionError("no address but: " + line +
                                 self.process.stderr.read())
        self.host, self.port = m.group(1).strip("[]"), int(m.group(2))

    def connect(self):
        return socket.create_connection((self.host, self.port), PATIENCE)

    def stop(self, how=signal.SIGTERM):
        """The rest of its output, and its exit status."""
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=PATIENCE)
        return out, err, self.process.returncode

    def get(self, target, method="GET", body=None, headers=None):
        """(status, headers, body) on a connection of its own."""
        c = http.client.HTTPConnection(self.host, self.port,
                                       timeout=PATIENCE)
        try:
            c.request(method, target, body, headers or {})
            r = c.getresponse()
            return r.status, r.headers, r.read()
        finally:
            c.close()

    def status(self, target, **kwargs):
        return self.get(target, **kwargs)[0]

    def report(self, key):
        status, _, body = self.get("/report?key=" + key)
        assert status == 200
        return json.loads(body)["attempts"]

    def summary(self, key, more=""):
        status, _, body = self.get("/report/summary?key=" + key + more)
        assert status == 200
        keys = json.loads(body)["keys"]
        return keys[0] if keys else None


def read_all(sock):
    """Everything up to FIN; the exception where it was RST."""
    parts = []
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            piece = sock.recv(65536)
        except ConnectionResetError as e:
            return b"".join(parts), e
        if not piece:
            return b"".join(parts), None
        parts.append(piece)
    raise AssertionError("no end after %d bytes" % sum(map(len, parts)))


def read_until(sock, mark):
    got = b""
    while mark not in got:
        piece = sock.recv(1)
        if not piece:
            raise AssertionError("FIN after %r" % got)
        got += piece
    return got


def pattern(n):
    lines = b"".join(b"%015d\n" % i for i in range(n // 16 + 1))
    return lines[:n]


def eventually(what):
    """Waits for what() to be true: for what another process does next."""
    until = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > until:
            raise AssertionError("it never came to be")
        time.sleep(0.01)


class Shared(unittest.TestCase):
    rules = ("--limit", "/api 3/min burst 2 status 503 hint ms",
             "--limit", "/api/deep 1/h window fixed",
             "--limit", "/tenant 1/h by header:X-Tenant",
             "--limit", "/secret 1/h by header:Authorization")

    @classmethod
    def setUpClass(cls):
        cls.log = tempfile.NamedTemporaryFile("r", prefix="origin-log")
        cls.origin = Origin("--log", cls.log.name, *cls.rules)

    @classmethod
    def tearDownClass(cls):
        out, err, rc = cls.origin.stop()
        cls.log.close()
        if rc != 0 or "rror" in err:
            raise AssertionError("exit %d: %s" % (rc, err))

    def setUp(self):
        self.key = self.id().split(".")[-1]

    def raw(self, *pieces):
        """What comes back for bytes that are sent piece by piece."""
        with self.origin.connect() as s:
            for piece in pieces:
                s.sendall(piece)
            s.shutdown(socket.SHUT_WR)
            return read_all(s)[0]


class Limits(Shared):
    def test_bucket_refuses_over_the_burst_and_admits_after_its_hint(self):
        target = "/limit?rate=2/s&burst=3&hint=ms&key=" + self.key
        got = [self.origin.get(target) for _ in range(4)]
        self.assertEqual([g[0] for g in got], [200, 200, 200, 429])
        wait_ms = int(got[3][1]["retry-after-ms"])
        self.assertTrue(0 < wait_ms <= 500)
        time.sleep(wait_ms / 1000)
        self.assertEqual(self.origin.status(target), 200)
        self.assertEqual([a["early"] for a in self.origin.report(self.key)],
                         [False] * 5)

    def test_sliding_window_admits_count_in_any_window(self):
        target = "/limit?rate=5/300ms&window=sliding&key=" + self.key
        until = time.monotonic() + 1.2
        while time.monotonic() < until:
            self.origin.status(target)
        admitted = [a["mono_ns"] for a in self.origin.report(self.key)
                    if a["status"] == 200]
        self.assertGreater(len(admitted), 5)
        for first, sixth in zip(admitted, admitted[5:]):
            self.assertGreaterEqual(sixth - first, 300_000_000)

    def test_fixed_window_refuses_until_it_ends(self):
        target = "/limit?rate=2/h&window=fixed&hint=seconds&key=" + self.key
        got = [self.origin.get(target) for _ in range(3)]
        self.assertEqual([g[0] for g in got], [200, 200, 429])
        self.assertIn(int(got[2][1]["retry-after"]), range(3500, 3601))

    def test_keys_are_counted_apart_and_paths_without_key_too(self):
        for target in ("/limit?rate=1/h&key=%s-a" % self.key,
                       "/limit?rate=1/h&key=%s-b" % self.key,
                       "/limit/%s-c?rate=1/h" % self.key,
                       "/limit/%s-d?rate=1/h" % self.key):
            self.assertEqual(self.origin.status(target), 200)
            self.assertEqual(self.origin.status(target), 429)

    def test_concurrency_admits_max_at_once(self):
        target = "/concurrency?max=2&hold=300ms&status=503&key=" + self.key
        start = threading.Barrier(6)
        got = []

        def one():
            start.wait()
            got.append(self.origin.status(target))

        threads = [threading.Thread(target=one) for _ in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertGreaterEqual(got.count(200), 2)
        self.assertEqual(got.count(200) + got.count(503), 6)
        held = [a for a in self.origin.report(self.key) if a["status"] == 200]
        edges = sorted([(a["mono_ns"], 1) for a in held] +
                       [(a["end_ns"], -1) for a in held])
        most = level = 0
        for _, step in edges:
            level += step
            most = max(most, level)
        self.assertEqual(most, 2)
        self.assertEqual(self.origin.status(target), 200)

    def test_rule_covers_its_path_and_below_and_the_longest_wins(self):
        self.assertEqual([self.origin.status("/api" + x) for x in
                          ("", "/x?status=active", "/y")], [200, 200, 503])
        self.assertEqual([self.origin.status("/api/deep/z")
                          for _ in range(2)], [200, 429])
        self.assertEqual(self.origin.status("/apis"), 404)
        self.assertEqual(len(self.origin.report("/api")), 3)

    def test_rule_by_header_splits_its_key_and_hides_secrets(self):
        for tenant in ("a", "b"):
            for want in (200, 429):
                self.assertEqual(self.origin.status(
                    "/tenant", headers={"X-Tenant": tenant}), want)
        self.assertEqual(len(self.origin.report("/tenant%20a")), 2)
        for want in (200, 429):
            self.assertEqual(self.origin.status(
                "/secret", headers={"Authorization": "Bearer hunter2"}), want)
        self.assertEqual(self.origin.status(
            "/secret", headers={"Authorization": "Bearer other"}), 200)
        _, _, body = self.origin.get("/report")
        self.assertNotIn(b"hunter2", body)

    def test_limits_go_with_every_path(self):
        target = "/bytes?n=32&rate=1/h&tbody=slow+down&th=X-Why:limit&key=" \
            + self.key
        self.assertEqual(self.origin.get(target)[2], pattern(32))
        status, headers, body = self.origin.get(target)
        self.assertEqual((status, headers["X-Why"], body),
                         (429, "limit", b"slow down"))


class Scripts(Shared):
    def test_fail_refuses_n_times_then_succeeds(self):
        target = "/fail?n=2&status=503&after=2&hint=date&key=" + self.key
        got = [self.origin.get(target) for _ in range(4)]
        self.assertEqual([g[0] for g in got], [503, 503, 200, 200])
        date, again = (email.utils.parsedate_to_datetime(got[0][1][name])
                       for name in ("Date", "Retry-After"))
        self.assertIn((again - date).total_seconds(), (2, 3))
        self.assertNotIn("Retry-After", got[2][1])

    def test_fail_counts_each_id_for_itself(self):
        target = "/fail?n=1&key=%s&id=" % self.key
        self.assertEqual([self.origin.status(target + x) for x in "abab"],
                         [429, 429, 200, 200])

    def test_script_runs_in_order_with_its_hints(self):
        target = "/script?s=429:1.5,503,404,201&hint=ms&key=" + self.key
        got = [self.origin.get(target) for _ in range(5)]
        self.assertEqual([g[0] for g in got], [429, 503, 404, 201, 200])
        self.assertEqual([g[1]["retry-after-ms"] for g in got],
                         ["1500", None, None, None, None])

    def test_script_drops_resets_and_hangs(self):
        target = "/script?s=close,rst,hang,200&key=" + self.key
        request = b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % target.encode()
        with self.origin.connect() as s:
            s.sendall(request)
            self.assertEqual(read_all(s), (b"", None))
        with self.origin.connect() as s:
            s.sendall(request)
            got, error = read_all(s)
            self.assertEqual((got, type(error)), (b"", ConnectionResetError))
        with self.origin.connect() as s:
            s.sendall(request)
            self.assertEqual(select.select([s], [], [], 0.2)[0], [])
        self.assertEqual(self.origin.status(target), 200)
        eventually(lambda: [a["end"] for a in self.origin.report(self.key)]
                   == ["cut", "cut", "left", "done"])
        self.assertEqual([a["status"] for a in self.origin.report(self.key)],
                         [0, 0, 0, 200])

    def test_hint_forms_are_sent(self):
        for form, name, shape in (
                ("seconds", "Retry-After", r"3"),
                ("fraction", "Retry-After", r"2\.500"),
                ("ms", "retry-after-ms", r"2500"),
                ("x-ms", "x-ms-retry-after-ms", r"2500"),
                ("epoch", "x-ratelimit-reset", r"\d{10}"),
                ("epoch-ms", "x-ratelimit-reset", r"\d{13}"),
                ("iso8601", "x-ratelimit-reset", r"[\d-]{10}T[\d:]{8}Z"),
                ("ratelimit", "RateLimit", r'"default";r=0;t=3'),
                ("ratelimit-07", "RateLimit",
                 r"limit=1, remaining=0, reset=3"),
                ("ratelimit-03", "RateLimit-Reset", r"3"),
                ("date", "Retry-After", r"\w{3}, .* GMT"),
                ("date850", "Retry-After", r"\w+day, .* GMT"),
                ("asctime", "Retry-After", r"\w{3} \w{3} [ \d]{2} .*")):
            with self.subTest(form):
                status, headers, _ = self.origin.get(
                    "/fail?after=2500ms&hint=%s&key=%s-%s" %
                    (form, self.key, form))
                self.assertEqual(status, 429)
                self.assertRegex(headers[name], "^" + shape + "$")
        _, headers, _ = self.origin.get(
            "/fail?hint=none&key=" + self.key)
        self.assertFalse([h for h in headers if "retry" in h.lower()])


class Answers(Shared):
    def test_bytes_of_any_framing_are_the_same(self):
        for n in (0, 1, 15, 16, 17, 16384, 16385, 1000000):
            for framing in ("length", "chunked", "close"):
                status, headers, body = self.origin.get(
                    "/bytes?n=%d&framing=%s&key=%s" % (n, framing, self.key))
                self.assertEqual((status, len(body)), (200, n))
                self.assertEqual(body, pattern(n))
                self.assertEqual(headers["Content-Length"],
                                 str(n) if framing == "length" else None)

    def test_trailers_and_extra_headers_are_sent(self):
        got = self.raw(b"GET /bytes?n=5&chunked=1&trailer=X-Sum:9&h=X-A:1"
                       b"&h=X-B:%20two&type=image/png&close=1 HTTP/1.1\r\n"
                       b"Host: x\r\n\r\n")
        head, _, body = got.partition(b"\r\n\r\n")
        self.assertEqual(body, b"5\r\n00000\r\n0\r\nX-Sum: 9\r\n\r\n")
        for line in (b"X-A: 1", b"X-B: two", b"Content-Type: image/png",
                     b"Connection: close", b"Transfer-Encoding: chunked"):
            self.assertIn(line, head.split(b"\r\n"))

    def test_slow_waits_before_the_head_and_spreads_the_body(self):
        start = time.monotonic()
        with self.origin.connect() as s:
            s.sendall(b"GET /slow?head=200ms&body=400ms&n=100&piece=25"
                      b" HTTP/1.1\r\nHost: x\r\n\r\n")
            read_until(s, b"\r\n\r\n")
            self.assertGreaterEqual(time.monotonic() - start, 0.2)
            for i in range(1, 5):
                for _ in range(25):
                    s.recv(1)
                self.assertGreaterEqual(time.monotonic() - start,
                                        0.2 + 0.1 * i)

    def test_drip_sends_the_head_byte_by_byte(self):
        start = time.monotonic()
        got = self.raw(b"")  # nothing asked, nothing answered
        self.assertEqual(got, b"")
        with self.origin.connect() as s:
            s.sendall(b"GET /limit?rate=9/s&drip=3ms&close=1 HTTP/1.1\r\n"
                      b"Host: x\r\n\r\n")
            head = read_until(s, b"\r\n\r\n")
            self.assertGreaterEqual(time.monotonic() - start,
                                    0.003 * (len(head) - 1))
            self.assertEqual(read_all(s)[0], b"ok\n")

    def test_events_come_one_by_one(self):
        with self.origin.connect() as s:
            s.sendall(b"GET /events?n=3&gap=150ms HTTP/1.0\r\n\r\n")
            head = read_until(s, b"\r\n\r\n")
            self.assertIn(b"Content-Type: text/event-stream", head)
            start = time.monotonic()
            first = read_until(s, b"\n\n")
            self.assertEqual(first, b'id: 1\ndata: {"event":1}\n\n')
            read_until(s, b"\n\n")
            read_until(s, b"\n\n")
            self.assertGreaterEqual(time.monotonic() - start, 0.25)
            self.assertEqual(read_all(s), (b"", None))

    def test_events_without_end_stop_when_the_client_leaves(self):
        with self.origin.connect() as s:
            s.sendall(b"GET /events?n=0&gap=1ms&key=%s HTTP/1.1\r\n"
                      b"Host: x\r\n\r\n" % self.key.encode())
            for _ in range(20):
                read_until(s, b"\n\n")
        eventually(lambda: self.origin.report(self.key)[0]["end"] == "left")

    def test_cut_sends_so_many_bytes_and_no_clean_end(self):
        for framing in ("length", "chunked"):
            for mode in ("close", "rst"):
                with self.origin.connect() as s:
                    s.sendall(b"GET /cut?n=100000&at=50000&framing=%s&mode=%s"
                              b"&key=%s HTTP/1.1\r\nHost: x\r\n\r\n" %
                              (framing.encode(), mode.encode(),
                               self.key.encode()))
                    got, error = read_all(s)
                    self.assertEqual(error is not None, mode == "rst")
                    body = got.partition(b"\r\n\r\n")[2]
                    if framing == "length":
                        self.assertEqual(body, pattern(50000))
                    else:
                        self.assertNotIn(b"\r\n0\r\n\r\n", body)
                        self.assertGreater(len(body), 50000)
        self.assertEqual({a["end"] for a in self.origin.report(self.key)},
                         {"cut"})

    def test_drop_and_stale(self):
        with self.origin.connect() as s:
            s.sendall(b"GET /drop?mode=rst HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertIsInstance(read_all(s)[1], ConnectionResetError)
        with self.origin.connect() as s:
            s.sendall(b"GET /bytes?n=3&stale=50ms HTTP/1.1\r\n"
                      b"Host: x\r\n\r\n")
            got, error = read_all(s)
            self.assertTrue(got.endswith(b"\r\n\r\n000"))
            self.assertNotIn(b"Connection: close", got)
            self.assertIsNone(error)

    def test_status_without_body(self):
        for code in (204, 304):
            got = self.raw(b"GET /status/%d HTTP/1.1\r\nHost: x\r\n\r\n"
                           b"GET /status/418 HTTP/1.1\r\nHost: x\r\n\r\n" %
                           code)
            first, _, rest = got.partition(b"\r\n\r\n")
            self.assertTrue(first.startswith(b"HTTP/1.1 %d " % code))
            self.assertTrue(rest.startswith(b"HTTP/1.1 418 "))

    def test_head_has_the_length_and_no_body(self):
        got = self.raw(b"HEAD /bytes?n=1234 HTTP/1.1\r\nHost: x\r\n\r\n")
        self.assertIn(b"\r\nContent-Length: 1234\r\n", got)
        self.assertTrue(got.endswith(b"\r\n\r\n"))

    def test_info_goes_before_the_answer(self):
        got = self.raw(b"GET /limit?rate=9/s&info=103&info=102 HTTP/1.1\r\n"
                       b"Host: x\r\n\r\n")
        self.assertEqual(re.findall(rb"HTTP/1\.1 (\d+)", got),
                         [b"103", b"102", b"200"])


class Requests(Shared):
    def test_echo_gives_the_request_back(self):
        body = bytes(range(256)) * 10
        status, _, raw = self.origin.get("/echo?raw=1", "PUT", body)
        self.assertEqual((status, raw), (200, body))
        _, _, text = self.origin.get("/echo?a=1".replace("a", "key"), "POST",
                                     "h\u00e9 \"x\"".encode(), {"X-One": "1"})
        got = json.loads(text)
        self.assertEqual((got["method"], got["target"], got["version"],
                          got["body_bytes"], got["body"]),
                         ("POST", "/echo?key=1", "1.1", 7, "h\u00e9 \"x\""))
        self.assertIn(["X-One", "1"], got["headers"])

    def test_echo_has_a_bound(self):
        limit = 1024 * 1024
        self.assertEqual(self.origin.status(
            "/echo?raw=1", method="POST", body=b"x" * limit), 200)
        self.assertEqual(self.origin.status(
            "/echo?raw=1", method="POST", body=b"x" * (limit + 1)), 413)

    def test_bodies_are_counted_and_summed(self):
        body = os.urandom(300000)
        target = "/limit?rate=100/s&burst=9&key=" + self.key
        self.origin.get(target, "POST", body)
        # without a length: chunked
        self.origin.get(target, "POST", iter([body[:70000], body[70000:]]))
        got = self.origin.report(self.key)
        self.assertEqual([a["body_bytes"] for a in got], [300000] * 2)
        self.assertEqual({a["body_crc32"] for a in got},
                         {"%08x" % zlib.crc32(body)})

    def test_requests_in_single_bytes_and_in_one_piece(self):
        one = (b"POST /echo?raw=1 HTTP/1.1\r\nHost: x\r\n"
               b"Transfer-Encoding: chunked\r\n\r\n"
               b"3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nX-T: 1\r\n\r\n")
        want = self.raw(one)
        self.assertTrue(want.endswith(b"\r\n\r\nabcde"))
        in_bytes = self.raw(*(one[i:i + 1] for i in range(len(one))))
        strip = re.compile(rb"Date: .*\r\n")
        self.assertEqual(strip.sub(b"", in_bytes), strip.sub(b"", want))
        three = self.raw(one * 3)
        self.assertEqual(three.count(b"abcde"), 3)

    def test_pipelined_requests_are_answered_in_order(self):
        got = self.raw(b"".join(
            b"GET /status/%d?key=%s HTTP/1.1\r\nHost: x\r\n\r\n" %
            (code, self.key.encode()) for code in range(200, 240)
            if code != 204))
        self.assertEqual([int(x) for x in re.findall(
            rb"HTTP/1\.1 (\d+)", got)],
            [c for c in range(200, 240) if c != 204])
        report = self.origin.report(self.key)
        self.assertEqual(len({a["conn"] for a in report}), 1)
        self.assertEqual([a["nth"] for a in report], list(range(1, 40)))

    def test_http10_closes_unless_asked_not_to(self):
        got = self.raw(b"GET /bytes?n=3&chunked=1 HTTP/1.0\r\n\r\n")
        self.assertIn(b"\r\nConnection: close\r\n", got)
        self.assertNotIn(b"chunked", got)
        self.assertTrue(got.endswith(b"\r\n\r\n000"))
        got = self.raw(b"GET /bytes?n=3 HTTP/1.0\r\n"
                       b"Connection: keep-alive\r\n\r\n"
                       b"GET /bytes?n=4 HTTP/1.0\r\n\r\n")
        self.assertIn(b"\r\nConnection: keep-alive\r\n", got)
        self.assertTrue(got.endswith(b"\r\n\r\n0000"))

    def test_absolute_form_is_served_as_well(self):
        got = self.raw(b"GET http://api.test/status/202?key=%s HTTP/1.1\r\n"
                       b"Host: api.test\r\n\r\n" % self.key.encode())
        self.assertTrue(got.startswith(b"HTTP/1.1 202 "))
        self.assertEqual(self.origin.report(self.key)[0]["path"],
                         "/status/202")
        self.assertTrue(self.raw(
            b"CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n")
            .startswith(b"HTTP/1.1 405 "))

    def expect(self, query):
        with self.origin.connect() as s:
            s.sendall(b"POST /echo?raw=1%s HTTP/1.1\r\nHost: x\r\n"
                      b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n" %
                      query.encode())
            first = read_until(s, b"\r\n\r\n")
            if first.startswith(b"HTTP/1.1 100 "):
                s.sendall(b"hello")
                s.shutdown(socket.SHUT_WR)
            return first, read_all(s)[0]

    def test_expect_continue(self):
        first, rest = self.expect("")
        self.assertEqual(first, b"HTTP/1.1 100 Continue\r\n\r\n")
        self.assertTrue(rest.endswith(b"\r\n\r\nhello"))
        self.assertIn(b"HTTP/1.1 417 ", self.expect("&expect=refuse")[0])
        self.assertIn(b"HTTP/1.1 200 ", self.expect("&expect=final")[0])
        first, _ = self.expect("&fail=1&key=" + self.key)
        self.assertIn(b"HTTP/1.1 429 ", first)
        self.assertIn(b"Connection: close", first)

    def test_early_answers_do_not_wait_for_the_body(self):
        with self.origin.connect() as s:
            s.sendall(b"POST /limit?rate=1/s&early=1 HTTP/1.1\r\nHost: x\r\n"
                      b"Content-Length: 1000000\r\n\r\nabc")
            self.assertIn(b"HTTP/1.1 200 ", read_until(s, b"\r\n\r\n"))

    def test_what_is_no_http_gets_a_reason(self):
        for request, status in (
                (b"GET  / HTTP/1.1\r\n\r\n", 400),
                (b"GET / HTTP/1.1\nHost: x\n\n", 400),
                (b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400),
                (b"GET / HTTP/2.0\r\n\r\n", 505),
                (b"GET /%s HTTP/1.1\r\n\r\n" % (b"a" * 40000), 414),
                (b"GET / HTTP/1.1\r\nX: %s\r\n\r\n" % (b"a" * 70000), 431),
                (b"POST /echo HTTP/1.1\r\nContent-Length: 1\r\n"
                 b"Transfer-Encoding: chunked\r\n\r\n", 400),
                (b"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                 b"zz\r\n", 400)):
            with self.subTest(request[:40]):
                got = self.raw(request)
                self.assertTrue(got.startswith(b"HTTP/1.1 %d " % status), got)

    def test_wrong_parameters_get_a_reason_and_no_record(self):
        for query, why in (("rat=1/s", b"no such parameter: 'rat'"),
                           ("rate=fast", b"a rate is N/s"),
                           ("key=x", b"rate=N/TIME is missing")):
            status, _, body = self.origin.get("/limit?" + query)
            self.assertEqual(status, 400)
            self.assertIn(why, body)
        self.assertEqual(self.origin.status("/nowhere"), 404)
        self.assertIn(b"/concurrency", self.origin.get("/")[2])


class Reports(Shared):
    def test_early_attempts_are_found(self):
        target = "/fail?n=2&after=400ms&hint=ms&key=" + self.key
        self.origin.status(target)
        self.origin.status(target)
        time.sleep(0.401)
        self.origin.status(target)
        got = self.origin.report(self.key)
        self.assertEqual([a["early"] for a in got], [False, True, False])
        self.assertEqual([a["hint_ms"] for a in got], [400, 400, None])
        self.assertTrue(0 < got[1]["early_ms"] <= 400)
        self.assertIsNone(got[0]["hint_age_ms"])
        self.assertGreaterEqual(got[2]["hint_age_ms"], 400)
        self.assertEqual(self.origin.summary(self.key)["early"], 1)

    def test_early_is_judged_by_id_where_there_is_one(self):
        target = "/fail?n=1&after=30&key=%s&id=" % self.key
        for x in "aba":
            self.origin.status(target + x)
        self.assertEqual([(a["id"], a["early"])
                          for a in self.origin.report(self.key)],
                         [("a", False), ("b", False), ("a", True)])

    def test_attempts_are_told_in_full(self):
        before = time.monotonic_ns()
        self.origin.get("/limit?rate=1/s&key=" + self.key, "POST", b"abc")
        a, = self.origin.report(self.key)
        self.assertTrue(before <= a["mono_ns"] <= a["end_ns"] <=
                        time.monotonic_ns())
        for name, want in (("key", self.key), ("method", "POST"),
                           ("path", "/limit"), ("status", 200), ("nth", 1),
                           ("throttled", False), ("hint_ms", None),
                           ("running", 1), ("body_bytes", 3), ("id", None),
                           ("body_crc32", "%08x" % zlib.crc32(b"abc")),
                           ("end", "done")):
            self.assertEqual(a[name], want, name)
        self.assertGreater(a["sent_bytes"], 100)

    def test_summary_adds_up(self):
        target = "/limit?rate=1/h&burst=3&key=" + self.key
        for _ in range(5):
            self.origin.status(target)
        s = self.origin.summary(self.key, "&window=1h")
        for name, want in (("attempts", 5), ("throttled", 2), ("early", 1),
                           ("max_in_window", 5), ("max_running", 1),
                           ("by_status", {"200": 3, "429": 2})):
            self.assertEqual(s[name], want, name)
        self.assertLessEqual(s["gap_p50_ms"], s["gap_p99_ms"])

    def test_delete_starts_a_key_anew(self):
        target = "/limit?rate=1/h&key=" + self.key
        other = "/limit?rate=1/h&key=%s-other" % self.key
        for t in (target, other):
            self.assertEqual([self.origin.status(t) for _ in range(2)],
                             [200, 429])
        self.assertEqual(self.origin.status(
            "/report?key=" + self.key, method="DELETE"), 204)
        self.assertEqual(self.origin.report(self.key), [])
        self.assertIsNone(self.origin.summary(self.key))
        self.assertEqual(self.origin.status(target), 200)
        self.assertEqual(self.origin.status(other), 429)

    def test_log_has_a_line_for_each_attempt(self):
        for _ in range(3):
            self.origin.status("/status/202?key=" + self.key)
        lines = []

        def complete():
            lines.extend(self.log.readlines())
            return sum(json.loads(x)["key"] == self.key
                       for x in lines if x.endswith("\n")) == 3
        eventually(complete)

    def test_report_streams_while_attempts_go_on(self):
        c = http.client.HTTPConnection(self.origin.host, self.origin.port)
        for _ in range(500):
            c.request("GET", "/status/200?key=" + self.key)
            c.getresponse().read()
        c.close()
        got = self.origin.report(self.key)
        self.assertEqual(len(got), 500)
        self.assertEqual([a["seq"] for a in got],
                         sorted(a["seq"] for a in got))


class Crowd(unittest.TestCase):
    def test_a_thousand_connections_at_once(self):
        origin = Origin()
        try:
            socks = [origin.connect() for _ in range(1000)]
            for s in socks:
                s.sendall(b"GET /limit?rate=200/s&burst=20&key=k HTTP/1.1\r\n"
                          b"Host: x\r\n\r\n")
            codes = [int(read_until(s, b"\r\n\r\n")[9:12]) for s in socks]
            for s in socks:
                s.close()
            self.assertEqual(set(codes), {200, 429})
            ok = sorted(a["mono_ns"] for a in origin.report("k")
                        if a["status"] == 200)
            self.assertEqual(codes.count(200), len(ok))
            for first, last in zip(ok, ok[220:]):
                self.assertGreaterEqual(last - first, 1_000_000_000)
            self.assertEqual(origin.summary("k")["attempts"], 1000)
        finally:
            out, err, rc = origin.stop()
        self.assertEqual((rc, err), (0, ""))
        self.assertIn("1000 attempts", out)

    def test_out_of_descriptors_waits_and_goes_on(self):
        origin = Origin("--quiet", preexec_fn=few_descriptors)
        try:
            socks = [origin.connect() for _ in range(60)]
            for s in socks:
                s.sendall(b"GET /status/202 HTTP/1.1\r\nHost: x\r\n"
                          b"Connection: close\r\n\r\n")
            for s in socks:
                self.assertTrue(read_all(s)[0].startswith(b"HTTP/1.1 202 "))
                s.close()
            self.assertEqual(origin.status("/status/202"), 202)
        finally:
            out, err, rc = origin.stop()
        self.assertEqual((rc, out), (0, ""))
        self.assertIn("accepting pauses", err)

    def test_max_connections_makes_the_rest_wait(self):
        origin = Origin("--max-connections", "2")
        try:
            a, b, c = (origin.connect() for _ in range(3))
            c.sendall(b"GET /status/202 HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertEqual(select.select([c], [], [], 0.3)[0], [])
            a.close()
            self.assertIn(b" 202 ", read_until(c, b"\r\n\r\n"))
            b.close()
            c.close()
        finally:
            self.assertEqual(origin.stop()[2], 0)

    def test_keep_bounds_the_report(self):
        origin = Origin("--keep", "10")
        try:
            for _ in range(25):
                origin.status("/status/200?key=k")
            got = json.loads(origin.get("/report")[2])
            self.assertEqual(got["dropped"], 15)
            self.assertEqual([a["seq"] for a in got["attempts"]],
                             list(range(16, 26)))
        finally:
            out, _, rc = origin.stop()
        self.assertEqual(rc, 0)
        self.assertIn("leave out the first 15", out)


def few_descriptors():
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))


class CommandLine(unittest.TestCase):
    def run_it(self, *args):
        p = subprocess.run([BINARY, *args], capture_output=True, text=True,
                           timeout=PATIENCE)
        return p.returncode, p.stdout, p.stderr

    def test_wrong_usage_tells_why(self):
        for args, why in (
                (["--limit", "api 1/s"], "begin with a path"),
                (["--limit", "/api 1/x"], "rate can't be '1/x'"),
                (["--limit", "/api 1/s burst"], "no value after 'burst'"),
                (["--limit", "/api 1/s speed 3"], "no such parameter"),
                (["--listen", "nonsense"], "write HOST:PORT"),
                (["--listen", "127.0.0.1:65536"], "write HOST:PORT"),
                (["--keep", "0"], "a number from 1"),
                (["--idle", "soon"], "a time is needed"),
                (["--frobnicate"], "frobnicate"),
                (["stray"], "'stray'")):
            with self.subTest(args):
                rc, out, err = self.run_it(*args)
                self.assertEqual((rc, out), (1, ""))
                self.assertIn(why, err)

    def test_port_taken_is_exit_2(self):
        with socket.create_server(("127.0.0.1", 0)) as s:
            rc, out, err = self.run_it(
                "--listen", "127.0.0.1:%d" % s.getsockname()[1])
        self.assertEqual((rc, out), (2, ""))
        self.assertIn("Address already in use", err)
        rc, _, err = self.run_it("--log", "/nonexistent/log")
        self.assertEqual(rc, 2)
        self.assertIn("No such file", err)

    def test_help_and_version(self):
        rc, out, err = self.run_it("--help")
        self.assertEqual((rc, err), (0, ""))
        for word in ("--limit", "/concurrency", "hint", "ratelimit-07"):
            self.assertIn(word, out)
        self.assertFalse([x for x in out.split("\n") if len(x) > 80])
        rc, out, _ = self.run_it("--version")
        self.assertEqual(rc, 0)
        self.assertRegex(out, r"^abide-origin \(abided\) \S+\n$")

    def test_verbose_prints_each_attempt(self):
        origin = Origin("--verbose")
        origin.status("/fail?n=1&after=9&key=k")
        origin.status("/fail?n=1&after=9&key=k")
        out, _, rc = origin.stop(signal.SIGINT)
        self.assertEqual(rc, 0)
        self.assertRegex(out, r"#1 GET /fail key=k 429 hint=9000ms\n")
        self.assertRegex(out, r"#2 GET /fail key=k 200 EARLY by [\d.]+ms\n")
        self.assertRegex(out, r"(?m)^2 attempts$")

    def test_plain_reads_no_query(self):
        origin = Origin("--plain", "--limit", "/a 1/h")
        try:
            self.assertEqual([origin.status(x) for x in (
                "/a?rate=bogus", "/a/b", "/events?n=x", "/")],
                [200, 429, 200, 200])
        finally:
            self.assertEqual(origin.stop()[2], 0)

    def test_ip6(self):
        try:
            origin = Origin("--quiet", listen="[::1]:0")
        except AssertionError as e:
            if "assign requested" in str(e) or "not supported" in str(e):
                self.skipTest("no IPv6 loopback")
            raise
        self.assertEqual(origin.status("/status/202"), 202)
        self.assertEqual(origin.stop()[2], 0)

    def test_stop_with_requests_in_progress(self):
        with tempfile.NamedTemporaryFile("r") as log:
            origin = Origin("--log", log.name)
            with origin.connect() as s:
                s.sendall(b"GET /hang?key=k HTTP/1.1\r\nHost: x\r\n\r\n")
                eventually(lambda: origin.report("k"))
                self.assertEqual(origin.stop()[2], 0)
            self.assertEqual(json.loads(log.read())["end"], "open")


if __name__ == "__main__":
    unittest.main()
