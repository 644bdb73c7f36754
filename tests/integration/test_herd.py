# SPDX-License-Identifier: MIT
"""A thousand clients against a real limit, judged by the origin itself."""
import json
import re
import selectors
import socket
import time
import unittest
import urllib.request

from harness import Case, reduced
from wire import PATIENCE

RATE, BURST = 200, 20


def crowd(where, request, n):
    """n clients at once, from one thread: (statuses, seconds)."""
    statuses, began = [], time.monotonic()
    sel = selectors.DefaultSelector()
    left = 0
    for i in range(n):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(where)
        sel.register(s, selectors.EVENT_WRITE, (i, bytearray()))
        left += 1
    while left:
        ready = sel.select(PATIENCE)
        if not ready:
            raise TimeoutError("%d of %d clients have no answer" % (left, n))
        for key, what in ready:
            s, (i, buf) = key.fileobj, key.data
            if what & selectors.EVENT_WRITE:
                s.send(request(i))
                sel.modify(s, selectors.EVENT_READ, key.data)
                continue
            got = s.recv(65536)
            buf += got
            if got:
                continue
            statuses.append(status_of(bytes(buf)))
            sel.unregister(s)
            s.close()
            left -= 1
    sel.close()
    return statuses, time.monotonic() - began


def status_of(raw):
    """The status of one whole answer; 0: it is not whole."""
    head, _, body = raw.partition(b"\r\n\r\n")
    m = re.match(rb"HTTP/1\.1 (\d{3}) ", head)
    length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
    if not m or not length or int(length.group(1)) != len(body):
        return 0
    return int(m.group(1))


class Herd(Case):
    def herd(self, clients, **service):
        """That many at once; what they got, and what the origin saw."""
        origin = self.abide_origin()
        authority = origin.partition("//")[2]
        d = self.daemon(services={"api": {
            "hosts": authority, "max_retries": "100", "failure_cutoff": "0",
            "deadline": "50s", "jitter": "100ms", **service}})
        url = "%s/limit?rate=%d/s&burst=%d&hint=seconds&after=1s&key=herd" % (
            origin, RATE, BURST)

        def request(i):
            return ("GET %s&id=%d HTTP/1.1\r\nHost: %s\r\n"
                    "Connection: close\r\n\r\n" %
                    (url, i, authority)).encode()
        statuses, seconds = crowd(d.at[0], request, clients)
        self.assertEqual({200: clients},
                         {s: statuses.count(s) for s in set(statuses)})
        key = self.fetch(origin + "/report/summary?key=herd")["keys"][0]
        self.assertEqual(0, key["early"], key)
        self.assertEqual(clients, key["by_status"]["200"])
        return seconds, key, origin

    @staticmethod
    def fetch(url):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(url, timeout=PATIENCE) as f:
            return json.load(f)

    @reduced
    def test_thousand_with_a_rate(self):
        """The proxy knows the limit: all succeed as fast as it allows."""
        seconds, key, _ = self.herd(
            1000, rate="%d/s burst %d" % (RATE, BURST // 2))
        self.assertLessEqual(key["max_in_window"], RATE + BURST)
        self.assertGreaterEqual(seconds, (1000 - BURST) / RATE * 0.98)

    def test_hundreds_without_a_rate(self):
        """It knows nothing but what the refusals say. The first second is
        the crowd's own; from then on there is no herd."""
        _, key, origin = self.herd(500)
        self.assertGreater(key["by_status"]["429"], 0)
        at = [a["mono_ns"] / 1e9 for a in self.fetch(
            origin + "/report?key=herd")["attempts"]]
        later = [t for t in at if t - at[0] > 0.95]
        most = max(sum(t <= u < t + 1 for u in later) for t in later)
        self.assertLessEqual(most, RATE + BURST)


if __name__ == "__main__":
    unittest.main()
