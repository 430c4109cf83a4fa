"""rq, as its quick start uses it: jobs, a worker in burst mode, retries, dependencies."""

import os
import subprocess
import sys
import unittest

import applications
import redis
from harness.server import PATIENCE_S
from protocols import Common
from rq import Queue, Retry


class Rq(Common, unittest.TestCase):
    protocol = 3

    def test_jobs_and_a_worker_in_burst_mode(self):
        connection = redis.Redis(port=self.server.port)
        self.addCleanup(connection.close)
        queue = Queue(connection=connection)
        jobs = [queue.enqueue(applications.count_words, "word " * n) for n in range(20)]
        failing = queue.enqueue(applications.always_fails, retry=Retry(max=2))
        dependent = queue.enqueue(applications.count_words, "two words", depends_on=jobs[-1])
        done = subprocess.run(
            [
                os.path.join(os.path.dirname(sys.executable), "rq"),
                *("worker", "--burst", "--quiet"),
                *("--path", os.path.dirname(applications.__file__)),
                *("--url", f"redis://127.0.0.1:{self.server.port}"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE_S,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual([job.return_value() for job in jobs], list(range(20)), done.stdout)
        self.assertEqual(dependent.return_value(), 2)
        self.assertEqual(failing.get_status(), "failed")
        self.assertEqual(queue.failed_job_registry.count, 1)
        self.assertEqual(done.stdout.count("ValueError: as it should"), 3, "first try, two retries")
        self.assertEqual(len(queue), 0)
