# SPDX-License-Identifier: MIT
"""Presets through the daemon: what big providers send, with and without.

The bodies have the shape that the provider documents, in words of our own.
C..: the case bank's numbers.
"""
import gzip
import json
import time

from harness import Case, reduced
from origin import answer, throttled
from test_data_path import digest

JSON = "Content-Type: application/json; charset=utf-8"
EVENTS = "Content-Type: text/event-stream; charset=utf-8"

SECONDARY = b'{"message":"You are over a secondary rate limit."}'
THROTTLED = (b'{"errors":[{"message":"Throttled",'
             b'"extensions":{"code":"THROTTLED"}}]}')


def retry_info(delay):
    return json.dumps({"error": {"code": 429, "details": [
        {"@type": "type.googleapis.com/google.rpc.Help"},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo",
         "retryDelay": delay}]}}).encode()


class Presets(Case):
    def through(self, preset, *answers, method="GET", fields=(), body=None,
                path="/v1/x", **keys):
        """One request through a service with this preset (None: without).

        What came, what it was, and the seconds between its attempts.
        """
        o = self.origin(*answers)
        service = {"hosts": o.authority, "jitter": "0", "base_delay": "10ms"}
        if preset:
            service["preset"] = preset
        service.update(keys)
        d = self.daemon(services={"one": service})
        if method == "POST" and body is None:
            body = b'{"do":"it"}'
        r = self.get(d, o.url(path), *fields, method=method, body=body)
        self.bodies_alike(o, body)
        return r, o, [b.at - a.at for a, b in zip(o.requests, o.requests[1:])]

    def bodies_alike(self, o, body):
        for req in o.requests:
            self.assertEqual(body or b"", req.body)

    def absorbed(self, least, preset, *answers, most=None, **kw):
        """Two attempts, so far apart at least, and a 200."""
        r, o, gaps = self.through(preset, *answers, answer(200, "at last"),
                                  **kw)
        self.assert_status(200, r)
        self.assertEqual(b"at last", r.body)
        self.assertEqual(len(answers) + 1, len(o.requests))
        for gap in gaps:
            self.assertGreaterEqual(gap, least)
            if most:
                self.assertLess(gap, most)
        return r

    def relayed(self, status, preset, first, **kw):
        """One attempt; what it brought is what the client gets."""
        r, o, _ = self.through(preset, first, answer(200, "second"), **kw)
        self.assert_status(status, r)
        self.assertEqual(1, len(o.requests))
        head, _, body = first.partition(b"\r\n\r\n")
        self.assertEqual(body, r.body)
        for line in head.decode("latin-1").split("\r\n")[1:]:
            name, _, value = line.partition(":")
            self.assertEqual(value.strip(), r.get(name))
        return r


class GitHub(Presets):
    @reduced
    def test_secondary_limit(self):
        """C29: a 403 is a refusal for the preset alone."""
        refused = throttled("Retry-After: 1", JSON, status=403, body=SECONDARY)
        self.relayed(403, None, refused)
        self.absorbed(1.0, "github", refused)
        self.absorbed(1.0, "github", refused, method="POST")

    def test_secondary_limit_without_a_hint_is_a_minute(self):
        refused = throttled("Retry-After:", "x-ratelimit-remaining: 14", JSON,
                            "x-ratelimit-reset: %d" % (time.time() + 3),
                            status=403, body=SECONDARY)
        r = self.relayed(403, "github", refused, max_wait="50s")
        self.assert_reason("hint-over-max-wait", r)

    def test_primary_limit(self):
        reset = int(time.time()) + 2
        refused = throttled("x-ratelimit-remaining: 0", JSON,
                            "x-ratelimit-reset: %d" % reset, status=403)
        self.relayed(403, None, refused)
        self.absorbed(0.5, "github", refused)
        self.assertGreaterEqual(time.time(), reset)

    def test_other_403_is_about_rights(self):
        self.relayed(403, "github", throttled(
            "x-ratelimit-remaining: 4999", JSON,
            "x-ratelimit-reset: %d" % (time.time() + 3), status=403,
            body=b'{"message":"No right to do that"}'))

    def test_query_refused_with_200(self):
        refused = answer(200, b'{"errors":[{"type":"RATE_LIMITED"}]}', JSON,
                         "x-ratelimit-remaining: 0",
                         "x-ratelimit-reset: %d" % (time.time() + 2))
        self.relayed(200, None, refused, method="POST", path="/graphql")
        self.absorbed(0.5, "github", refused, method="POST", path="/graphql")


class OpenAi(Presets):
    @reduced
    def test_quota_is_no_rate(self):
        """C35: who has to pay is told at once; who was too fast waits."""
        broke = throttled(JSON, body=b'{"error":{"type":"insufficient_quota",'
                                     b'"code":"insufficient_quota"}}')
        fast = throttled(JSON, body=b'{"error":{"type":"requests",'
                                    b'"code":"rate_limit_exceeded"}}')
        self.relayed(429, "openai", broke, method="POST")
        self.absorbed(0, None, broke, method="POST")
        self.absorbed(0, "openai", fast, method="POST")

    def test_a_bill_holds_up_nobody_else(self):
        """A permanent answer is no failure of the service: others go on."""
        o = self.origin(
            throttled(JSON, "Retry-After: 30",
                      body=b'{"error":{"code":"billing_not_active"}}'),
            answer(200, "fine"))
        d = self.daemon(services={"one": {"preset": "openai",
                                          "hosts": o.authority}})
        self.assert_status(429, self.get(d, o.url()))
        self.assert_status(200, self.get(d, o.url()))

    def test_should_retry(self):
        """C86: the server's word outranks the status, both ways."""
        no = throttled("x-should-retry: false", JSON, body=b"{}")
        yes = throttled("x-should-retry: true", JSON, status=500, body=b"{}")
        self.relayed(429, "openai", no)
        self.absorbed(0, None, no)
        self.absorbed(0, "openai", yes)
        self.relayed(500, None, yes)

    def test_longest_limit_that_is_used_up(self):
        self.absorbed(0.4, "openai", throttled(
            "x-ratelimit-remaining-requests: 40",
            "x-ratelimit-reset-requests: 6m0s",
            "x-ratelimit-remaining-tokens: 0",
            "x-ratelimit-reset-tokens: 400ms"), method="POST")


class OthersWhoSpeakTokens(Presets):
    def test_anthropic(self):
        busy = throttled(JSON, status=529, body=b'{"type":"error","error":'
                                                b'{"type":"overloaded_error"}}')
        spent = throttled(JSON, body=b'{"error":{"details":{"error_code":'
                                     b'"enforced_spend_limit_reached"}}}')
        self.relayed(529, None, busy, method="POST")
        self.absorbed(0, "anthropic", busy, method="POST")
        self.absorbed(1.0, "anthropic", throttled("Retry-After: 1"),
                      method="POST")
        self.relayed(429, "anthropic", spent, method="POST")

    def test_streams_that_begin_with_an_error(self):
        """C73: with stream_peek, and where a preset knows the error."""
        busy = answer(200, b'event: error\ndata: {"type":"error","error":'
                           b'{"type":"overloaded_error"}}\n\n', EVENTS)
        fine = answer(200, b'event: message_start\ndata: {"type":'
                           b'"message_start","text":"overloaded_error"}\n\n',
                      EVENTS)
        peek = {"method": "POST", "stream_peek": "4KiB"}
        self.relayed(200, None, busy, **peek)
        self.relayed(200, "anthropic", busy, method="POST")
        self.absorbed(0, "anthropic", busy, **peek)
        self.relayed(200, "anthropic", fine, **peek)
        late = answer(200, b'event: error\ndata: {"type":"error",'
                           b'"code":"rate_limit_exceeded"}\n\n', EVENTS,
                      "Retry-After: 1")
        self.absorbed(1.0, "azure-openai", late, **peek)
        self.relayed(200, "azure-openai", late.replace(
            b"rate_limit", b"fake_limit"), **peek)

    @reduced
    def test_gemini_says_it_in_the_body(self):
        """C30, also compressed."""
        refused = throttled(JSON, body=retry_info("1.2s"))
        packed = throttled(JSON, "Content-Encoding: gzip",
                           body=gzip.compress(retry_info("1.2s")))
        self.absorbed(0, None, refused, most=1.2)
        self.absorbed(1.2, "gemini", refused, method="POST")
        self.absorbed(1.2, "gemini", packed, method="POST")

    def test_pushback_of_grpc(self):
        """C85: a wait, or never again."""
        self.absorbed(0.3, "google", throttled("grpc-retry-pushback-ms: 300",
                                               status=503))
        never = throttled("grpc-retry-pushback-ms: -1", status=503)
        self.relayed(503, "google", never)
        self.absorbed(0, None, never)

    def test_gemini_daily_quota_is_final(self):
        self.relayed(429, "gemini", throttled(JSON, body=json.dumps(
            {"error": {"details": [
                {"violations": [{"quotaId": "RequestsPerDayPerProject"}]},
                {"retryDelay": "1s"}]}}).encode()))


class OthersWithOddSigns(Presets):
    def test_dynamodb_refuses_with_400(self):
        def problem(kind):
            return throttled(
                "Content-Type: application/x-amz-json-1.0", status=400,
                body=b'{"__type":"com.amazonaws.dynamodb.v20120810#%s"}' % kind)
        fast = problem(b"ProvisionedThroughputExceededException")
        self.relayed(400, None, fast, method="POST")
        self.absorbed(0, "aws-dynamodb", fast, fast, method="POST")
        self.relayed(400, "aws-dynamodb", problem(b"ValidationException"),
                     method="POST")

    def test_slack(self):
        self.absorbed(1.0, "slack", throttled(
            "Retry-After: 1", JSON, body=b'{"ok":false,"error":"ratelimited"}'),
                      method="POST", path="/api/chat.postMessage")

    def test_stripe_has_the_last_word(self):
        self.relayed(429, "stripe", throttled("Stripe-Should-Retry: false"))
        self.absorbed(0, None, throttled("Stripe-Should-Retry: false"))
        conflict = throttled("Stripe-Should-Retry: true", status=409)
        self.relayed(409, None, conflict)
        self.absorbed(0, "stripe", conflict)
        self.absorbed(0, "stripe", conflict, method="POST",
                      fields=["Idempotency-Key: 1"])
        self.relayed(409, "stripe", conflict, method="POST")

    def test_shopify(self):
        self.absorbed(1.0, "shopify", throttled("Retry-After: 1.0"))
        refused = answer(200, THROTTLED, JSON)
        self.relayed(200, None, refused, method="POST")
        self.absorbed(0, "shopify", refused, method="POST")

    def test_answers_that_are_looked_at_pass_as_they_are(self):
        """A rule asks about all 200 there: large ones, chunked ones."""
        page = json.dumps({"data": ["THROTTLED"] * 40000}).encode()
        r = self.relayed(200, "shopify", answer(200, page, JSON),
                         method="POST")
        self.assertEqual(digest(page), digest(r.body))

        def chunks(conn, _req):
            conn.send(answer(200, b"", JSON, "Transfer-Encoding: chunked",
                             length=False))
            for at in range(0, len(page), 7001):
                conn.chunk(page[at:at + 7001])
            conn.send(b"0\r\n\r\n")
        r, _, _ = self.through("shopify", chunks)
        self.assert_status(200, r)
        self.assertEqual(digest(page), digest(r.body))

    def test_discord_fraction(self):
        body = b'{"message":"m","retry_after":0.64,"global":false}'
        self.absorbed(0.64, "discord", throttled(JSON, body=body),
                      method="POST", path="/api/v10/channels/1/messages")
        self.absorbed(1.0, "discord", throttled(
            "Retry-After: 1", "X-RateLimit-Remaining: 9",
            "X-RateLimit-Reset-After: 0.1", "X-RateLimit-Scope: shared", JSON,
            body=body))

    def test_discord_scopes(self):
        """A channel's refusal is its own; a global one is everybody's."""
        for scope, other in (("user", 200), ("global", 429)):
            with self.subTest(scope=scope):
                o = self.origin(
                    throttled("Retry-After: 40", "X-RateLimit-Bucket: abcd",
                              "X-RateLimit-Scope: " + scope),
                    answer(200, "fine", "X-RateLimit-Bucket: abcd"))
                d = self.daemon(services={"one": {
                    "preset": "discord", "hosts": o.authority,
                    "max_wait": "5s"}})

                def get(channel, d=d, o=o):
                    return self.get(
                        d, o.url("/api/v10/channels/%d/messages" % channel))
                self.assert_status(429, get(1))
                self.assert_own(429, "service-shut", get(1))
                self.assert_status(other, get(2))
                self.assertEqual(1 + (other == 200), len(o.requests))

    def test_wikimedia_lag_on_200(self):
        lag = answer(200, b'{"error":{"code":"maxlag","lag":6.7}}', JSON,
                     "Retry-After: 1", "X-Database-Lag: 7")
        self.relayed(200, None, lag)
        self.absorbed(1.0, "wikimedia", lag, method="POST")

    def test_airtable_penalty_is_known_without_a_hint(self):
        r = self.relayed(429, "airtable", throttled(), max_wait="29s")
        self.assert_reason("hint-over-max-wait", r)
