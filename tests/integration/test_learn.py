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


if __name__ == "__main__":
    unittest.main()
