# SPDX-License-Identifier: MIT
"""Where one may not go, TLS opens no door."""
import signal
import unittest

from origin import answer
from tlscase import API, TlsCase, WWW

FAR = "198.51.100.1"        # allowed by address, so that loopback is not


class Denied(TlsCase):
    """A name that is harmless stands for an address that is not: it may have
    stood for another one a moment ago."""

    def setUp(self):
        super().setUp()
        self.origin_ = self.secure_origin(answer(200, "x"))

    def assert_denied(self, resp):
        self.assert_own(403, "denied", resp)
        self.assertEqual([], self.origin_.requests)

    def test_through_an_intercepted_tunnel(self):
        o = self.origin_
        d = self.intercepting(proxy={"allow_destinations": FAR})
        c = self.inside(d, o)
        self.assert_denied(c.get("/", "Host: " + o.authority))
        self.assert_denied(c.get(o.url(), "Host: " + o.authority))

    def test_through_an_intercepted_tunnel_in_plain(self):
        o = self.origin_
        d = self.intercepting(proxy={"allow_destinations": FAR})
        c = self.tunnel(d, o.authority)
        self.assert_denied(c.get("/", "Host: " + o.authority))

    def test_where_we_speak_tls(self):
        o = self.origin_
        d = self.originating(proxy={"allow_destinations": FAR})
        self.assert_denied(self.get(d, o.url(scheme="http")))
        self.assert_denied(self.get(d, "/", "Host: " + o.authority))
        self.assert_denied(self.get(d, o.url()))

    def test_through_a_route(self):
        o = self.origin_
        d = self.originating(
            o.authority, service={"route": "/api/"},
            proxy={"allow_destinations": FAR})
        self.assert_denied(self.get(d, "/api/x"))

    def test_by_name_once_the_tunnel_stands(self):
        """A reload forbids the host: the next request inside is refused."""
        o, one = self.origin_, {"workers": "1"}
        d = self.intercepting("%s, %s" % (API, WWW), proxy=one)
        c = self.inside(d, o)
        with open(d.conf, encoding="utf-8") as f:
            text = f.read()
        d.write(text.replace("[defaults]", "deny_destinations = %s\n"
                             "[defaults]" % API, 1))
        d.signal(signal.SIGHUP)
        d.wait_log("reloaded: ")
        self.assert_denied(c.get("/", "Host: " + o.authority))


if __name__ == "__main__":
    unittest.main()
