# SPDX-License-Identifier: MIT
"""Other proxies, scripted: those that stand on the way upstream."""
import base64
import re
import socket
import threading

from wire import PATIENCE, Wire

ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


def basic(user, password):
    return "Basic " + base64.b64encode(
        ("%s:%s" % (user, password)).encode()).decode()


def dial(authority):
    """Names are those of the loopback here."""
    port = int(authority.rpartition(":")[2])
    s = socket.create_connection(("127.0.0.1", port), PATIENCE)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def pass_on(source, sink):
    try:
        while True:
            data = source.recv(65536)
            if not data:
                break
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def join(conn, other):
    """Bytes pass both ways, until both sides have ended."""
    if conn.buf:
        other.sendall(bytes(conn.buf))
        conn.buf.clear()
    t = threading.Thread(target=pass_on, args=(other, conn.sock), daemon=True)
    t.start()
    pass_on(conn.sock, other)
    t.join(PATIENCE)


def tunnels(conn, established=ESTABLISHED):
    """A script: a proxy that takes one CONNECT and opens the way."""
    req = conn.request()
    if req is None:
        return
    assert req.method == "CONNECT", req.start
    with dial(req.target) as other:
        conn.send(established)
        join(conn, other)


def forwards(conn):
    """A script: a proxy for both kinds of requests."""
    while True:
        req = conn.request()
        if req is None:
            return
        if req.method == "CONNECT":
            with dial(req.target) as other:
                conn.send(ESTABLISHED)
                join(conn, other)
            return
        m = re.fullmatch(r"http://([^/?]+)(.*)", req.target)
        authority = m.group(1)
        if ":" not in authority:
            authority += ":80"
        lines = ["%s %s HTTP/1.1" % (req.method, m.group(2) or "/")]
        lines += ["%s: %s" % f for f in req.fields
                  if not f[0].lower().startswith("proxy-")]
        with dial(authority) as sock:
            other = Wire(sock)
            other.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") +
                       req.body)
            resp = other.response(req.method)
            lines = [resp.start]
            lines += ["%s: %s" % f for f in resp.fields]
            conn.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") +
                      resp.body)
