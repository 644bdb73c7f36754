# SPDX-License-Identifier: MIT
"""A scripted origin: each connection is a thread that follows a script.

    Origin(fn)                  fn(conn) for each connection, in a thread
    Origin.serving(fn)          fn(conn, req, n) for the n-th request of all
    Origin.script(a, b, ...)    the n-th request of all gets the n-th answer;
                                the last one is repeated. An answer is bytes,
                                or fn(conn, req)

A script that raises anything but a broken connection is a failure of the test
that made the origin: Origin.faults lists them.

With tls=CONTEXT it speaks TLS (tls.server_context makes such a context), and
is called NAME in URLs. A handshake that fails is no fault: Origin.refused
lists why. What was agreed on is in conn.sock: sni, alpn, version, reused.
"""
import socket
import threading
import time

from tls import secure
from wire import Cut, PATIENCE, Wire


def answer(status=200, body=b"", *fields, reason="Word", length=True,
           version="HTTP/1.1"):
    """An answer as bytes; fields are "Name: value"."""
    if isinstance(body, str):
        body = body.encode()
    lines = ["%s %d %s" % (version, status, reason)] + list(fields)
    if length:
        lines.append("Content-Length: %d" % len(body))
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def throttled(*fields, status=429, body=b"slow down"):
    return answer(status, body, *fields, reason="Too Fast")


class Conn(Wire):
    """An accepted connection."""

    def __init__(self, sock, origin, ordinal):
        super().__init__(sock)
        self.origin, self.ordinal = origin, ordinal

    def request(self, body=True):
        req = super().request(body)
        if req:
            req.at = time.monotonic()
            req.connection = self.ordinal
            with self.origin.changed:
                self.origin.requests.append(req)
                self.origin.changed.notify_all()
        return req

    def hang(self):
        """Says nothing more until the test ends."""
        self.origin.over.wait(PATIENCE)
        return False

    def answer(self, *args, **kw):
        self.send(answer(*args, **kw))


class Origin:
    def __init__(self, fn, host="127.0.0.1", port=0, tls=None, name=None):
        self.fn = fn
        self.host, self.name, self.tls = host, name or host, tls
        self.changed = threading.Condition()
        self.requests = []
        self.conns = []
        self.faults = []
        self.refused = []               # why a handshake has failed
        self._threads = []
        self.over = threading.Event()   # set when the test ends
        self._closing = False
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.listener = socket.socket(family, socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((host, port))
        self.listener.listen(1024)
        self.port = self.listener.getsockname()[1]
        self._spawn(self._accept)

    @classmethod
    def serving(cls, fn, **kw):
        def each(conn):
            while True:
                req = conn.request()
                if req is None:
                    return
                if fn(conn, req, len(conn.origin.requests)) is False:
                    return
        return cls(each, **kw)

    @classmethod
    def script(cls, *answers, **kw):
        lock = threading.Lock()
        left = list(answers)

        def step(conn, req, _n):
            with lock:
                what = left.pop(0) if len(left) > 1 else left[0]
            if callable(what):
                return what(conn, req)
            conn.send(what)
            return None
        return cls.serving(step, **kw)

    @property
    def authority(self):
        host = "[%s]" % self.name if ":" in self.name else self.name
        return "%s:%d" % (host, self.port)

    def url(self, path="/", scheme=None):
        return "%s://%s%s" % (scheme or ("https" if self.tls else "http"),
                              self.authority, path)

    def _spawn(self, fn, *args):
        t = threading.Thread(target=fn, args=args, daemon=True)
        self._threads.append(t)
        t.start()

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.changed:
                conn = Conn(sock, self, len(self.conns) + 1)
                self.conns.append(conn)
                self.changed.notify_all()
            self._spawn(self._serve, conn)

    def _secured(self, conn):
        """False: no TLS could be agreed on."""
        try:
            secure(conn, self.tls, server=True)
            return True
        except (Cut, OSError) as e:     # ssl.SSLError is an OSError
            with self.changed:
                self.refused.append(e)
                self.changed.notify_all()
            self._let_alert_arrive(conn)
            return False

    @staticmethod
    def _let_alert_arrive(conn):
        """What is closed with bytes unread is reset, and takes it along."""
        sock = conn.sock.sock
        try:
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(65536):
                pass
        except OSError:
            pass

    def _serve(self, conn):
        try:
            if not self.tls or self._secured(conn):
                self.fn(conn)
        except (Cut, ConnectionError):
            pass                        # the proxy may leave at any time
        except OSError as e:
            if not self._closing and conn.sock.fileno() >= 0:
                self.faults.append(e)
        except Exception as e:          # pylint: disable=broad-except
            self.faults.append(e)
        finally:
            conn.close()

    def wait(self, ready, what):
        """Until ready() holds; it is asked at each change."""
        with self.changed:
            if not self.changed.wait_for(ready, PATIENCE):
                raise TimeoutError("origin: %s; %d requests came" %
                                   (what, len(self.requests)))

    def wait_requests(self, n):
        self.wait(lambda: len(self.requests) >= n, "%d requests" % n)

    def gone(self):
        """Whether the first connection came, and has ended."""
        return bool(self.conns) and self.conns[0].sock.fileno() < 0

    def close(self):
        self._closing = True
        self.over.set()
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        for conn in self.conns:
            try:
                conn.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for t in self._threads:
            t.join(PATIENCE)
            if t.is_alive():
                raise TimeoutError("a thread of the origin does not end")
