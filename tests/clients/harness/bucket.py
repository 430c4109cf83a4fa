"""An object store's server for tests: MinIO, whose binary the variable MINIO names. `cargo xtask test` has it built."""

import os
import shutil
import socket
import subprocess
import tempfile
import unittest

from harness.ports import free_port
from harness.server import wait_until

MINIO = os.environ.get("MINIO", "")
needs_bucket = unittest.skipUnless(MINIO, "MINIO names no server of an object store")


class Bucket:
    """A running server with the bucket `topics`. `url` is a place in it, `env` what its clients need."""

    url = "s3://topics/live"

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="apus-bucket-")
        # A directory beside its own is a bucket.
        os.mkdir(os.path.join(self.dir, "topics"))
        self.port = free_port()
        self.env = {
            "AWS_ACCESS_KEY_ID": "apus-test",
            "AWS_SECRET_ACCESS_KEY": "apus-test-secret",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
        }
        self.start()

    def start(self):
        own = {"MINIO_ROOT_USER": "apus-test", "MINIO_ROOT_PASSWORD": "apus-test-secret", "MINIO_BROWSER": "off", "MINIO_UPDATE": "off"}
        self.process = subprocess.Popen(
            [MINIO, "server", "--quiet", self.dir, "--address", f"127.0.0.1:{self.port}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **own})
        wait_until(self.listens, "the object store's server listens")

    def listens(self):
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
            return True
        except OSError:
            return False

    def stop(self):
        """The store cannot be reached until `start`. It keeps its objects."""
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.dir, ignore_errors=True)
