# SPDX-License-Identifier: MIT
"""HTTP/1.1 on a socket, as strict as a test wants it.

Bytes in, messages out; nothing is repaired. What a peer cuts is Cut, what it
resets is Reset, what it does not send in time is TimeoutError: three different
things that a test may ask for by name.
"""
import random
import socket
import struct

PATIENCE = 30.0     # seconds that any single wait may take
CRLF = b"\r\n"
HEAD_END = b"\r\n\r\n"


class Cut(Exception):
    """The stream ended where a message had not; `got` is what had come."""

    def __init__(self, what, got=b""):
        super().__init__(what)
        self.got = bytes(got)


class Reset(Cut):
    """The same, by RST."""


class Ragged(Cut):
    """The same, by FIN where TLS had a close_notify to send first."""


class Alerted(Cut):
    """The same, by an alert of TLS."""


class Malformed(Exception):
    """These bytes are no HTTP message."""


def noise(n, seed=1):
    """n bytes, the same ones each time."""
    return random.Random(seed).randbytes(n)


class Message:
    """A request or response: first line, fields in order, body."""

    def __init__(self, start, fields):
        self.start = start
        self.fields = fields
        self.body = b""
        self.trailers = []
        self.framing = "none"

    def get(self, name):
        """The one value of a field, or None. Two are a fault."""
        values = self.all(name)
        if len(values) > 1:
            raise Malformed("%d fields %s: %r" % (len(values), name, values))
        return values[0] if values else None

    def all(self, name):
        return [v for k, v in self.fields if k.lower() == name.lower()]

    def has(self, name):
        return bool(self.all(name))


class Request(Message):
    def __init__(self, start, fields):
        super().__init__(start, fields)
        parts = start.split(" ")
        if len(parts) != 3:
            raise Malformed("request line %r" % start)
        self.method, self.target, self.version = parts
        self.at = 0.0           # monotonic seconds, head complete
        self.connection = 0     # ordinal of the connection
        self.raw = b""


class Response(Message):
    def __init__(self, start, fields):
        super().__init__(start, fields)
        version, _, rest = start.partition(" ")
        code, _, reason = rest.partition(" ")
        if version not in ("HTTP/1.0", "HTTP/1.1") or len(code) != 3 \
                or not code.isdigit():
            raise Malformed("status line %r" % start)
        self.version, self.status, self.reason = version, int(code), reason
        self.interims = []
        self.at = 0.0

    @property
    def says(self):
        """The words of the Proxy-Status, for `in` tests."""
        return self.get("Proxy-Status") or ""


def parse_head(raw, kind):
    lines = raw.decode("latin-1").split("\r\n")
    fields = []
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise Malformed("field line %r" % line)
        fields.append((name, value.strip(" \t")))
    return kind(lines[0], fields)


class Wire:
    """A socket and what has been read from it but not used."""

    def __init__(self, sock, patience=PATIENCE):
        self.sock = sock
        self.sock.settimeout(patience)
        self.buf = bytearray()
        self.total = 0

    # --- bytes ---

    def more(self):
        """Reads once. False: the other side has ended its stream."""
        try:
            got = self.sock.recv(262144)
        except ConnectionResetError as e:
            raise Reset("reset", self.buf) from e
        except (Ragged, Alerted) as e:
            raise type(e)(str(e), self.buf) from e
        self.buf += got
        self.total += len(got)
        return bool(got)

    def until(self, mark, most=1 << 20):
        """The bytes before the mark; the mark is used up as well."""
        seen = 0
        while True:
            at = self.buf.find(mark, seen)
            if at >= 0:
                break
            seen = max(0, len(self.buf) - len(mark) + 1)
            if len(self.buf) > most:
                raise Malformed("no %r in %d bytes" % (mark, len(self.buf)))
            if not self.more():
                raise Cut("the end came before %r" % mark, self.buf)
        out = bytes(self.buf[:at])
        del self.buf[:at + len(mark)]
        return out

    def exactly(self, n, sink=None):
        """n bytes; to a sink, if given, as they come."""
        out = bytearray()
        while n > 0:
            if not self.buf and not self.more():
                raise Cut("%d bytes are missing" % n, out)
            part = self.buf[:n]
            del self.buf[:n]
            n -= len(part)
            if sink:
                sink(part)
            else:
                out += part
        return bytes(out)

    def rest(self, sink=None):
        """All up to the end of the stream."""
        out = bytearray()
        while True:
            if sink:
                sink(self.buf)
            else:
                out += self.buf
            self.buf.clear()
            try:
                if not self.more():
                    return bytes(out)
            except Cut as e:
                raise type(e)(str(e), out) from e

    def at_end(self):
        """True where the stream ends cleanly here and now."""
        return not self.buf and not self.more()

    def send(self, data):
        self.sock.sendall(data)

    def chunk(self, data):
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def end_sending(self):
        self.sock.shutdown(socket.SHUT_WR)

    def close(self):
        self.sock.close()

    def cut(self):
        """Closes by FIN; over TLS too, where a close_notify is missing."""
        getattr(self.sock, "cut", self.sock.close)()

    def reset(self):
        """Closes by RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        self.cut()

    # --- messages ---

    def head(self, kind):
        return parse_head(self.until(HEAD_END), kind)

    def read_chunked(self, msg, sink=None):
        msg.framing = "chunked"
        out = bytearray()
        while True:
            line = self.until(CRLF, 4096)
            if not line or any(c not in b"0123456789abcdefABCDEF"
                               for c in line.split(b";")[0]):
                raise Malformed("chunk line %r" % line)
            n = int(line.split(b";")[0], 16)
            if n == 0:
                break
            try:
                out += self.exactly(n, sink)
            except Cut as e:
                raise type(e)("in a chunk", bytes(out) + e.got) from e
            if self.exactly(2) != CRLF:
                raise Malformed("no CRLF behind a chunk")
        while True:
            line = self.until(CRLF)
            if not line:
                break
            name, _, value = line.decode("latin-1").partition(":")
            msg.trailers.append((name, value.strip()))
        msg.body = bytes(out)

    def read_body(self, msg, to_end=False, sink=None):
        """The body as the head frames it; to_end: a response may close."""
        codings, length = msg.all("Transfer-Encoding"), msg.get(
            "Content-Length")
        if codings and length is not None:
            raise Malformed("Transfer-Encoding and Content-Length")
        if codings:
            if codings != ["chunked"]:
                raise Malformed("Transfer-Encoding %r" % codings)
            self.read_chunked(msg, sink)
        elif length is not None:
            msg.framing = "length"
            msg.body = self.exactly(int(length), sink)
        elif to_end:
            msg.framing = "close"
            msg.body = self.rest(sink)
        return msg

    def request(self, body=True):
        """The next request. None: the client has ended its stream."""
        if not self.buf and not self.more():
            return None
        start = self.until(HEAD_END)
        req = parse_head(start, Request)
        req.raw = start + HEAD_END
        if body:
            self.read_body(req)
        return req

    def response(self, method="GET", sink=None, body=True):
        """The next final response, with the interim ones before it."""
        interims = []
        while True:
            resp = self.head(Response)
            if resp.status >= 200 or resp.status == 101:
                break
            interims.append(resp)
        resp.interims = interims
        if not body or method == "HEAD" or resp.status in (101, 204, 304) or \
                (method == "CONNECT" and resp.status < 300):
            return resp
        return self.read_body(resp, True, sink)
