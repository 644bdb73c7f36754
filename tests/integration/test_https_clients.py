# SPDX-License-Identifier: MIT
"""Unmodified programs with HTTPS_PROXY set and the CA trusted, each in its own
way, in front of a TLS origin that refuses each path once with 429.

What is not installed is skipped, with a word. The providers' exchanges are at
the end: what AWS, OpenAI and GitHub send when it is too much for them.
"""
import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
import unittest

from harness import clean_env, reduced
from origin import answer
import test_clients
from test_clients import digest, need, python_with
from tlscase import TlsCase
from wire import PATIENCE, noise


class HttpsCase(test_clients.ClientCase, TlsCase):
    def make_cast(self):
        self.proxy = self.intercepting(defaults=self.PATIENT)
        self.site = self.secure_serving(self.serve)

    def proxy_env(self):
        return {"https_proxy": self.proxy.url, "HTTPS_PROXY": self.proxy.url}


class Curl(HttpsCase):
    @need("curl")
    @reduced
    def test_get_by_environment(self):
        url, body = self.page()
        out = self.run_it("curl", "-sSf", url,
                          env={"CURL_CA_BUNDLE": self.proxy.ca})
        self.assertEqual(body, out)
        self.check_absorbed()

    @need("curl")
    def test_keep_alive_and_upload(self):
        path = os.path.join(self.folder, "upload")
        with open(path, "wb") as f:
            f.write(noise(3 << 20))
        out = self.run_it("curl", "-sSf", "--cacert", self.proxy.ca, "-T",
                          path, self.site.url("/a"), "-w",
                          "%{num_connects}\n", "-T", path,
                          self.site.url("/b"))
        self.assertEqual(digest(noise(3 << 20)) + "1\n" +
                         digest(noise(3 << 20)) + "0\n", out.decode())
        self.check_absorbed(2)

    @need("curl")
    def test_without_the_ca_it_refuses(self):
        out = self.run_it("curl", "-sS", self.page()[0], ok=False)
        self.assertEqual(b"", out)
        self.assertIn("does not trust", self.client_faults(self.proxy, 1)[0])
        self.assertEqual([], self.site.requests)

    @need("curl")
    def test_originate_by_http_proxy_follows_redirects(self):
        """The other way: no CA, and http:// in the URL."""
        proxy = self.originating(defaults=self.PATIENT)

        def script(conn, req, _n):
            if self.refuse(conn, req):
                return
            if req.target == "/from":
                conn.answer(302, "", "Location: " + self.site.url("/to"),
                            "Set-Cookie: a=b; Secure; Path=/")
            else:
                conn.answer(200, "%s %s" % (req.target, req.get("Cookie")))
        self.serve = script
        self.site = self.secure_serving(script)
        out = self.run_it("curl", "-sSfL", "-b", "", self.site.url(
            "/from", "http"), env={"http_proxy": proxy.url})
        self.assertEqual(b"/to a=b", out)


class Wget(HttpsCase):
    @need("wget")
    def test_get(self):
        url, body = self.page()
        self.assertEqual(body, self.run_it(
            "wget", "-q", "--ca-certificate", self.proxy.ca, "-O", "-", url))
        self.check_absorbed()


class Python(HttpsCase):
    @reduced
    def test_urllib(self):
        url, body = self.page()
        out = self.run_it(sys.executable, "-c", textwrap.dedent("""
            import hashlib, sys, urllib.request
            with urllib.request.urlopen(sys.argv[1]) as f:
                print(f.status, hashlib.sha256(f.read()).hexdigest())
            with urllib.request.urlopen(sys.argv[2], b"a" * 100000) as f:
                print(f.status, f.read().decode())
            """), url, self.site.url("/post"),
            env={"SSL_CERT_FILE": self.proxy.ca})
        self.assertEqual(["200", digest(body), "201", digest(b"a" * 100000)],
                         out.decode().split())
        self.check_absorbed(2)

    def test_requests(self):
        python = python_with("requests")
        if not python:
            self.skipTest("not installed: python3-requests")
        urls = [self.page("/%d" % i, 5000)[0] for i in range(5)]
        out = self.run_it(python, "-c", textwrap.dedent("""
            import hashlib, requests, sys
            s = requests.Session()
            for url in sys.argv[2:]:
                r = s.get(url)
                print(r.status_code, hashlib.sha256(r.content).hexdigest())
            def parts():
                for i in range(10):
                    yield b"x" * 1000
            r = s.post(sys.argv[1], data=parts())
            print(r.status_code, r.text)
            """), self.site.url("/post"), *urls,
            env={"REQUESTS_CA_BUNDLE": self.proxy.ca})
        self.assertEqual(["200", digest(noise(5000))] * 5 +
                         ["201", digest(b"x" * 10000)],
                         out.decode().split())
        self.check_absorbed(6)


class NodeFetch(HttpsCase):
    find_undici = test_clients.Node.find_undici

    @need("node")
    def test_fetch_with_proxy_agent(self):
        folder = self.find_undici()
        url, body = self.page()
        out = self.run_it("node", "-e", """
            const { ProxyAgent, fetch } = require("undici");
            const agent = new ProxyAgent(process.env.https_proxy);
            (async () => {
                const { createHash } = require("crypto");
                const [url, post] = process.argv.slice(1);
                let r = await fetch(url, { dispatcher: agent });
                const b = Buffer.from(await r.arrayBuffer());
                console.log(r.status,
                    createHash("sha256").update(b).digest("hex"));
                r = await fetch(post, { dispatcher: agent, method: "POST",
                    body: "x".repeat(5000) });
                console.log(r.status, await r.text());
                await agent.close();
            })();
            """, url, self.site.url("/post"), env={
                "NODE_PATH": folder, "NODE_EXTRA_CA_CERTS": self.proxy.ca})
        self.assertEqual(["200", digest(body), "201", digest(b"x" * 5000)],
                         out.decode().split())
        self.check_absorbed(2)


class GitClone(HttpsCase):
    git = test_clients.Git.git
    repository = test_clients.Git.repository
    assert_head = test_clients.Git.assert_head

    @need("git")
    def test_clone(self):
        bare, head = self.repository()
        self.git("update-server-info", cwd=bare)
        for base, _, names in os.walk(bare):
            for name in names:
                path = os.path.join(base, name)
                with open(path, "rb") as f:
                    self.files["/" + os.path.relpath(
                        path, self.folder)] = f.read()
        self.git("-c", "http.sslCAInfo=" + self.proxy.ca, "clone", "-q",
                 self.site.url("/repo.git"), "copy")
        self.assert_head(head, "copy")
        self.check_absorbed(3)


CHROMIUM = next((p for p in ("chromium", "chromium-browser",
                             "google-chrome") if shutil.which(p)), None)


class Chromium(HttpsCase):
    """Its own verifier of certificates, and its own idea of a proxy."""

    @unittest.skipUnless(CHROMIUM and shutil.which("certutil"),
                         "not installed: chromium, certutil")
    def test_a_page_with_parts(self):
        store = os.path.join(self.folder, ".pki", "nssdb")
        os.makedirs(store)
        self.run_it("certutil", "-d", "sql:" + store, "-N",
                    "--empty-password")
        self.run_it("certutil", "-d", "sql:" + store, "-A", "-t", "C,,",
                    "-n", "abided", "-i", self.proxy.ca)
        self.files["/"] = (
            b"<html><head><title>t</title></head><body>"
            b"<script src=/a.js></script><script src=/b.js></script>")
        for name in ("a", "b"):
            self.files["/%s.js" % name] = (
                b"document.write('<p>%s was here</p>')" % name.encode())
        out = self.run_it(
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
            "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync",
            "--disable-dev-shm-usage",
            "--user-data-dir=" + os.path.join(self.folder, "profile"),
            "--proxy-server=" + self.proxy.url, "--dump-dom",
            self.site.url("/"), env={"HTTPS_PROXY": "", "https_proxy": ""})
        self.assertIn(b"a was here", out)
        self.assertIn(b"b was here", out)
        self.check_absorbed(3)


class Providers(TlsCase):
    """Shapes of real exchanges, through an intercepted connection."""

    def first_then(self, first, *later, **kw):
        o = self.secure_origin(first, *later)
        d = self.intercepting(**kw)
        return o, d, self.inside(d, o)

    def assert_repeated(self, o, *names):
        """Both attempts are the same to the byte, signature and all."""
        first, second = o.requests
        self.assertEqual((first.start, first.body),
                         (second.start, second.body))
        for name in names:
            self.assertEqual(first.all(name), second.all(name))
            self.assertEqual(1, len(first.all(name)))

    def signed(self, body=b""):
        """SigV4 as an SDK sends it; the digits stand for a signature."""
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        return ["X-Amz-Date: " + stamp,
                "X-Amz-Content-SHA256: " + digest(body),
                "X-Amz-Security-Token: token-of-a-session",
                "Authorization: AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/%s/"
                "eu-west-1/s3/aws4_request, SignedHeaders=host;"
                "x-amz-content-sha256;x-amz-date, Signature=%s" % (
                    stamp[:8], "5" * 64)]

    SLOW_DOWN = answer(
        503, '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>SlowDown'
        "</Code><Message>Please reduce your request rate.</Message>"
        "<RequestId>4442587FB7D0A2F9</RequestId></Error>",
        "Content-Type: application/xml", "x-amz-request-id: 4442587FB7D0A2F9",
        "Server: AmazonS3", reason="Slow Down")

    @reduced
    def test_s3_slow_down(self):
        for method, body in (("GET", None), ("PUT", noise(200000))):
            o, d, c = self.first_then(
                self.SLOW_DOWN, answer(200, "object", 'ETag: "1"'))
            r = c.get("/bucket/key?x-id=GetObject", "Host: " + o.authority,
                      *self.signed(body or b""), method=method, body=body)
            self.assertEqual(b"object", r.body)
            self.assertEqual('"1"', r.get("ETag"))
            self.assert_repeated(o, "Authorization", "X-Amz-Date", "Host",
                                 "X-Amz-Content-SHA256")
            c.close()
            d.wait_records(1)
            self.assertFalse([s for s in d.log.lines if "AKIA" in s or
                              "token-of" in s or "5555" in s])

    def test_s3_slow_down_for_ever_is_relayed_as_it_is(self):
        o, _, c = self.first_then(self.SLOW_DOWN, service={
            "max_retries": "2"})
        r = c.get("/bucket/key", "Host: " + o.authority, *self.signed())
        self.assertEqual((503, "Slow Down"), (r.status, r.reason))
        self.assertIn(b"<Code>SlowDown</Code>", r.body)
        self.assertEqual(3, len(o.requests))
        self.assert_reason("retries-exhausted", r)

    def test_a_signature_is_not_held_until_it_is_stale(self):
        """Rule 17: 5 minutes for a service that is not S3."""
        o, _, c = self.first_then(
            answer(503, "", "Retry-After: 400"), answer(200),
            service={"deadline": "3600s", "max_wait": "3600s"})
        fields = [f.replace("/s3/", "/dynamodb/") for f in self.signed()]
        r = c.get("/x", "Host: " + o.authority, *fields)
        self.assert_status(503, r)
        self.assert_reason("signature-expiry", r)
        self.assertEqual(1, len(o.requests))

    def test_openai_by_curl(self):
        """A model's stream after a 429 with a hint in milliseconds."""
        def stream(conn, _req):
            conn.send(answer(200, b"", "Content-Type: text/event-stream",
                             "Transfer-Encoding: chunked", length=False))
            for n in range(5):
                conn.chunk(b'data: {"choices":[{"delta":{"content":"%d"}}]}'
                           b"\n\n" % n)
            conn.chunk(b"data: [DONE]\n\n")
            conn.send(b"0\r\n\r\n")
        o = self.secure_origin(answer(
            429, json.dumps({"error": {
                "message": "Rate limit reached for requests",
                "type": "requests", "code": "rate_limit_exceeded"}}),
            "Content-Type: application/json", "retry-after-ms: 120",
            "retry-after: 1", "x-ratelimit-limit-requests: 3",
            "x-ratelimit-remaining-requests: 0",
            "x-ratelimit-reset-requests: 120ms",
            "x-request-id: req_1", reason="Too Many Requests"), stream)
        d = self.intercepting()
        body = json.dumps({"model": "m", "stream": True, "messages": [
            {"role": "user", "content": "hello"}]})
        done = subprocess.run(
            ["curl", "-sSfN", "--cacert", d.ca, "-x", d.url, "-H",
             "Authorization: Bearer sk-test", "-H",
             "Content-Type: application/json", "-d", body,
             o.url("/v1/chat/completions")], stdout=subprocess.PIPE,
            timeout=PATIENCE, check=True, env=clean_env())
        self.assertTrue(done.stdout.endswith(b"data: [DONE]\n\n"))
        self.assertEqual(5, done.stdout.count(b'"content"'))
        first, second = o.requests
        self.assertGreaterEqual(second.at - first.at, 0.120)
        self.assert_repeated(o, "Authorization", "Content-Type")
        self.assertEqual("POST", second.method)

    def test_github_secondary_limit(self):
        """403 with Retry-After; the primary limit says when it ends."""
        o, d, c = self.first_then(
            answer(403, '{"message":"You have exceeded a secondary rate '
                   'limit."}', "Content-Type: application/json",
                   "retry-after: 1", "x-ratelimit-limit: 5000",
                   "x-ratelimit-remaining: 4900",
                   "x-ratelimit-resource: core", reason="Forbidden"),
            answer(200, '{"login":"octo"}', "ETag: W/\"1\""),
            service={"retry_on": "403, 429, 503, 504"})
        r = c.get("/user", "Host: " + o.authority,
                  "Authorization: token ghp_secret",
                  "Accept: application/vnd.github+json")
        self.assertEqual(b'{"login":"octo"}', r.body)
        first, second = o.requests
        self.assertGreaterEqual(second.at - first.at, 1.0)
        self.assert_repeated(o, "Authorization", "Accept")
        c.close()
        d.wait_records(1)
        self.assertFalse([s for s in d.log.lines if "ghp_secret" in s])

    def limited(self, seconds):
        reset = int(time.time()) + seconds
        return reset, answer(
            429, '{"message":"API rate limit exceeded"}',
            "x-ratelimit-limit: 5000", "x-ratelimit-remaining: 0",
            "x-ratelimit-reset: %d" % reset, reason="Too Many Requests")

    def test_github_primary_limit_that_is_too_far_is_relayed(self):
        """Rule 3: never shortened; the body and the fields are GitHub's."""
        reset, refusal = self.limited(1800)
        o, _, c = self.first_then(refusal)
        r = c.get("/user", "Host: " + o.authority)
        self.assertEqual(429, r.status)
        self.assertEqual(str(reset), r.get("x-ratelimit-reset"))
        self.assertIn(b"rate limit exceeded", r.body)
        self.assert_reason("hint-over-max-wait", r)
        self.assertEqual(1, len(o.requests))

    def test_github_primary_limit_that_ends_soon(self):
        reset, refusal = self.limited(2)
        o, _, c = self.first_then(refusal, answer(200, "x"))
        self.assertEqual(b"x", c.get("/user", "Host: " + o.authority).body)
        self.assertGreaterEqual(time.time(), reset)

    def test_github_secondary_limit_is_not_held_to_the_primary_reset(self):
        """Something is left of the primary limit: its reset is no wait."""
        reset = int(time.time()) + 1800
        o, _, c = self.first_then(
            answer(429, '{"message":"secondary rate limit"}',
                   "x-ratelimit-limit: 5000", "x-ratelimit-remaining: 14",
                   "x-ratelimit-reset: %d" % reset), answer(200, "x"))
        self.assertEqual(b"x", c.get("/user", "Host: " + o.authority).body)
        self.assertEqual(2, len(o.requests))


if __name__ == "__main__":
    unittest.main()
