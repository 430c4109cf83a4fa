"""The reliable queue that people build on lists: several workers, of which some die.

A worker moves a job into a list of its own, works, and removes it there. What a dead worker leaves
behind is moved back. No job may be lost, and none may be given to two workers.
"""

import threading
import unittest

from harness.server import PATIENCE_S, wait_until
from protocols import Common


class ReliableQueue(Common, unittest.TestCase):
    protocol = 3
    jobs, workers = 600, 6

    def pattern(self, take):
        r = self.r
        done, errors = [], []
        stop = threading.Event()

        def work(name, dies_after):
            try:
                client = self.client()
                while not stop.is_set():
                    job = take(client, "queue", f"doing:{name}")
                    if job is None:
                        continue
                    if dies_after == 0:
                        return  # As a process would: the job stays in its list.
                    dies_after -= 1
                    with client.pipeline() as pipe:
                        removed, _ = pipe.lrem(f"doing:{name}", 1, job).incr(f"ran:{job}").execute()
                    assert removed == 1, job
                    done.append(job)
            except Exception as error:
                errors.append(error)

        # Two of the workers die with a job in their hands.
        lives = [20, 30] + [10**9] * (self.workers - 2)
        threads = [threading.Thread(target=work, args=(i, n)) for i, n in enumerate(lives)]
        for thread in threads:
            thread.start()
        for i in range(0, self.jobs, 20):
            r.lpush("queue", *[f"job{n}" for n in range(i, i + 20)])
        for thread in threads[:2]:
            thread.join(PATIENCE_S)
            self.assertFalse(thread.is_alive(), "a worker got too few jobs")
        left = [r.llen("doing:0"), r.llen("doing:1")]
        self.assertEqual(left, [1, 1])
        for name in (0, 1):
            self.assertIsNotNone(r.lmove(f"doing:{name}", "queue", "LEFT", "LEFT"))
        try:
            wait_until(lambda: len(done) >= self.jobs or errors, "all jobs are done")
        finally:
            stop.set()
        for thread in threads:
            thread.join(PATIENCE_S)
        self.assertEqual(errors, [])
        self.assertEqual(sorted(done), sorted(f"job{n}" for n in range(self.jobs)))
        self.assertEqual(set(r.mget([f"ran:job{n}" for n in range(self.jobs)])), {"1"})
        self.assertEqual(r.exists("queue", *[f"doing:{i}" for i in range(self.workers)]), 0)

    def test_brpoplpush(self):
        self.pattern(lambda r, source, mine: r.brpoplpush(source, mine, timeout=0.2))

    def test_blmove(self):
        self.pattern(lambda r, source, mine: r.blmove(source, mine, 0.2, "RIGHT", "LEFT"))
