# SPDX-License-Identifier: MIT
"""abidectl ca, the way an operator uses it."""
import os
import re
import shutil
import socket
import ssl
import subprocess
import unittest

from cacase import CONF, Authority, mode
from harness import clean_env, reduced
from tls import Pki, openssl, pki, private_key
from tlscase import ABIDECTL
from wire import PATIENCE


class Init(Authority):
    @reduced
    def test_files_have_their_modes_whatever_the_umask_is(self):
        for umask in (0o000, 0o022, 0o077):
            self.init("api.test", umask=umask)
            self.assertEqual(0o644, mode(self.cert))
            self.assertEqual(0o600, mode(self.key))
            self.assertEqual(["ca.key", "ca.pem"], self.files())
            os.unlink(self.cert)
            os.unlink(self.key)

    def test_certificate_says_what_a_ca_must_say(self):
        self.init("api.test", "*.wild.test", "10.1.2.3", "[fd00::1]",
                  args=("--name", "Our CA", "--days", "100"))
        text = self.fact("-text")
        for line in ("Issuer: O = abided, CN = Our CA\n",
                     "Subject: O = abided, CN = Our CA\n",
                     "ASN1 OID: prime256v1\n", "ecdsa-with-SHA256\n"):
            self.assertIn(line, text)
        extensions = re.sub(r"\s+", " ", text[text.index("X509v3"):])
        for want in ("Basic Constraints: critical CA:TRUE, pathlen:0 ",
                     "Key Usage: critical Certificate Sign, CRL Sign ",
                     "Name Constraints: critical Permitted: DNS:api.test "
                     "DNS:wild.test IP:10.1.2.3/255.255.255.255 "
                     "IP:FD00:0:0:0:0:0:0:1/FFFF"):
            self.assertIn(want, extensions)
        own, above = re.findall(r"Key Identifier: ([0-9A-F:]+)", extensions)
        self.assertEqual(own, above)
        self.assertNotEqual("", self.fact("-checkend", str(99 * 86400)))
        self.assertIn("will expire", openssl(
            "x509", "-in", self.cert, "-noout", "-checkend",
            str(101 * 86400), ok=False))
        self.assertEqual("Key is valid", openssl(
            "pkey", "-in", self.key, "-check", "-noout").strip())

    def test_addresses_are_excluded_where_none_is_permitted(self):
        self.init("api.test")
        text = re.sub(r"\s+", " ", self.fact("-text"))
        self.assertIn("Excluded: IP:0.0.0.0/0.0.0.0 IP:0:0:0:0:0:0:0:0/"
                      "0:0:0:0:0:0:0:0 ", text)

    def test_what_was_made_is_told_and_how_to_trust_it(self):
        said = self.init("api.test")
        sha = self.fact("-fingerprint", "-sha256").split("=")[1]
        host = socket.gethostname()[:52]
        for want in (sha, "CN = abided CA (%s)" % host,
                     "api.test and names below it",
                     "    ca_cert = " + self.cert,
                     "    ca_key = " + self.key,
                     "update-ca-certificates", "update-ca-trust",
                     "CURL_CA_BUNDLE=", "REQUESTS_CA_BUNDLE=",
                     "NODE_EXTRA_CA_CERTS=" + self.cert, "keytool",
                     "http.sslCAInfo", "certutil", "COPY"):
            self.assertIn(want, said)
        self.assert_no_key(said)

    def assert_no_key(self, said):
        secret = self.read("ca.key").decode().split("\n")[1]
        self.assertNotIn(secret, said)
        self.assertNotIn("BEGIN", said)

    def test_hosts_and_paths_are_the_configurations(self):
        said = self.ctl("ca", "init", "-c", self.conf)
        self.assertEqual(["ca.key", "ca.pem"], self.files())
        self.assertIn("api.test and names below it", said)
        self.assertIn("wild.test and names below it", said)
        for other in ("plain.test", "bank.test"):
            self.assertNotIn(other, said)
        self.assertNotIn("[tls]", said)     # it has that already

    def test_configuration_may_lack_the_ca_that_is_to_be_made(self):
        self.write("abided.conf", "[service api]\nhosts = api.test\n"
                                  "tls = intercept\n")
        said = self.ctl("ca", "init", "-c", self.conf, "--cert", self.cert,
                        "--key", self.key)
        self.assertIn("api.test and names below it", said)
        self.assertIn("Have this in the configuration (%s)" % self.conf,
                      said)
        self.assertIn("ca_cert = " + self.cert, said)

    def test_configuration_may_be_settings(self):
        self.ctl("ca", "init", "-c", self.empty, "-s",
                 "tls.ca_cert=" + self.cert, "-s", "tls.ca_key=" + self.key,
                 env={"ABIDED_SET": "service a.hosts=a.test; "
                                    "service a.tls=intercept"})
        self.assertIn("DNS:a.test", self.fact("-text"))

    def test_wrong_configuration_is_told_and_nothing_made(self):
        self.write("abided.conf", CONF.format(self.folder) + "rate = x\n")
        said = self.ctl("ca", "init", "-c", self.conf, code=1)
        self.assertIn("abided.conf:14: rate 'x'", said)
        self.assertNotIn("ca_cert", said)
        self.assertEqual([], self.files())

    def test_nothing_is_overwritten(self):
        there = {"ca.pem": ("ca.pem",), "ca.key": ("ca.key",),
                 "both": ("ca.pem", "ca.key")}
        for what, names in there.items():
            with self.subTest(what):
                for name in names:
                    self.write(name, "mine")
                said = self.init("api.test", code=1)
                self.assertIn("%s is there already" % self.path(names[0]),
                              said)
                self.assertEqual(sorted(names), self.files())
                for name in names:
                    self.assertEqual(b"mine", self.read(name))
                    os.unlink(self.path(name))
        for path in (self.cert, self.key):
            os.symlink("nowhere", path)
            self.assertIn("is there already", self.init("a.test", code=1))
            os.unlink(path)
        self.init("api.test")
        before = self.read("ca.pem"), self.read("ca.key")
        self.assertIn("ca renew", self.init("api.test", code=1))
        self.assertEqual(before, (self.read("ca.pem"), self.read("ca.key")))

    def test_of_many_at_once_one_makes_it(self):
        args = [ABIDECTL, "ca", "init", "-c", self.empty, "--cert",
                self.cert, "--key", self.key, "--host", "api.test"]
        procs = [subprocess.Popen(
            args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, env=clean_env())
            for _ in range(8)]
        said = [p.communicate(timeout=PATIENCE)[1] for p in procs]
        self.assertEqual([0] + [1] * 7, sorted(p.returncode for p in procs))
        self.assertEqual(7, sum("is there already" in s for s in said))
        self.assertEqual(["ca.key", "ca.pem"], self.files())
        self.ca("show", "--host", "api.test")

    def test_odd_paths_are_words_of_the_commands_it_prints(self):
        os.mkdir(self.path("it's here"))
        self.cert = self.path("it's here/ca.pem")
        word = "'%s'" % self.cert.replace("'", "'\\''")
        said = self.init("api.test")
        self.assertIn("cp %s /usr/local" % word, said)
        self.assertIn("export NODE_EXTRA_CA_CERTS=%s\n" % word, said)

    def test_one_file_for_both(self):
        self.key = self.cert
        self.init("api.test")
        self.assertEqual(["ca.pem"], self.files())
        self.assertEqual(0o600, mode(self.cert))
        self.ca("show")
        self.assertNotIn("PRIVATE", self.ca("export"))

    def test_place_that_is_not_there_leaves_nothing(self):
        for cert, key in (("no/ca.pem", "ca.key"), ("ca.pem", "no/ca.key")):
            said = self.ctl("ca", "init", "-c", self.empty, "--cert", cert,
                            "--key", key, "--host", "a.test", code=2)
            self.assertIn("No such file or directory; is the directory no "
                          "there?", said)
            self.assertEqual([], self.files())

    def test_what_is_wrong_with_the_names_of_its_files_is_told(self):
        """And none is made in another place."""
        for tls, flaw in (("ca_cert = {0}/ca.pem", "without ca_key"),
                          ("ca_key = {0}/ca.key", "without ca_cert"),
                          ("ca_cert = ca.pem\nca_key = {0}/ca.key",
                           "begins with /")):
            conf = self.write("half.conf", "[tls]\n%s\n[service a]\n"
                              "hosts = a.test\ntls = intercept\n" %
                              tls.format(self.folder))
            for command in ("init", "show", "renew", "export"):
                said = self.ctl("ca", command, "-c", conf, code=1)
                self.assertRegex(said, "half.conf:2: ca_.*" + flaw)
        self.assertEqual(["half.conf"], self.files())

    def test_without_hosts_it_says_where_they_come_from(self):
        said = self.init(code=1)
        self.assertIn("tls = intercept", said)
        self.assertIn("--host", said)
        self.assertEqual([], self.files())

    def test_every_host_is_warned_of(self):
        said = self.init("*")
        self.assertIn("warning: for host *", said)
        self.assertIn("permits      every host", said)
        self.assertNotIn("Name Constraints", self.fact("-text"))


class Show(Authority):
    def test_all_is_well(self):
        self.ctl("ca", "init", "-c", self.conf)
        said = self.ctl("ca", "show", "-c", self.conf)
        for want in ("days left    3650", "mode 0600, belongs to it",
                     "api.test: permitted", "*.wild.test:8443: permitted"):
            self.assertIn(want, said)
        self.assertNotIn("WRONG", said)

    def test_a_host_that_is_not_permitted(self):
        self.init("api.test", "10.0.0.1")
        good = ("api.test", "x.api.test:443", "*.api.test", "10.0.0.1")
        bad = ("test", "other.test", "*.test", "10.0.0.2", "[::1]", "*")
        hosts = [w for h in good + bad for w in ("--host", h)]
        said = self.ca("show", *hosts, code=1)
        for host in good:
            self.assertIn(" %s: permitted\n" % host, said)
        for host in bad:
            self.assertIn(" %s: NOT permitted\n" % host, said)
        self.assertIn("abidectl ca renew", said)

    def test_a_key_that_others_can_read(self):
        self.init("api.test")
        os.chmod(self.key, 0o644)
        said = self.ca("show", code=1)
        self.assertIn("WRONG: %s: its mode is 0644" % self.key, said)
        self.assertIn("chmod 600 " + self.key, said)

    def test_another_key(self):
        self.init("api.test")
        os.unlink(self.key)
        shutil.copy(private_key(label="other"), self.key)
        os.chmod(self.key, 0o600)
        self.assertIn("WRONG: %s: not the key of" % self.key,
                      self.ca("show", code=1))

    def test_what_is_missing(self):
        for command in ("show", "export"):
            said = self.ctl("ca", command, "-c", self.conf, code=2)
            self.assertIn("No such file or directory; 'abidectl ca init' "
                          "makes a CA", said)
        self.init("api.test")
        os.unlink(self.key)
        self.assertIn("WRONG: %s: No such file" % self.key,
                      self.ca("show", code=2))

    def test_one_that_expires_soon_or_has(self):
        self.init("api.test", args=("--days", "29"))
        said = self.ca("show")
        self.assertIn("days left    29", said)
        self.assertIn("warning: it expires soon", said)
        old = Pki("Old")
        old.ca = old._sign(             # pylint: disable=protected-access
            "Old", old.key, "-selfsign", "-keyfile", old.key,
            extensions=["basicConstraints=critical,CA:TRUE"],
            end="20200201000000Z")
        said = self.ctl("ca", "show", "-c", self.empty, "--cert", old.ca,
                        "--key", old.key, code=1)
        self.assertIn("WRONG: it has expired", said)

    def test_one_that_is_no_ca(self):
        leaf = pki().leaf("api.test")
        said = self.ctl("ca", "show", "-c", self.empty, "--cert", leaf.cert,
                        "--key", leaf.key, code=1)
        self.assertIn("not a CA's (basicConstraints)", said)


class Export(Authority):
    def test_the_certificate_and_nothing_else(self):
        self.init("api.test")
        self.assertEqual(self.read("ca.pem").decode(), self.ca("export"))
        self.ca("export", "--out", "out.pem", umask=0o077)
        self.assertEqual(self.read("ca.pem"), self.read("out.pem"))
        self.assertEqual(0o644, mode(self.path("out.pem")))
        self.ca("export", "--der", "--out", "out.pem")
        self.assertEqual(ssl.PEM_cert_to_DER_cert(
            self.read("ca.pem").decode()), self.read("out.pem"))

    def test_what_can_not_be_written(self):
        self.init("api.test")
        self.ca("export", "--out", "no/out.pem", code=2)
        with open("/dev/full", "wb") as full:
            self.ca("export", stdout=full, code=2)

    def test_what_must_not_be_replaced_is_not(self):
        self.init("api.test")
        key = self.read("ca.key")
        os.symlink(self.key, self.path("link"))
        for path in (self.key, self.cert, "link"):
            said = self.ca("export", "--der", "--out", path, code=1)
            self.assertIn("a file of the CA itself", said)
        self.assertEqual(key, self.read("ca.key"))

    def test_a_link_or_a_pipe_stays_one(self):
        self.init("api.test")
        os.symlink("real.pem", self.path("link"))
        self.write("real.pem", "before")
        self.ca("export", "--out", "link")
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(self.read("ca.pem"), self.read("real.pem"))
        os.mkfifo(self.path("pipe"))
        fd = os.open(self.path("pipe"), os.O_RDWR)
        self.addCleanup(os.close, fd)
        self.ca("export", "--out", "pipe")
        self.assertEqual(self.read("ca.pem"), os.read(fd, 65536))
        self.assertIn("Is a directory",
                      self.ca("export", "--out", self.folder, code=2))

    def test_needs_no_configuration_with_cert(self):
        self.init("api.test")
        self.assertEqual(self.read("ca.pem").decode(),
                         self.ctl("ca", "export", "--cert", self.cert))


class Renew(Authority):
    def setUp(self):
        super().setUp()
        self.init("api.test", "old.test")
        self.old = self.read("ca.pem")

    def facts(self):
        return [self.fact(x) for x in ("-subject", "-pubkey", "-serial")]

    def test_key_and_name_stay_and_hosts_change(self):
        subject, key, serial = self.facts()
        secret = self.read("ca.key")
        said = self.ca("renew", "--host", "api.test", "--host", "new.test",
                       "--days", "50")
        self.assertEqual([subject, key], self.facts()[:2])
        self.assertNotEqual(serial, self.facts()[2])
        self.assertEqual(secret, self.read("ca.key"))
        self.assertEqual(["ca.key", "ca.pem", "ca.pem.old"], self.files())
        self.assertEqual(self.old, self.read("ca.pem.old"))
        text = self.fact("-text")
        self.assertIn("DNS:new.test", text)
        self.assertNotIn("DNS:old.test", text)
        self.assertIn("have them trust the new one", said)
        self.ca("renew", "--host", "third.test")
        self.assertEqual(["ca.key", "ca.pem", "ca.pem.old"], self.files())
        self.assertIn("DNS:new.test", self.fact(
            "-text", path=self.path("ca.pem.old")))

    def test_hosts_are_the_configurations(self):
        self.ctl("ca", "renew", "-c", self.conf)
        self.ctl("ca", "show", "-c", self.conf)

    def test_mode_and_link_stay(self):
        os.chmod(self.cert, 0o640)
        os.rename(self.cert, self.path("real.pem"))
        os.symlink("real.pem", self.cert)
        self.ca("renew", "--host", "new.test")
        self.assertTrue(os.path.islink(self.cert))
        self.assertEqual(0o640, mode(self.cert))
        self.assertIn("DNS:new.test", self.fact("-text"))
        self.assertEqual(self.old, self.read("real.pem.old"))

    @unittest.skipUnless(os.geteuid() == 0, "only root gives files away")
    def test_owner_stays(self):
        os.chown(self.cert, 1, 2)
        self.ca("renew", "--host", "new.test")
        made = os.stat(self.cert)
        self.assertEqual((1, 2), (made.st_uid, made.st_gid))

    def test_one_file_for_both_keeps_its_key(self):
        both = self.write("both.pem", (self.read("ca.key") +
                                       self.old).decode())
        os.chmod(both, 0o600)
        self.cert = self.key = both
        self.ca("renew", "--host", "new.test")
        self.assertEqual(0o600, mode(both))
        self.assertIn("DNS:new.test", self.fact("-text"))
        self.ca("show", "--host", "new.test")

    @unittest.skipUnless(os.geteuid() == 0, "only root becomes others")
    def test_a_key_of_somebody_else(self):
        os.chmod(self.folder, 0o755)
        said = self.ca("renew", "--host", "a.test", code=2, user=65534,
                       group=65534, extra_groups=[])
        self.assertIn("%s: Permission denied; let the user" % self.key, said)

    def test_an_old_one_that_can_not_be_kept_is_named(self):
        os.mkdir(self.cert + ".old")
        said = self.ca("renew", "--host", "a.test", code=2)
        self.assertIn("abidectl: %s.old: Is a directory" % self.cert, said)
        self.assertEqual(self.old, self.read("ca.pem"))
        self.assertEqual(["ca.key", "ca.pem", "ca.pem.old"], self.files())

    def test_what_another_ca_has_issued_is_left_alone(self):
        above = pki("Above")
        below = above.under("Below")
        with open(below.ca, "rb") as f:
            before = f.read()
        said = self.ctl("ca", "renew", "-c", self.empty, "--cert", below.ca,
                        "--key", below.key, "--host", "a.test", code=1)
        self.assertIn("another CA has issued this one", said)
        with open(below.ca, "rb") as f:
            self.assertEqual(before, f.read())

    def test_needs_hosts_and_both_files(self):
        self.assertIn("a CA needs hosts", self.ca("renew", code=1))
        os.unlink(self.key)
        self.assertIn("No such file",
                      self.ca("renew", "--host", "a.test", code=2))
        self.assertEqual(self.old, self.read("ca.pem"))


class Usage(Authority):
    def test_what_is_wrong_is_named(self):
        rows = (
            ((), "a command is missing"),
            (("ca",), "'ca' needs one word more: init, show, export, renew"),
            (("ca", "int"), "no command 'ca int'; did you mean 'ca init'?"),
            (("ca", "exprot"), "did you mean 'ca export'?"),
            (("renew",), "did you mean 'ca renew'?"),
            (("frobnicate",), "there is no command 'frobnicate'\n"),
            (("ca", "show", "more"), "ca show: what is 'more'?"),
            (("ca", "show", "--days", "3"), "ca show takes no --days"),
            (("ca", "init", "--force"), "unrecognized option '--force'"),
            (("ca", "init", "--days", "0"), "a whole number from 1 to 36500"),
            (("ca", "init", "--days", "1x"), "--days '1x'"),
            (("ca", "init", "--cert", "x"), "--cert without --key"),
            (("ca", "show", "--key", "x"), "--key without --cert"),
            (("ca", "init", "-s", "x"), "-s: 'x': there is no '='"),
            (("ca", "show", "-c", "nowhere"), "nowhere"),
        )
        for args, want in rows:
            with self.subTest(args):
                self.assertIn(want, self.ctl(*args, code=1))
        self.assertIn("host 'a..b': ", self.init("a..b", code=1))
        self.assertIn("1 to 64 bytes", self.init(
            "a.test", args=("--name", "n" * 65), code=1))
        self.assertEqual([], self.files())

    def test_help_and_version(self):
        for args in (("-h",), ("--help",), ("ca", "-h"),
                     ("ca", "init", "--help"), ("-h", "ca")):
            said = self.ctl(*args)
            self.assertIn("ca init", said)
            self.assertIn("--host PATTERN", said)
        self.assertNotIn("ca renew", self.ctl("ca", "init", "-h"))
        self.assertRegex(self.ctl("-V"), r"^abidectl \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
