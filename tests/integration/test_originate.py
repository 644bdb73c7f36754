# SPDX-License-Identifier: MIT
"""Plain HTTP from the client, TLS to the server: the ways in."""
import signal
import threading
import unittest

from harness import reduced
from origin import answer, throttled
from tls import client_context
from tlscase import API, TlsCase, WWW
from wire import PATIENCE, noise


class OriginateCase(TlsCase):
    def gateway(self, o, **kw):
        """A daemon with a route to that origin."""
        return self.originating(hosts=o.authority,
                                service={"route": "/openai/"}, **kw)

    def ways(self, o, path):
        """What to ask for, in each way: a target, and fields."""
        return [(o.url(path, "http"), []),
                (o.url(path, "https"), []),
                ("/openai" + path, ["Host: whatever"]),
                (path, ["Host: " + o.authority])]


class Ways(OriginateCase):
    @reduced
    def test_each_way_leads_to_the_server_over_tls(self):
        o = self.secure_origin(answer(200, "x"))
        d = self.gateway(o)
        for n, (url, fields) in enumerate(self.ways(o, "/v1/a%2Fb?c=d"), 1):
            r = self.get(d, url, *fields)
            self.assertEqual(b"x", r.body)
            self.assertRegex(r.says, "^abided")
            req = o.requests[-1]
            self.assertEqual(("/v1/a%2Fb?c=d", o.authority),
                             (req.target, req.get("Host")))
            record = d.wait_records(n)[-1]
            self.assertEqual(("https", "api", o.authority), (
                record["scheme"], record["service"], record["host"]))
        self.assertEqual({API}, {conn.sock.sni for conn in o.conns})

    def test_429_is_absorbed_in_each_way(self):
        refused = set()

        def script(conn, req, n):
            if n in refused or n % 2 == 0:
                conn.answer(201, req.body)
            else:
                conn.send(throttled("retry-after-ms: 20"))
        o = self.secure_serving(script)
        d = self.gateway(o)
        for url, fields in self.ways(o, "/post"):
            r = self.get(d, url, *fields, method="POST", body=noise(70000))
            self.assertEqual((201, noise(70000)), (r.status, r.body))
            self.assertIn("attempts=2", r.says)
        self.assertEqual(8, len(o.requests))

    def test_a_pause_asked_for_in_one_way_holds_the_others(self):
        """It is one service, however it is asked."""
        o = self.secure_origin(throttled("Retry-After: 3600"),
                               answer(200, "too early"))
        d = self.gateway(o)
        ways = self.ways(o, "/x")
        self.assert_status(429, self.get(d, ways[0][0]))
        for url, fields in ways:
            self.assert_own(429, "service-shut", self.get(d, url, *fields))
        self.assertEqual(1, len(o.requests))

    def test_port_80_stands_for_443(self):
        """Nobody listens there; the log says where it went."""
        d = self.originating(defaults={"max_retries": "0"})
        for n, (url, fields) in enumerate((
                ("http://%s/x" % API, []), ("http://%s:80/x" % API, []),
                ("http://%s:443/x" % API, []), ("https://%s/x" % API, []),
                ("/x", ["Host: " + API])), 1):
            self.names.zone[API] = ["127.80.44.3"]
            r = self.get(d, url, *fields)
            self.assert_own(502, "connect-failed", r)
            record = d.wait_records(n)[-1]
            self.assertEqual(("https", API + ":443"), (
                record["scheme"], record["host"]))

    def test_a_service_that_names_port_443_is_meant_by_http(self):
        d = self.originating(hosts=API + ":443",
                             defaults={"max_retries": "0"})
        self.names.zone[API] = ["127.80.44.3"]
        self.get(d, "http://%s/" % API)
        record = d.wait_records(1)[0]
        self.assertEqual(("https", "api"), (record["scheme"],
                                            record["service"]))

    def test_a_host_without_a_service_stays_plain(self):
        o = self.origin(answer(200, "plain"), name=WWW)
        self.assertEqual(b"plain", self.get(self.originating(),
                                            o.url()).body)

    def test_connect_to_such_a_host_is_a_blind_tunnel(self):
        """Who wants to speak TLS with it, may."""
        o = self.secure_origin(throttled("Retry-After: 9"))
        c = self.inside(self.originating(), o,
                        context=client_context(self.pki.ca))
        self.assert_status(429, c.get("/", "Host: " + o.authority))

    def test_a_certificate_that_fails_is_502_in_each_way(self):
        """C82."""
        o = self.secure_origin(answer(200), leaf=self.pki.leaf(WWW))
        d = self.gateway(o)
        for n, (url, fields) in enumerate(self.ways(o, "/x"), 1):
            self.assert_own(502, "tls-certificate", self.get(
                d, url, *fields))
            self.assertEqual(n, len(o.conns))

    def test_head(self):
        o = self.secure_origin(answer(200, b"", "Content-Length: 77",
                                      length=False))
        d = self.gateway(o)
        c = self.connect(d)
        for url, fields in self.ways(o, "/x"):
            r = c.get(url, *fields, method="HEAD")
            self.assertEqual("77", r.get("Content-Length"))


class Streams(OriginateCase):
    def test_upgrade(self):
        def chat(conn, _req):
            conn.send(b"HTTP/1.1 101 Switching Protocols\r\n"
                      b"Connection: Upgrade\r\nUpgrade: chat\r\n\r\nhi")
            conn.send(conn.exactly(5)[::-1])
            return False
        o = self.secure_origin(throttled(), chat)
        c = self.connect(self.originating())
        self.assert_status(101, c.get(o.url("/chat", "http"),
                                      "Connection: upgrade",
                                      "Upgrade: chat"))
        self.assertEqual(b"hi", c.exactly(2))
        c.send(b"abcde")
        self.assertEqual(b"edcba", c.exactly(5))

    @reduced
    def test_tokens_of_a_model_come_one_by_one(self):
        """OpenAI's way: refused with retry-after-ms, then a stream."""
        go = threading.Semaphore(0)
        tokens = [b'data: {"choices":[{"delta":{"content":"%d"}}]}\n\n' % n
                  for n in range(3)] + [b"data: [DONE]\n\n"]

        def stream(conn, _req):
            conn.send(answer(200, b"", "Content-Type: text/event-stream",
                             "Transfer-Encoding: chunked", length=False))
            for token in tokens:
                conn.chunk(token)
                self.assertTrue(go.acquire(timeout=PATIENCE))
            conn.send(b"0\r\n\r\n")
        o = self.secure_origin(throttled(
            "retry-after-ms: 80", "retry-after: 1",
            "x-ratelimit-remaining-requests: 0",
            "x-ratelimit-reset-requests: 60ms",
            body=b'{"error":{"code":"rate_limit_exceeded"}}'), stream)
        d = self.gateway(o)
        c, body = self.connect(d), b'{"model":"m","stream":true}'
        c.ask("POST", "/openai/v1/chat/completions",
              "Content-Type: application/json",
              "Authorization: Bearer sk-secret", body=body)
        c.head(lambda start, _f: self.assertIn(" 200 ", start))
        for token in tokens:
            self.assertEqual(token, c.exactly(int(c.until(b"\r\n"), 16)))
            self.assertEqual(b"", c.until(b"\r\n"))
            go.release()
        self.assertEqual(b"0", c.until(b"\r\n"))
        first, second = o.requests
        self.assertGreaterEqual(second.at - first.at, 0.080)
        self.assertEqual([body] * 2, [q.body for q in o.requests])
        self.assertEqual(["Bearer sk-secret"] * 2,
                         [q.get("Authorization") for q in o.requests])
        d.wait_records(1)
        self.assertFalse([s for s in d.log.lines if "sk-secret" in s])

    def test_stop_while_parked(self):
        o = self.secure_origin(throttled("Retry-After: 1"), answer(200, "x"))
        d = self.originating()
        c = self.connect(d)
        c.ask("GET", o.url("/x", "http"))
        d.wait_parked()
        d.signal(signal.SIGTERM)
        self.assertEqual(b"x", c.response().body)
        self.assertEqual(0, d.wait_exit())


if __name__ == "__main__":
    unittest.main()
