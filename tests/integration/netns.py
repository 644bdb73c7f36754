# SPDX-License-Identifier: MIT
"""A network of the test's own, to redirect connections in.

enter() moves this thread, and all that it starts from then on, into a new
network namespace with a loopback and addresses on it, and leave() back. Where
the machine does not allow that, or can't redirect there, enter() raises
unittest.SkipTest with the reason.
"""
import ctypes
import os
import shutil
import signal
import socket
import struct
import subprocess
import unittest

from wire import PATIENCE

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SO_ORIGINAL_DST = 80

# Where clients come from, and where they go.
CLIENT, CLIENT6 = "192.0.2.1", "2001:db8::1"
SERVER, SERVER6 = "192.0.2.10", "2001:db8::10"
SPARE = "192.0.2.66"

_libc = ctypes.CDLL(None, use_errno=True)
_outside = []


def run(*argv, **kw):
    """A command to its end; what it printed."""
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, timeout=PATIENCE,
                          check=False, **kw)
    if done.returncode != 0:
        raise AssertionError("%s: %s" % (" ".join(argv), done.stdout))
    return done.stdout


def skip(text):
    raise unittest.SkipTest("no network namespace to redirect in: " + text)


def unshare(flags):
    if _libc.unshare(flags) != 0:
        skip("unshare: " + os.strerror(ctypes.get_errno()))


def tool(name):
    path = shutil.which(name, path=os.environ.get("PATH", "") +
                        ":/usr/sbin:/sbin")
    if path is None:
        skip("there is no %s" % name)
    return path


def enter():
    ip, _ = tool("ip"), tool("nft")
    uid, gid = os.getuid(), os.getgid()
    # pylint: disable-next=consider-using-with
    here = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    if uid == 0:
        unshare(CLONE_NEWNET)
        _outside.append(here)
    else:
        os.close(here)              # no way back without privileges
        unshare(CLONE_NEWUSER | CLONE_NEWNET)
        for name, text in (("setgroups", "deny"), ("uid_map", "0 %d 1" % uid),
                           ("gid_map", "0 %d 1" % gid)):
            with open("/proc/self/" + name, "w", encoding="ascii") as f:
                f.write(text)
    try:
        run(ip, "link", "set", "lo", "up")
        for addr in (CLIENT, SERVER, SPARE):
            run(ip, "addr", "add", addr + "/32", "dev", "lo")
        for addr in (CLIENT6, SERVER6):
            run(ip, "addr", "add", addr + "/128", "dev", "lo", "nodad")
        probe()
    except (AssertionError, OSError) as e:
        leave()
        skip(str(e))


def leave():
    while _outside:
        fd = _outside.pop()
        _libc.setns(fd, CLONE_NEWNET)
        os.close(fd)


def rules(text):
    """Replaces all rules of netfilter here."""
    run(tool("nft"), "-f", "-", input="flush ruleset\n" + text)


def redirect(port, port6=None):
    """What CLIENT sends to others goes to that port of ours."""
    rules("""
table inet abided {
  chain out {
    type nat hook output priority -100;
    ip saddr %s ip daddr != %s tcp dport 1-65535 redirect to :%d
    ip6 saddr %s ip6 daddr != %s tcp dport 1-65535 redirect to :%d
  }
}
""" % (CLIENT, CLIENT, port, CLIENT6, CLIENT6, port6 or port))


def probe():
    """Does the kernel redirect, and does it remember where to?"""
    with socket.create_server(("127.0.0.1", 0)) as s:
        s.settimeout(PATIENCE)
        redirect(s.getsockname()[1])
        with socket.create_connection((SERVER, 9), PATIENCE, (CLIENT, 0)):
            conn, _ = s.accept()
            with conn:
                got = conn.getsockopt(socket.SOL_IP, SO_ORIGINAL_DST, 16)
    if struct.unpack("!2xH", got[:4]) != (9,) or \
            got[4:8] != socket.inet_aton(SERVER):
        skip("the kernel does not tell where a connection was to go")


class Lan:
    """A second namespace, whose way out leads through the first."""

    HERE, THERE = "198.51.100.1", "198.51.100.2"

    def __init__(self):
        ip = tool("ip")
        # Ends with its namespace when it is told to.
        # pylint: disable-next=consider-using-with
        self.proc = subprocess.Popen(
            ["unshare", "-n", "sh", "-c", "echo; exec cat"], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.proc.stdout.readline()
        pid = str(self.proc.pid)
        self.enter = ["nsenter", "-t", pid, "-n"]
        try:
            run(ip, "link", "add", "lan0", "type", "veth", "peer", "name",
                "lan1", "netns", pid)
            run(ip, "addr", "add", self.HERE + "/24", "dev", "lan0")
            run(ip, "link", "set", "lan0", "up")
            run(*self.enter, ip, "addr", "add", self.THERE + "/24", "dev",
                "lan1")
            run(*self.enter, ip, "link", "set", "lan1", "up")
            run(*self.enter, ip, "route", "add", "default", "via", self.HERE)
        except AssertionError as e:
            self.close()
            skip(str(e))

    def close(self):
        self.proc.send_signal(signal.SIGTERM)
        self.proc.wait(PATIENCE)
        self.proc.stdin.close()
        self.proc.stdout.close()
