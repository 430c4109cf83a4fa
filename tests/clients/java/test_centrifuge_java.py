"""The SDK centrifuge-java, which speaks Protobuf alone: connect, subscribe, publish, recover, history, presence, an error of a
call. `cargo xtask test --only java` fetches what it needs."""

import os
import shutil
import subprocess
import unittest

from harness.live import Live
from harness.server import beyond_redis

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "..", "..", "target", "java")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


@beyond_redis
@unittest.skipUnless(shutil.which("javac") and os.path.exists(os.path.join(OUT, "lib")), "there is no JDK, or no SDK")
class TestJava(unittest.TestCase):
    def test_the_sdk(self):
        lib = os.path.join(OUT, "lib")
        code, said = run("javac", "-cp", f"{lib}/*", "-d", OUT, f"{HERE}/Live.java")
        self.assertEqual(code, 0, said)
        kept = {"history_size": 100, "history_ttl": "300s", "force_recovery": True, "presence": True}
        with Live(namespaces={"ch": kept}) as live:
            code, said = run("java", "-cp", f"{OUT}:{lib}/*", "Live", str(live.port))
        self.assertTrue(code == 0 and "\ndone" in said, said)
