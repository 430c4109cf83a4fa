"""redis-cli, redis-benchmark, curl and Chromium over TLS: the commands of docs/tls.md, as people type them."""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from harness.ports import free_port
from harness.server import BINARY, PATIENCE_S, encode
from harness.tls import TlsServer, authority, strangers

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def run(*command, stdin=b""):
    """Exit status, standard output and standard error."""
    done = subprocess.run(
        [str(word) for word in command], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        timeout=PATIENCE_S,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Tools(unittest.TestCase):
    def setUp(self):
        self.ca = authority()
        self.server = TlsServer(asks="optional")
        self.addCleanup(self.server.close)

    def cli(self, *words, stdin=b"", trusts=None):
        trusts = trusts or self.ca.certificate
        return run("redis-cli", "-p", self.server.tls_port, "--tls", "--cacert", trusts, *words, stdin=stdin)

    def test_redis_cli(self):
        value = os.urandom(1 << 20)
        for words, stdin, reply in [
            (["PING"], b"", "PONG\n"),
            (["--sni", "localhost", "PING"], b"", "PONG\n"),
            (["--tls-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256", "PING"], b"", "PONG\n"),
            (["--tls-ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256", "PING"], b"", "PONG\n"),
            (["-x", "SET", "big"], value, "OK\n"),
            (["STRLEN", "big"], b"", f"{1 << 20}\n"),
            (["-3", "--no-raw", "CONFIG", "GET", "tls-auth-clients"], b"",
             '1# "tls-auth-clients" => "optional"\n'),
        ]:
            self.assertEqual(self.cli(*words, stdin=stdin), (0, reply, ""), words)
        load = b"".join(encode("SET", f"key:{i}", i) for i in range(10_000))
        code, out, err = self.cli("--pipe", stdin=load)
        self.assertIn("errors: 0, replies: 10000", out + err)
        self.assertEqual(code, 0)
        self.assertEqual(self.cli("GET", "key:9999"), (0, "9999\n", ""))

    def test_redis_cli_shows_a_certificate_and_looks_at_the_server_s(self):
        self.assertEqual(self.cli("CONFIG", "SET", "tls-auth-clients-user", "CN")[1], "OK\n")
        self.assertEqual(self.cli("ACL", "SETUSER", "alice", "on", "resetpass", "~a*", "+@all")[1], "OK\n")
        alice = ["--cert", self.ca.path("alice.crt"), "--key", self.ca.path("alice.key")]
        self.assertEqual(self.cli(*alice, "ACL", "WHOAMI"), (0, "alice\n", ""))
        code, out, err = self.cli("PING", trusts=strangers().certificate)
        self.assertNotEqual(code, 0)
        self.assertIn("certificate verify failed", out + err)

    def test_redis_benchmark(self):
        tls = ["-p", self.server.tls_port, "--tls", "--cacert", self.ca.certificate]
        for pipeline in [1, 16]:
            code, out, err = run("redis-benchmark", *tls, "-q", "-n", "2000", "-P", pipeline, "-t", "set,get")
            self.assertEqual((code, err), (0, ""))
            self.assertEqual(out.count("requests per second"), 2, out)

    def test_apus_bench(self):
        topics = free_port()
        server = TlsServer("--topic-http-tls", "yes", "--topic-http-port", topics, asks="yes")
        self.addCleanup(server.close)
        cacert = ["--tls", "--cacert", self.ca.certificate]
        shown = ["--cert", self.ca.path("alice.crt"), "--key", self.ca.path("alice.key"), "--sni", "localhost"]
        port = server.tls_port
        log = ["log", "--batches", "20", "-b", "10", "--record-size", "100", "-w", "2"]
        for words in [
            ["kv", "-p", port, *cacert, *shown, "-t", "set,get", "-n", "2000", "-P", "16", "-d", "100000"],
            ["pubsub", "-p", port, *cacert, *shown, "--subscribers", "3", "--duration", "0.3"],
            [*log, "--url", f"127.0.0.1:{port}", "--api", "resp", *cacert, *shown],
            [*log, "--url", f"https://127.0.0.1:{topics}", *cacert[1:]],
            [*log, "--url", f"127.0.0.1:{topics}", "--api", "seb", "--tls", "--insecure"],
        ]:
            code, out, err = run(BINARY, "bench", *words)
            self.assertEqual(code, 0, (words, out, err))
        # Without a certificate, and with an authority that has not signed the server's.
        for words in [["-p", port, *cacert], ["-p", port, "--tls", "--cacert", strangers().certificate, *shown]]:
            code, _, err = run(BINARY, "bench", "kv", *words, "-t", "get", "-n", "10")
            self.assertEqual(code, 1, words)
            self.assertIn("certificate", err.lower())


class Document(unittest.TestCase):
    """docs/tls.md: its commands do what it says."""

    def test_certificates_step_by_step(self):
        page = os.path.join(os.path.dirname(__file__), "../../../docs/tls.md")
        with open(page) as f:
            made, served, named = re.findall("^```sh\n(.*?)^```", f.read(), re.DOTALL | re.MULTILINE)[:3]
        files = tempfile.mkdtemp(prefix="apus-tls-")
        self.addCleanup(shutil.rmtree, files, ignore_errors=True)

        def steps(script):
            return subprocess.run(
                ["sh", "-euc", script], cwd=files, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=PATIENCE_S, text=True,
            ).stdout

        self.assertIn("server.crt: OK\nalice.crt: OK\n", steps(made))
        path = lambda name: os.path.join(files, name)
        server = TlsServer(
            "--tls-cert-file", path("server.crt"), "--tls-key-file", path("server.key"), "--tls-ca-cert-file",
            path("ca.crt"), "--tls-auth-clients-user", "CN", asks="optional",
        )
        self.addCleanup(server.close)
        asked = served.splitlines()[-1]
        self.assertEqual(steps(asked.replace("6380", str(server.tls_port))), "PONG\n")
        first, second = named.splitlines()
        # The first line goes to the plain port.
        plain = first.replace("redis-cli ", f"redis-cli -p {server.port} ")
        self.assertEqual(steps(f"{plain}\n{second.replace('6380', str(server.tls_port))}"), "OK\nalice\n")

    def test_a_certificate_of_version_1_is_told(self):
        ca = authority()
        with TlsServer(asks="yes") as server:
            subprocess.run(
                ["openssl", "x509", "-req", "-in", "alice.csr", "-CA", "ca.crt", "-CAkey", "ca.key",
                 "-out", "v1.crt"],
                cwd=ca.dir, check=True, stderr=subprocess.DEVNULL,
            )
            shown = ["--cert", ca.path("v1.crt"), "--key", ca.path("alice.key")]
            text = subprocess.run(
                ["openssl", "x509", "-in", ca.path("v1.crt"), "-noout", "-text"], check=True, stdout=subprocess.PIPE
            ).stdout
            if b"Version: 1 " not in text:
                self.skipTest("this openssl makes no certificates of version 1")
            run("redis-cli", "-p", server.tls_port, "--tls", "--cacert", ca.certificate, *shown, "PING")
            server.wait_for_log("it is of version 1 of X.509")


class Https(unittest.TestCase):
    """The topics and admin ports."""

    def setUp(self):
        self.ca = authority()
        self.admin, self.topics = free_port(), free_port()
        self.server = TlsServer(
            "--admin-port", self.admin, "--admin-tls", "yes",
            "--topic-http-port", self.topics, "--topic-http-tls", "yes",
        )
        self.addCleanup(self.server.close)

    def curl(self, *words):
        return run("curl", "--silent", "--show-error", "--cacert", self.ca.certificate, *words)

    def test_curl(self):
        topics, admin = f"https://localhost:{self.topics}", f"https://localhost:{self.admin}"
        self.assertEqual(self.curl(f"{admin}/healthz")[0], 0)
        self.assertIn("apus_", self.curl(f"{admin}/metrics")[1])
        self.assertEqual(self.curl("-X", "PUT", "-d", "{}", f"{topics}/v1/topics/t")[0], 0)
        body = os.urandom(300_000)
        code, out, err = run(
            "curl", "--silent", "--show-error", "--fail", "--cacert", self.ca.certificate, "--data-binary", "@-",
            "-H", "Content-Type: application/octet-stream", f"{topics}/v1/topics/t/records", stdin=body,
        )
        self.assertEqual((code, err), (0, ""), out)
        for version in ["--tlsv1.2", "--tlsv1.3"]:
            code, out, err = self.curl(version, "--tls-max", version[6:], f"{topics}/v1/topics")
            self.assertEqual((code, err), (0, ""))
            self.assertIn('"t"', out)
        code, _, err = run("curl", "--silent", "--show-error", f"{topics}/v1/topics")
        self.assertEqual(code, 60, err)
        code, _, err = run("curl", "--silent", "--show-error", f"http://localhost:{self.topics}/v1/topics")
        self.assertNotEqual(code, 0)

    @unittest.skipUnless(CHROMIUM, "there is no chromium (apt-get install chromium)")
    def test_chromium(self):
        admin, topics = f"https://localhost:{self.admin}/healthz", f"https://localhost:{self.topics}/v1/topics"
        self.assertEqual(self.curl("-X", "PUT", "-d", "{}", f"{topics}/of-the-browser")[0], 0)
        key = subprocess.run(
            ["openssl", "pkey", "-in", self.ca.path("server.key"), "-pubout", "-outform", "DER"],
            check=True, stdout=subprocess.PIPE,
        ).stdout
        pin = base64.b64encode(hashlib.sha256(key).digest()).decode()
        # With the server's key it may go on, and only with this one.
        for key, sees in [(pin, True), (base64.b64encode(bytes(32)).decode(), False)]:
            self.assertEqual("of-the-browser" in self.page(topics, key), sees, topics)
            self.assertEqual(">ok" in self.page(admin, key), sees, admin)

    def page(self, url, key):
        """The document that the browser makes of a page."""
        profile = tempfile.mkdtemp(prefix="apus-chromium-")
        self.addCleanup(shutil.rmtree, profile, ignore_errors=True)
        # --no-sandbox: the test may be run by root.
        code, out, err = run(
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            f"--user-data-dir={profile}", f"--ignore-certificate-errors-spki-list={key}", "--dump-dom", url,
        )
        self.assertEqual(code, 0, err)
        return out


if __name__ == "__main__":
    unittest.main()
