"""What a scanner of TLS looks for: old protocols, weak ciphers, and known holes, one by one.

The hellos of old protocols are made here: an OpenSSL of today would not send them.
"""

import os
import ssl
import struct
import subprocess
import unittest

from harness.server import PATIENCE_S, beyond_redis
from harness.tls import TlsClient as Client, TlsServer as Tls, authority, context

# All that may be spoken, by OpenSSL's names.
TLS_1_3 = {"TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"}
ECDSA = {
    "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305",
}
RSA = {name.replace("ECDSA", "RSA") for name in ECDSA}

ALERT, HANDSHAKE = 21, 22
HANDSHAKE_FAILURE, PROTOCOL_VERSION, ILLEGAL_PARAMETER = 40, 70, 47
SSL_3, TLS_1_0, TLS_1_1, TLS_1_2 = 0x0300, 0x0301, 0x0302, 0x0303
# ECDHE with ECDSA and AES-128 in CBC mode, and with GCM.
CBC, GCM = 0xC009, 0xC02B


def extension(number, content):
    return struct.pack(">HH", number, len(content)) + content


def vector(numbers):
    packed = b"".join(struct.pack(">H", n) for n in numbers)
    return struct.pack(">H", len(packed)) + packed


def hello(version, ciphers, compressions=b"\0", groups=(23, 29), schemes=(0x0403, 0x0401), more=b""):
    """A ClientHello up to TLS 1.2, in its record."""
    extensions = extension(10, vector(groups)) + extension(11, b"\x01\0") + extension(13, vector(schemes))
    extensions += more
    body = struct.pack(">H", version) + os.urandom(32) + b"\0" + vector(ciphers)
    body += bytes([len(compressions)]) + compressions + struct.pack(">H", len(extensions)) + extensions
    message = b"\x01" + struct.pack(">I", len(body))[1:] + body
    return struct.pack(">BHH", HANDSHAKE, min(version, TLS_1_0), len(message)) + message


def answer(server, data):
    """Type and content of the first record of the answer; none when there is no answer."""
    with server.plain_socket() as s, s.makefile("rb") as file:
        s.sendall(data)
        try:
            head = file.read(5)
            if len(head) < 5:
                return None
            kind, _, size = struct.unpack(">BHH", head)
            return kind, file.read(size)
        except ConnectionError:
            return None


class Server(unittest.TestCase):
    """The tests of one server with the settings that it has by itself."""

    @classmethod
    def setUpClass(cls):
        cls.server = Tls()
        cls.addClassCleanup(cls.server.close)

    def refused_with(self, alert, data):
        self.assertEqual(answer(self.server, data), (ALERT, bytes([2, alert])))

    def test_a_sound_hello_is_answered(self):
        # What the other hellos differ from.
        kind, content = answer(self.server, hello(TLS_1_2, [GCM]))
        self.assertEqual((kind, content[0], content[4:6]), (HANDSHAKE, 2, b"\x03\x03"))
        session = 38 + 1 + content[38]
        cipher, compression = struct.unpack(">HB", content[session : session + 3])
        self.assertEqual((cipher, compression), (GCM, 0))
        # To a client of TLS 1.2, a server of 1.3 says that it could do better: nobody has talked it down.
        self.assertEqual(content[30:38], b"DOWNGRD\x01")

    def test_old_protocols(self):
        for version in [SSL_3, TLS_1_0, TLS_1_1]:
            self.refused_with(PROTOCOL_VERSION, hello(version, [CBC, GCM]))
        ssl2 = b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10" + b"\x01\0\x80" * 7 + os.urandom(16)
        found = answer(self.server, ssl2)
        self.assertTrue(found is None or found[0] == ALERT, found)

    def test_holes(self):
        # No cipher, group or compression in common.
        self.refused_with(HANDSHAKE_FAILURE, hello(TLS_1_2, [CBC]))
        self.refused_with(HANDSHAKE_FAILURE, hello(TLS_1_2, [GCM], groups=[19]))
        kind, content = answer(self.server, hello(TLS_1_2, [GCM], compressions=b"\x01"))
        self.assertEqual((kind, content[0]), (ALERT, 2))
        # Compression is not used by a client that would (CRIME), and heartbeats are not answered (Heartbleed).
        more = extension(15, b"\x01")
        kind, content = answer(self.server, hello(TLS_1_2, [GCM], compressions=b"\x01\0", more=more))
        session = 38 + 1 + content[38]
        self.assertEqual(content[session + 2], 0)
        size = struct.unpack(">H", content[session + 3 : session + 5])[0]
        extensions, numbers = content[session + 5 : session + 5 + size], []
        while extensions:
            number, size = struct.unpack(">HH", extensions[:4])
            numbers.append(number)
            extensions = extensions[4 + size :]
        self.assertNotIn(15, numbers)
        # SHA-1 signs nothing.
        found = answer(self.server, hello(TLS_1_2, [GCM], schemes=[0x0203]))
        self.assertEqual(found[0], ALERT)

    def test_renegotiation_is_bound_to_its_session(self):
        done = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{self.server.tls_port}", "-tls1_2",
             "-CAfile", authority().certificate],
            input=b"QUIT\r\n", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE_S,
        ).stdout
        self.assertIn(b"Secure Renegotiation IS supported", done)
        self.assertIn(b"Compression: NONE", done)
        self.assertIn(b"Extended master secret: yes", done)
        self.assertIn(b"Verify return code: 0 (ok)", done)


def spoken(server, version, ciphers=None):
    """What is agreed on with a client of one version and one cipher; none when nothing is."""
    c = context()
    c.minimum_version = c.maximum_version = version
    if ciphers:
        c.set_ciphers(f"{ciphers}:@SECLEVEL=0")
    try:
        with Client(server, with_context=c) as client:
            assert client.command("PING") == b"+PONG"
            return client.socket.cipher()[0]
    except (ssl.SSLError, ConnectionError):
        return None


def known_to_openssl():
    words = ["openssl", "ciphers", "-s", "-tls1_2", "ALL:COMPLEMENTOFALL:@SECLEVEL=0"]
    listed = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    # Those with a shared key or a password need one.
    return [name for name in listed.strip().split(":") if "PSK" not in name and "SRP" not in name]


@beyond_redis
class Ciphers(unittest.TestCase):
    def test_each_that_openssl_knows(self):
        names = known_to_openssl()
        self.assertGreater(len(names), 50)
        rsa = authority().issue_rsa("rsa")
        for certificate, expected in [("server", ECDSA), ("rsa", RSA)]:
            with Tls(certificate=certificate) as server:
                offered = {name for name in names if spoken(server, ssl.TLSVersion.TLSv1_2, name)}
                self.assertEqual(offered, expected, rsa)
                self.assertIn(spoken(server, ssl.TLSVersion.TLSv1_3), TLS_1_3)

    def test_those_of_1_3_and_groups(self):
        with Tls() as server:
            def agreed(*words):
                done = subprocess.run(
                    ["openssl", "s_client", "-connect", f"127.0.0.1:{server.tls_port}", "-tls1_3",
                     "-CAfile", authority().certificate, *words],
                    input=b"QUIT\r\n", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE_S,
                )
                return done.returncode == 0 and b"Cipher is TLS_" in done.stdout
            for suite in sorted(TLS_1_3):
                self.assertTrue(agreed("-ciphersuites", suite), suite)
            for suite in ["TLS_AES_128_CCM_SHA256", "TLS_AES_128_CCM_8_SHA256"]:
                self.assertFalse(agreed("-ciphersuites", suite), suite)
            for group in ["X25519", "P-256", "P-384"]:
                self.assertTrue(agreed("-groups", group), group)
            for group in ["P-521", "X448", "ffdhe2048"]:
                self.assertFalse(agreed("-groups", group), group)


if __name__ == "__main__":
    unittest.main()
