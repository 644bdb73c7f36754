# SPDX-License-Identifier: MIT
"""What answers teach, and how much is retried."""
import unittest

from harness import Case, config, eventually
from origin import answer, throttled


class Budget(Case):
    def test_retries_over_the_budget_are_relayed(self):
        o = self.origin(throttled(body=b"slow down"))
        d = self.daemon(defaults={"retry_budget": "3/day burst 3",
                                  "base_delay": "1ms", "max_delay": "1ms",
                                  "jitter": "0", "failure_cutoff": "0",
                                  "max_retries": "2"})
        first = self.get(d, o.url())
        self.assert_reason("retries-exhausted", first)
        second = self.get(d, o.url())
        self.assert_status(429, second)
        self.assertEqual(b"slow down", second.body)
        self.assert_reason("retry-budget", second)
        # Three requests more, and not one retry.
        for _ in range(3):
            self.assert_reason("retry-budget", self.get(d, o.url()))
        self.assertEqual(3 + 2 + 3, len(o.requests))
        self.assertEqual("retry-budget", d.wait_records(5)[-1]["reason"])


EXHAUSTED = ("X-RateLimit-Remaining: 0", "X-RateLimit-Reset-After: 1.2")


class Quota(Case):
    def pair(self, o, **defaults):
        """Two requests, one after the other; what the second waited."""
        d = self.daemon(defaults=defaults)
        for _ in range(2):
            self.assert_status(200, self.get(d, o.url()))
        first, second = d.wait_records(2)
        self.assertEqual("0ms", first["waited"])
        self.assertEqual(2, len(o.requests))
        return second

    def test_next_one_waits_where_nothing_is_left(self):
        """C26."""
        o = self.origin(answer(200, "x", *EXHAUSTED), answer(200, "y"))
        record = self.pair(o)
        self.assertGreaterEqual(o.requests[1].at - o.requests[0].at, 1.2)
        self.assertEqual(record["waited"], record["told"])

    def test_nothing_is_learned_where_it_is_off(self):
        """C26."""
        o = self.origin(answer(200, "x", *EXHAUSTED, "Retry-After: 60"),
                        answer(200, "y"))
        record = self.pair(o, learn_quota="off", learn_retry_after="no")
        self.assertEqual("0ms", record["waited"])

    def test_who_can_not_wait_so_long_goes_at_once(self):
        o = self.origin(
            answer(200, "x", "X-RateLimit-Remaining: 0",
                   "X-RateLimit-Reset-After: 3600"), answer(200, "y"))
        self.assertEqual("0ms", self.pair(o, deadline="60s")["waited"])

    def test_pause_after_a_success(self):
        o = self.origin(answer(200, "x", "Retry-After: 1"), answer(200, "y"))
        self.pair(o)
        self.assertGreaterEqual(o.requests[1].at - o.requests[0].at, 1.0)

    def test_what_is_left_is_spread(self):
        """Six of ten are gone, four are left for two seconds."""
        def script(conn, _req, n):
            conn.answer(200, "x", "X-RateLimit-Limit: 10",
                        "X-RateLimit-Remaining: 4",
                        "X-RateLimit-Reset-After: 2")

        o = self.serving(script)
        d = self.daemon()
        self.assert_status(200, self.get(d, o.url()))
        self.assert_status(200, self.get(d, o.url()))
        self.assertGreaterEqual(o.requests[1].at - o.requests[0].at, 0.4)
        record = d.wait_records(2)[1]
        self.assertEqual(record["waited"], record["paced"])


class Buckets(Case):
    def test_routes_of_one_bucket_share_a_hold(self):
        """C19, and that no name of a bucket is told to anybody."""
        def script(conn, req, n):
            bucket = "X-RateLimit-Bucket: sesame-%s" % (
                "b" if b"other" in req.target.encode() else "a")
            if n == 2:
                conn.send(throttled("Retry-After: 1", bucket))
            else:
                conn.answer(200, "x", bucket)

        o = self.serving(script)
        d = self.daemon(defaults={"bucket_header": "X-RateLimit-Bucket",
                                  "scope_header": "X-RateLimit-Scope"})
        self.assert_status(200, self.get(d, o.url("/users/1/posts")))
        self.assert_status(200, self.get(d, o.url("/other/1")))
        waiting = self.connect(d)
        waiting.ask("GET", o.url("/users/2/posts"))
        d.wait_parked()
        self.assert_status(200, self.get(d, o.url("/other/2")))
        self.assertEqual("0ms", d.wait_records(3)[-1]["waited"])
        self.assert_status(200, waiting.response())
        self.assertEqual(5, len(o.requests))
        self.assertEqual([], d.log.matching("sesame"))


class Scope(Case):
    GLOBAL = throttled("Retry-After: 40", "X-RateLimit-Scope: global")

    def test_refusal_of_one_account_is_none_of_another(self):
        """C45: about all that this token does, wherever it does it."""
        o = self.origin(self.GLOBAL, answer(200, "x"))
        d = self.daemon(services={"api": {
            "hosts": o.authority, "max_wait": "5s",
            "key": "header:Authorization, path:1",
            "scope_header": "X-RateLimit-Scope"}})

        def get(path, token):
            return self.get(d, o.url(path), "Authorization: " + token)

        self.assert_status(429, get("/a", "one"))
        self.assert_own(429, "service-shut", get("/b", "one"))
        self.assert_status(200, get("/a", "two"))
        self.assert_status(200, get("/b", "two"))
        self.assertEqual(3, len(o.requests))

    def test_refusal_of_one_server_is_none_of_another(self):
        one, two = self.origin(self.GLOBAL), self.origin(answer(200, "x"))
        d = self.daemon(defaults={"scope_header": "X-RateLimit-Scope",
                                  "max_wait": "5s"})
        self.assert_status(429, self.get(d, one.url()))
        self.assert_own(429, "service-shut", self.get(d, one.url()))
        self.assert_status(200, self.get(d, two.url()))


class Stacked(Case):
    def test_copy_of_a_waiting_request_is_told(self):
        """C92."""
        o = self.origin(throttled("Retry-After: 1"), answer(200, "x"))
        d = self.daemon()
        first, other = self.connect(d), self.connect(d)
        first.ask("GET", o.url("/a?token=sesame"), "Authorization: open")
        d.wait_parked()
        other.ask("GET", o.url("/b"), "Authorization: open")
        again = self.connect(d)
        again.ask("GET", o.url("/a?token=sesame"), "Authorization: open")
        d.wait_log("sends a request again")
        for client in (first, other, again):
            self.assert_status(200, client.response())
        records = d.wait_records(3)
        self.assertEqual(["1"], [r["stacked"] for r in records
                                 if "stacked" in r])
        self.assertEqual(1, len(d.log.matching("turn off the client")))
        self.assertEqual([], d.log.matching("sesame|open"))

    def test_request_of_another_account_is_no_copy(self):
        o = self.origin(throttled("Retry-After: 1"), answer(200, "x"))
        d = self.daemon(services={"api": {"hosts": o.authority,
                                          "rate": "1/s",
                                          "key": "header:X-Api-Key"}})
        clients = [self.connect(d) for _ in range(4)]
        for n, client in enumerate(clients):
            client.ask("GET", o.url("/a"), "X-Api-Key: %d" % (n % 2))
        for client in clients:
            self.assert_status(200, client.response())
        self.assertEqual([], [r for r in d.wait_records(4)
                              if "stacked" in r])


if __name__ == "__main__":
    unittest.main()
