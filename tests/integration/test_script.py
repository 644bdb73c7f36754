# SPDX-License-Identifier: MIT
"""strategy = custom: the scripts of docs/scripts and some that go wrong."""
import concurrent.futures
import email.utils
import gzip
import os
import signal
import threading
import time
import unittest

from harness import Case, reduced
from origin import answer, throttled

SHIPPED = os.path.join(os.path.dirname(__file__), "..", "..", "docs",
                       "scripts")


def shipped(name):
    return os.path.abspath(os.path.join(SHIPPED, name))


class Scripts(Case):
    def script(self, text):
        path = os.path.join(self.folder, "test.lua")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def asking(self, path, proxy=None, **more):
        return self.daemon(proxy=proxy, defaults={
            "strategy": "custom", "script": path, "jitter": "0",
            "base_delay": "1ms", **more})

    @reduced
    def test_its_wait_is_kept(self):
        """by-cause.lua: 250 ms times the attempts."""
        burst = throttled("X-Limit-Cause: burst")
        o = self.origin(burst, burst, answer(200, "x"))
        d = self.asking(shipped("by-cause.lua"))
        self.assert_status(200, self.get(d, o.url()))
        at = [q.at for q in o.requests]
        self.assertGreaterEqual(at[1] - at[0], 0.25)
        self.assertGreaterEqual(at[2] - at[1], 0.5)

    def test_false_relays_at_once(self):
        o = self.origin(throttled("X-Limit-Cause: day", "X-Mark: 7"))
        d = self.asking(shipped("by-cause.lua"), max_retries="9")
        r = self.get(d, o.url())
        self.assert_status(429, r)
        self.assert_reason("script", r)
        self.assertEqual("7", r.get("X-Mark"))
        self.assertEqual(b"slow down", r.body)
        self.assertEqual(1, len(o.requests))
        self.assertEqual("script", d.wait_records(1)[0]["reason"])

    def test_nil_is_the_hint_or_own_backoff(self):
        o = self.origin(throttled("Retry-After: 0.4"), throttled(),
                        answer(200, "x"))
        d = self.asking(shipped("by-cause.lua"))
        self.assert_status(200, self.get(d, o.url()))
        self.assertGreaterEqual(o.requests[1].at - o.requests[0].at, 0.4)
        self.assertEqual(3, len(o.requests))

    def test_next_minute_by_the_clock_of_the_server(self):
        """next-minute.lua: the server's clock is a second before its minute."""
        then = email.utils.formatdate(1790000039, usegmt=True)
        o = self.origin(throttled("Date: " + then), answer(200, "x"))
        d = self.asking(shipped("next-minute.lua"))
        self.assertEqual(59, 1790000039 % 60)
        self.assert_status(200, self.get(d, o.url()))
        self.assertGreaterEqual(o.requests[1].at - o.requests[0].at, 1.0)
        waited = d.wait_records(1)[0]["waited"]
        self.assertLess(int(waited[:-len("ms")]), 30000)

    def test_words_in_a_body(self):
        """words-in-body.lua, the body as it is, compressed, and in chunks."""
        words = b"Please try again in 1 second."

        def chunked(conn, _req):
            conn.send(answer(429, b"", "Transfer-Encoding: chunked",
                             length=False) +
                      b"7\r\n" + words[:7] + b"\r\n16\r\n" + words[7:] +
                      b"\r\n0\r\n\r\n")
        for busy in (throttled(body=words), chunked,
                     answer(429, gzip.compress(words),
                            "Content-Encoding: gzip")):
            with self.subTest(busy=busy):
                o = self.origin(busy, answer(200, "x"))
                d = self.asking(shipped("words-in-body.lua"))
                self.assert_status(200, self.get(d, o.url()))
                self.assertGreaterEqual(
                    o.requests[1].at - o.requests[0].at, 1.0)

    def test_body_is_not_shown_unless_it_is_asked_for(self):
        """Not even where a rule has looked at it."""
        for rules in ({}, {"throttled_when": "429 body wait"}):
            with self.subTest(rules=rules):
                o = self.origin(throttled(body=b"wait"), answer(200, "x"))
                d = self.asking(self.script(
                    "function get_delay(ctx)\n"
                    "  return ctx.body_prefix == '' and 1 or false\nend\n"),
                    **rules)
                self.assert_status(200, self.get(d, o.url()))

    def test_a_refusal_behind_a_success_is_asked_about(self):
        """By a rule; and its body is shown."""
        o = self.origin(answer(200, b"please wait 300"), answer(200, "x"))
        d = self.asking(self.script(
            "wants_body = true\nfunction get_delay(ctx)\n"
            "  return ctx.status == 200 and"
            " tonumber(ctx.body_prefix:match('%d+'))\nend\n"),
            throttled_when="200 body \"please wait\"")
        r = self.get(d, o.url())
        self.assertEqual(b"x", r.body)
        self.assertGreaterEqual(o.requests[1].at - o.requests[0].at, 0.3)

    def test_never_before_a_hint(self):
        """Rule 2, unless hints are turned off."""
        path = self.script("function get_delay(ctx) return 0 end")
        o = self.origin(throttled("Retry-After: 1"), answer(200, "x"))
        self.assert_status(200, self.get(self.asking(path), o.url()))
        self.assertGreaterEqual(o.requests[1].at - o.requests[0].at, 1.0)
        o = self.origin(throttled("Retry-After: 3600"), answer(200, "x"))
        d = self.asking(path, wait_headers="none")
        self.assert_status(200, self.get(d, o.url()))

    def test_a_wait_over_max_wait_is_not_begun(self):
        o = self.origin(throttled())
        d = self.asking(self.script(
            "function get_delay(ctx) return ctx.deadline_ms + 1000 end"))
        r = self.get(d, o.url())
        self.assert_status(429, r)
        self.assert_reason("hint-over-max-wait", r)
        self.assertEqual(1, len(o.requests))

    @reduced
    def test_an_error_falls_back_and_is_told_once(self):
        for body, words in (("return ctx.no.such", "attempt to index a nil"),
                            ("return 'soon'", "returned a string"),
                            ("while true do end", "ran for too long"),
                            ("return #('x'):rep(1e9)", "needed more than 4")):
            with self.subTest(body=body):
                o = self.origin(throttled(), throttled(), answer(200, "x"),
                                throttled(), answer(200, "x"))
                d = self.asking(self.script(
                    "function get_delay(ctx) %s end" % body))
                self.assert_status(200, self.get(d, o.url()))
                self.assert_status(200, self.get(d, o.url()))
                self.assertEqual(5, len(o.requests))
                told = d.log.matching("warn script .*")
                self.assertEqual(1, len(told), told)
                self.assertIn(words, told[0].group())
                self.assertIn("[defaults]", told[0].group())

    def test_all_workers_may_ask_at_once(self):
        """Each has a state of its own, also where a budget is used up."""
        seen, lock = set(), threading.Lock()

        def first_refused(conn, req, _n):
            with lock:
                again = req.target in seen
                seen.add(req.target)
            conn.send(answer(200, "x") if again else throttled())
        o = self.serving(first_refused)
        d = self.asking(self.script(
            "function get_delay(ctx)\n"
            "  pcall(string.find, ('a'):rep(30000), '.-.-.-.-x')\n"
            "  return 5\nend\n"), proxy={"workers": "4"}, failure_cutoff="0")
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            got = list(pool.map(
                lambda n: self.get(d, o.url("/%d" % n)).status, range(16)))
        self.assertEqual([200] * 16, got)

    # --- configuration ----------------------------------------------------

    def test_check_tells_what_is_wrong_with_it(self):
        path = self.script("function get_delay(ctx)\n  return 1 1\nend\n")
        status, out = self.check("[defaults]\nstrategy = custom\n"
                                 "script = %s\n" % path)
        self.assertEqual(1, status)
        self.assertRegex(out, r":3: script: %s: test\.lua:2: 'end' expected"
                         % path)
        status, out = self.check("[defaults]\nstrategy = custom\n"
                                 "script = %s\n" % shipped("by-cause.lua"))
        self.assertEqual(0, status, out)

    def check(self, text):
        path = os.path.join(self.folder, "check.conf")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        done = self.run_abided("-t", "-c", path)
        return done.returncode, done.stdout

    def test_reload_reads_it_again_and_keeps_the_old_one_of_a_bad_one(self):
        path = self.script("function get_delay(ctx) return false end")
        o = self.origin(throttled())
        d = self.asking(path)
        self.assert_reason("script", self.get(d, o.url()))
        self.script("function get_delay(ctx) return flase false end")
        d.signal(signal.SIGHUP)
        d.wait_log("the configuration in force stays as it is")
        d.wait_log(r"reload: .*script: .*test\.lua:1: ")
        self.assert_reason("script", self.get(d, o.url()))
        self.script("function get_delay(ctx) return 3600000 end")
        d.signal(signal.SIGHUP)
        d.wait_log("reloaded: ")
        deadline = time.monotonic() + 30
        while True:
            r = self.get(d, o.url())
            if "hint-over-max-wait" in r.says:
                break
            self.assertLess(time.monotonic(), deadline)


if __name__ == "__main__":
    unittest.main()
