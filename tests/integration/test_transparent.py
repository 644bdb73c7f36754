# SPDX-License-Identifier: MIT
"""Connections that netfilter redirects to a transparent listener.

All of it happens in a network namespace of this process: see netns.py.
"""
import os
import signal
import socket
import subprocess
import unittest

import netns
from harness import Client, clean_env, eventually, reduced
from netns import CLIENT, CLIENT6, SERVER, SERVER6, SPARE
from origin import answer, throttled
from proxies import tunnels
from tls import client_context
from tlscase import API, TlsCase, WWW, own_ca
from wire import PATIENCE, Reset

ALLOWED = "127.0.0.0/8, ::1/128, 192.0.2.0/24, 2001:db8::/32"


def setUpModule():      # pylint: disable=invalid-name
    netns.enter()


def tearDownModule():   # pylint: disable=invalid-name
    netns.leave()


class Transparent(TlsCase):
    def redirecting(self, services=None, tls=None, proxy=None, **kw):
        """A daemon, and rules that lead clients to it."""
        d = self.secure_daemon(services, tls, {
            "listen": "127.0.0.1:0, transparent:0.0.0.0:0, "
                      "transparent:[::]:0",
            "allow_destinations": ALLOWED,
            "allow_clients": "192.0.2.0/24, 2001:db8::/32, 127.0.0.0/8",
            **(proxy or {})}, **kw)
        netns.redirect(d.at[1][1], d.at[2][1])
        return d

    def opening(self, hosts=API, service=None, **kw):
        """One that intercepts these hosts; what clients trust is its ca."""
        cert, key = own_ca(*hosts.split(", "))
        d = self.redirecting(
            {"api": {"hosts": hosts, "tls": "intercept", **(service or {})},
             **kw.pop("services", {})}, {"ca_cert": cert, "ca_key": key},
            **kw)
        d.ca = cert
        return d

    def client(self, port, host=SERVER):
        """A client that means to talk to host."""
        source = CLIENT6 if ":" in host else CLIENT
        c = Client((host, port), source=source)
        self.clients.append(c)
        return c

    def blind(self, d, o, name=API, host=SERVER, **kw):
        """A client whose TLS is with the origin."""
        c = self.client(o.port, host)
        return d, c.secure(client_context(self.pki.ca, **kw), name)

    def curl(self, *args, before=(), user=None):
        done = subprocess.run(
            [*before, "curl", "-sS", "--max-time", str(int(PATIENCE)), *args],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=clean_env(), timeout=PATIENCE + 5, user=user, check=False)
        self.assertEqual(0, done.returncode, done.stdout)
        return done.stdout

    def assert_closed(self, c, reset=True):
        """It ends, by RST or by FIN, and not a byte was said."""
        try:
            got, how = c.rest(), False
        except Reset as e:
            got, how = e.got, True
        self.assertEqual((b"", reset), (got, how))

    def record(self, d, n=1):
        return d.wait_records(n)[n - 1]


class Plain(Transparent):
    """HTTP in the clear."""

    @reduced
    def test_a_request_goes_where_its_host_leads(self):
        o = self.origin(throttled("Retry-After: 0"), answer(200, "fine"),
                        name=API)
        d = self.redirecting()
        out = self.curl("-i", "--interface", CLIENT, "--resolve",
                        "%s:%d:%s" % (API, o.port, SERVER), o.url("/x?y"))
        self.assertIn("HTTP/1.1 200", out)
        self.assertTrue(out.endswith("fine"))
        self.assertIn("attempts=2", out)
        self.assertEqual(["/x?y"] * 2, [r.target for r in o.requests])
        self.assertEqual(o.authority, o.requests[0].get("Host"))
        r = self.record(d)
        self.assertEqual((CLIENT, "http", o.authority),
                         (r["client"], r["scheme"], r["host"]))

    def test_one_connection_may_ask_several_hosts(self):
        o = self.origin(answer(200, "x"))
        self.redirecting()
        c = self.client(o.port)
        for host in (API, WWW, API):
            self.assert_status(200, c.get("/", "Host: " + host))
        self.assertEqual([API, WWW, API], [
            r.get("Host").split(":")[0] for r in o.requests])

    def test_without_a_host_the_address_counts(self):
        o = self.origin(answer(200, "x"), host=SERVER)
        self.redirecting()
        c = self.client(o.port)
        r = c.get("/", version="HTTP/1.0", host=False)
        self.assert_status(200, r)
        self.assertEqual("%s:%d" % (SERVER, o.port),
                         o.requests[0].get("Host"))

    def test_ipv6(self):
        o = self.origin(answer(200, "x"), host=SERVER6)
        d = self.redirecting()
        r = self.client(o.port, SERVER6).get("/", "Host: [%s]" % SERVER6)
        self.assert_status(200, r)
        self.assertEqual(CLIENT6, self.record(d)["client"])

    def test_the_head_may_come_in_single_bytes(self):
        o = self.origin(answer(200, "x"))
        self.redirecting()
        c = self.client(o.port)
        for byte in b"\r\nPOST / HTTP/1.1\r\nHost: api.test\r\n" \
                    b"Content-Length: 2\r\n\r\nab":
            c.send(bytes([byte]))
        self.assert_status(200, c.response())
        self.assertEqual(b"ab", o.requests[0].body)

    def test_a_host_that_is_denied_is_denied(self):
        o = self.origin(answer(200))
        self.redirecting(proxy={"deny_destinations": "www.test"})
        c = self.client(o.port)
        self.assert_own(403, "denied", c.get("/", "Host: " + WWW))

    def test_absolute_form_and_asterisk_are_a_servers_to_take(self):
        o = self.origin(answer(200, "x"))
        self.redirecting()
        c = self.client(o.port)
        self.assert_status(200, c.get("http://www.test/y"))
        self.assert_status(200, c.get("*", "Host: " + API, method="OPTIONS"))
        self.assertEqual([("/y", "www.test"), ("*", "api.test")], [
            (r.target, r.get("Host").split(":")[0]) for r in o.requests])
        c.ask("GET", "https://api.test/")
        self.assert_own(421, "misdirected", c.response())

    def test_connect_is_no_request_of_a_servers(self):
        o = self.origin(answer(200, "x"))
        self.redirecting()
        c = self.client(o.port)
        self.assert_status(200, c.get("/", "Host: " + API))
        r = c.open_tunnel("api.test:%d" % o.port)
        self.assert_own(400, "bad-request", r)

    def test_a_service_that_originates_does_so(self):
        o = self.secure_origin(answer(302, b"", "Location: https://api.test/"))
        self.redirecting({"api": {"hosts": API, "tls": "originate"}})
        r = self.client(o.port).get("/", "Host: " + API)
        self.assert_status(302, r)
        self.assertEqual("http://api.test/", r.get("Location"))

    def test_nobody_is_asked_for_a_password(self):
        users = os.path.join(self.folder, "users")
        with open(users, "w", encoding="ascii") as f:
            f.write("ann:$6$salt$%s\n" % ("x" * 86))
        os.chmod(users, 0o600)
        o = self.origin(answer(200, "x"))
        self.redirecting(proxy={"auth": users})
        self.assert_status(200, self.client(o.port).get("/", "Host: " + API))


class Opened(Transparent):
    """TLS for a name that is intercepted."""

    @reduced
    def test_a_429_is_absorbed(self):
        o = self.secure_origin(throttled("Retry-After: 0"), answer(200, "ok"))
        d = self.opening()
        out = self.curl("-i", "--interface", CLIENT, "--cacert", d.ca,
                        "--resolve", "%s:%d:%s" % (API, o.port, SERVER),
                        o.url("/x"))
        self.assertIn("HTTP/1.1 200", out)
        self.assertIn("attempts=2", out)
        r = self.record(d)
        self.assertEqual(("https", o.authority, "api"),
                         (r["scheme"], r["host"], r["service"]))
        self.assertEqual(API, o.conns[0].sock.sni)

    def test_the_hello_may_come_in_single_bytes(self):
        o = self.secure_origin(answer(200, "ok"))
        d = self.opening()
        c = self.client(o.port)
        send = c.sock.sendall

        class Slow:
            def __getattr__(self, name):
                return getattr(sock, name)

            def sendall(self, data):
                for byte in bytes(data):
                    send(bytes([byte]))
        sock, c.sock = c.sock, Slow()
        c.secure(client_context(d.ca), API)
        self.assert_status(200, c.get("/", "Host: " + o.authority))

    def test_another_host_inside_is_refused(self):
        o = self.secure_origin(answer(200, "ok"))
        d = self.opening(API + ", " + WWW)
        c = self.client(o.port).secure(client_context(d.ca), API)
        self.assert_own(421, "misdirected", c.get(
            "/", "Host: %s:%d" % (WWW, o.port)))

    def test_the_name_wins_over_the_address(self):
        """Where it was meant to go plays no part: DNS of ours does."""
        o = self.secure_origin(answer(200, "ok"))
        d = self.opening()
        c = self.client(o.port, SPARE).secure(client_context(d.ca), API)
        self.assert_status(200, c.get("/", "Host: " + o.authority))

    def test_a_client_that_distrusts_the_ca_is_in_the_log(self):
        o = self.secure_origin(answer(200, "ok"))
        d = self.opening()
        with self.assertRaises(OSError):
            self.client(o.port).secure(client_context(self.pki.ca), API)
        self.assertEqual("client-tls", self.record(d)["reason"])


class Tunnel(Transparent):
    """All else goes on to where it was meant to go."""

    @reduced
    def test_a_name_that_is_not_listed_goes_to_its_address(self):
        o = self.secure_origin(throttled("Retry-After: 0"), host=SERVER,
                               leaf=self.pki.leaf("unknown.test"))
        d, c = self.blind(self.redirecting(), o, "unknown.test")
        self.assertIn("Issuer: CN = Test CA", c.sock.text())
        self.assert_status(429, c.get("/", "Host: unknown.test"))
        c.close()
        r = self.record(d)
        self.assertEqual(
            ("CONNECT", "tunnel", "unknown.test:%d" % o.port, SERVER, "200"),
            (r["method"], r["scheme"], r["host"], r["address"], r["status"]))
        self.assertEqual("unknown.test", o.conns[0].sock.sni)
        self.assertEqual([], [q for q in self.names.questions
                              if q[0] == "unknown.test"])

    def test_tunnel_of_a_service_wins_over_a_wildcard(self):
        o = self.secure_origin(answer(200, "x"), host=SERVER)
        d = self.opening("*.test, other.test", services={
            "pinned": {"hosts": API, "tls": "tunnel"}})
        d, c = self.blind(d, o)
        self.assertIn("Issuer: CN = Test CA", c.sock.text())
        c.close()
        self.assertEqual("pinned", self.record(d)["service"])

    def test_without_a_name_the_address_counts(self):
        o = self.secure_origin(answer(200, "x"), host=SERVER,
                               leaf=self.pki.leaf(SERVER))
        d, c = self.blind(self.opening(), o, SERVER)
        self.assert_status(200, c.get("/", "Host: " + API))
        self.assertIsNone(o.conns[0].sock.sni)
        c.close()
        self.assertEqual("%s:%d" % (SERVER, o.port), self.record(d)["host"])

    def test_ipv6(self):
        o = self.secure_origin(answer(200, "x"), host=SERVER6)
        d, c = self.blind(self.redirecting(), o, host=SERVER6)
        self.assert_status(200, c.get("/", "Host: " + API))
        c.close()
        self.assertEqual(SERVER6, self.record(d)["address"])

    def test_another_protocol_passes_byte_by_byte(self):
        greeting = b"SSH-2.0-OpenSSH_9.2 Debian\r\n"

        def echo(conn):
            conn.exactly(len(greeting))
            conn.send(b"\0" + greeting)
            while conn.more():
                conn.send(bytes(conn.buf))
                conn.buf.clear()
        o = self.raw_origin(echo, host=SERVER)
        d = self.redirecting(proxy={"connect_ports": "443"})
        c = self.client(o.port)
        for byte in greeting:
            c.send(bytes([byte]))
        self.assertEqual(b"\0" + greeting, c.exactly(len(greeting) + 1))
        c.send(b"x" * 100000)
        self.assertEqual(b"x" * 100000, c.exactly(100000))
        c.end_sending()
        self.assertTrue(c.at_end())
        self.assertEqual("%s:%d" % (SERVER, o.port), self.record(d)["host"])

    def pair(self, rate):
        """A daemon, an origin, and two clients that have said nothing yet."""
        o = self.secure_origin(answer(200, "x"), host=SERVER)
        d = self.redirecting({"api": {"hosts": API, "rate": rate}})
        return d, o, self.client(o.port), self.client(o.port)

    def test_tunnels_are_paced_as_their_service_says(self):
        """As with CONNECT: C79."""
        d, _, *both = self.pair("30/min")
        for c in both:
            c.send(hello(API))
        self.assertEqual("api", d.wait_parked()[0]["service"])
        for c in both:
            self.assertTrue(c.more())

    def test_a_client_that_leaves_while_parked_is_let_go(self):
        d, o, first, second = self.pair("6/min")
        first.send(hello(API))
        self.assertTrue(first.more())
        second.send(hello(API))
        d.wait_parked()
        second.close()
        self.assertEqual("client-gone", self.record(d)["reason"])
        self.assertEqual(1, len(o.conns))


class Parents(Transparent):
    """Where another proxy stands on the way."""

    def behind(self, defaults=None, **kw):
        p = self.raw_origin(tunnels)
        return p, self.redirecting(defaults={
            "parent_proxy": "http://" + p.authority, **(defaults or {})}, **kw)

    @reduced
    def test_it_is_asked_by_name(self):
        o = self.secure_origin(answer(200, "x"))
        p, d = self.behind()
        d, c = self.blind(d, o, host=SPARE)
        self.assert_status(200, c.get("/", "Host: " + API))
        self.assertEqual(o.authority, p.requests[0].target)
        c.close()
        r = self.record(d)
        self.assertEqual((p.authority, SPARE), (r["parent"], r["address"]))

    def test_it_is_asked_by_address_without_a_name(self):
        o = self.secure_origin(answer(200, "x"),
                               leaf=self.pki.leaf(SPARE))
        p, d = self.behind()
        d, c = self.blind(d, o, SPARE, SPARE)
        self.assert_status(200, c.get("/", "Host: " + API))
        self.assertEqual("%s:%d" % (SPARE, o.port), p.requests[0].target)

    def test_the_address_counts_in_no_proxy(self):
        o = self.secure_origin(answer(200, "x"), host=SERVER)
        p, d = self.behind({"no_proxy": "192.0.2.0/24"})
        d, c = self.blind(d, o)
        self.assert_status(200, c.get("/", "Host: " + API))
        self.assertEqual([], p.conns)

    def test_the_address_counts_in_deny_destinations(self):
        p, d = self.behind(proxy={"allow_destinations": "127.0.0.0/8",
                                  "deny_destinations": "192.0.2.0/24"})
        c = self.client(443)
        c.send(hello(API))
        self.assert_closed(c)
        self.assertEqual("denied", self.record(d)["reason"])
        self.assertEqual([], p.conns)

    def test_a_refusal_ends_it(self):
        p = self.origin(answer(403))
        d = self.redirecting(defaults={
            "parent_proxy": "http://" + p.authority})
        c = self.client(443)
        c.send(hello(API))
        self.assert_closed(c)
        r = self.record(d)
        self.assertEqual("parent-proxy", r["reason"])
        self.assertIn("answered 403", r["error"])


def hello(name):
    """A ClientHello as bytes."""
    import ssl      # pylint: disable=import-outside-toplevel
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = client_context().wrap_bio(into, out, server_hostname=name)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


class Refused(Transparent):
    """What goes nowhere, and how that looks: nothing is said, for nobody
    knows in which language."""

    def say(self, d, port, data, reason, host=SERVER):
        c = self.client(port, host)
        c.send(data)
        self.assert_closed(c)
        r = self.record(d)
        self.assertEqual((reason, "0"), (r["reason"], r["status"]))
        return r

    def test_an_address_that_is_denied(self):
        o = self.secure_origin(answer(200), host=SERVER)
        d = self.redirecting(proxy={"allow_destinations": "127.0.0.0/8"})
        r = self.say(d, o.port, hello(API), "denied")
        self.assertEqual((API, SERVER), (r["host"].split(":")[0],
                                         r["address"]))
        self.assertEqual([], o.conns)

    def test_a_name_opens_no_address(self):
        """The name is the client's word: any client could say it."""
        o = self.secure_origin(answer(200), host=SERVER)
        d = self.redirecting(proxy={"allow_destinations": API})
        self.say(d, o.port, hello(API), "denied")
        self.assertEqual([], o.conns)

    def test_a_name_that_is_denied(self):
        o = self.secure_origin(answer(200), host=SERVER)
        d = self.redirecting(proxy={"deny_destinations": API})
        self.say(d, o.port, hello(API), "denied")
        self.assertEqual([], o.conns)

    def test_nobody_listens_there(self):
        with socket.create_server((SERVER, 0)) as s:
            port = s.getsockname()[1]
        d = self.redirecting(defaults={"max_retries": "1"})
        r = self.say(d, port, hello(API), "connect-failed")
        self.assertEqual("2", r["attempts"])

    def test_a_hello_that_no_server_should_answer(self):
        for bad in (hello("a.test").replace(b"a.test", b"1.2.34"),
                    b"\x16\x03\x01\x00\x00", b"\x16\x03\x01\x00\x05\x02"):
            d = self.redirecting()
            self.say(d, 443, bad, "client-tls")

    def test_a_client_that_says_nothing(self):
        d = self.redirecting(defaults={"head_timeout": "50ms"})
        for part in (b"", b"GE", hello(API)[:20]):
            c = self.client(443)
            c.send(part)
            self.assert_closed(c)
        self.assertEqual(["client-timeout"] * 3,
                         [r["reason"] for r in d.wait_records(3)])

    def test_a_client_that_leaves_early(self):
        self.redirecting()
        for part in (b"", b"GE", hello(API)[:20]):
            c = self.client(443)
            c.send(part)
            c.end_sending()
            self.assert_closed(c, reset=False)

    def test_a_connection_that_nobody_redirected(self):
        d = self.redirecting()
        for n in (1, 2):
            c = self.connect((d.at[n][0].replace("0.0.0.0", "127.0.0.1"),
                              d.at[n][1]) if n == 1 else ("::1", d.at[n][1]))
            self.assert_closed(c, reset=False)
        m = d.wait_log("warn .*refused by a transparent listener: .*")
        self.assertIn("no netfilter rule", m.group())

    def test_a_client_that_is_not_allowed(self):
        d = self.redirecting(proxy={"allow_clients": "192.0.2.99"})
        self.assert_closed(self.client(443), reset=False)
        d.wait_log("client 192.0.2.1:.* not in proxy.allow_clients")

    def test_the_daemon_does_not_wait_for_first_bytes_to_end(self):
        d = self.redirecting()
        c = self.client(443)
        c.send(hello(API)[:20])
        d.log.wait("ready")
        eventually(lambda: d.fds() > d.base_fds, "it is accepted")
        d.signal(signal.SIGTERM)
        self.assertEqual(0, d.wait_exit())
        self.assert_closed(c, reset=False)


class Loops(Transparent):
    """A rule that takes our own connections too."""

    def everything(self, d):
        netns.rules("""
table inet abided {
  chain out {
    type nat hook output priority -100;
    ip daddr %s tcp dport 1-65535 redirect to :%d
  }
}
""" % (SPARE, d.at[1][1]))

    def test_a_tunnel_that_comes_back_is_cut(self):
        d = self.redirecting()
        self.everything(d)
        c = self.client(443, SPARE)
        c.send(hello("loop.test"))
        self.assert_closed(c, reset=False)
        self.assertIn("loop", {r["reason"] for r in d.wait_records(2)})
        d.wait_log("err .*redirected back to it: exclude the user")
        self.assertEqual(2, len(d.records()))

    def test_a_request_that_comes_back_is_refused(self):
        self.names.zone["loop.test"] = [SPARE]
        d = self.redirecting(defaults={"max_retries": "0"})
        self.everything(d)
        r = self.client(8080, SPARE).get("/", "Host: loop.test")
        self.assert_own(502, None, r)
        self.assertIn("loop", {r["reason"] for r in d.wait_records(2)})

    def test_our_own_listeners_are_no_destination(self):
        d = self.redirecting(proxy={"listen": "127.0.0.1:0, "
                                    "transparent:0.0.0.0:31290, "
                                    "transparent:[::]:31290"})
        c = self.client(31290, "127.0.0.1")
        self.assert_closed(c, reset=False)
        d.wait_log("refused by a transparent listener")


class Router(Transparent):
    """Clients on another machine, redirected on their way through ours."""

    def test_a_client_of_the_network_behind_us(self):
        lan = netns.Lan()
        self.addCleanup(lan.close)
        o = self.origin(throttled("Retry-After: 0"), answer(200, "fine"),
                        name=API)
        s = self.secure_origin(throttled("Retry-After: 0"), answer(200, "ok"))
        d = self.opening(proxy={"allow_clients": "198.51.100.0/24"})
        netns.rules("""
table inet abided {
  chain in {
    type nat hook prerouting priority -100;
    iifname "lan0" tcp dport { %d, %d } redirect to :%d
  }
}
""" % (o.port, s.port, d.at[1][1]))
        where = "%s:%%d:203.0.113.9" % API
        self.assertEqual("fine", self.curl(
            "--resolve", where % o.port, o.url(), before=lan.enter))
        self.assertEqual("ok", self.curl(
            "--resolve", where % s.port, "--cacert", d.ca, s.url(),
            before=lan.enter))
        self.assertEqual({lan.THERE},
                         {r["client"] for r in d.wait_records(2)})


class Manual(Transparent):
    """The rules of docs/TLS.md."""

    @unittest.skipUnless(os.getuid() == 0, "needs a second user: run as root")
    def test_the_daemons_own_user_is_excluded(self):
        o = self.secure_origin(answer(200, "ok"), host=SERVER)
        d = self.redirecting()
        netns.rules("""
table inet abided {
  chain output {
    type nat hook output priority -100;
    meta skuid != root tcp dport { 80, 443, %d } redirect to :%d
  }
}
""" % (o.port, d.at[1][1]))
        out = self.curl("-k", "--resolve", "%s:%d:%s" % (
            API, o.port, SERVER), o.url(), user=65534)
        self.assertEqual("ok", out)
        self.assertEqual(SERVER, self.record(d)["address"])
        self.assertEqual(1, len(d.records()))


if __name__ == "__main__":
    unittest.main()
