# SPDX-License-Identifier: MIT
"""A Case whose origins speak TLS, and whose proxies do.

Names: api.test, www.test and others of ZONE are the loopback's. Origins have
certificates of "Test CA", which daemons made here trust as upstream_ca; the
authority that a daemon intercepts with is another one.
"""
import functools
import os
import re
import signal
import subprocess
import tempfile

from harness import BUILDDIR, Case, clean_env, config
from names import Names
from tls import client_context, folder_of_process, pki, server_context
from wire import PATIENCE

ABIDECTL = os.path.join(BUILDDIR, "abidectl")
API, WWW = "api.test", "www.test"
ZONE = {name: ["127.0.0.1"] for name in (
    API, WWW, "other.test", "a.wild.test", "b.wild.test", "wild.test")}


@functools.lru_cache(None)
def own_ca(*hosts):
    """The files of an authority to intercept these hosts with, made the way
    that users make theirs."""
    folder = tempfile.mkdtemp(dir=folder_of_process())
    cert, key = (os.path.join(folder, n) for n in ("ca.pem", "ca.key"))
    if not os.access(ABIDECTL, os.X_OK):
        other = pki("Own CA of " + " ".join(hosts))
        return other.ca, other.key
    conf = os.path.join(folder, "abided.conf")
    with open(conf, "wb"):
        pass
    args = ["ca", "init", "-c", conf, "--cert", cert, "--key", key]
    for host in hosts:
        args += ["--host", host]
    done = subprocess.run(
        [ABIDECTL, *args], stdin=subprocess.DEVNULL, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE,
        env=clean_env(), check=False)
    if done.returncode != 0:
        raise AssertionError("abidectl %s: %s" % (args, done.stdout))
    return cert, key


class TlsCase(Case):
    def setUp(self):
        super().setUp()
        self.pki = pki()
        self.names = Names(ZONE)
        self.addCleanup(self.names.close)

    @staticmethod
    def ca_of(*hosts):
        """The certificate and key files of an authority for these hosts."""
        return own_ca(*hosts)

    # --- origins ---

    def secure_kw(self, kw):
        """tls: a context; else leaf: a Leaf; else a good one."""
        kw = {"name": API, **kw}
        leaf = kw.pop("leaf", None)
        if "tls" not in kw:
            kw["tls"] = server_context(leaf) if leaf else self.pki.server()
        return kw

    def secure_origin(self, *answers, **kw):
        return self.origin(*answers, **self.secure_kw(kw))

    def secure_serving(self, fn, **kw):
        return self.serving(fn, **self.secure_kw(kw))

    def secure_raw(self, fn, **kw):
        """fn(conn) behind the handshake."""
        return self.raw_origin(fn, **self.secure_kw(kw))

    # --- proxies ---

    def secure_text(self, services=None, tls=None, **kw):
        """The text of a configuration, for a start and for reloads."""
        return config(dns={"servers": self.names.server},
                      tls={"upstream_ca": self.pki.ca, **(tls or {})},
                      services=services, **kw)

    def secure_daemon(self, services=None, tls=None, proxy=None,
                      defaults=None, **kw):
        return self.daemon(text=self.secure_text(
            services, tls, proxy=proxy, defaults=defaults), **kw)

    @staticmethod
    def client_faults(daemon, n):
        """What the log says of n clients that no TLS was agreed on with."""
        daemon.log.wait("reason=client-tls", n)
        return [r["error"] for r in daemon.records()
                if r["reason"] == "client-tls"]

    def originating(self, hosts=API, service=None, services=None, **kw):
        """A daemon that speaks TLS to these hosts for plain clients."""
        return self.secure_daemon({
            "api": {"hosts": hosts, "tls": "originate", **(service or {})},
            **(services or {})}, **kw)

    def intercepting(self, hosts=API, service=None, services=None, tls=None,
                     **kw):
        """A daemon that sees what clients say to these hosts; what they
        trust it by is in its `ca`."""
        cert, key = own_ca(*re.split(r",\s*", hosts))
        d = self.secure_daemon({
            "api": {"hosts": hosts, "tls": "intercept", **(service or {})},
            **(services or {})}, {"ca_cert": cert, "ca_key": key,
                                  **(tls or {})}, **kw)
        d.ca = cert
        return d

    def reload(self, d, text):
        """New settings, in force."""
        seen = len(d.log.matching("reloaded"))
        d.write(text)
        d.signal(signal.SIGHUP)
        d.wait_log("reloaded", seen + 1)

    # --- clients ---

    def tunnel(self, daemon, authority):
        """A client behind an open CONNECT."""
        c = self.connect(daemon)
        self.assert_status(200, c.open_tunnel(authority))
        return c

    def inside(self, daemon, where, name=API, context=None, **kw):
        """A client that speaks TLS behind its CONNECT. where: an origin, or
        an authority; name: what it asks for, and wants to see proven."""
        authority = where if isinstance(where, str) else where.authority
        context = context or client_context(daemon.ca)
        return self.tunnel(daemon, authority).secure(context, name, **kw)
