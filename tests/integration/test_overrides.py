# SPDX-License-Identifier: MIT
"""What a client may wish for its own request, and where it may."""
import unittest

from harness import Case
from origin import answer, throttled

OVER = {"allow_overrides": "yes"}


class Wishes(Case):
    def test_prefer_wait_is_patience(self):
        for wish in ("wait=3", "respond-async, wait=3", "wait=3; x=1",
                     "Wait=3"):
            with self.subTest(wish=wish):
                o = self.origin(throttled("Retry-After: 10"), answer(200))
                r = self.get(self.daemon(defaults=OVER), o.url(),
                             "Prefer: " + wish)
                self.assert_status(429, r)
                self.assert_reason("hint-over-max-wait", r)
                self.assertEqual(wish, o.requests[0].get("Prefer"))

    def test_prefer_never_asks_for_more(self):
        o = self.origin(throttled("Retry-After: 10"), answer(200))
        d = self.daemon(defaults={**OVER, "max_wait": "2s"})
        self.assert_reason("hint-over-max-wait",
                           self.get(d, o.url(), "Prefer: wait=60"))

    def order(self, defaults, wishes):
        """Who comes in which order, behind one that holds the only slot."""
        o = self.serving(lambda conn, req, n: conn.answer(200, "x") if n > 1
                         else conn.send(throttled("Retry-After: 1")))
        d = self.daemon(defaults={"concurrency": "1", **defaults})
        first = self.connect(d)
        first.ask("GET", o.url("/first"), "Priority: u=7")
        d.wait_parked(1)
        clients = []
        for i, wish in enumerate(wishes):
            c = self.connect(d)
            c.ask("GET", o.url("/%d" % i), *wish)
            clients.append(c)
            d.wait_parked(i + 2)
        for c in clients + [first]:
            self.assert_status(200, c.response())
        return [r.target.strip("/") for r in o.requests[1:]]

    def test_more_urgent_ones_go_first(self):
        wishes = [("Priority: u=5",), (), ("Priority: u=5, i, u=1;x",),
                  ("Priority: u=9",), ("Priority: u=0, i",)]
        self.assertEqual(["4", "2", "1", "3", "0", "first"],
                         self.order(OVER, wishes))

    def test_key_text_makes_a_state_of_its_own(self):
        def script(conn, req, _n):
            if req.target == "/held":
                return conn.send(throttled("Retry-After: 30"))
            return conn.answer(200, "x")

        o = self.serving(script)
        d = self.daemon(defaults=OVER)
        held = self.connect(d)
        held.ask("GET", o.url("/held"), "Abide-Key: sesame")
        d.wait_parked()
        self.assert_status(200, self.get(d, o.url("/"), "Abide-Key: other"))
        self.assert_status(200, self.get(d, o.url("/")))
        r = self.get(d, o.url("/"), "Abide-Key: sesame", "Abide-Max-Wait: 1s")
        self.assert_own(429, "service-shut", r)
        self.assertEqual(3, len(o.requests))
        self.assertFalse(any(q.has("Abide-Key") for q in o.requests))
        self.assertEqual([], d.log.matching("sesame"))
        held.close()

    def test_service_may_be_chosen(self):
        o = self.origin(throttled("Retry-After: 1"), answer(200))
        d = self.daemon(defaults=OVER, services={
            "once": {"hosts": "nowhere.test", "max_retries": "0"}})
        r = self.get(d, o.url(), "Abide-Service: once")
        self.assert_reason("retries-off", r)
        self.assertEqual("once", d.wait_records(1)[0]["service"])
        r = self.get(d, o.url(), "Abide-Service: nosuch")
        self.assert_own(400, "bad-request", r)

    def test_without_leave_no_wish_is_heard(self):
        o = self.origin(throttled("Retry-After: 1"), answer(200))
        d = self.daemon(services={
            "once": {"hosts": "nowhere.test", "max_retries": "0"}})
        r = self.get(d, o.url(), "Prefer: wait=0", "Abide-Max-Wait: 0",
                     "Abide-Service: once", "Abide-Key: x")
        self.assert_status(200, r)
        self.assertEqual("Prefer: wait=0",
                         "Prefer: " + o.requests[1].get("Prefer"))
        self.assertFalse(o.requests[1].has("Abide-Key"))
        self.assertEqual("-", d.wait_records(1)[0]["service"])


if __name__ == "__main__":
    unittest.main()
