# SPDX-License-Identifier: MIT
"""Who may use the proxy: Basic credentials against a file of users.

Whatever a test does, no password and no credentials may be in the log, and
none may reach an origin.
"""
import base64
import ctypes
import functools
import os
import signal
import subprocess
import unittest

from harness import clean_env, config, eventually, reduced
from origin import answer, throttled
from test_clients import need, python_with
from tls import client_context
from tlscase import API, TlsCase
from wire import PATIENCE, Cut

ANN, BOB = "ann", "bob"
GOOD = {ANN: "pw:of:ann", BOB: "b\u00f6b \u00a3 word"}
SLOW, SLOW_WORD = "slow", "takes-its-time"
SECRETS = set(GOOD.values()) | {SLOW_WORD, "wrong-word"}


@functools.lru_cache(None)
def libcrypt():
    lib = ctypes.CDLL("libcrypt.so.1")
    for fn in (lib.crypt, lib.crypt_gensalt):
        fn.restype = ctypes.c_char_p
    lib.crypt_gensalt.argtypes = (ctypes.c_char_p, ctypes.c_ulong,
                                  ctypes.c_char_p, ctypes.c_int)
    lib.crypt.argtypes = (ctypes.c_char_p, ctypes.c_char_p)
    return lib


@functools.lru_cache(None)
def hashed(word, kind="$5$", cost=1000):
    """A hash that costs next to nothing, or as much as it may."""
    lib = libcrypt()
    salt = lib.crypt_gensalt(kind.encode(), cost, None, 0)
    return lib.crypt(word.encode(), salt).decode()


def slow_hash():
    """A second or so to check. Making one takes as long: it is of another
    word, and what it says of any word is no."""
    return "$2b$14$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ0123."


def basic(user, word, charset="utf-8"):
    pair = base64.b64encode(("%s:%s" % (user, word)).encode(charset))
    return "Proxy-Authorization: Basic " + pair.decode()


class AuthCase(TlsCase):
    def setUp(self):
        super().setUp()
        self.users = os.path.join(self.folder, "users")
        self.write_users(**{u: hashed(w) for u, w in GOOD.items()})
        self.secrets = set(SECRETS)

    def write_users(self, mode=0o640, **users):
        self.write_file("".join("%s:%s\n" % u for u in users.items()), mode)

    def write_file(self, text, mode=0o640):
        with open(self.users + ".new", "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(f.name, mode)
        os.rename(f.name, self.users)

    def guarded(self, proxy=None, **kw):
        return self.daemon({"auth": self.users, "log_level": "debug",
                            **(proxy or {})}, **kw)

    def end(self):
        try:
            super().end()
        finally:
            for d in self.daemons:
                self.check_silence("\n".join(d.log.lines))

    def check_silence(self, text):
        """Neither a password nor what stands for one."""
        for word in self.secrets:
            self.assertNotIn(word, text)
            for user in (ANN, BOB, SLOW, "eve"):
                for charset in ("utf-8", "latin-1"):
                    pair = basic(user, word, charset).rpartition(" ")[2]
                    self.assertNotIn(pair.rstrip("="), text)
        self.assertNotIn("roxy-Authorization: B", text)
        self.assertNotRegex(text, r"\$(2[aby]|[56y])\$")

    def assert_407(self, resp):
        doc = self.assert_own(407, "proxy-auth", resp)
        self.assertEqual('Basic realm="abided", charset="UTF-8"',
                         resp.get("Proxy-Authenticate"))
        return doc


class Ask(AuthCase):
    """What a client is asked, and what it is told."""

    @reduced
    def test_407_then_the_same_connection_goes_on(self):
        o, d = self.origin(answer(200, "x")), self.guarded()
        c = self.connect(d)
        for _ in range(2):
            doc = self.assert_407(c.get(o.url()))
            self.assertIn("USER:PASSWORD", doc["detail"])
            for user, word in GOOD.items():
                self.assertEqual(b"x", c.get(o.url(),
                                             basic(user, word)).body)
        self.assertEqual(4, len(o.requests))
        self.assertEqual(
            ["-", ANN, BOB] * 2, [r["user"] for r in d.wait_records(6)])

    def test_each_kind_of_hash(self):
        kinds = [("$2y$", 4), ("$2b$", 4), ("$2a$", 4), ("$5$", 1000),
                 ("$6$", 1000), ("$y$", 1)]
        self.write_users(**{"u%d" % n: hashed("word %d" % n, *kind)
                            for n, kind in enumerate(kinds)})
        o, d = self.origin(answer(200)), self.guarded()
        c = self.connect(d)
        for n in range(len(kinds)):
            user = "u%d" % n
            self.assert_407(c.get(o.url(), basic(user, "word %d" % (n + 1))))
            self.assert_status(200, c.get(o.url(),
                                          basic(user, "word %d" % n)))
        self.assertEqual(len(kinds), len(o.requests))

    def test_wrong_credentials(self):
        pairs = [(ANN, GOOD[BOB]), (ANN, ""), (ANN, GOOD[ANN] + "x"),
                 ("eve", GOOD[ANN]), ("", GOOD[ANN]), ("", ""),
                 ("Ann", GOOD[ANN]), (ANN + " ", GOOD[ANN]),
                 (ANN, "x" * 511), ("x" * 255, "x")]
        fields = [basic(u, w) for u, w in pairs] + [
            "Proxy-Authorization: " + value for value in (
                "", "Basic", "Basic YW5u", "Basic =", "Bearer abc",
                "Basic YW5uOg", "Digest username=ann",
                "Basic " + "YTph" * 1000)]
        fields += [basic(ANN, GOOD[ANN]).replace("Proxy-", ""),
                   basic(ANN, GOOD[ANN] + "\0"), basic("ann\0", GOOD[ANN])]
        o, d = self.origin(answer(200)), self.guarded()
        c = self.connect(d)
        for field in fields:
            with self.subTest(field[:60]):
                self.assert_407(c.get(o.url(), field))
        self.assertEqual([], o.requests)
        self.assertEqual({"-"}, {r["user"] for r in
                                 d.wait_records(len(fields))})

    def test_two_fields_are_no_request(self):
        o, d = self.origin(answer(200)), self.guarded()
        good = basic(ANN, GOOD[ANN])
        for fields in ((good, good), (good, basic("eve", "x"))):
            self.assert_own(400, "bad-request",
                            self.get(d, o.url(), *fields))
        self.assertEqual([], o.requests)

    def test_utf8_and_what_older_clients_send_instead(self):
        o, d = self.origin(answer(200)), self.guarded()
        for charset in ("utf-8", "latin-1"):
            r = self.get(d, o.url(), basic(BOB, GOOD[BOB], charset))
            self.assert_status(200, r)
        self.assertEqual([BOB, BOB], [r["user"] for r in d.wait_records(2)])

    @reduced
    def test_methods(self):
        """HEAD: no body. CONNECT: try again on the same connection."""
        o, d = self.origin(answer(200, "x")), self.guarded()
        c = self.connect(d)
        r = c.get(o.url(), method="HEAD")
        self.assertEqual((407, b""), (r.status, r.body))
        self.assertTrue(int(r.get("Content-Length")) > 0)
        self.assert_407(c.get(o.url(), method="DELETE"))
        self.assert_407(c.open_tunnel(o.authority))
        self.assert_407(c.get(o.authority, basic(ANN, "wrong-word"),
                              method="CONNECT"))
        r = c.get(o.authority, basic(ANN, GOOD[ANN]), method="CONNECT")
        self.assert_status(200, r)
        self.assertEqual(b"x", c.get("/", host=o.authority).body)
        self.assertEqual(1, len(o.requests))
        c.close()
        self.assertEqual(ANN, d.wait_records(5)[4]["user"])

    def test_a_body_is_not_read(self):
        o, d = self.origin(answer(200)), self.guarded()
        for fields in ((), (basic("eve", "wrong-word"),)):
            c = self.connect(d)
            c.ask("POST", o.url(), *fields, body=b"x" * (1 << 20))
            r = c.response()
            self.assert_407(r)
            self.assertEqual("close", r.get("Connection"))
            self.assertTrue(c.at_end())
        self.assertEqual([], o.requests)

    def test_a_body_that_was_announced_is_not_asked_for(self):
        o, d = self.origin(answer(200)), self.guarded()
        c = self.connect(d)
        c.ask("POST", o.url(), "Expect: 100-continue", "Content-Length: 5")
        r = c.response()
        self.assert_407(r)
        self.assertEqual([], r.interims)
        self.assertTrue(c.at_end())
        c = self.connect(d)
        c.ask("POST", o.url(), "Expect: 100-continue", "Content-Length: 5",
              basic(ANN, GOOD[ANN]))
        c.until(b" 100 Continue\r\n\r\n")
        c.send(b"12345")
        self.assert_status(200, c.response())
        self.assertEqual(b"12345", o.requests[0].body)

    def test_http_1_0(self):
        o, d = self.origin(answer(200, "x")), self.guarded()
        c = self.connect(d)
        r = c.get(o.url(), version="HTTP/1.0")
        self.assert_407(r)
        self.assertTrue(c.at_end())
        r = self.get(d, o.url(), basic(ANN, GOOD[ANN]), version="HTTP/1.0")
        self.assertEqual(b"x", r.body)

    @reduced
    def test_pipelined_requests_are_each_asked(self):
        o = self.serving(lambda conn, req, n: conn.answer(200, req.target))
        d = self.guarded()
        c = self.connect(d)
        good, bad = basic(ANN, GOOD[ANN]), basic(ANN, "wrong-word")
        fields = [(good,), (bad,), (), (good,), (basic(BOB, GOOD[BOB]),),
                  (bad,), (good,)]
        text = ""
        for n, more in enumerate(fields):
            lines = ["GET %s HTTP/1.1" % o.url("/%d" % n),
                     "Host: " + o.authority, *more]
            text += "\r\n".join(lines) + "\r\n\r\n"
        c.send(text.encode())
        for n, expected in enumerate((200, 407, 407, 200, 200, 407, 200)):
            r = c.response()
            self.assert_status(expected, r)
            if expected == 200:
                self.assertEqual(b"/%d" % n, r.body)
        self.assertEqual(4, len(o.requests))

    def test_a_head_in_pieces_and_a_close(self):
        o, d = self.origin(answer(200, "x")), self.guarded()
        c = self.connect(d)
        head = "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s" \
            "\r\n\r\n" % (o.url(), o.authority, basic(ANN, GOOD[ANN]))
        for byte in head.encode():
            c.send(bytes([byte]))
        r = c.response()
        self.assertEqual((b"x", "close"), (r.body, r.get("Connection")))
        self.assertTrue(c.at_end())

    def test_the_watchdog_is_not_asked(self):
        """OPTIONS * says that we live, and nothing else."""
        d = self.guarded()
        self.assert_status(200, self.get(d, "*", method="OPTIONS"))
        self.assert_407(self.get(d, "http://x/", "Max-Forwards: 0",
                                 method="OPTIONS"))

    def test_a_gateway_asks_too(self):
        o = self.origin(answer(200, "x"))
        d = self.guarded(services={"s": {"hosts": o.authority,
                                         "route": "/s/"}})
        c = self.connect(d)
        self.assert_407(c.get("/s/x"))
        self.assertEqual(b"x", c.get("/s/x", basic(ANN, GOOD[ANN])).body)

    def test_nobody_is_asked_by_default(self):
        o = self.origin(answer(200, "x"))
        d = self.daemon()
        r = self.get(d, o.url(), basic("eve", "wrong-word"))
        self.assertEqual(b"x", r.body)
        self.assertFalse(o.requests[0].has("Proxy-Authorization"))
        self.assertNotIn("user", d.wait_records(1)[0])

    def test_an_unknown_host_is_not_told_to_strangers(self):
        """Who may not ask is not told what may be asked for."""
        d = self.guarded({"allow_destinations": "10.0.0.0/8"})
        c = self.connect(d)
        self.assert_407(c.get("http://127.0.0.1/"))
        r = c.get("http://127.0.0.1/", basic(ANN, GOOD[ANN]))
        self.assert_own(403, "denied", r)
        self.assertEqual(["-", ANN], [r["user"] for r in d.wait_records(2)])


class Secrets(AuthCase):
    @reduced
    def test_credentials_go_no_further(self):
        """However they are dressed; a 429 is absorbed as ever."""
        o = self.origin(throttled("retry-after-ms: 10"), answer(200, "x"))
        d = self.guarded()
        good = basic(ANN, GOOD[ANN])
        odd = good.replace("Proxy-Auth", "pRoXy-aUtH").replace("Bas", "bAS")
        for more in ((), ("Connection: proxy-authorization",),
                     ("Connection: close, Proxy-Authorization",),
                     ("Proxy-Connection: proxy-authorization",),
                     ("Connection: authorization",)):
            for field in (good, odd):
                r = self.get(d, o.url(), field, *more,
                             "Authorization: Basic b3RoZXI6b25l")
                self.assertEqual(b"x", r.body)
        word = good.rpartition(" ")[2]
        for req in o.requests:
            self.assertFalse(req.has("Proxy-Authorization"), req.fields)
            self.assertNotIn(word.encode(), req.raw)
            self.assertEqual("Basic b3RoZXI6b25l", req.get("Authorization"))

    def test_errors_and_states_do_not_tell(self):
        """In none of the ways that a request may end."""
        d = self.guarded(defaults={"deadline": "300ms"},
                         dns={"servers": self.names.server})
        o = self.origin(throttled("Retry-After: 100"))
        good = basic(ANN, GOOD[ANN])
        said = []
        for url in (o.url(), "http://127.0.0.1:1/", "http://nothing.test/",
                    "http://169.254.1.1/", "http://bad host/"):
            r = self.get(d, url, good)
            said.append("%r %r" % (r.fields, r.body))
        said.append(repr(self.get(d, o.url(), good, good).body))
        said.append(repr(self.get(d, o.url(), basic(ANN, "wrong-word")).body))
        self.get(d, o.url(), good + "\r\n folded")
        self.check_silence("\n".join(said))

    @reduced
    def test_refused_logins_are_logged_once_a_second(self):
        d = self.guarded()
        c = self.connect(d)
        for _ in range(20):
            self.assert_407(c.get("http://x/", basic('e"v', "wrong-word")))
        c.close()
        c = self.connect(d, source="127.0.0.2")
        self.assert_407(c.get("http://x/", basic("\u00e4\u00a0 x", "y")))
        d.wait_records(21)
        lines = d.log.matching(r"warn login refused: client=(\S+) user=(.*?): "
                               r"wrong password, or no such user; (\d+) ")
        mine = [m for m in lines if m.group(1) == "127.0.0.1"]
        self.assertTrue(1 <= len(mine) <= 5, lines)
        self.assertEqual(r"e\x22v", mine[0].group(2))
        self.assertEqual(r"\xc3\xa4\xc2\xa0 x", [
            m.group(2) for m in lines if m.group(1) == "127.0.0.2"][0])

    def test_names_in_json_logs(self):
        self.write_users(**{'q"uo te': hashed("w")})
        o = self.origin(answer(200))
        d = self.guarded({"log_format": "json"})
        self.assert_status(200, self.get(d, o.url(), basic('q"uo te', "w")))
        d.wait_records(1)
        self.assert_407(self.get(d, o.url()))
        self.assertEqual(['q"uo te', ""],
                         [r["user"] for r in d.wait_records(2)])

    def test_names_in_text_logs(self):
        self.write_users(**{'q"uo te': hashed("w")})
        o, d = self.origin(answer(200)), self.guarded()
        self.assert_status(200, self.get(d, o.url(), basic('q"uo te', "w")))
        self.assertEqual(r"q\x22uo\x20te", d.wait_records(1)[0]["user"])


class Slow(AuthCase):
    """Checking a password takes time, and nobody else's."""

    def setUp(self):
        super().setUp()
        self.write_users(**{SLOW: slow_hash(), ANN: hashed(GOOD[ANN])})
        self.good = basic(ANN, GOOD[ANN])

    def ask_slowly(self, d, n=0, url="http://x/", **kw):
        """A client whose password takes a second to check."""
        c = self.connect(d, **kw)
        self.secrets.add("%s-%d" % (SLOW_WORD, n))
        c.ask("GET", url, basic(SLOW, "%s-%d" % (SLOW_WORD, n)))
        return c

    @staticmethod
    def wait_checking(d, n=1):
        """Until n clients have begun to wait for a verdict."""
        d.wait_log(r"HEAD -> LOGIN", n)

    @reduced
    def test_others_are_served_meanwhile(self):
        o = self.origin(answer(200))
        d = self.guarded({"workers": "1"})
        self.assert_status(200, self.get(d, o.url(), self.good))
        slow = [self.ask_slowly(d, n) for n in range(3)]
        for _ in range(10):
            self.assert_status(200, self.get(d, o.url(), self.good))
        for c in slow:
            self.assert_407(c.response())
        statuses = [r["status"] for r in d.wait_records(14)]
        self.assertEqual("407", statuses[-1])
        self.assertEqual(3, statuses.count("407"))

    def test_a_verdict_is_remembered(self):
        """The second time is known at once, though others are in line."""
        d = self.guarded({"workers": "1"})
        self.assert_407(self.ask_slowly(d, 0).response())
        late = self.ask_slowly(d, 1)
        self.assert_407(self.ask_slowly(d, 0).response())
        self.assertEqual(2, len(d.wait_records(2)))
        self.assert_407(late.response())

    def test_the_same_question_of_many_clients_is_one_check(self):
        """A hundred of them would take a minute."""
        d = self.guarded()
        clients = [self.ask_slowly(d) for _ in range(100)]
        for c in clients:
            self.assert_407(c.response())

    @reduced
    def test_who_leaves_while_it_is_checked_leaves_nothing(self):
        o = self.origin(answer(200))
        for workers in ("1", "2"):
            d = self.guarded({"workers": workers})
            for n in range(40):
                begun = len(d.log.matching(r"HEAD -> LOGIN"))
                c = self.ask_slowly(d, n % 20)
                if n >= 20:
                    self.wait_checking(d, begun + 1)
                if n % 2:
                    c.close()
                else:
                    c.reset()
                if n >= 19:
                    eventually(lambda d=d: d.fds() <= d.base_fds, "it left")
            self.assert_status(200, self.get(d, o.url(), self.good))
            self.assertEqual(1, len(d.wait_records(1)))

    def test_half_closed_clients_where_they_are_welcome(self):
        o = self.origin(answer(200, "x"))
        d = self.guarded(defaults={"allow_half_close": "yes"})
        slow = self.ask_slowly(d)
        slow.end_sending()
        self.assert_407(slow.response())
        c = self.connect(d)
        c.ask("GET", o.url(), self.good)
        c.end_sending()
        self.assertEqual(b"x", c.response().body)

    @reduced
    def test_a_crowd_of_guesses_is_bounded_and_shuts_nobody_out(self):
        """One address may have so many passwords in line; another address
        comes between them."""
        d = self.guarded({"workers": "1"})
        o = self.origin(answer(200))
        guesses = [self.ask_slowly(d, n) for n in range(280)]
        records = d.wait_records(10)
        self.assertEqual({"503"}, {r["status"] for r in records})
        busy = next(c for c in guesses if self.has_more(c))
        r = busy.response()
        doc = self.assert_own(503, "proxy-auth", r)
        self.assertEqual("1", r.get("Retry-After"))
        self.assertEqual(1, doc["retry_after_s"])
        c = self.connect(d, source="127.0.0.2")
        self.assert_status(200, c.get(o.url(), self.good))
        for c in guesses:
            c.close()

    @staticmethod
    def has_more(c):
        c.sock.settimeout(0.001)
        try:
            return c.more()
        except TimeoutError:
            return False
        finally:
            c.sock.settimeout(PATIENCE)

    def test_a_check_that_takes_too_long(self):
        d = self.guarded(defaults={"deadline": "50ms"})
        c = self.ask_slowly(d)
        r = c.response()
        self.assert_own(503, "proxy-auth", r)
        self.assertEqual("1", r.get("Retry-After"))
        self.assertEqual("GET", d.wait_records(1)[0]["method"])

    def test_what_is_pipelined_behind_it_waits(self):
        o = self.origin(answer(200, "x"))
        d = self.guarded()
        c = self.ask_slowly(d)
        c.ask("GET", o.url(), self.good)
        self.assert_407(c.response())
        self.assertEqual(b"x", c.response().body)

    def test_a_drain_lets_it_finish(self):
        d = self.guarded()
        c = self.ask_slowly(d)
        self.wait_checking(d)
        d.signal(signal.SIGTERM)
        d.wait_log(r"draining")
        r = c.response()
        self.assert_407(r)
        self.assertEqual("close", r.get("Connection"))
        self.assertEqual(0, d.wait_exit())

    @reduced
    def test_a_stop_does_not_wait_for_those_in_line(self):
        d = self.guarded({"drain_timeout": "100ms", "workers": "1"})
        clients = [self.ask_slowly(d, n) for n in range(100)]
        self.wait_checking(d, 100)
        d.signal(signal.SIGTERM)
        self.assertEqual(0, d.wait_exit())
        for c in clients:
            self.assertRaises(Cut, c.response)

    def test_a_reload_while_it_is_checked(self):
        d = self.guarded()
        c = self.ask_slowly(d)
        self.wait_checking(d)
        self.write_users(**{ANN: hashed(GOOD[ANN])})
        d.signal(signal.SIGHUP)
        d.wait_log("reloaded")
        self.assert_407(c.response())


class Reload(AuthCase):
    def reload(self, d, n=1):
        d.signal(signal.SIGHUP)
        d.wait_log("reloaded", n)

    @reduced
    def test_a_new_file_counts_from_the_next_request_on(self):
        o, d = self.origin(answer(200)), self.guarded()
        c = self.connect(d)
        for user, word in GOOD.items():
            self.assert_status(200, c.get(o.url(), basic(user, word)))
        self.secrets |= {"new word", "cid's"}
        self.write_users(ann=hashed("new word"), cid=hashed("cid's"))
        self.reload(d)
        self.assert_407(c.get(o.url(), basic(ANN, GOOD[ANN])))
        self.assert_407(c.get(o.url(), basic(BOB, GOOD[BOB])))
        self.assert_status(200, c.get(o.url(), basic(ANN, "new word")))
        self.assert_status(200, c.get(o.url(), basic("cid", "cid's")))
        d.write(config())
        self.reload(d, 2)
        self.assert_status(200, c.get(o.url()))

    def test_a_bad_file_changes_nothing(self):
        o, d = self.origin(answer(200)), self.guarded()
        cases = [("ann:$apr1$abcdefgh$0123456789012345678901\n", 0o640,
                  r"reload: \S+users:1: an MD5 hash"),
                 ("ann:%s\n" % hashed("x"), 0o644,
                  r"reload: \S+abided.conf:\d+: auth file \S+users can be "
                  r"read or written by everybody"),
                 (None, 0, r"reload: \S+abided.conf:\d+: auth file \S+users: "
                  "No such file")]
        for n, (text, mode, says) in enumerate(cases, 1):
            if text is None:
                os.unlink(self.users)
            else:
                self.write_file(text, mode)
            d.signal(signal.SIGHUP)
            d.wait_log(says)
            d.wait_log("the configuration in force stays as it is", n)
            self.assert_status(200, self.get(d, o.url(),
                                             basic(ANN, GOOD[ANN])))
            self.assert_407(self.get(d, o.url(), basic(ANN, "x")))

    def test_check_and_start(self):
        """-t: 1; a start: 2."""
        conf = os.path.join(self.folder, "t.conf")
        with open(conf, "w", encoding="utf-8") as f:
            f.write("[proxy]\nlisten = 127.0.0.1:0\nauth = %s\n" % self.users)
        self.assertEqual(0, self.run_abided("-c", conf, "-t").returncode)
        self.write_file("bob:%s\n\nann:secret\nbob:%s\n" % (
            hashed("x"), hashed("y")))
        for args, code in ((("-t",), 1), ((), 2)):
            done = self.run_abided("-c", conf, *args)
            self.assertEqual(code, done.returncode, done.stdout)
            self.assertIn("users:3: no hash of a kind that is accepted; make "
                          "it with `htpasswd -B`", done.stdout)
            self.assertIn("users:4: user 'bob' is in line 1 already",
                          done.stdout)
            self.assertNotIn("secret", done.stdout)
            self.assertNotIn("$5$", done.stdout)
        os.unlink(self.users)
        for args, code in ((("-t",), 1), ((), 2)):
            done = self.run_abided("-c", conf, *args)
            self.assertEqual(code, done.returncode, done.stdout)
            self.assertIn("t.conf:3: auth file %s: No such file" % self.users,
                          done.stdout)

    def test_an_empty_file_lets_nobody_in(self):
        self.write_file("# nobody\n")
        d = self.guarded()
        self.assert_407(self.get(d, "http://x/", basic("", "")))
        self.assert_407(self.get(d, "http://x/", basic(ANN, GOOD[ANN])))


class Ways(AuthCase):
    """Other ways in than a plain listener."""

    def test_unix_socket(self):
        o = self.origin(answer(200, "x"))
        path = os.path.join(self.folder, "s")
        d = self.guarded({"listen": "unix:" + path})
        c = self.connect(d)
        self.assert_407(c.get(o.url()))
        self.assertEqual(b"x", c.get(o.url(), basic(ANN, GOOD[ANN])).body)

    @reduced
    def test_tls_listener(self):
        o = self.origin(answer(200, "x"))
        leaf = self.pki.leaf("127.0.0.1")
        d = self.guarded({"listen": "tls:127.0.0.1:0"},
                         tls={"listen_cert": leaf.cert,
                              "listen_key": leaf.key})
        c = self.connect(d).secure(client_context(self.pki.ca), "127.0.0.1")
        self.assert_407(c.get(o.url()))
        self.assertEqual(b"x", c.get(o.url(), basic(ANN, GOOD[ANN])).body)

    @reduced
    def test_what_is_inside_an_intercepted_tunnel_is_not_asked_again(self):
        o = self.secure_origin(throttled("retry-after-ms: 10"),
                               answer(200, "x"))
        d = self.intercepting(proxy={"auth": self.users,
                                     "log_level": "debug"})
        c = self.connect(d)
        self.assert_407(c.open_tunnel(o.authority))
        r = c.get(o.authority, basic(ANN, GOOD[ANN]), method="CONNECT")
        self.assert_status(200, r)
        c.secure(client_context(d.ca), API)
        self.assertEqual(b"x", c.get("/", "Host: " + o.authority).body)
        r = c.get("/", "Host: " + o.authority, basic("eve", "wrong-word"))
        self.assertEqual(b"x", r.body)
        for req in o.requests:
            self.assertFalse(req.has("Proxy-Authorization"))
        users = [r["user"] for r in d.wait_records(3) if r["status"] == "200"]
        self.assertEqual({ANN}, set(users))


class Programs(AuthCase):
    """Unmodified clients that are given a user and a password."""

    def run_it(self, *argv, **kw):
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=PATIENCE, check=False,
                              env=clean_env(kw))
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    @need("curl")
    def test_curl(self):
        o, d = self.origin(answer(200, "x")), self.guarded()
        for how in (["-x", d.url.replace("//", "//ann:pw%3Aof%3Aann@")],
                    ["-x", d.url, "-U", "ann:" + GOOD[ANN]],
                    ["-x", d.url, "-U", "bob:" + GOOD[BOB],
                     "--proxy-anyauth"],
                    ["-x", d.url, "-U", "ann:" + GOOD[ANN], "-p"],
                    ["-x", d.url, "-U", "ann:" + GOOD[ANN], "-p",
                     "--proxy-anyauth"],
                    ["-x", d.url, "-U", "ann:" + GOOD[ANN],
                     "--proxy-anyauth", "-d", "abc"]):
            out = self.run_it("curl", "-sS", "-w", " %{num_connects}", *how,
                              o.url())
            self.assertRegex(out, r"^x [12]$", how)
        self.assertEqual(6, len(o.requests))
        self.assertEqual(b"abc", o.requests[5].body)

    @need("curl")
    def test_curl_is_told_why(self):
        d = self.guarded()
        out = self.run_it("curl", "-s", "-x", d.url, "-U", "ann:wrong-word",
                          "http://x/")
        self.assertIn("The user name or the password is wrong", out)

    def test_python(self):
        python = python_with("requests")
        if not python:
            self.skipTest("no python with requests")
        o = self.origin(throttled("retry-after-ms: 10"), answer(200, "x"))
        d = self.guarded()
        # It sends ISO-8859-1.
        url = d.url.replace("//", "//bob:b%C3%B6b%20%C2%A3%20word@")
        out = self.run_it(python, "-c", (
            "import requests; s = requests.Session()\n"
            "for i in range(3): print(s.get(%r).text)") % o.url(),
            http_proxy=url)
        self.assertEqual("x\nx\nx\n", out)
        self.assertEqual({BOB}, {r["user"] for r in d.wait_records(3)})


if __name__ == "__main__":
    unittest.main()
