"""Certificates for tests, made by the openssl command as docs/tls.md says."""

import os
import subprocess


def openssl(directory, *words):
    subprocess.run(
        ["openssl", *words], cwd=directory, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


class Authority:
    """An authority in a directory, `ca.crt`, that issues certificates there."""

    def __init__(self, directory, name="ca"):
        self.dir = directory
        self.name = name
        self._key(name)
        openssl(directory, "req", "-x509", "-new", "-key", f"{name}.key", "-out", f"{name}.crt",
                "-days", "3650", "-subj", f"/CN=Test {name}")

    def _key(self, name):
        openssl(self.dir, "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-out", f"{name}.key")

    def issue(self, name, common=None, days=825):
        """NAME.crt and NAME.key for localhost. With negative `days` it has expired."""
        self._key(name)
        return self._sign(name, common, days)

    def issue_rsa(self, name):
        """The same with a key of RSA."""
        openssl(self.dir, "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048",
                "-out", f"{name}.key")
        return self._sign(name, None, 825)

    def _sign(self, name, common, days):
        openssl(self.dir, "req", "-new", "-key", f"{name}.key", "-out", f"{name}.csr",
                "-subj", f"/CN={common or name}")
        extensions = os.path.join(self.dir, f"{name}.ext")
        with open(extensions, "w") as f:
            f.write("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        openssl(self.dir, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{self.name}.crt",
                "-CAkey", f"{self.name}.key", "-CAcreateserial", "-out", f"{name}.crt",
                "-days", str(days), "-extfile", extensions)
        return self.path(f"{name}.crt"), self.path(f"{name}.key")

    def path(self, name):
        return os.path.join(self.dir, name)

    @property
    def certificate(self):
        return self.path(f"{self.name}.crt")
