"""Some seconds of the mixed load of tests/soak: nothing panics, and everything is given back."""

import os
import subprocess
import sys
import unittest

from harness.server import beyond_redis

SOAK = os.path.join(os.path.dirname(__file__), "..", "..", "soak", "mixed.py")


class Soak(unittest.TestCase):
    @beyond_redis
    def test_mixed_load(self):
        done = subprocess.run(
            [sys.executable, SOAK, "--seconds", "6"], capture_output=True, text=True, timeout=600
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
