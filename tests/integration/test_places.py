# SPDX-License-Identifier: MIT
"""Where clients come in, and how origins are found."""
import os
import socket
import unittest

from harness import Case, eventually, reduced
from names import NXDOMAIN, SERVFAIL, SILENT, Names
from origin import answer, throttled


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        return True
    except OSError:
        return False


class Listeners(Case):
    @reduced
    def test_ipv4_ipv6_and_unix_at_once(self):
        o = self.origin(answer(200, "x"))
        path = os.path.join(self.folder, "proxy.sock")
        listen = ["127.0.0.1:0", "unix:" + path]
        if has_ipv6():
            listen.append("[::1]:0")
        d = self.daemon(proxy={"listen": listen})
        self.assertEqual(len(listen), len(d.at))
        for n in range(len(d.at)):
            c = self.connect(d, n)
            for _ in range(2):
                self.assert_status(200, c.get(o.url()))
        clients = {r["client"] for r in d.wait_records(2 * len(listen))}
        self.assertEqual({"127.0.0.1", "unix", "::1"} if has_ipv6() else
                         {"127.0.0.1", "unix"}, clients)

    def test_unix_socket_goes_with_the_daemon(self):
        path = os.path.join(self.folder, "proxy.sock")
        d = self.daemon(proxy={"listen": "unix:" + path})
        self.assertTrue(os.path.exists(path))
        d.signal(15)
        self.assertEqual(0, d.wait_exit())
        self.assertFalse(os.path.exists(path))

    def test_dead_unix_socket_is_replaced_and_a_file_is_not(self):
        path = os.path.join(self.folder, "proxy.sock")
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(path)                # nobody listens, the name stays
        d = self.daemon(proxy={"listen": "unix:" + path})
        self.assertEqual([path], d.at)
        path = os.path.join(self.folder, "precious")
        with open(path, "w", encoding="ascii") as f:
            f.write("keep me")
        done = self.run_abided("-s", "proxy.listen=unix:" + path)
        self.assertEqual(2, done.returncode)
        with open(path, encoding="ascii") as f:
            self.assertEqual("keep me", f.read())

    def test_client_outside_allow_clients_gets_nothing(self):
        d = self.daemon(proxy={"allow_clients": "127.0.0.1"})
        c = self.connect(d, source="127.0.0.9")
        try:
            self.assertEqual(b"", c.rest())
        except ConnectionError:
            pass
        d.wait_log("127.0.0.9:\\d+ refused")

    def test_max_connections_are_answered_503(self):
        o = self.origin(answer(200, "x"))
        d = self.daemon(proxy={"max_connections": "2"})
        first = [self.connect(d) for _ in range(2)]
        for c in first:
            self.assert_status(200, c.get(o.url()))
        r = self.connect(d).response()
        self.assert_own(503, None, r)
        self.assertEqual("1", r.get("Retry-After"))
        first[0].get(o.url(), "Connection: close")
        first[0].rest()
        # The place is free once the daemon has buried the connection.
        eventually(lambda: self.get(d, o.url()).status == 200, "a place")

    @unittest.skipUnless(has_ipv6(), "no IPv6 on this machine")
    def test_origin_on_ipv6(self):
        o = self.origin(answer(200, "six"), host="::1")
        d = self.daemon()
        r = self.get(d, o.url("/x"))
        self.assertEqual(b"six", r.body)
        self.assertEqual("[::1]:%d" % o.port, o.requests[0].get("Host"))
        self.assertIn("[::1]:%d" % o.port, d.wait_records(1)[0]["host"])


class Resolving(Case):
    def names(self, zone, ttl=60):
        names = Names(zone, ttl)
        self.addCleanup(names.close)
        return names

    def resolving(self, names, proxy=None, **kw):
        return self.daemon(dns={"servers": names.server, "timeout": "1s"},
                           proxy={"workers": "1", **(proxy or {})}, **kw)

    def url(self, name, o, path="/"):
        return "http://%s:%d%s" % (name, o.port, path)

    @reduced
    def test_name_is_resolved_and_stays_in_host(self):
        o = self.origin(answer(200, "x"))
        names = self.names({"api.test": ["127.0.0.1"]})
        d = self.resolving(names)
        self.assert_status(200, self.get(d, self.url("API.test", o)))
        self.assertEqual("api.test:%d" % o.port,
                         o.requests[0].get("Host").lower())

    def test_refused_address_is_passed_over(self):
        """127.0.0.2 to .4 have nobody at that port."""
        o = self.origin(answer(200, "x"))
        names = self.names({"api.test": ["127.0.0.2", "127.0.0.3",
                                         "127.0.0.4", "127.0.0.1"]})
        d = self.resolving(names)
        self.assert_status(200, self.get(d, self.url("api.test", o)))
        self.assertEqual("1", d.wait_records(1)[0]["attempts"])

    def test_all_addresses_refused_is_502(self):
        o = self.origin(answer(200, "x"))
        names = self.names({"api.test": ["127.0.0.2", "127.0.0.3"]})
        d = self.resolving(names, defaults={"retry_connect": "no"})
        r = self.get(d, self.url("api.test", o))
        self.assert_own(502, "connect-failed", r)

    def test_nxdomain_is_502_at_once(self):
        names = self.names({"gone.test": NXDOMAIN})
        d = self.resolving(names, defaults={"base_delay": "20s",
                                            "max_delay": "20s"})
        r = self.get(d, "http://gone.test/")
        self.assert_own(502, "dns-failed", r)
        self.assertIn("error=dns_error", r.says)
        record = d.wait_records(1)[0]
        self.assertEqual(("1", "0ms"), (record["attempts"],
                                        record["waited"]))

    def test_servfail_is_retried_and_then_502(self):
        names = self.names({"ill.test": SERVFAIL})
        d = self.resolving(names, defaults={"max_retries": "2"})
        self.assert_own(502, "dns-failed", self.get(d, "http://ill.test/"))
        self.assertEqual("3", d.wait_records(1)[0]["attempts"])

    def test_silent_name_server_is_bounded(self):
        names = self.names({"mute.test": SILENT})
        d = self.resolving(names, defaults={"max_retries": "0"})
        r = self.get(d, "http://mute.test/")
        self.assertIn(r.status, (502, 504))

    def test_denied_address_behind_a_harmless_name(self):
        o = self.origin(answer(200, "x"))
        names = self.names({"fine.test": ["127.0.0.1"]})
        d = self.resolving(names, proxy={"allow_destinations": "none"})
        self.assert_own(403, "denied", self.get(d, self.url("fine.test", o)))
        self.assertEqual([], o.conns)

    def test_name_that_is_allowed_by_name(self):
        o = self.origin(answer(200, "x"))
        names = self.names({"fine.test": ["127.0.0.1"]})
        d = self.resolving(names,
                           proxy={"allow_destinations": "fine.test"})
        self.assert_status(200, self.get(d, self.url("fine.test", o)))

    @reduced
    def test_next_attempt_resolves_anew(self):
        """C78: the address changes while the request is parked."""
        old = self.origin(throttled("Retry-After: 1", "Connection: close"))
        names = self.names({"api.test": ["127.0.0.1"]}, ttl=0)
        new = self.origin(answer(200, "new"), host="127.0.0.5",
                          port=old.port)
        d = self.resolving(names)
        c = self.connect(d)
        c.ask("GET", self.url("api.test", old))
        d.wait_parked()
        names.zone["api.test"] = ["127.0.0.5"]
        r = c.response()
        self.assertEqual(b"new", r.body)
        self.assertEqual([1, 1], [len(old.requests), len(new.requests)])


if __name__ == "__main__":
    unittest.main()
