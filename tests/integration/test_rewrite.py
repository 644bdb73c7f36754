# SPDX-License-Identifier: MIT
"""Answers of a server that is spoken to over TLS, to a client that is not."""
import unittest

from harness import reduced
from origin import answer
from tlscase import API, TlsCase, WWW

COOKIE = "Set-Cookie: a=b; Path=/v1; Domain=%s; Secure; SameSite=None" % API


class Rewriting(TlsCase):
    def redirecting(self, *locations, **kw):
        """An origin with these Location values, one per request; PORT in
        them is its own."""
        def step(conn, _req, n):
            where = locations[min(n, len(locations)) - 1]
            conn.answer(302, b"", "Location: " + where.replace(
                "PORT", str(conn.origin.port)), COOKIE)
        return self.secure_serving(step, **kw)

    def follow(self, c, path, count, host, url=""):
        found = []
        for _ in range(count):
            r = c.get(url + path, "Host: " + host)
            self.assert_status(302, r)
            found.append(r.get("Location"))
        return found, r.get("Set-Cookie")

    @reduced
    def test_an_absolute_form_client_stays_with_http(self):
        o = self.redirecting(
            "https://api.test:PORT/x", "https://www.test/y",
            "https://other.test/z", "//other.test/z", "/v2")
        d = self.originating(hosts=API + ", " + WWW)
        c = self.connect(d)
        found, cookie = self.follow(c, "/v1", 5, o.authority,
                                    "http://" + o.authority)
        self.assertEqual(["http://%s/x" % o.authority, "http://www.test/y",
                          "https://other.test/z", "https://other.test/z",
                          "/v2"], found)
        self.assertEqual("a=b; Path=/v1; Domain=api.test", cookie)

    def test_a_gateway_by_host_is_such_a_client(self):
        o = self.redirecting("https://api.test:PORT/x")
        c = self.connect(self.originating())
        found, cookie = self.follow(c, "/v1", 1, o.authority)
        self.assertEqual(["http://%s/x" % o.authority], found)
        self.assertNotIn("Secure", cookie)

    def test_a_route_is_all_that_its_client_knows(self):
        o = self.redirecting(
            "https://api.test:PORT/x", "/y?q", "/../z", "../w", "w",
            "https://other.test/x")
        d = self.originating(hosts=o.authority,
                             service={"route": "/openai/"})
        c = self.connect(d)
        found, cookie = self.follow(c, "/openai/v1/a/b", 6, "gateway.test")
        self.assertEqual("/v1/a/b", o.requests[0].target)
        self.assertEqual(["/openai/x", "/openai/y?q", "/openai/z",
                          "/openai/v1/w", "w", "https://other.test/x"], found)
        self.assertEqual("a=b; Path=/openai/v1", cookie)

    def test_an_https_url_of_the_clients_own_stays(self):
        o = self.redirecting("https://api.test:PORT/x")
        c = self.connect(self.originating())
        found, cookie = self.follow(c, "/v1", 1, o.authority,
                                    "https://" + o.authority)
        self.assertEqual(["https://%s/x" % o.authority], found)
        self.assertEqual(COOKIE, "Set-Cookie: " + cookie)

    def test_a_plain_upstream_is_left_alone(self):
        o = self.origin(answer(302, b"", "Location: https://api.test/x",
                               COOKIE))
        d = self.originating()
        r = self.get(d, o.url("/v1"))
        self.assertEqual("https://api.test/x", r.get("Location"))
        self.assertEqual(COOKIE, "Set-Cookie: " + r.get("Set-Cookie"))

    def test_inside_an_intercepted_connection_nothing_changes(self):
        o = self.redirecting("https://api.test:PORT/x")
        c = self.inside(self.intercepting(), o)
        found, cookie = self.follow(c, "/v1", 1, o.authority)
        self.assertEqual(["https://%s/x" % o.authority], found)
        self.assertEqual(COOKIE, "Set-Cookie: " + cookie)

    def test_cookies_of_the_client_are_not_touched(self):
        o = self.redirecting("/")
        d = self.originating(hosts=o.authority, service={"route": "/r/"})
        self.get(d, "/r/", "Host: g.test", "Cookie: a=b; Path=/v1; Secure")
        self.assertEqual("a=b; Path=/v1; Secure",
                         o.requests[0].get("Cookie"))


if __name__ == "__main__":
    unittest.main()
