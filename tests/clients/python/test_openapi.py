"""The OpenAPI document that the server serves is kept true: Schemathesis asks for everything that it
describes, in ways that it allows and in ways that it forbids, and compares the answers with it."""

import os
import subprocess
import sys
import tempfile
import unittest

from harness.server import Server, beyond_redis, free_port

HERE = os.path.dirname(os.path.abspath(__file__))


@beyond_redis
class OpenApi(unittest.TestCase):
    def test_the_server_does_what_its_description_says(self):
        port = free_port()
        with Server("--topic-http-port", port) as server, tempfile.TemporaryDirectory() as work:
            tool = os.path.join(os.path.dirname(sys.executable), "schemathesis")
            run = subprocess.run(
                [tool, "--config-file", os.path.join(HERE, "schemathesis.toml")]
                + ["run", f"http://127.0.0.1:{port}/v1/openapi.json", "--no-color"]
                + ["--phases", "examples,coverage,fuzzing,stateful", "--continue-on-failure"]
                + ["--max-examples", "25", "--seed", "1", "--request-timeout", "120"]
                # Its finding about a slow machine.
                + ["--suppress-health-check", "all"],
                # It leaves files where it runs.
                cwd=work,
                env={**os.environ, "PYTHONPATH": HERE, "SCHEMATHESIS_HOOKS": "openapi_hooks"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            self.assertEqual(run.returncode, 0, run.stdout)
            self.assertIn("19 selected / 19 total", run.stdout)
            self.assertIsNone(server.process.poll(), "the server has ended")
