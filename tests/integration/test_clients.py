# SPDX-License-Identifier: MIT
"""Unmodified programs through abided, in front of an origin that refuses.

Each path is refused once with 429, so what a program would have failed at
succeeds, a little later. What is not installed is skipped, with a word.
"""
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import textwrap
import threading
import unittest

from harness import Case, clean_env, eventually, reduced
from origin import throttled
from test_data_path import digest
from wire import PATIENCE, noise

HINT = "retry-after-ms: 60"


def need(*programs):
    """Skips where one of them is missing."""
    missing = [p for p in programs if not shutil.which(p)]
    return unittest.skipIf(missing, "not installed: " + ", ".join(missing))


def python_with(module):
    """An interpreter that can import that."""
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            if subprocess.run([python, "-c", "import " + module],
                              stderr=subprocess.DEVNULL,
                              check=False).returncode == 0:
                return python
        except OSError:
            pass
    return None


class ClientCase(Case):
    def setUp(self):
        super().setUp()
        self.refused, self.lock = set(), threading.Lock()
        self.files = {}
        self.make_cast()

    # An origin is one service; a program may come with many requests at once.
    PATIENT = {"failure_cutoff": "0", "max_retries": "20"}

    def make_cast(self):
        self.proxy = self.daemon(defaults=self.PATIENT)
        self.site = self.serving(self.serve)

    def proxy_env(self):
        """How a program is told of the proxy."""
        return {"http_proxy": self.proxy.url, "HTTP_PROXY": self.proxy.url}

    def refuse(self, conn, req):
        """True the first time that a path is asked for."""
        with self.lock:
            name = (req.method, req.target)
            if name in self.refused:
                return False
            self.refused.add(name)
        conn.send(throttled(HINT))
        return True

    def serve(self, conn, req, _n):
        if self.refuse(conn, req):
            return
        path = req.target.partition("?")[0]
        if req.method in ("PUT", "POST"):
            conn.answer(201, digest(req.body))
        elif path in self.files:
            body = self.files[path]
            conn.answer(200, b"" if req.method == "HEAD" else body,
                        "Content-Length: %d" % len(body), length=False)
        else:
            conn.answer(404, "no such file")

    def run_it(self, *argv, env=None, ok=True, cwd=None, stdin=None):
        """Runs a program with http_proxy set; its standard output."""
        done = subprocess.run(
            argv, cwd=cwd or self.folder, timeout=4 * PATIENCE, check=False,
            input=stdin, stdin=subprocess.DEVNULL if stdin is None else None,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_env({
                **self.proxy_env(), "HOME": self.folder, "LC_ALL": "C",
                **(env or {})}))
        if ok:
            self.assertEqual(0, done.returncode, "%s: %s%s" % (
                argv[0], done.stdout[-1000:].decode(errors="replace"),
                done.stderr[-2000:].decode(errors="replace")))
        return done.stdout

    def absorbed(self):
        return [r for r in self.proxy.records() if r["reason"] == "-"
                and "429" in r["upstream"].split(",")]

    def check_absorbed(self, least=1):
        """The refusals came, and none of them went on."""
        # A line is written behind the answer that a program has by now.
        eventually(lambda: len(self.absorbed()) >= least, "all are logged")
        self.assertNotIn("429", {r["status"] for r in self.proxy.records()})

    def page(self, path="/page", n=100000):
        self.files[path] = noise(n)
        return self.site.url(path), self.files[path]


class Curl(ClientCase):
    @need("curl")
    @reduced
    def test_get_by_environment(self):
        url, body = self.page()
        self.assertEqual(body, self.run_it("curl", "-sSf", url))
        self.check_absorbed()

    @need("curl")
    def test_keep_alive_with_x(self):
        urls = [self.page("/%d" % i, 1000 * i)[0] for i in range(5)]
        out = self.run_it("curl", "-sSf", "-x", self.proxy.url, "-w",
                          "%{stderr}%{num_connects} ", *urls, env={
                              "http_proxy": "", "HTTP_PROXY": ""})
        self.assertEqual(b"".join(self.files["/%d" % i] for i in range(5)),
                         out)
        self.assertEqual(["/%d" % i for i in range(5)],
                         [r["path"] for r in self.proxy.wait_records(5)])
        self.check_absorbed(5)

    @need("curl")
    def test_http10(self):
        url, body = self.page()
        self.assertEqual(body, self.run_it("curl", "-sSf", "--http1.0", url))
        self.check_absorbed()

    @need("curl")
    @reduced
    def test_upload(self):
        """Over 1 MiB curl sends Expect: 100-continue."""
        for n in (10, 3 << 20):
            path = os.path.join(self.folder, "upload")
            with open(path, "wb") as f:
                f.write(noise(n))
            out = self.run_it("curl", "-sSf", "-T", path,
                              self.site.url("/put/%d" % n))
            self.assertEqual(digest(noise(n)), out.decode())
        self.check_absorbed(2)

    @need("curl")
    def test_upload_in_chunks_from_a_pipe(self):
        body = noise(300000)
        out = self.run_it("curl", "-sSf", "-T", "-", self.site.url("/pipe"),
                          stdin=body)
        self.assertEqual(digest(body), out.decode())
        self.check_absorbed()

    @need("curl")
    def test_post(self):
        out = self.run_it("curl", "-sSf", "--data-binary", "a=b&c=d",
                          self.site.url("/form"))
        self.assertEqual(digest(b"a=b&c=d"), out.decode())
        self.check_absorbed()

    @need("curl")
    def test_head(self):
        url, _ = self.page()
        out = self.run_it("curl", "-sSfI", url)
        self.assertIn(b"HTTP/1.1 200", out)
        self.assertIn(b"Content-Length: 100000", out)
        self.check_absorbed()

    @need("curl")
    def test_tunnel(self):
        """-p makes curl use CONNECT: nothing to absorb, all passes."""
        url, body = self.page()
        self.refused.add(("GET", "/page"))
        self.assertEqual(body, self.run_it("curl", "-sSf", "-p", url))
        self.assertEqual("CONNECT",
                         self.proxy.wait_records(1)[0]["method"])

    @need("curl")
    def test_unix_socket_listener(self):
        path = os.path.join(self.folder, "s")
        self.proxy = self.daemon(proxy={"listen": "unix:" + path})
        url, body = self.page()
        self.assertEqual(body, self.run_it(
            "curl", "-sSf", "--unix-socket", path, "--request-target", url,
            url, env={"http_proxy": "", "HTTP_PROXY": ""}))
        self.check_absorbed()


class Wget(ClientCase):
    @need("wget")
    def test_get(self):
        url, body = self.page()
        self.assertEqual(body, self.run_it("wget", "-q", "-O", "-", url))
        self.check_absorbed()

    @need("wget")
    def test_recursive(self):
        links = "".join('<a href="/p%d.html">x</a>' % i for i in range(5))
        self.files["/index.html"] = ("<html>%s</html>" % links).encode()
        for i in range(5):
            self.files["/p%d.html" % i] = b"<html>%d</html>" % i
        self.files["/robots.txt"] = b""
        self.run_it("wget", "-q", "-r", "-nH", "-P", "out",
                    self.site.url("/index.html"))
        got = sorted(os.listdir(os.path.join(self.folder, "out")))
        self.assertEqual(["index.html"] + ["p%d.html" % i for i in range(5)],
                         [n for n in got if n != "robots.txt"])
        self.check_absorbed(6)


class Python(ClientCase):
    @reduced
    def test_urllib(self):
        url, body = self.page()
        out = self.run_it(sys.executable, "-c", textwrap.dedent("""
            import hashlib, sys, urllib.request
            with urllib.request.urlopen(sys.argv[1]) as f:
                print(f.status, hashlib.sha256(f.read()).hexdigest())
            with urllib.request.urlopen(sys.argv[2], b"a" * 100000) as f:
                print(f.status, f.read().decode())
            """), url, self.site.url("/post"))
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
            """), self.site.url("/post"), *urls)
        self.assertEqual(["200", digest(noise(5000))] * 5 +
                         ["201", digest(b"x" * 10000)],
                         out.decode().split())
        self.check_absorbed(6)


class Node(ClientCase):
    def find_undici(self):
        """The folder to find the module in, or a skip."""
        root = subprocess.run(["npm", "root", "-g"], text=True, check=False,
                              stdout=subprocess.PIPE).stdout.strip() \
            if shutil.which("npm") else ""
        for folder in ("/usr/share/nodejs", "/usr/lib/node_modules", root):
            if os.path.isdir(os.path.join(folder or "/nowhere", "undici")):
                return folder
        self.skipTest("not installed: node-undici")
        return None

    @need("node")
    def test_fetch_with_an_agent_that_forwards(self):
        """fetch, with an agent that asks a proxy in absolute form."""
        folder = self.find_undici()
        url, body = self.page()
        out = self.run_it("node", "-e", """
            const { Pool, fetch } = require("undici");
            const pool = new Pool(process.env.http_proxy);
            const agent = { dispatch: (o, h) => pool.dispatch(
                { ...o, origin: process.env.http_proxy,
                  path: o.origin + o.path,
                  headers: ["host", new URL(o.origin).host]
                      .concat(o.headers || []) }, h) };
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
                await pool.close();
            })();
            """, url, self.site.url("/post"), env={"NODE_PATH": folder})
        self.assertEqual(["200", digest(body), "201", digest(b"x" * 5000)],
                         out.decode().split())
        self.check_absorbed(2)

    @need("node")
    def test_fetch_with_proxy_agent(self):
        """undici's ProxyAgent. Most of its versions tunnel plain HTTP as
        well: what is refused inside is opaque to a proxy (C79)."""
        folder = self.find_undici()
        url, body = self.page()
        out = self.run_it("node", "-e", """
            const { ProxyAgent, fetch } = require("undici");
            const agent = new ProxyAgent(process.env.http_proxy);
            (async () => {
                for (let i = 0; i < 2; i++) {
                    const r = await fetch(process.argv[1],
                        { dispatcher: agent });
                    const b = await r.arrayBuffer();
                    console.log(r.status, b.byteLength);
                }
                await agent.close();
            })();
            """, url, env={"NODE_PATH": folder})
        statuses = out.decode().split()[::2]
        if self.proxy.wait_records(1)[0]["method"] == "CONNECT":
            self.assertEqual(["429", "200"], statuses)
        else:
            self.assertEqual(["200", "200"], statuses)
            self.check_absorbed()
        self.assertEqual(str(len(body)), out.decode().split()[3])

    @need("node")
    def test_http_module(self):
        url, body = self.page()
        out = self.run_it("node", "-e", """
            const http = require("http"), url = process.argv[1];
            const proxy = new URL(process.env.http_proxy);
            const agent = new http.Agent({ keepAlive: true });
            const get = () => new Promise((done) => http.get({ agent,
                host: proxy.hostname, port: proxy.port, path: url,
                headers: { host: new URL(url).host } }, (r) => {
                    let n = 0;
                    r.on("data", (d) => n += d.length);
                    r.on("end", () => done(r.statusCode + " " + n));
                }));
            (async () => {
                console.log(await get());
                console.log(await get());
                agent.destroy();
            })();
            """, url)
        self.assertEqual(["200", str(len(body))] * 2, out.decode().split())
        self.check_absorbed()


class Apt(ClientCase):
    """A repository of one package; nothing on the system changes."""

    @need("apt-get", "dpkg-deb")
    def test_update_and_download(self):
        deb = self.build_package()
        self.publish(deb)
        options = self.options()
        self.run_it("apt-get", *options, "update")
        self.run_it("apt-get", *options, "download", "abided-test-package")
        got = [n for n in os.listdir(self.folder) if n.endswith(".deb")]
        self.assertEqual(1, len(got))
        with open(os.path.join(self.folder, got[0]), "rb") as f:
            self.assertEqual(digest(deb), digest(f.read()))
        self.check_absorbed(2)

    def build_package(self):
        root = os.path.join(self.folder, "package")
        os.makedirs(os.path.join(root, "DEBIAN"))
        os.chmod(root, 0o755)
        os.chmod(os.path.join(root, "DEBIAN"), 0o755)
        with open(os.path.join(root, "DEBIAN", "control"), "w",
                  encoding="ascii") as f:
            f.write(self.CONTROL)
        with open(os.path.join(root, "data"), "wb") as f:
            f.write(noise(500000))
        path = os.path.join(self.folder, "made")
        self.run_it("dpkg-deb", "--build", "--root-owner-group", root, path)
        with open(path, "rb") as f:
            return f.read()

    CONTROL = ("Package: abided-test-package\nVersion: 1.0\n"
               "Architecture: all\nMaintainer: Nobody <nobody@x.test>\n"
               "Description: a package for a test\n")

    def publish(self, deb):
        packages = (self.CONTROL + "Filename: ./pool/x.deb\nSize: %d\n"
                    "SHA256: %s\n" % (len(deb), hashlib.sha256(
                        deb).hexdigest())).encode()
        packed = gzip.compress(packages)
        release = "Suite: ./\nDate: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n"
        for name, data in (("Packages", packages), ("Packages.gz", packed)):
            release += " %s %d %s\n" % (hashlib.sha256(data).hexdigest(),
                                        len(data), name)
            self.files["/repo/./" + name] = data
            self.files["/repo/" + name] = data
        self.files["/repo/./Release"] = release.encode()
        self.files["/repo/Release"] = release.encode()
        self.files["/repo/./pool/x.deb"] = deb
        self.files["/repo/pool/x.deb"] = deb

    def options(self):
        apt = os.path.join(self.folder, "apt")
        for name in ("state/lists/partial", "cache/archives/partial", "etc",
                     "parts"):
            os.makedirs(os.path.join(apt, name))
        with open(os.path.join(apt, "status"), "wb"):
            pass
        with open(os.path.join(apt, "sources.list"), "w",
                  encoding="ascii") as f:
            f.write("deb [trusted=yes] %s ./\n" % self.site.url("/repo"))
        pairs = {
            "Dir::State": apt + "/state", "Dir::Cache": apt + "/cache",
            "Dir::State::status": apt + "/status",
            "Dir::Etc::SourceList": apt + "/sources.list",
            "Dir::Etc::SourceParts": apt + "/parts",
            "Dir::Etc::Main": "/dev/null", "Dir::Etc::Parts": apt + "/parts",
            "Acquire::http::Proxy": self.proxy.url,
            "Acquire::Retries": "0", "APT::Sandbox::User": "root",
            "Acquire::Languages": "none", "Debug::NoLocking": "1",
        }
        out = []
        for key, value in pairs.items():
            out += ["-o", "%s=%s" % (key, value)]
        return out


class Git(ClientCase):
    def git(self, *args, cwd=None, env=None):
        return self.run_it(
            "git", "-c", "user.name=T", "-c", "user.email=t@x.test", "-c",
            "init.defaultBranch=main", *args, cwd=cwd, env={
                "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
                **(env or {})}).decode()

    def repository(self):
        """A repository with some history; its path and its last commit."""
        work = os.path.join(self.folder, "work")
        self.git("init", "-q", work)
        for i in range(5):
            with open(os.path.join(work, "f%d" % i), "wb") as f:
                f.write(noise(50000, i))
            self.git("add", ".", cwd=work)
            self.git("commit", "-q", "-m", "c%d" % i, cwd=work)
        bare = os.path.join(self.folder, "repo.git")
        self.git("clone", "-q", "--bare", work, bare)
        return bare, self.git("rev-parse", "HEAD", cwd=work).strip()

    @need("git")
    def test_clone_by_the_dumb_protocol(self):
        bare, head = self.repository()
        self.git("update-server-info", cwd=bare)
        for base, _, names in os.walk(bare):
            for name in names:
                path = os.path.join(base, name)
                with open(path, "rb") as f:
                    self.files["/" + os.path.relpath(
                        path, self.folder)] = f.read()
        self.git("clone", "-q", self.site.url("/repo.git"), "copy")
        self.assert_head(head, "copy")
        self.check_absorbed(3)

    def assert_head(self, head, name):
        copy = os.path.join(self.folder, name)
        self.assertEqual(head, self.git("rev-parse", "HEAD",
                                        cwd=copy).strip())
        self.git("fsck", "--full", cwd=copy)

    @need("git")
    def test_clone_and_push_by_the_smart_protocol(self):
        bare, head = self.repository()
        self.git("config", "http.receivepack", "true", cwd=bare)
        self.serve = self.backend
        site = self.serving(self.backend)
        self.git("clone", "-q", site.url("/repo.git"), "copy")
        self.assert_head(head, "copy")
        self.check_absorbed(2)
        copy = os.path.join(self.folder, "copy")
        with open(os.path.join(copy, "big"), "wb") as f:
            f.write(noise(2000000))     # over http.postBuffer: in chunks
        self.git("add", ".", cwd=copy)
        self.git("commit", "-q", "-m", "big", cwd=copy)
        self.git("push", "-q", "origin", "main", cwd=copy)
        self.assertEqual(self.git("rev-parse", "HEAD", cwd=copy),
                         self.git("rev-parse", "main", cwd=bare))
        self.check_absorbed(4)

    def backend(self, conn, req, _n):
        """git's own CGI program behind the refusals."""
        if self.refuse(conn, req):
            return
        path, _, query = req.target.partition("?")
        env = clean_env({
            "GIT_PROJECT_ROOT": self.folder, "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path, "QUERY_STRING": query,
            "REQUEST_METHOD": req.method, "REMOTE_ADDR": "127.0.0.1",
            "REMOTE_USER": "t", "HOME": self.folder,
            "CONTENT_TYPE": req.get("Content-Type") or "",
            "CONTENT_LENGTH": str(len(req.body)),
            "GIT_CONFIG_NOSYSTEM": "1"})
        for name in ("Content-Encoding", "Git-Protocol"):
            if req.has(name):
                env["HTTP_" + name.upper().replace("-", "_")] = req.get(name)
        env["GIT_PROTOCOL"] = req.get("Git-Protocol") or ""
        done = subprocess.run(["git", "http-backend"], input=req.body,
                              stdout=subprocess.PIPE, env=env, check=False,
                              timeout=PATIENCE)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        fields = head.decode().split("\r\n")
        status = re.search(r"(?m)^Status: (\d+)", head.decode())
        conn.answer(int(status.group(1)) if status else 200, body,
                    *[f for f in fields if not f.startswith("Status:")])


if __name__ == "__main__":
    unittest.main()
