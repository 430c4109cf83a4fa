"""celery, as its quick start uses it: a worker process, results, canvases, remote control."""

import importlib
import os
import subprocess
import sys
import unittest

import celery
from harness.server import PATIENCE_S
from protocols import Common


class Celery(Common, unittest.TestCase):
    protocol = 3

    def setUp(self):
        super().setUp()
        here = os.path.dirname(os.path.abspath(__file__))
        environ = {**os.environ, "APUS_PORT": str(self.server.port), "PYTHONPATH": here}
        os.environ["APUS_PORT"] = str(self.server.port)
        self.addCleanup(os.environ.pop, "APUS_PORT")
        self.tasks = importlib.import_module("celery_tasks")
        self.addCleanup(self.tasks.app.close)
        worker = subprocess.Popen(
            [
                os.path.join(os.path.dirname(sys.executable), "celery"),
                *("--app", "celery_tasks", "--workdir", self.server.dir),
                *("worker", "--concurrency", "2", "--loglevel", "ERROR"),
            ],
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(worker.wait)
        self.addCleanup(worker.kill)

    def test_a_worker(self):
        tasks = self.tasks

        results = [tasks.add.delay(n, 1) for n in range(50)]
        self.assertEqual([r.get(timeout=PATIENCE_S) for r in results], list(range(1, 51)))
        self.assertEqual(results[0].state, "SUCCESS")

        failed = tasks.always_fails.delay()
        with self.assertRaisesRegex(ValueError, "as it should"):
            failed.get(timeout=PATIENCE_S)
        self.assertEqual(failed.state, "FAILURE")

        self.assertEqual(tasks.third_time_lucky.delay().get(timeout=PATIENCE_S), 2)
        later = tasks.add.apply_async((2, 2), countdown=0.2)
        self.assertEqual(later.get(timeout=PATIENCE_S), 4)

        chain = tasks.add.s(1, 2) | tasks.add.s(3) | tasks.add.s(4)
        self.assertEqual(chain.delay().get(timeout=PATIENCE_S), 10)
        chord = celery.chord(tasks.add.s(n, n) for n in range(20))(tasks.total.s())
        self.assertEqual(chord.get(timeout=PATIENCE_S), 380)

        # Remote control goes through publish/subscribe, replies through lists.
        [reply] = tasks.app.control.ping(limit=1, timeout=PATIENCE_S)
        self.assertEqual(list(reply.values()), [{"ok": "pong"}])
