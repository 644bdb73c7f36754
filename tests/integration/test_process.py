# SPDX-License-Identifier: MIT
"""The process: signals, exit codes, configuration, logs."""
import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import unittest

from harness import (ABIDED, Case, clean_env, config, eventually, fields_of,
                     reduced)
from origin import answer, throttled
from wire import PATIENCE, Cut

SECRET = "s3cr3t"
F_SETPIPE_SZ = 1031     # fcntl(2)


def refused_once(after="2"):
    """A script: each target is refused at first."""
    seen, lock = set(), threading.Lock()

    def script(conn, req, _n):
        with lock:
            new = req.target not in seen
            seen.add(req.target)
        if new:
            conn.send(throttled("Retry-After: " + after))
        else:
            conn.answer(200, req.target)
    return script


class Drain(Case):
    def park(self, d, o, n):
        clients = [self.connect(d) for _ in range(n)]
        for i, c in enumerate(clients):
            c.ask("GET", o.url("/%d" % i))
        d.wait_parked(n)
        return clients

    @reduced
    def test_parked_ones_get_a_whole_503_with_retry_after(self):
        """C47: the hold is longer than the time to drain."""
        o = self.origin(throttled("Retry-After: 30"))
        d = self.daemon(proxy={"drain_timeout": "5s"})
        clients = self.park(d, o, 20)
        began = time.monotonic()
        d.signal(signal.SIGTERM)
        for c in clients:
            r = c.response()
            self.assert_own(503, "draining", r)
            self.assertIn(int(r.get("Retry-After")), range(25, 32))
            self.assertEqual("close", r.get("Connection"))
            self.assertTrue(c.at_end())
        self.assertEqual(0, d.wait_exit())
        self.assertLess(time.monotonic() - began, 5)
        reasons = {r["reason"] for r in d.records()}
        self.assertEqual({"draining"}, reasons)

    @reduced
    def test_parked_ones_whose_hold_ends_in_time_finish(self):
        o = self.serving(refused_once("1"))
        d = self.daemon(proxy={"drain_timeout": "20s"})
        clients = self.park(d, o, 5)
        d.signal(signal.SIGTERM)
        for i, c in enumerate(clients):
            r = c.response()
            self.assertEqual((200, b"/%d" % i), (r.status, r.body))
        self.assertEqual(0, d.wait_exit())

    @reduced
    def test_running_ones_finish_and_new_ones_are_not_taken(self):
        go = threading.Event()

        def script(conn, _req, _n):
            conn.send(answer(200, b"first", "Content-Length: 10",
                             length=False))
            go.wait(PATIENCE)
            conn.send(b" last")
        o, d = self.serving(script), self.daemon()
        c, idle = self.connect(d), self.connect(d)
        c.ask("GET", o.url())
        c.until(b"first")
        d.signal(signal.SIGTERM)
        d.wait_log("draining")
        self.assertTrue(idle.at_end())

        def refused():
            try:
                socket.create_connection(d.at[0], PATIENCE).close()
                return False
            except ConnectionError:
                return True
        eventually(refused, "nobody listens")
        go.set()
        self.assertEqual(b" last", c.rest())
        self.assertEqual(0, d.wait_exit())

    def test_drain_timeout_ends_what_does_not_end(self):
        o = self.serving(lambda conn, req, n: conn.hang())
        d = self.daemon(proxy={"drain_timeout": "700ms"})
        c = self.connect(d)
        c.ask("GET", o.url())
        o.wait_requests(1)
        began = time.monotonic()
        d.signal(signal.SIGTERM)
        self.assertEqual(0, d.wait_exit())
        self.assertLess(time.monotonic() - began, 10)
        self.assertGreater(time.monotonic() - began, 0.5)

    @reduced
    def test_two_signals_stop_at_once(self):
        o = self.serving(lambda conn, req, n: conn.hang())
        d = self.daemon(proxy={"drain_timeout": "60s"})
        c = self.connect(d)
        c.ask("GET", o.url())
        o.wait_requests(1)
        d.signal(signal.SIGTERM)
        d.wait_log("draining")

        def again():
            # The same order twice within a moment counts as one.
            if d.alive():
                d.signal(signal.SIGINT)
            return d.log.matching("stopping at once")
        eventually(again, "it stops")
        self.assertEqual(0, d.wait_exit())
        self.assertRaises(Cut, c.response)

    def test_signal_that_comes_twice_at_once_is_one(self):
        """A tool may signal a process and its group."""
        go = threading.Event()

        def script(conn, _req, _n):
            go.wait(PATIENCE)
            conn.answer(200, "whole")
        o, d = self.serving(script), self.daemon()
        c = self.connect(d)
        c.ask("GET", o.url())
        o.wait_requests(1)
        d.signal(signal.SIGINT)
        d.signal(signal.SIGTERM)
        d.wait_log("draining")
        go.set()
        self.assertEqual(b"whole", c.response().body)
        self.assertEqual(0, d.wait_exit())


class Reload(Case):
    def reload(self, d, text):
        """New settings, in force: for daemons with one worker."""
        seen = len(d.log.matching("reloaded"))
        d.write(text)
        d.signal(signal.SIGHUP)
        d.wait_log("reloaded", seen + 1)
        # The worker looks at its orders once in each turn: after a turn of
        # ours it has done so.
        self.assert_status(200, self.get(d, "*", "Host: x",
                                         method="OPTIONS"))

    @reduced
    def test_parked_ones_survive_and_new_settings_apply(self):
        """C47: and the state of a service is kept by name."""
        o = self.serving(refused_once("1"))
        services = {"api": {"hosts": o.authority}}
        proxy = {"workers": "1"}
        d = self.daemon(proxy=proxy, services=services)
        clients = [self.connect(d) for _ in range(20)]
        for i, c in enumerate(clients):
            c.ask("GET", o.url("/%d" % i))
        d.wait_parked(20)
        began = time.monotonic()
        services["api"]["retry_on"] = "none"
        self.reload(d, config(proxy=proxy, services=services))
        # Shut all the same: it waits, and its own refusal is relayed now.
        r = self.get(d, o.url("/new"))
        self.assert_status(429, r)
        self.assertGreater(time.monotonic() - began, 0.3)
        for i, c in enumerate(clients):
            r = c.response()
            self.assertEqual((200, b"/%d" % i), (r.status, r.body))

    def test_bad_file_changes_nothing_and_says_where(self):
        o = self.origin(throttled(), answer(200))
        d = self.daemon(proxy={"workers": "1"})
        d.write("[proxy]\nlisten = nowhere\n[defaults]\nmax_retries = many\n"
                "colour = blue\n")
        d.signal(signal.SIGHUP)
        d.wait_log("stays as it is")
        for line in (2, 4, 5):
            self.assertTrue(d.log.matching(
                r"err reload: \S*abided\.conf:%d: " % line), line)
        self.assert_status(200, self.get(d, o.url()))
        self.reload(d, config(proxy={"workers": "1"},
                              defaults={"retry_on": "none"}))
        o = self.origin(throttled())
        self.assert_status(429, self.get(d, o.url()))

    def test_missing_file_changes_nothing(self):
        o = self.origin(answer(200))
        d = self.daemon()
        os.rename(d.conf, d.conf + ".away")
        d.signal(signal.SIGHUP)
        d.wait_log("stays as it is")
        self.assert_status(200, self.get(d, o.url()))

    def test_what_needs_a_restart_is_said(self):
        d = self.daemon()
        d.write(config(proxy={"workers": "1"}))
        d.signal(signal.SIGHUP)
        d.wait_log(r"warn reload: takes effect at the next start.*workers")

    @reduced
    def test_reload_under_load(self):
        """Nothing is lost while the settings change under it."""
        o, d = self.serving(lambda c, q, n: c.answer(200, q.target)), \
            self.daemon()
        over, bad = threading.Event(), []

        def load(n):
            c = self.connect(d)
            for i in range(100000):
                if over.is_set():
                    return
                r = c.get(o.url("/%d/%d" % (n, i)))
                if r.body != b"/%d/%d" % (n, i):
                    bad.append(r)
        threads = [threading.Thread(target=load, args=(n,)) for n in range(4)]
        for t in threads:
            t.start()
        for n in range(1, 11):
            d.write(config(defaults={"rate": "%d/s" % (1000 * n),
                                     "burst": "1000"}))
            d.signal(signal.SIGHUP)
            d.wait_log("reloaded", n)
            o.wait_requests(len(o.requests) + 4)
        over.set()
        for t in threads:
            t.join(PATIENCE)
        self.assertEqual([], bad)


class CommandLine(Case):
    def file(self, text):
        path = os.path.join(self.folder, "x.conf")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def test_check_of_a_good_file(self):
        done = self.run_abided("-t", "-c", self.file(config()))
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertIn("good", done.stdout)

    def test_check_tells_all_problems_at_once(self):
        path = self.file("[proxy]\n"                           # 1
                         "listen = nowhere\n"                  # 2
                         "colour = blue\n"                     # 3
                         "[defaults]\n"                        # 4
                         "base_delay = 3 parsecs\n"            # 5
                         "max_retries = 99999\n"               # 6
                         "[nonsense]\n"                        # 7
                         "a = b\n"                             # 8
                         "[service api]\n"                     # 9
                         "hosts = x.test\n"                    # 10
                         "[service api]\n"                     # 11
                         "hosts = y.test\n")                   # 12
        done = self.run_abided("-t", "-c", path)
        self.assertEqual(1, done.returncode)
        lines = sorted({int(n) for n in re.findall(
            r"^%s:(\d+): \S" % re.escape(path), done.stdout, re.M)})
        self.assertEqual([2, 3, 5, 6, 7, 11], [
            n for n in lines if n not in (8, 12)], done.stdout)

    def test_bad_file_is_exit_1_without_t_as_well(self):
        path = self.file("[proxy]\ncolour = blue\n")
        self.assertEqual(1, self.run_abided("-c", path).returncode)
        gone = os.path.join(self.folder, "gone.conf")
        done = self.run_abided("-c", gone)
        self.assertEqual(1, done.returncode)
        self.assertIn(gone, done.stdout)

    def test_bad_usage_is_exit_1(self):
        for args in (("-z",), ("word",), ("-s", "nonsense"),
                     ("-s", "proxy.colour=blue")):
            with self.subTest(args=args):
                self.assertEqual(1, self.run_abided(*args).returncode)

    def test_bad_environment_is_exit_1(self):
        done = self.run_abided("-t", "-c", self.file(config()),
                               env={"ABIDED_SET": "proxy.colour=blue"})
        self.assertEqual(1, done.returncode)
        self.assertIn("ABIDED_SET", done.stdout)

    def test_help_and_version_are_exit_0(self):
        done = self.run_abided("-h")
        self.assertEqual(0, done.returncode)
        self.assertIn("usage: abided", done.stdout)
        done = self.run_abided("-V")
        self.assertEqual(0, done.returncode)
        self.assertRegex(done.stdout, r"^abided \d")

    def test_port_taken_is_exit_2_and_names_it(self):
        for workers in ("1", "2"):
            with socket.create_server(("127.0.0.1", 0)) as s, \
                    self.subTest(workers=workers):
                where = "127.0.0.1:%d" % s.getsockname()[1]
                done = self.run_abided("-s", "proxy.listen=" + where, "-s",
                                       "proxy.workers=" + workers)
                self.assertEqual(2, done.returncode)
                self.assertIn(where, done.stdout)

    def test_second_daemon_on_the_same_places_leaves_the_first_alone(self):
        path = os.path.join(self.folder, "proxy.sock")
        d = self.daemon(proxy={"listen": ["127.0.0.1:0", "unix:" + path]})
        for where in ("unix:" + path, "127.0.0.1:%d" % d.port):
            done = self.run_abided("-s", "proxy.listen=" + where)
            self.assertEqual(2, done.returncode, done.stdout)
        o = self.origin(answer(200, "x"))
        for n in (0, 1):
            self.assert_status(200, self.connect(d, n).get(o.url()))

    def test_access_log_that_cannot_be_opened_is_exit_2(self):
        path = self.file(config(proxy={
            "access_log": self.folder + "/no/such/folder/log"}))
        done = self.run_abided("-c", path)
        self.assertEqual(2, done.returncode)
        self.assertIn("/no/such/folder/log", done.stdout)

    def test_settings_from_s_and_environment(self):
        o = self.origin(throttled())
        d = self.daemon(args=("-s", "defaults.max_retries=1"),
                        env={"ABIDED_SET": "defaults.failure_cutoff=0; "
                                           "defaults.max_retries=7"})
        r = self.get(d, o.url())
        self.assert_reason("retries-exhausted", r)
        self.assertIn(len(o.requests), (2, 8))


class Logs(Case):
    @reduced
    def test_secrets_never_reach_the_log(self):
        """Rule 18, at the level that says most."""
        o = self.origin(throttled("Set-Cookie: a=" + SECRET),
                        answer(200, SECRET, "Set-Cookie: a=" + SECRET))
        for form in ("text", "json"):
            d = self.daemon(
                proxy={"log_level": "debug", "log_format": form},
                services={"api": {"hosts": o.authority,
                                  "key": "header:Authorization, query:q"}})
            self.assert_status(200, self.get(
                d, o.url("/x?q=%s&r=%s" % (SECRET, SECRET)),
                "Authorization: Bearer " + SECRET,
                "Proxy-Authorization: Basic " + SECRET,
                "Cookie: a=" + SECRET, "X-Api-Key: " + SECRET,
                method="POST", body=SECRET.encode()))
            self.get(d, "http://x.test:99999/" + SECRET + "?" + SECRET)
            self.connect(d).get("/?k=" + SECRET, "Host: nowhere.test")
            d.wait_records(3)
            d.signal(signal.SIGTERM)
            d.wait_exit()
            self.assertNotIn(SECRET, "\n".join(d.log.lines))
            self.assertIn("/x", "\n".join(d.log.lines))

    @reduced
    def test_json_lines_parse(self):
        o = self.origin(throttled("Retry-After: 0.1"), answer(200, "abc"))
        d = self.daemon(proxy={"log_format": "json", "log_level": "debug"})
        weird = "/caf%C3%A9/\"quoted\"\\back"
        self.assert_status(200, self.get(d, o.url(weird), method="POST",
                                         body=b"12345"))
        record = d.wait_records(1)[0]
        d.signal(signal.SIGTERM)
        d.wait_exit()
        for line in d.log.lines:
            doc = json.loads(line)
            self.assertRegex(doc["time"], r"^\d{4}-\d\d-\d\dT[\d:.]{12}Z$")
            self.assertIn(doc["level"], ("err", "warn", "info", "debug"))
            self.assertTrue(doc["msg"])
        self.assertEqual(
            ("POST", "http", o.authority, weird, 200, [429, 200], 2, 5, 3,
             ""),
            tuple(record[k] for k in (
                "method", "scheme", "host", "path", "status", "upstream",
                "attempts", "in", "out", "reason")))
        self.assertGreaterEqual(record["waited"], 100)
        self.assertLessEqual(record["waited"], record["total"])

    def test_text_lines_have_the_same_words(self):
        o = self.origin(throttled("Retry-After: 0.1"), answer(200, "abc"))
        d = self.daemon()
        self.assert_status(200, self.get(d, o.url("/a b".replace(" ", "%20")
                                                  + "?q=1")))
        record = d.wait_records(1)[0]
        self.assertEqual(
            ("GET", "http", o.authority, "/a%20b", "200", "429,200", "2",
             "-"),
            tuple(record[k] for k in (
                "method", "scheme", "host", "path", "status", "upstream",
                "attempts", "reason")))
        park = d.records("park")[0]
        self.assertEqual(record["id"], park["id"])
        self.assertEqual(("1", "429"), (park["attempts"],
                                        park["last_status"]))

    def test_access_log_to_a_file_and_usr1(self):
        o = self.origin(answer(200))
        path = os.path.join(self.folder, "access.log")
        d = self.daemon(proxy={"access_log": path})

        def lines(name):
            with open(name, encoding="utf-8") as f:
                return f.read().splitlines()
        self.get(d, o.url("/one"))
        eventually(lambda: len(lines(path)) == 1, "the line is there")
        os.rename(path, path + ".1")
        self.get(d, o.url("/two"))
        eventually(lambda: len(lines(path + ".1")) == 2, "the old one")
        d.signal(signal.SIGUSR1)
        eventually(lambda: os.path.exists(path), "it is opened again")
        self.get(d, o.url("/three"))
        eventually(lambda: len(lines(path)) == 1, "the new one")
        self.assertEqual(["/one", "/two", "/three"], [
            fields_of(s)["path"] for s in lines(path + ".1") + lines(path)])
        self.assertEqual([], d.records())

    def test_access_log_off(self):
        o = self.origin(throttled(), answer(200))
        d = self.daemon(proxy={"access_log": "off"})
        self.assert_status(200, self.get(d, o.url()))
        d.signal(signal.SIGTERM)
        d.wait_exit()
        self.assertEqual([], d.records() + d.records("park"))

    def reached(self, path):
        """A client, or None: a socket has a name before it listens."""
        try:
            return self.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            return None

    def test_log_pipe_that_is_full_or_broken_stops_nothing(self):
        o = self.origin(answer(200))
        path = os.path.join(self.folder, "s")
        conf = os.path.join(self.folder, "c")
        with open(conf, "w", encoding="utf-8") as f:
            f.write(config(proxy={"listen": "unix:" + path}))
        reader, writer = os.pipe()
        fcntl.fcntl(writer, F_SETPIPE_SZ, 4096)
        with subprocess.Popen([ABIDED, "-c", conf], stderr=writer,
                              stdin=subprocess.DEVNULL,
                              env=clean_env()) as proc:
            os.close(writer)
            # Leaving this block waits for it.
            self.addCleanup(proc.kill)
            try:
                c = eventually(lambda: self.reached(path), "it listens")
            except AssertionError:
                proc.kill()
                raise
            for _ in range(100):        # some 20 KiB of lines
                self.assert_status(200, c.get(o.url()))
            os.close(reader)
            for _ in range(10):
                self.assert_status(200, c.get(o.url()))
            c.close()
            proc.terminate()
            self.assertEqual(0, proc.wait(PATIENCE))


if __name__ == "__main__":
    unittest.main()
