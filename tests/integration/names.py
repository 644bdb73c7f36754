# SPDX-License-Identifier: MIT
"""A name server on the loopback, with a zone that a test may change."""
import ipaddress
import socket
import struct
import threading

A, AAAA = 1, 28
NOERROR, SERVFAIL, NXDOMAIN = 0, 2, 3
SILENT = "silent"       # a name whose questions get no answer


class Names:
    """zone: name -> list of addresses, an error code, or SILENT."""

    def __init__(self, zone, ttl=60):
        self.zone, self.ttl = dict(zone), ttl
        self.questions = []
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("127.0.0.1", 0))
        self.port = self.sock.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def server(self):
        return "127.0.0.1:%d" % self.port

    def _serve(self):
        while True:
            try:
                data, who = self.sock.recvfrom(4096)
            except OSError:
                return
            if not data:
                return
            reply = self._reply(data)
            if reply:
                self.sock.sendto(reply, who)

    def _reply(self, data):
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1:at + 1 + data[at]].decode())
            at += 1 + data[at]
        kind = struct.unpack_from("!H", data, at + 1)[0]
        question = data[12:at + 5]
        name = ".".join(labels).lower()
        self.questions.append((name, kind))
        found = self.zone.get(name, NXDOMAIN)
        if found == SILENT:
            return None
        code, records = NOERROR, []
        if isinstance(found, int):
            code = found
        else:
            for text in found:
                ip = ipaddress.ip_address(text)
                if kind == (A if ip.version == 4 else AAAA):
                    records.append(ip.packed)
        out = data[:2] + struct.pack("!HHHHH", 0x8180 | code, 1,
                                     len(records), 0, 0) + question
        for packed in records:
            out += struct.pack("!HHHIH", 0xc00c, kind, 1, self.ttl,
                               len(packed)) + packed
        return out

    def close(self):
        # A datagram of its own ends the thread.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(b"", ("127.0.0.1", self.port))
        self._thread.join(10)
        self.sock.close()
