# SPDX-License-Identifier: MIT
"""TLS that abided speaks: whom it trusts, and what becomes of failures."""
import hashlib
import os
import shutil
import signal
import subprocess
import threading
import unittest

from harness import eventually, reduced
from origin import answer, throttled
from tls import (Leaf, OpensslServer, TLS10, TLS11, TLS12, TLS13, Trickle,
                 pki, secure, server_context)
from tlscase import API, TlsCase, WWW
from wire import Cut, PATIENCE, noise


def digest(data):
    return hashlib.sha256(data).hexdigest()


class UpstreamCase(TlsCase):
    def ask(self, d, o, *fields, **kw):
        """One request to an origin, for plain, of a client of its own."""
        return self.get(d, o.url("/x", scheme="http"), *fields, **kw)

    def one_worker(self, **kw):
        """Each worker has a pool and sessions of its own."""
        proxy = {"workers": "1", **kw.pop("proxy", {})}
        return self.originating(proxy=proxy, **kw)

    def assert_untrusted(self, resp):
        self.assert_own(502, "tls-certificate", resp)
        self.assert_reason("tls-certificate", resp)
        self.assertIn("error=tls_certificate_error", resp.says)

    def assert_no_tls(self, resp, error="tls_protocol_error"):
        self.assert_own(502, "tls-handshake", resp)
        self.assert_reason("tls-handshake", resp)
        self.assertIn("error=" + error, resp.says)


class Trust(UpstreamCase):
    @reduced
    def test_a_server_that_is_vouched_for_is_asked(self):
        o, d = self.secure_origin(answer(200, "x")), self.originating()
        r = self.ask(d, o)
        self.assertEqual(b"x", r.body)
        agreed = o.conns[0].sock
        self.assertEqual((API, "http/1.1", "TLSv1.3"),
                         (agreed.sni, agreed.alpn, agreed.version))
        self.assertEqual("%s:%d" % (API, o.port), o.requests[0].get("Host"))
        self.assertEqual("/x", o.requests[0].target)

    @reduced
    def test_certificate_failures_are_502_at_once(self):
        """C82: one connection, no request, no back-off. Patience would be
        needed for the back-off that is not taken."""
        leaf = self.pki.leaf
        bad = {
            "of another host": leaf(WWW),
            "expired": leaf(API, expired=True),
            "not yet valid": leaf(API, not_yet=True),
            "self-signed": leaf(API, self_signed=True),
            "of an unknown CA": pki("Unknown CA").leaf(API),
            "for clients": leaf(API, client=True),
            "with its name in the subject only": leaf(common=API),
            "for subdomains": leaf("*." + API),
            "for the domain": leaf("test"),
        }
        d = self.originating(defaults={"base_delay": "600s",
                                       "max_delay": "600s",
                                       "deadline": "3600s"})
        for n, (what, one) in enumerate(bad.items(), 1):
            with self.subTest(what):
                o = self.secure_origin(answer(200), leaf=one)
                self.assert_untrusted(self.ask(d, o))
                eventually(lambda at=o: at.refused, "the alert comes")
                self.assertEqual((1, []), (len(o.conns), o.requests))
                record = d.wait_records(n)[-1]
                self.assertEqual(("1", "tls-certificate"), (
                    record["attempts"], record["reason"]))
        # None of it counts against the service.
        good = self.secure_origin(answer(200, "x"))
        self.assertEqual(b"x", self.ask(d, good).body)

    def test_what_is_wrong_is_said_in_the_log(self):
        """A 502 tells clients the kind, the log tells operators more."""
        o = self.secure_origin(answer(200), leaf=self.pki.leaf(
            API, expired=True))
        d = self.originating()
        self.assert_untrusted(self.ask(d, o))
        d.wait_log(r"(?i)expired")

    def test_wildcards_stand_for_one_label(self):
        context = server_context(self.pki.leaf("*.wild.test"))
        d = self.originating(hosts="*.wild.test, wild.test")
        for name, ok in (("a.wild.test", True), ("wild.test", False)):
            o = self.secure_origin(answer(200, "x"), tls=context, name=name)
            if ok:
                self.assertEqual(b"x", self.ask(d, o).body)
            else:
                self.assert_untrusted(self.ask(d, o))

    def test_a_chain_with_an_intermediate(self):
        middle = self.pki.under("Middle CA")
        leaf = middle.leaf(API)
        d = self.originating()
        o = self.secure_origin(answer(200), leaf=leaf)
        self.assert_untrusted(self.ask(d, o))
        whole = os.path.join(self.folder, "chain.pem")
        with open(whole, "w", encoding="ascii") as f:
            for path in (leaf.cert, middle.ca):
                with open(path, encoding="ascii") as part:
                    f.write(part.read())
        o = self.secure_origin(answer(200, "x"), leaf=Leaf(whole, leaf.key))
        self.assertEqual(b"x", self.ask(d, o).body)

    def test_key_kinds(self):
        d = self.originating()
        for kind in ("ec", "rsa", "ed25519"):
            o = self.secure_origin(answer(200, "x"),
                                   leaf=self.pki.leaf(API, key=kind))
            self.assertEqual(b"x", self.ask(d, o).body)

    def test_addresses_need_their_own_proof_and_send_no_name(self):
        d = self.originating(hosts="127.0.0.1, [::1]")
        for host in ("127.0.0.1", "::1"):
            o = self.secure_origin(answer(200, "x"), name=host, host=host)
            self.assertEqual(b"x", self.ask(d, o).body)
            self.assertIsNone(o.conns[0].sock.sni)
            for other in (API, "127.0.0.2"):
                o = self.secure_origin(answer(200), name=host, host=host,
                                       leaf=self.pki.leaf(other))
                self.assert_untrusted(self.ask(d, o))

    def test_a_ca_that_is_removed_is_trusted_no_more(self):
        """Neither what is pooled nor a session outlives the trust."""
        o, d = self.secure_origin(answer(200, "x")), self.one_worker()
        self.assertEqual(b"x", self.ask(d, o).body)
        services = {"api": {"hosts": API, "tls": "originate"}}
        self.reload(d, self.secure_text(
            services, {"upstream_ca": pki("Unknown CA").ca},
            proxy={"workers": "1"}))
        self.assert_untrusted(self.ask(d, o))
        self.assertEqual(1, len(o.requests))
        self.reload(d, self.secure_text(services, proxy={"workers": "1"}))
        self.assertEqual(b"x", self.ask(d, o).body)

    def test_a_ca_whose_file_changes_is_read_again_by_a_reload(self):
        path = os.path.join(self.folder, "roots.pem")

        def trust(ca):
            with open(ca, encoding="ascii") as f, \
                    open(path, "w", encoding="ascii") as to:
                to.write(f.read())
        trust(pki("Unknown CA").ca)
        o = self.secure_origin(answer(200, "x"))
        d = self.one_worker(service={"upstream_ca": path})
        self.assert_untrusted(self.ask(d, o))
        trust(self.pki.ca)
        with open(d.conf, encoding="ascii") as f:
            self.reload(d, f.read())
        self.assertEqual(b"x", self.ask(d, o).body)

    def test_a_file_that_is_no_ca_keeps_the_configuration_in_force(self):
        path = os.path.join(self.folder, "roots.pem")
        with open(path, "w", encoding="ascii") as f:
            f.write("nothing\n")
        o, d = self.secure_origin(answer(200, "x")), self.one_worker()
        services = {"api": {"hosts": API, "tls": "originate"}}
        d.write(self.secure_text(services, {"upstream_ca": path},
                                 proxy={"workers": "1"}))
        d.signal(signal.SIGHUP)
        d.wait_log("reload: .*abided.conf:[0-9]+: .*roots.pem")
        self.assertEqual(b"x", self.ask(d, o).body)

    def test_the_systems_store(self):
        """SSL_CERT_FILE is OpenSSL's own word for it."""
        o = self.secure_origin(answer(200, "x"))
        service = {"upstream_ca": "system"}
        d = self.originating(service=service)
        self.assert_untrusted(self.ask(d, o))
        d = self.originating(service=service,
                             env={"SSL_CERT_FILE": self.pki.ca})
        self.assertEqual(b"x", self.ask(d, o).body)

    def test_the_systems_directory_of_hashes(self):
        """A root is looked up there by the hash of its name."""
        store = os.path.join(self.folder, "certs")
        os.mkdir(store)
        shutil.copy(self.pki.ca, os.path.join(store, "root.pem"))
        o = self.secure_origin(answer(200, "x"))
        d = self.originating(service={"upstream_ca": "system"},
                             env={"SSL_CERT_DIR": store})
        self.assert_untrusted(self.ask(d, o))   # a file, but no hash of it
        subprocess.run(["openssl", "rehash", store], check=True,
                       stdout=subprocess.DEVNULL)
        d.signal(signal.SIGHUP)
        d.wait_log("reloaded")
        self.assertEqual(b"x", self.ask(d, o).body)

    def test_a_service_may_trust_others_than_the_rest(self):
        other = pki("Unknown CA")
        d = self.originating(hosts=API, services={"www": {
            "hosts": WWW, "tls": "originate", "upstream_ca": other.ca}})
        mine, theirs = self.pki.leaf(API, WWW), other.leaf(API, WWW)
        for name, leaf, ok in ((API, mine, True), (API, theirs, False),
                               (WWW, mine, False), (WWW, theirs, True)):
            o = self.secure_origin(answer(200, "x"), name=name, leaf=leaf)
            if ok:
                self.assertEqual(b"x", self.ask(d, o).body)
            else:
                self.assert_untrusted(self.ask(d, o))


class ClientCertificate(UpstreamCase):
    def test_each_service_shows_its_own(self):
        a = self.pki.leaf("client-a", client=True)
        b = self.pki.leaf("client-b", client=True)
        d = self.originating(
            service={"upstream_cert": a.cert, "upstream_key": a.key},
            services={"www": {"hosts": WWW, "tls": "originate",
                              "upstream_cert": b.cert,
                              "upstream_key": b.key}})
        for name, leaf in ((API, a), (WWW, b)):
            o = self.secure_origin(answer(200, "x"), name=name, tls=(
                self.pki.server(API, WWW, ask=self.pki.ca)))
            self.assertEqual(b"x", self.ask(d, o).body)
            self.assertIn("Subject: CN = " + os.path.basename(
                "client-a" if leaf is a else "client-b"),
                o.conns[0].sock.text())

    def test_none_where_one_is_asked_for(self):
        for highest in (TLS12, TLS13):
            o = self.secure_origin(answer(200), tls=self.pki.server(
                ask=self.pki.ca, highest=highest))
            d = self.originating()
            self.assert_no_tls(self.ask(d, o), "tls_alert_received")
            self.assertEqual([], o.requests)


class Versions(UpstreamCase):
    def test_old_versions_are_refused(self):
        d = self.originating()
        for version in (TLS10, TLS11):
            o = self.secure_origin(answer(200), tls=self.pki.server(
                highest=version))
            self.assert_no_tls(self.ask(d, o), "tls_alert_received")
            self.assertEqual((1, []), (len(o.conns), o.requests))

    def test_tls_1_2_is_spoken(self):
        o = self.secure_origin(answer(200, "x"),
                               tls=self.pki.server(highest=TLS12))
        self.assertEqual(b"x", self.ask(self.originating(), o).body)
        self.assertEqual("TLSv1.2", o.conns[0].sock.version)

    def test_min_version(self):
        d = self.originating(tls={"min_version": "1.3"})
        o = self.secure_origin(answer(200), tls=self.pki.server(
            highest=TLS12))
        self.assert_no_tls(self.ask(d, o), "tls_alert_received")
        o = self.secure_origin(answer(200, "x"))
        self.assertEqual(b"x", self.ask(d, o).body)

    def test_a_server_without_alpn_will_do(self):
        o = self.secure_origin(answer(200, "x"), tls=self.pki.server(
            alpn=None))
        self.assertEqual(b"x", self.ask(self.originating(), o).body)


class Handshake(UpstreamCase):
    """What a server may do instead of its part."""

    def test_no_tls_there(self):
        """Plain HTTP: its complaint is no TLS record."""
        def script(conn):
            conn.more()
            conn.answer(400, "plain HTTP here")
        o = self.raw_origin(script, name=API)
        r = self.ask(self.originating(), o)
        self.assert_no_tls(r)
        self.assertEqual(1, len(o.conns))

    def test_stall_is_a_connect_timeout(self):
        for talk in (b"", b"\x16", b"\x16\x03\x03\x00\x7a\x02"):
            def script(conn, talk=talk):
                conn.more()
                conn.send(talk)
                conn.hang()
            o = self.raw_origin(script, name=API)
            d = self.originating(defaults={"connect_timeout": "200ms",
                                           "max_retries": "0"})
            r = self.ask(d, o)
            self.assert_own(504, "connect-timeout", r)
            self.assertIn("error=connection_timeout", r.says)

    @reduced
    def test_lost_connections_are_tried_again(self):
        """Nothing was sent, so any method may be repeated."""
        context = self.pki.server()

        def script(conn):
            conn.more()                 # the ClientHello is there
            if conn.ordinal == 2:
                conn.reset()
            if conn.ordinal > 2:
                secure(conn, context, server=True)
                conn.answer(200, conn.request().body)
        o = self.raw_origin(script, name=API)
        r = self.ask(self.originating(), o, method="POST", body=b"once")
        self.assertEqual(b"once", r.body)
        self.assertEqual((3, 1), (len(o.conns), len(o.requests)))

    def test_lost_for_good(self):
        o = self.raw_origin(lambda conn: conn.more(), name=API)
        d = self.originating(defaults={"max_retries": "2"})
        self.assert_own(502, "connect-failed", self.ask(d, o))
        self.assertEqual(3, len(o.conns))

    def test_byte_by_byte(self):
        def script(conn):
            conn.sock = Trickle(conn.sock)
            secure(conn, context, server=True)
            conn.request()
            conn.answer(200, noise(300))
        for version in (TLS12, TLS13):
            context = self.pki.server(highest=version)
            o = self.raw_origin(script, name=API)
            self.assertEqual(noise(300), self.ask(self.originating(),
                                                  o).body)

    def test_client_that_leaves_meanwhile(self):
        gate = threading.Event()

        def script(conn):
            conn.more()
            gate.set()
            conn.rest()
        o, d = self.raw_origin(script, name=API), self.originating()
        c = self.connect(d)
        c.ask("GET", o.url(scheme="http"))
        self.assertTrue(gate.wait(PATIENCE))
        c.reset()
        eventually(o.gone, "upstream is left as well")
        self.assertEqual("client-gone", d.wait_records(1)[0]["reason"])

    def test_stop_meanwhile(self):
        gate = threading.Event()

        def script(conn):
            conn.more()
            gate.set()
            conn.hang()
        o = self.raw_origin(script, name=API)
        d = self.originating(proxy={"drain_timeout": "100ms"})
        c = self.connect(d)
        c.ask("GET", o.url(scheme="http"))
        self.assertTrue(gate.wait(PATIENCE))
        d.signal(signal.SIGTERM)
        self.assertEqual(0, d.wait_exit())


class Sessions(UpstreamCase):
    @reduced
    def test_the_second_connection_resumes(self):
        for version in (TLS12, TLS13):
            o = self.secure_origin(
                answer(200, "x", "Connection: close"),
                tls=self.pki.server(highest=version))
            d = self.one_worker()
            for _ in range(3):
                self.assertEqual(b"x", self.ask(d, o).body)
            self.assertEqual([False, True, True],
                             [conn.sock.reused for conn in o.conns])

    def test_connections_made_at_once_resume_each(self):
        """A server gives two tickets, so that two can."""
        together = threading.Barrier(2, timeout=PATIENCE)

        def script(conn):
            conn.request()
            if conn.ordinal > 1:
                together.wait()
            conn.answer(200, "x", "Connection: close")
        o = self.secure_raw(script, tls=self.pki.server(tickets=2))
        d = self.one_worker()
        self.assertEqual(b"x", self.ask(d, o).body)
        clients = [self.connect(d), self.connect(d)]
        for c in clients:
            c.ask("GET", o.url(scheme="http"))
        for c in clients:
            self.assertEqual(b"x", c.response().body)
        self.assertEqual([False, True, True],
                         [conn.sock.reused for conn in o.conns])

    def test_a_connection_that_is_cut_spoils_no_other_session(self):
        """Of its two tickets, the newer one is taken for a bad one."""
        def script(conn):
            conn.request()
            conn.send(answer(200, "x", "Content-Length: 2", length=False))
            conn.cut()
        o = self.secure_raw(script, tls=self.pki.server(tickets=2))
        d = self.one_worker()
        for _ in range(2):
            with self.assertRaises(Cut):
                self.ask(d, o)
        self.assertEqual([False, True],
                         [conn.sock.reused for conn in o.conns])

    def test_a_server_that_forgets_gets_a_full_handshake(self):
        """Another one took its place, with other ticket keys."""
        contexts = [self.pki.server(), self.pki.server()]

        def script(conn):
            secure(conn, contexts[conn.ordinal - 1], server=True)
            conn.request()
            conn.answer(200, "x", "Connection: close")
        o, d = self.raw_origin(script, name=API), self.one_worker()
        for _ in range(2):
            self.assertEqual(b"x", self.ask(d, o).body)
        self.assertEqual([False, False],
                         [conn.sock.reused for conn in o.conns])

    def test_sessions_do_not_cross_services(self):
        """One server, two services with certificates of their own."""
        a = self.pki.leaf("client-a", client=True)
        b = self.pki.leaf("client-b", client=True)
        context = self.pki.server(API, WWW, ask=self.pki.ca)
        o = self.secure_origin(answer(200, "x", "Connection: close"),
                               tls=context)
        d = self.one_worker(
            service={"upstream_cert": a.cert, "upstream_key": a.key},
            services={"www": {"hosts": WWW, "tls": "originate",
                              "upstream_cert": b.cert,
                              "upstream_key": b.key}})
        for name in (API, WWW, API, WWW):
            self.assertEqual(b"x", self.get(d, "http://%s:%d/" % (
                name, o.port)).body)
        self.assertEqual(["client-a", "client-b"] * 2, [
            conn.sock.tls.getpeercert()["subject"][0][0][1]
            for conn in o.conns])


class Data(UpstreamCase):
    def test_a_body_cut_short_is_cut_for_the_client(self):
        """Until-close framing: only close_notify ends it."""
        def script(conn):
            conn.request()
            conn.send(answer(200, "half of it", length=False))
            if conn.ordinal == 1:
                conn.cut()
        o, d = self.secure_raw(script), self.originating()
        with self.assertRaises(Cut):
            self.ask(d, o)
        self.assertEqual(b"half of it", self.ask(d, o).body)

    def test_a_body_of_known_length_is_whole_without_close_notify(self):
        def script(conn):
            conn.request()
            conn.answer(200, "all of it")
            conn.cut()
        o, d = self.secure_raw(script), self.originating()
        for _ in range(2):
            self.assertEqual(b"all of it", self.ask(d, o).body)

    def test_records_cut_in_the_middle(self):
        def script(conn):
            conn.request()
            tls = conn.sock
            tls.tls.write(answer(200, noise(10000)))
            conn.sock.sock.sendall(tls.take()[:5000])
            conn.cut()
        o, d = self.secure_raw(script), self.originating(
            defaults={"retry_reset": "never"})
        self.assert_own(502, "connection-lost", self.ask(d, o))

    def test_garbage_between_records(self):
        def script(conn):
            conn.request()
            conn.send(answer(200, "x", "Content-Length: 100", length=False))
            conn.sock.sock.sendall(b"garbage of a record")
            conn.rest()
        o, d = self.secure_raw(script), self.originating()
        with self.assertRaises(Cut):
            self.ask(d, o)

    @reduced
    def test_big_bodies_both_ways(self):
        up, down = noise(6 << 20, 1), noise(8 << 20, 2)

        def script(conn, req, _n):
            conn.answer(200, down, "X-Got: " + digest(req.body))
        o, d = self.secure_serving(script), self.originating()
        r = self.ask(d, o, method="PUT", body=up)
        self.assertEqual((digest(up), digest(down)),
                         (r.get("X-Got"), digest(r.body)))

    def test_upload_that_is_streamed(self):
        """Over all buffers: sent once, as it comes."""
        body = noise(3 << 20)

        def script(conn, req, _n):
            conn.answer(200, digest(req.body))
        o, d = self.secure_serving(script), self.originating(
            defaults={"body_buffer": "1KiB", "body_spill": "0"})
        r = self.ask(d, o, method="POST", body=body)
        self.assertEqual(digest(body).encode(), r.body)

    @reduced
    def test_429_is_absorbed_on_one_connection(self):
        o = self.secure_origin(throttled("retry-after-ms: 30"),
                               throttled(), answer(200, "x"))
        d = self.originating()
        r = self.ask(d, o, method="POST", body=noise(100000))
        self.assertEqual(b"x", r.body)
        self.assertEqual([noise(100000)] * 3, [q.body for q in o.requests])
        self.assertEqual(1, len(o.conns))
        self.assertEqual("429,429,200", d.wait_records(1)[0]["upstream"])

    def test_early_answer_to_an_upload(self):
        def script(conn):
            conn.request(body=False)
            conn.answer(413, "too much")
            conn.rest()
        o, d = self.secure_raw(script), self.originating(
            defaults={"body_buffer": "1KiB", "body_spill": "0"})
        c = self.connect(d)
        c.ask("POST", o.url(scheme="http"), "Content-Length: 10000000")
        c.send(b"x" * 50000)
        self.assert_status(413, c.response("POST"))

    def test_slow_reader_holds_the_server_back(self):
        big, sums, piece = 64 << 20, [], noise(1 << 20)

        def script(conn):
            conn.request()
            conn.send(answer(200, b"", "Content-Length: %d" % big,
                             length=False))
            total = hashlib.sha256()
            for _ in range(big // len(piece)):
                conn.send(piece)
                total.update(piece)
            sums.append(total.hexdigest())
        o, d = self.secure_raw(script), self.originating()
        c, total = self.connect(d), hashlib.sha256()
        base = d.peak()
        c.ask("GET", o.url(scheme="http"))
        c.head(lambda start, fields: start)
        c.exactly(big, total.update)
        self.assertEqual([total.hexdigest()], eventually(
            lambda: sums, "all is sent"))
        self.assertLess(d.peak() - base, 32 << 20)


class Idle(UpstreamCase):
    """A pooled connection whose server goes on talking."""

    def test_close_notify_ends_it_at_once(self):
        """A FIN need not follow; a request must not run into it."""
        def script(conn):
            conn.request()
            conn.answer(200, "%d" % conn.ordinal)
            conn.sock.notify()
            conn.rest()
        o, d = self.secure_raw(script), self.one_worker()
        self.assertEqual(b"1", self.ask(d, o, method="POST", body=b"").body)
        eventually(o.gone, "it is closed from our side")
        self.assertEqual(b"2", self.ask(d, o, method="POST", body=b"").body)
        self.assertEqual(2, len(o.requests))

    def test_bytes_that_nobody_asked_for_end_it(self):
        def script(conn):
            conn.request()
            conn.answer(200, "%d" % conn.ordinal)
            if conn.ordinal == 1:
                conn.answer(200, "poison")
            conn.rest()
        o, d = self.secure_raw(script), self.one_worker()
        self.assertEqual(b"1", self.ask(d, o).body)
        eventually(o.gone, "it is closed from our side")
        self.assertEqual(b"2", self.ask(d, o).body)

    def test_key_update_while_idle_and_while_awaited(self):
        s = self.openssl_server("-tls1_3")
        d = self.one_worker()
        c = self.connect(d)
        for n, letter in enumerate("KkK"):
            c.ask("GET", "http://%s:%d/%d" % (API, s.port, n))
            s.wait(r"GET /%d HTTP" % n)
            s.order(letter)
            s.say("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d" % n)
            self.assertEqual(b"%d" % n, c.response().body)
            s.order(letter)             # now nothing is awaited
        self.assertEqual(1, s.count("BEGIN SSL SESSION"))

    def test_renegotiation_by_the_server_does_no_harm(self):
        """TLS 1.2: refused or done, but no request is lost or doubled."""
        s = self.openssl_server("-tls1_2")
        d = self.one_worker(defaults={"retry_reset": "never",
                                      "response_timeout": "5s"})
        c = self.connect(d)
        c.ask("GET", "http://%s:%d/1" % (API, s.port))
        s.wait(r"GET /1 HTTP")
        s.order("r")
        s.say("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1")
        r = c.response()
        if r.status != 200:
            self.assert_own(502, "connection-lost", r)
        self.assertEqual(1, s.count(r"GET /1 HTTP"))

    def openssl_server(self, *args):
        leaf = self.pki.leaf(API)
        s = OpensslServer(leaf, *args)
        self.addCleanup(s.close)
        return s


class AbsoluteHttps(UpstreamCase):
    """GET https://... to the proxy itself."""

    @reduced
    def test_any_host_may_be_asked_for(self):
        o = self.secure_origin(throttled(), answer(200, "x"))
        d = self.secure_daemon()
        r = self.get(d, o.url("/x?y"))
        self.assertEqual(b"x", r.body)
        req = o.requests[1]
        self.assertEqual(("/x?y", o.authority),
                         (req.target, req.get("Host")))

    def test_it_is_verified_as_well(self):
        o = self.secure_origin(answer(200), leaf=self.pki.leaf(WWW))
        self.assert_untrusted(self.get(self.secure_daemon(), o.url()))

    def test_plain_and_tls_do_not_share_connections(self):
        """One port that speaks both, by its first byte."""
        context = self.pki.server()

        def script(conn):
            conn.more()
            if conn.buf[0] == 22:
                secure(conn, context, server=True)
            while True:
                if conn.request() is None:
                    return
                conn.answer(200, "tls" if hasattr(conn.sock, "alpn")
                            else "plain")
        o = self.raw_origin(script, name=API)
        d = self.secure_daemon(proxy={"workers": "1"})
        c = self.connect(d)
        for scheme, says in (("https", b"tls"), ("http", b"plain")) * 2:
            self.assertEqual(says, c.get(o.url(scheme=scheme)).body)
        self.assertEqual(2, len(o.conns))


if __name__ == "__main__":
    unittest.main()
