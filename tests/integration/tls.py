# SPDX-License-Identifier: MIT
"""TLS for tests: certificates made on the spot, and a socket that tells all.

Nothing here is kept: keys and certificates are made by openssl in a folder of
the process, which ends with it. They are made once for all tests that ask for
the same.
"""
import atexit
import functools
import ipaddress
import os
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading

from wire import Alerted, PATIENCE, Ragged

NAMES = ("api.test", "127.0.0.1", "::1")    # of an origin, if not said
TLS10, TLS11 = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
TLS12, TLS13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3


def openssl(*args, stdin=None, ok=True):
    """Runs openssl; what it printed, both streams in one."""
    done = subprocess.run(
        ["openssl", *args], input=stdin, stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL if stdin is None else None,
        stderr=subprocess.STDOUT, text=True, errors="replace",
        timeout=PATIENCE, check=False)
    if ok and done.returncode != 0:
        raise AssertionError("openssl %s:\n%s" % (" ".join(args),
                                                  done.stdout))
    return done.stdout


def folder_of_process():
    return _folder(os.getpid())


@functools.lru_cache(None)
def _folder(_pid):
    path = tempfile.mkdtemp(prefix="abided-pki-")
    atexit.register(shutil.rmtree, path, True)
    return path


@functools.lru_cache(None)
def private_key(kind="ec", label=""):
    """A key file of 0600; the same label gives the same key."""
    how = {"ec": ("EC", "ec_paramgen_curve:P-256"),
           "rsa": ("RSA", "rsa_keygen_bits:2048"),
           "ed25519": ("ED25519", None)}[kind]
    path = os.path.join(folder_of_process(), "%s-%s.key" % (label, kind))
    openssl("genpkey", "-algorithm", how[0], "-out", path,
            *(("-pkeyopt", how[1]) if how[1] else ()))
    os.chmod(path, 0o600)
    return path


class Leaf:
    """A certificate and its key, both as files."""

    def __init__(self, cert, key):
        self.cert, self.key = cert, key

    def text(self):
        return openssl("x509", "-in", self.cert, "-noout", "-text")


class Pki:
    """A certificate authority, and what it signs."""

    CONF = """
[ca]
default_ca = here
[here]
database = {0}/index.txt
new_certs_dir = {0}/certs
rand_serial = yes
unique_subject = no
default_md = {1}
policy = any
x509_extensions = none
[any]
commonName = optional
[none]
"""

    def __init__(self, name="Test CA", key="ec", above=None):
        self.folder = tempfile.mkdtemp(dir=folder_of_process())
        self.name = name
        self.key = private_key(key, "ca" + name.replace(" ", ""))
        os.mkdir(os.path.join(self.folder, "certs"))
        self._write("index.txt", "")
        self.conf = self._write("ca.conf", self.CONF.format(
            self.folder, "null" if key == "ed25519" else "sha256"))
        self.leaf = functools.lru_cache(None)(self._leaf)
        self._count = 0
        extensions = ["basicConstraints=critical,CA:TRUE",
                      "keyUsage=critical,keyCertSign,cRLSign",
                      "subjectKeyIdentifier=hash"]
        signer = ("-selfsign", "-keyfile", self.key)
        if above:
            extensions.append("authorityKeyIdentifier=keyid")
            signer = ("-cert", above.ca, "-keyfile", above.key)
        self.ca = self._sign(name, self.key, *signer, extensions=extensions)

    def _write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        return path

    def _sign(self, subject, key, *args, extensions=(), start=None,
              end=None):
        self._count += 1
        stem = os.path.join(self.folder, str(self._count))
        openssl("req", "-new", "-key", key, "-subj", "/CN=" + subject,
                "-out", stem + ".csr")
        names = self._write("%d.ext" % self._count, "\n".join(extensions))
        openssl("ca", "-batch", "-notext", "-config", self.conf, "-in",
                stem + ".csr", "-out", stem + ".pem", "-extfile", names,
                "-startdate", start or "20200101000000Z",
                "-enddate", end or "20491231000000Z", *args)
        return stem + ".pem"

    def _leaf(self, *names, key="ec", expired=False, not_yet=False,
              client=False, self_signed=False, common=None):
        """Signs a Leaf for names and addresses."""
        use = private_key(key, "leaf")
        san = []
        for name in names:
            try:
                san.append("IP:%s" % ipaddress.ip_address(name))
            except ValueError:
                san.append("DNS:" + name)
        extensions = [
            "basicConstraints=critical,CA:FALSE",
            "keyUsage=critical,digitalSignature",
            "subjectKeyIdentifier=hash",
            "extendedKeyUsage=" + ("clientAuth" if client else "serverAuth")]
        if san:
            extensions.append("subjectAltName=" + ",".join(san))
        signer = ("-selfsign", "-keyfile", use)
        if not self_signed:
            signer = ("-cert", self.ca, "-keyfile", self.key)
            extensions.append("authorityKeyIdentifier=keyid")
        return Leaf(self._sign(
            common or (names[0] if names else "nobody"), use, *signer,
            extensions=extensions, start="20490101000000Z" if not_yet
            else None, end="20200201000000Z" if expired else None), use)

    def under(self, name):
        """An intermediate authority below this one."""
        return Pki(name, above=self)

    def server(self, *names, leaf=None, **kw):
        """A context for an origin with such a leaf: see server_context."""
        context = {k: kw.pop(k) for k in ("alpn", "lowest", "highest",
                                          "ask", "tickets") if k in kw}
        return server_context(leaf or self.leaf(*(names or NAMES), **kw),
                              **context)


@functools.lru_cache(None)
def pki(name="Test CA", key="ec"):
    """The authority of that name, the same one for the whole process."""
    return Pki(name, key)


def is_ragged(e):
    """Releases of Python 3.11 differ in what they call it."""
    return isinstance(e, ssl.SSLEOFError) or \
        e.reason == "UNEXPECTED_EOF_WHILE_READING"


def careful(context):
    """An end without close_notify is none; some releases of Python 3.11 look
    the other way unless they are told not to."""
    context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
    return context


def server_context(leaf, alpn=("http/1.1",), lowest=None, highest=None,
                   ask=None, tickets=None):
    """alpn: what is spoken; ask: the CA file that client certificates must
    come from; tickets: how many a TLS 1.3 client gets."""
    context = careful(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    context.load_cert_chain(leaf.cert, leaf.key)
    limit(context, lowest, highest)
    if alpn:
        context.set_alpn_protocols(list(alpn))
    if ask:
        context.load_verify_locations(ask)
        context.verify_mode = ssl.CERT_REQUIRED
    if tickets is not None:
        context.num_tickets = tickets
    context.sni_callback = note_name
    return context


def note_name(conn, name, _context):
    conn.sni = name


def client_context(ca=None, alpn=None, lowest=None, highest=None, leaf=None,
                   strict=True):
    """Trusts that CA file, and no other; without one, everybody."""
    context = careful(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    if ca:
        context.load_verify_locations(ca)
        if strict:
            context.verify_flags |= ssl.VERIFY_X509_STRICT
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    limit(context, lowest, highest)
    if alpn:
        context.set_alpn_protocols(list(alpn))
    if leaf:
        context.load_cert_chain(leaf.cert, leaf.key)
    return context


def limit(context, lowest, highest):
    if highest in (TLS10, TLS11):
        context.set_ciphers("ALL:@SECLEVEL=0")
        lowest = lowest or highest
    if lowest:
        context.minimum_version = lowest
    if highest:
        context.maximum_version = highest


class TlsSocket:
    """TLS on a connected socket; to a Wire it is a socket like another.

    Two threads may use it, one that reads and one that writes. Records are
    made in memory, so a test may keep, cut and delay them: fly() and take()
    are the wire's own bytes.
    """

    def __init__(self, sock, context, server=False, name=None, session=None,
                 early=b""):
        self.sock = sock
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._in.write(early)
        self.tls = context.wrap_bio(
            self._in, self._out, server_side=server, session=session,
            server_hostname=None if server else name)
        self._lock = threading.Lock()       # the state of the connection
        self._sending = threading.Lock()    # the order of what goes out
        self.closed = False                 # close_notify has come

    # --- the bytes below ---

    def take(self):
        """What is to be sent, out of the hands of this object."""
        with self._lock:
            return self._out.read()

    def fly(self, wait=True):
        """Sends what is to be sent."""
        while self._out.pending:
            if not self._sending.acquire(blocking=wait):
                return                      # who has it sends ours as well
            try:
                data = self.take()
                if data:
                    self.sock.sendall(data)
            finally:
                self._sending.release()

    def put(self, data):
        """What somebody else has read from below."""
        with self._lock:
            self._in.write(data)

    def feed(self):
        """Reads once from below. False: the stream has ended."""
        got = self.sock.recv(262144)
        with self._lock:
            if got:
                self._in.write(got)
            else:
                self._in.write_eof()
        return bool(got)

    def step(self, what, *args, wait=True):
        """One operation to its end."""
        while True:
            try:
                with self._lock:
                    done = what(*args)
                self.fly(wait)
                return done
            except ssl.SSLWantReadError:
                self.fly(wait)
            except ssl.SSLError:
                self.fly(wait)              # the alert
                raise
            if not self.feed():
                with self._lock:
                    return what(*args)

    # --- a socket's ways ---

    def handshake(self):
        self.step(self.tls.do_handshake)

    def recv(self, n):
        if self.closed:
            return b""
        try:
            got = self.step(self.tls.read, n, wait=False)
        except ssl.SSLZeroReturnError:
            got = b""
        except ssl.SSLError as e:
            if is_ragged(e):
                raise Ragged("the end came without close_notify") from e
            if "ALERT" not in e.reason:
                raise
            raise Alerted(e.reason) from e
        if not got:
            self.closed = True
        return got

    def sendall(self, data):
        view = memoryview(data)
        while view:
            view = view[self.step(self.tls.write, view[:65536]):]

    def notify(self):
        """Sends close_notify, and nothing else."""
        with self._lock:
            try:
                self.tls.unwrap()
            except ssl.SSLError:
                pass                        # theirs is still to come
        self.fly()

    def shutdown(self, how):
        if how == socket.SHUT_WR:
            self.notify()
        self.sock.shutdown(how)

    def close(self):
        """In order, as far as that goes without waiting."""
        try:
            self.sock.settimeout(0)
            self.notify()
        except OSError:
            pass
        self.cut()

    def cut(self):
        """Closes without a word of TLS."""
        self.sock.close()

    def settimeout(self, seconds):
        self.sock.settimeout(seconds)

    def fileno(self):
        return self.sock.fileno()

    def setsockopt(self, *args):
        self.sock.setsockopt(*args)

    # --- what was agreed on ---

    @property
    def version(self):
        return self.tls.version()

    @property
    def alpn(self):
        return self.tls.selected_alpn_protocol()

    @property
    def session(self):
        return self.tls.session

    @property
    def reused(self):
        return self.tls.session_reused

    @property
    def sni(self):
        """The name that a client has asked for; None: no name."""
        return getattr(self.tls, "sni", None)

    def certificate(self):
        """The peer's certificate, in DER; None: it has shown none."""
        return self.tls.getpeercert(True)

    def text(self):
        """The same as openssl prints it."""
        pem = ssl.DER_cert_to_PEM_cert(self.certificate())
        return openssl("x509", "-noout", "-text", stdin=pem)


def secure(wire, context, **kw):
    """A Wire speaks TLS from here on; see TlsSocket."""
    early = bytes(wire.buf)
    wire.buf.clear()
    wire.sock = TlsSocket(wire.sock, context, early=early, **kw)
    wire.sock.handshake()
    return wire


class Trickle:
    """A socket that sends a byte at a time."""

    def __init__(self, sock):
        self._sock = sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def sendall(self, data):
        for n in range(len(data)):
            self._sock.sendall(data[n:n + 1])

    def __getattr__(self, name):
        return getattr(self._sock, name)


class OpensslProgram:
    """openssl s_server or s_client; what it prints, and a say in it.

    They can do what Python's module can't: change keys, and renegotiate. What
    is said goes to the peer, but for lines of one letter: see their manual.
    """

    def __init__(self, *args):
        self.output = ""
        self.changed = threading.Condition()
        self.proc = subprocess.Popen(
            ["stdbuf", "-o0", "openssl", *args], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        while True:
            got = self.proc.stdout.read1(65536)
            with self.changed:
                self.output += got.decode("latin-1")
                self.changed.notify_all()
            if not got:
                return

    def say(self, text):
        self.proc.stdin.write(text.encode("latin-1"))
        self.proc.stdin.flush()

    def count(self, pattern):
        with self.changed:
            return len(re.findall(pattern, self.output))

    def wait(self, pattern, count=1):
        """The count-th match of a pattern in all that was printed."""
        with self.changed:
            if not self.changed.wait_for(
                    lambda: len(re.findall(pattern, self.output)) >= count,
                    PATIENCE):
                raise AssertionError("openssl does not say /%s/:\n%s" % (
                    pattern, self.output[-2000:]))
            return list(re.finditer(pattern, self.output))[count - 1]

    def close(self):
        self.proc.kill()
        self.proc.wait(PATIENCE)
        self._thread.join(PATIENCE)
        self.proc.stdin.close()
        self.proc.stdout.close()


class OpensslServer(OpensslProgram):
    """s_server: serves one connection after the other."""

    def __init__(self, leaf, *args):
        super().__init__("s_server", "-accept", "127.0.0.1:0", "-cert",
                         leaf.cert, "-key", leaf.key, *args)
        self.port = int(self.wait(r"ACCEPT \S+:(\d+)\n").group(1))

    def order(self, letter):
        """A command of one letter, done."""
        seen = self.count("SSL_do_handshake -> 1")
        self.say(letter + "\n")
        self.wait("SSL_do_handshake -> 1", seen + 1)
