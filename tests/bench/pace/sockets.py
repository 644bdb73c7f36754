#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One cell of the comparison with real sockets: an abide-origin that refuses
without a hint, as many abided with adaptive = aimd as there are clients, and
their requests, all at once. Prints it beside the same cell in virtual time.

    sockets.py BUILDDIR

Loopback only. Most of it is over in half a minute; a busy machine gets three.
"""
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time

CLIENTS = 10
REQUESTS = 300
LIMIT = "bucket"  # 10/s burst 100, as in meter.c
WORDS = "/ 10/s burst 100 hint none head 50ms"  # as PACE_RTT_MS
PATIENCE_S = 170
STARTING_S = 10

CONFIG = """
[proxy]
listen = 127.0.0.1:0
workers = 1
allow_destinations = 127.0.0.1
log_level = info
access_log = off
[defaults]
adaptive = aimd
deadline = 10min
max_retries = 1000
failure_cutoff = 0
"""


def start(args, folder, name):
    """The process, and the port that it prints or logs."""
    path = os.path.join(folder, name + ".out")
    with open(path, "wb") as out:
        proc = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=out,
                                stderr=subprocess.STDOUT)
    end = time.monotonic() + STARTING_S
    while time.monotonic() < end and proc.poll() is None:
        with open(path, encoding="utf-8") as text:
            found = re.search(r"127\.0\.0\.1:(\d+)", text.read())
        if found:
            return proc, int(found.group(1))
        time.sleep(0.02)
    proc.kill()
    proc.wait()
    sys.exit(f"{name} does not start; see {path}")


async def ask(port, origin):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"GET http://127.0.0.1:{origin}/api HTTP/1.1\r\n"
                     f"Host: 127.0.0.1:{origin}\r\n"
                     "Connection: close\r\n\r\n".encode())
        answer = await reader.read()
        return answer.split(b" ", 2)[1] if b" " in answer else b"none"
    finally:
        writer.close()


async def all_at_once(ports, origin):
    asked = [ask(ports[i % len(ports)], origin) for i in range(REQUESTS)]
    return await asyncio.wait_for(asyncio.gather(*asked), PATIENCE_S)


async def report(origin):
    reader, writer = await asyncio.open_connection("127.0.0.1", origin)
    writer.write(b"GET /report/summary HTTP/1.1\r\nHost: o\r\n"
                 b"Connection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return json.loads(answer.split(b"\r\n\r\n", 1)[1])


def simulated(build):
    line = subprocess.run(
        [os.path.join(build, "tests/bench/pace/pace"), "--cell", LIMIT,
         "bursty", str(CLIENTS), str(REQUESTS)],
        capture_output=True, text=True, check=True).stdout
    return {k: float(v) for k, v in re.findall(r"(\w+)=([\d.]+)", line)}


def measure(build, folder):
    procs = []
    try:
        proc, origin = start([os.path.join(build, "abide-origin"), "-q",
                              "-l", "127.0.0.1:0", "-L", WORDS], folder,
                             "origin")
        procs.append(proc)
        ports = []
        for i in range(CLIENTS):
            conf = os.path.join(folder, f"abided{i}.conf")
            with open(conf, "w", encoding="utf-8") as out:
                out.write(CONFIG)
            proc, port = start([os.path.join(build, "abided"), "-c", conf],
                               folder, f"abided{i}")
            procs.append(proc)
            ports.append(port)
        began = time.monotonic()
        statuses = asyncio.run(all_at_once(ports, origin))
        took = time.monotonic() - began
        keys = asyncio.run(report(origin))["keys"]
        return statuses.count(b"200"), took, sum(k["throttled"] for k in keys)
    finally:
        for proc in procs:
            proc.kill()
            proc.wait()


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: sockets.py BUILDDIR")
    build = sys.argv[1]
    virtual = simulated(build)
    with tempfile.TemporaryDirectory() as folder:
        try:
            served, took, refused = measure(build, folder)
        except asyncio.TimeoutError:
            sys.exit(f"not all were served within {PATIENCE_S} s")
    print(f"\n{REQUESTS} requests at once from {CLIENTS} clients, each with an "
          "abided; limit 10/s burst 100, no hints")
    print(f"{'':>28} {'429s each':>9} {'end s':>7}")
    for name, key in (("exponential back-off, virtual", "backoff"),
                      ("aimd, virtual", "ours")):
        print(f"{name:>28} {virtual[key + '_429s']:9.3f} "
              f"{virtual[key + '_end_s']:7.1f}")
    print(f"{'aimd, sockets':>28} {refused / max(served, 1):9.3f} {took:7.1f}")
    return 0 if served == REQUESTS else 1


if __name__ == "__main__":
    sys.exit(main())
