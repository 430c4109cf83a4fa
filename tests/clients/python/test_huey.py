"""huey, as its quick start uses it: a consumer, and tasks whose results are waited for."""

import os
import subprocess
import sys
import unittest

import applications
from harness.server import PATIENCE_S
from protocols import Common


class Huey(Common, unittest.TestCase):
    protocol = 3

    def test_tasks_and_a_consumer(self):
        here = os.path.dirname(applications.__file__)
        environ = {**os.environ, "APUS_PORT": str(self.server.port), "PYTHONPATH": here}
        consumer = subprocess.Popen(
            [
                os.path.join(os.path.dirname(sys.executable), "huey_consumer"),
                *("applications.huey", "--workers", "4"),
            ],
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            os.environ["APUS_PORT"] = str(self.server.port)
            _, add_numbers = applications.huey_app()
            results = [add_numbers(n, 1) for n in range(50)]
            values = [result(blocking=True, timeout=PATIENCE_S) for result in results]
            self.assertEqual(values, list(range(1, 51)))
        finally:
            del os.environ["APUS_PORT"]
            consumer.kill()
            consumer.wait()
