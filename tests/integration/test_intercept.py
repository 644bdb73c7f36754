# SPDX-License-Identifier: MIT
"""TLS behind CONNECT: what is listed is opened, all else is passed on."""
import ssl
import threading
import unittest

from harness import eventually, reduced
from origin import answer, throttled
from tls import client_context
from tlscase import API, TlsCase, WWW
from wire import PATIENCE, Ragged, noise


class Blind(TlsCase):
    """Hosts that are not listed."""

    def blind(self):
        return self.daemon(dns={"servers": self.names.server})

    def through(self, d, o, **kw):
        return self.inside(d, o, context=client_context(self.pki.ca), **kw)

    @reduced
    def test_429_of_a_host_that_is_not_listed_is_invisible(self):
        """C79."""
        o = self.secure_origin(throttled("Retry-After: 9"), answer(200, "x"))
        d = self.blind()
        c = self.through(d, o)
        self.assertIn("Issuer: CN = Test CA", c.sock.text())
        self.assertEqual(API, o.conns[0].sock.sni)
        r = c.get("/x", "Host: " + API)
        self.assert_status(429, r)
        self.assertFalse(r.has("Via"))
        self.assertEqual(b"x", c.get("/x", "Host: " + API).body)
        c.close()
        self.assertEqual("CONNECT", d.wait_records(1)[0]["method"])

    def test_bulk_passes_both_ways_at_once(self):
        def echo(conn):
            while conn.more():
                conn.send(bytes(conn.buf))
                conn.buf.clear()
        c = self.through(self.blind(), self.secure_raw(echo))
        data = noise(5 << 20)
        t = threading.Thread(target=c.send, args=(data,), daemon=True)
        t.start()
        self.assertEqual(data, c.exactly(len(data)))
        t.join(PATIENCE)

    def test_the_end_is_the_origins(self):
        ends = {"/clean": lambda conn: None, "/cut": lambda conn: conn.cut()}

        def script(conn):
            ends[conn.request().target](conn)
        d, o = self.blind(), self.secure_raw(script)
        c = self.through(d, o)
        c.ask("GET", "/clean", "Host: " + API)
        self.assertEqual(b"", c.rest())
        c = self.through(d, o)
        c.ask("GET", "/cut", "Host: " + API)
        self.assertRaises(Ragged, c.rest)

    def test_a_name_that_the_certificate_lacks_is_the_clients_to_refuse(self):
        o = self.secure_origin(answer(200))
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.through(self.blind(), o, name=WWW)
        eventually(lambda: o.refused, "the origin has its alert")
        self.assertIn("BAD_CERTIFICATE", str(o.refused[0]).upper())


if __name__ == "__main__":
    unittest.main()
