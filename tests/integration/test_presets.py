# SPDX-License-Identifier: MIT
"""Presets, the way an operator meets them: abidectl presets, and a service
that names one."""
import os
import re
import signal
import subprocess
import unittest

from harness import Case, clean_env, config, reduced
from origin import answer
from tlscase import ABIDECTL
from wire import PATIENCE

MINE = """# SPDX-License-Identifier: MIT
# Mine, for tests
[preset %s]
hosts = %s
retry_on = %s
"""


class Presets(Case):
    def setUp(self):
        super().setUp()
        self.dir = os.path.join(self.folder, "presets")
        os.mkdir(self.dir)

    def put(self, name, hosts="mine.test", retry_on="420", text=MINE):
        path = os.path.join(self.dir, name + ".conf")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text % (name, hosts, retry_on))
        return path

    def ctl(self, *args, code=0, env=None):
        """What "abidectl presets" prints, and what it complains about."""
        done = subprocess.run(
            [ABIDECTL, "presets", *args], stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE,
            env=clean_env(env), check=False)
        self.assertEqual(code, done.returncode, done.stderr)
        return done.stdout, done.stderr

    def own(self):
        return "-s", "proxy.preset_dir=" + self.dir


class Abidectl(Presets):
    @reduced
    def test_list_has_a_line_for_each(self):
        out, err = self.ctl()
        self.assertEqual("", err)
        head, *lines = out.splitlines()
        self.assertEqual(["NAME", "HOSTS", "WHAT"], head.split())
        names = [line.split()[0] for line in lines]
        self.assertEqual(sorted(names), names)
        self.assertIn("github", names)
        at = head.index("WHAT")
        for line in lines:
            self.assertRegex(line, r"^[a-z0-9-]+ +\S")
            self.assertRegex(line, r", \+\d+ |.{%d}\S" % at)

    def test_preset_is_printed_as_its_file_is(self):
        out, err = self.ctl("github")
        self.assertEqual("", err)
        self.assertIn("\n[preset github]\n", out)
        # So that it can be a file of one's own.
        with open(os.path.join(self.dir, "github.conf"), "w",
                  encoding="utf-8") as f:
            f.write(out)
        done = self.run_abided("-t", *self.own(), "-s",
                               "service gh.preset=github", "-s",
                               "service gh.tls=originate")
        self.assertEqual((0, "built-in defaults: configuration is good\n"),
                         (done.returncode, done.stdout))

    def test_presets_of_the_directory_are_listed_too(self):
        mine, gh = self.put("mine"), self.put("github", "gh.test")
        out, err = self.ctl(*self.own())
        self.assertEqual("", err)
        self.assertRegex(out, r"(?m)^mine +mine\.test +Mine, for tests \(%s\)$"
                         % re.escape(mine))
        self.assertRegex(out, r"(?m)^github +gh\.test +Mine, .*\(%s\)$"
                         % re.escape(gh))
        self.assertEqual(MINE % ("mine", "mine.test", "420"),
                         self.ctl("mine", *self.own())[0])
        env = {"ABIDED_SET": "proxy.preset_dir=" + self.dir}
        self.assertEqual(out, self.ctl(env=env)[0])

    def test_broken_preset_is_told_and_the_others_are_listed(self):
        path = self.put("mine", retry_on="x")
        out, err = self.ctl(*self.own(), code=1)
        self.assertIn("%s:5: retry_on 'x': " % path, err)
        self.assertNotIn("mine", out)
        self.assertIn("\ngithub ", out)

    def test_broken_configuration_is_no_matter(self):
        self.put("mine")
        conf = os.path.join(self.folder, "a.conf")
        with open(conf, "w", encoding="utf-8") as f:
            f.write("[proxy]\nwhat = this\npreset_dir = %s\n[x\n" % self.dir)
        out, err = self.ctl("-c", conf)
        self.assertEqual("", err)
        self.assertIn("\nmine ", out)

    def test_what_is_not_there_is_told(self):
        out, err = self.ctl("no-such", code=1)
        self.assertEqual("", out)
        self.assertIn("there is no preset 'no-such'", err)
        self.assertIn("/no/such.conf: No such file",
                      self.ctl("-c", "/no/such.conf", code=2)[1])
        self.assertIn("what is 'b'?", self.ctl("a", "b", code=1)[1])
        self.assertIn("takes no --der", self.ctl("--der", code=1)[1])


class Daemon(Presets):
    def start(self, o, **kw):
        self.put("mine", "127.0.0.1:%d" % o.port, **kw)
        return self.daemon(proxy={"preset_dir": self.dir},
                           services={"s": {"preset": "mine"}})

    def test_preset_says_what_is_throttled(self):
        o = self.origin(answer(420), answer(200, "good"))
        d = self.start(o)
        self.assertEqual(200, self.get(d, o.url("/")).status)
        self.assertEqual(2, len(o.requests))
        self.assertEqual("s", d.wait_records(1)[0]["service"])

    def test_reload_takes_up_a_changed_preset(self):
        o = self.origin(answer(420))
        d = self.start(o, retry_on="503")
        self.assertEqual(420, self.get(d, o.url("/")).status)
        self.assertEqual(1, len(o.requests))
        self.put("mine", "127.0.0.1:%d" % o.port, "420")
        d.signal(signal.SIGHUP)
        d.wait_log("reloaded: 1 services")
        self.assertEqual(420, self.get(d, o.url("/")).status)
        self.assertLess(2, len(o.requests))
        # A bad one changes nothing.
        path = self.put("mine", "127.0.0.1", "x")
        d.signal(signal.SIGHUP)
        d.wait_log("err reload: %s:5: retry_on 'x': " % re.escape(path))
        d.wait_log("stays as it is")

    def test_environment_alone_makes_a_service(self):
        d = self.daemon(env={"ABIDED_SET": "service gh.preset=github"})
        d.wait_log(r" warn ABIDED_SET service gh\.preset=github: preset "
                   r"github sees no request .* service 'gh' tls = ")

    def test_check_hints_at_what_is_not_seen(self):
        done = self.run_abided("-t", "-s", "service gh.preset=github")
        self.assertEqual(0, done.returncode)
        self.assertIn("sees no request", done.stdout)
        done = self.run_abided("-t", "-s", "service gh.preset=github", "-s",
                               "service gh.tls=tunnel")
        self.assertEqual("built-in defaults: configuration is good\n",
                         done.stdout)

    def test_unknown_preset_is_told(self):
        path = os.path.join(self.folder, "a.conf")
        with open(path, "w", encoding="utf-8") as f:
            f.write(config(services={"s": {"preset": "gihtub"}}))
        done = self.run_abided("-t", "-c", path)
        self.assertEqual(1, done.returncode)
        self.assertRegex(done.stdout, r"^%s:\d+: preset 'gihtub': .*did you "
                         r"mean 'github'" % re.escape(path))


if __name__ == "__main__":
    unittest.main()
