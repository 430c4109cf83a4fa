"""Some seconds of the loads of tests/soak: nothing panics, everything is given back, replicas have the same data."""

import os
import shutil
import subprocess
import sys
import unittest

from harness.replication import REDIS
from harness.server import beyond_redis

SOAK = os.path.join(os.path.dirname(__file__), "..", "..", "soak")


class Soak(unittest.TestCase):
    @beyond_redis
    def test_mixed_load(self):
        done = subprocess.run(
            [sys.executable, os.path.join(SOAK, "mixed.py"), "--seconds", "6"],
            capture_output=True, text=True, timeout=600,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def replicas(self, *pairs):
        command = [sys.executable, os.path.join(SOAK, "replicas.py"), "--seconds", "3", "--phase", "3", "--seed", "17"]
        for pair in pairs:
            command += ["--pair", pair]
        if os.environ.get("APUS_ROUNDS"):
            command += ["--rounds", os.environ["APUS_ROUNDS"]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @beyond_redis
    def test_replicas_under_random_commands(self):
        self.replicas("apus,apus")

    @beyond_redis
    @unittest.skipUnless(shutil.which(REDIS), "there is no redis-server")
    def test_mixed_replicas_under_random_commands(self):
        self.replicas("redis7,apus", "apus,redis7,apus")


if __name__ == "__main__":
    unittest.main()
