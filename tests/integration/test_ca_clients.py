# SPDX-License-Identifier: MIT
"""What clients make of a CA of abidectl, and of what it signs."""
import contextlib
import re
import shutil
import socket
import ssl
import subprocess
import threading
import unittest

from cacase import Authority
from harness import clean_env, reduced
from tls import client_context, openssl, private_key
from tlscase import API, TlsCase
from wire import PATIENCE


def has(tool):
    return unittest.skipUnless(shutil.which(tool), tool + " is not installed")


class Chains(Authority):
    """What clients make of certificates that such a CA has signed. The leaves
    are openssl's here: that abided would not sign one is another matter."""

    GOOD = ("api.test", "eu.api.test", "127.0.0.1")
    BAD = ("other.test", "xapi.test", "127.0.0.2", "::1")

    def setUp(self):
        super().setUp()
        self.init("api.test", "127.0.0.1")

    def leaf(self, name):
        ip = ":" in name or name[0].isdigit()
        stem = self.path(name)
        key = private_key(label="leaf")
        with open(stem + ".ext", "w", encoding="ascii") as f:
            f.write("basicConstraints=critical,CA:FALSE\n"
                    "keyUsage=critical,digitalSignature\n"
                    "extendedKeyUsage=serverAuth\n"
                    "subjectKeyIdentifier=hash\n"
                    "authorityKeyIdentifier=keyid\n"
                    "subjectAltName=critical,%s:%s\n" % (
                        "IP" if ip else "DNS", name))
        openssl("req", "-new", "-key", key, "-subj", "/", "-out",
                stem + ".csr")
        openssl("x509", "-req", "-in", stem + ".csr", "-CA", self.cert,
                "-CAkey", self.key, "-days", "2", "-extfile", stem + ".ext",
                "-out", stem + ".pem")
        return stem + ".pem", key

    def each(self, accepts):
        """accepts(name, leaf, key): whether a client takes it."""
        for name in self.GOOD + self.BAD:
            with self.subTest(name):
                cert, key = self.leaf(name)
                self.assertEqual(name in self.GOOD, accepts(name, cert, key))

    @contextlib.contextmanager
    def serving(self, cert, key):
        """A server's port."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        server = socket.create_server(("127.0.0.1", 0))

        def serve():
            with contextlib.suppress(OSError):  # alerts are OSErrors, too
                conn, _ = server.accept()
                conn.settimeout(PATIENCE)
                with conn, context.wrap_socket(conn, server_side=True) as t:
                    if t.recv(65536):
                        t.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            # A client that never came would be waited for.
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            thread.join(PATIENCE)
            server.close()

    def test_openssl_verify(self):
        def accepts(name, cert, _key):
            what = "-verify_hostname" if name.endswith("test") \
                else "-verify_ip"
            said = openssl("verify", "-x509_strict", "-purpose", "sslserver",
                           "-CAfile", self.cert, what, name, cert, ok=False)
            return said.strip().endswith(": OK")
        self.each(accepts)

    @reduced
    def test_python(self):
        def accepts(name, cert, key):
            with self.serving(cert, key) as port, \
                    socket.create_connection(("127.0.0.1", port)) as s:
                try:
                    client_context(self.cert).wrap_socket(
                        s, server_hostname=name).close()
                    return True
                except ssl.SSLCertVerificationError as e:
                    self.assertIn("subtree violation", str(e))
                    return False
        self.each(accepts)

    @has("curl")
    def test_curl(self):
        def accepts(name, cert, key):
            host = "[%s]" % name if ":" in name else name
            with self.serving(cert, key) as port:
                done = subprocess.run(
                    ["curl", "-sS", "-o", "/dev/null", "--cacert", self.cert,
                     "--connect-to", "::127.0.0.1:%d" % port,
                     "https://%s/" % host], env=clean_env(), text=True,
                    stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
            if done.returncode:
                self.assertIn("subtree violation", done.stderr)
            return done.returncode == 0
        self.each(accepts)

    NODE = """
const tls = require('tls'), net = require('net');
const [name, port] = process.argv.slice(1);
const options = {host: '127.0.0.1', port: +port};
if (net.isIP(name))
  options.checkServerIdentity = (_, c) => tls.checkServerIdentity(name, c);
else
  options.servername = name;
const s = tls.connect(options, () => { console.log('good'); s.destroy(); });
s.on('error', e => console.log(e.message));
"""

    @has("node")
    def test_node(self):
        def accepts(name, cert, key):
            with self.serving(cert, key) as port:
                said = subprocess.run(
                    ["node", "-e", self.NODE, name, str(port)], text=True,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                    timeout=PATIENCE, check=False,
                    env=clean_env({"NODE_EXTRA_CA_CERTS": self.cert})).stdout
            if said != "good\n":
                self.assertIn("subtree violation", said)
            return said == "good\n"
        self.each(accepts)

    @has("certtool")
    def test_gnutls(self):
        def accepts(name, cert, _key):
            return subprocess.run(
                ["certtool", "--verify", "--load-ca-certificate", self.cert,
                 "--verify-hostname", name, "--infile", cert],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                timeout=PATIENCE, check=False).returncode == 0
        self.each(accepts)

    @has("keytool")
    def test_java_imports_it(self):
        store = self.path("store.p12")
        said = subprocess.run(
            ["keytool", "-importcert", "-noprompt", "-keystore", store,
             "-storepass", "changeit", "-alias", "abided", "-file",
             self.cert], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=PATIENCE, check=False).stdout
        self.assertIn("Certificate was added", said)

    def test_old_leaves_verify_by_a_renewed_certificate(self):
        cert, _ = self.leaf("api.test")
        self.ca("renew", "--host", "api.test", "--host", "b.test")
        for ca in (self.cert, self.cert + ".old"):
            self.assertIn(": OK", openssl("verify", "-x509_strict",
                                          "-CAfile", ca, cert))


class Minted(TlsCase):
    """Leaves that abided mints with such a CA, in the hands of clients. What
    is behind the TLS is of no interest: nobody is there."""

    def daemon_for(self, *hosts):
        return self.intercepting(", ".join(hosts))

    @reduced
    def test_leaf_says_what_rfc_5280_wants(self):
        d = self.daemon_for(API)
        c = self.inside(d, API + ":443")
        text = re.sub(r"\s+", " ", c.sock.text())
        for want in ("Subject: CN = api.test ",
                     "Basic Constraints: critical CA:FALSE ",
                     "Key Usage: critical Digital Signature ",
                     "Extended Key Usage: TLS Web Server Authentication ",
                     "Subject Alternative Name: DNS:api.test ",
                     "ecdsa-with-SHA256"):
            self.assertIn(want, text)

    def test_names_and_addresses_are_taken(self):
        long = "a" * 60 + ".api.test"
        d = self.daemon_for(API, "*.api.test", "127.0.0.1", "[::1]")
        for name in (API, "eu.api.test", long, "127.0.0.1", "::1"):
            with self.subTest(name):
                host = "[%s]" % name if ":" in name else name
                c = self.inside(d, host + ":443", name=name)
                kind = "DNS" if name.endswith("test") else "IP Address"
                self.assertRegex(c.sock.text(), "%s:%s" % (
                    kind, "0:0:0:0:0:0:0:1" if ":" in name else name))
                c.close()


if __name__ == "__main__":
    unittest.main()
