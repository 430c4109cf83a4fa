"""celery, as its quick start uses it: a worker process, results, canvases, remote control."""

import importlib
import datetime
import os
import subprocess
import sys
import unittest

import celery
from celery.exceptions import TaskRevokedError
from celery.result import GroupResult
from harness.server import PATIENCE_S, wait_until
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

    def test_canvases(self):
        tasks, client = self.tasks, self.tasks.client()
        self.addCleanup(client.close)
        add, total, note = tasks.add, tasks.total, tasks.note

        def get(signature):
            return signature.apply_async().get(timeout=PATIENCE_S)

        together = celery.group(add.s(n, n) for n in range(10)).apply_async()
        together.save()
        self.assertEqual(together.join_native(timeout=PATIENCE_S), [2 * n for n in range(10)])
        restored = GroupResult.restore(together.id, app=tasks.app)
        self.assertTrue(restored.successful())
        self.assertEqual(restored.completed_count(), 10)
        restored.delete()
        self.assertIsNone(GroupResult.restore(together.id, app=tasks.app))

        # A chain into a group and on is a chord; chords within chords count their parts, too.
        self.assertEqual(get(add.s(1, 1) | celery.group(add.s(n) for n in range(4)) | total.s()), 14)
        inner = celery.chord([add.s(1, 2), add.s(3, 4)], total.s())
        self.assertEqual(get(celery.chord([inner, add.s(5, 6), inner], total.s())), 31)
        self.assertEqual(get(celery.chord([add.s(1, 1) | add.s(1), add.s(2, 2)], total.s()) | add.s(100)), 107)
        self.assertEqual(get(celery.group(add.s(1, 1), celery.group(add.s(2, 2)))), [2, 4])
        self.assertEqual(get(add.starmap([(1, 2), (3, 4)])), [3, 7])
        self.assertEqual(get(add.chunks(zip(range(6), range(6)), 2).group()), [[0, 2], [4, 6], [8, 10]])
        self.assertEqual(get(tasks.replaced.s(5)), 16)
        self.assertEqual(get(tasks.spreads.s([1, 2, 3])), 9)

        # The parts behind one that fails do not run, and callbacks of errors do.
        failing = celery.chord([add.s(1, 1), tasks.always_fails.s()], note.s("noted"))
        failing.link_error(tasks.note_failure.s("failures"))
        with self.assertRaisesRegex(Exception, "as it should"):
            get(failing)
        chain = add.s(1, 1) | tasks.always_fails.si() | note.s("noted")
        result = chain.apply_async(link_error=tasks.note_failure.s("failures"))
        with self.assertRaisesRegex(ValueError, "as it should"):
            result.parent.get(timeout=PATIENCE_S)
        seen = []
        while not any(line == "always_fails: as it should" for line in seen):
            seen.append(client.blpop("failures", PATIENCE_S)[1])
        self.assertFalse(client.exists("noted"))
        linked = add.apply_async((2, 3), link=[note.s("linked"), add.s(1)])
        linked.get(timeout=PATIENCE_S)
        self.assertEqual(client.blpop("linked", PATIENCE_S), ("linked", "5"))

        # A chord of many parts, each of which counts itself off with a transaction.
        many = celery.chord((add.s(n, 0) for n in range(150)), total.s())
        self.assertEqual(get(many), sum(range(150)))

    def test_retries_times_and_revocation(self):
        tasks, client = self.tasks, self.tasks.client()
        self.addCleanup(client.close)
        retried = tasks.counted_retries.delay("runs", 2)
        self.assertEqual(retried.get(timeout=PATIENCE_S), 3)
        hopeless = tasks.counted_retries.delay("more runs", 100)
        with self.assertRaisesRegex(RuntimeError, "run 4"):
            hopeless.get(timeout=PATIENCE_S)
        with self.assertRaises(KeyError):
            tasks.never_works.delay().get(timeout=PATIENCE_S)

        eta = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=0.5)
        ran = tasks.now.apply_async(eta=eta).get(timeout=PATIENCE_S)
        self.assertGreaterEqual(ran, eta.timestamp())
        # Over before a worker comes to it.
        stale = tasks.now.apply_async(expires=eta - datetime.timedelta(hours=1))
        with self.assertRaises(TaskRevokedError):
            stale.get(timeout=PATIENCE_S)

        # One that waits for its time, and one that runs.
        waits = tasks.now.apply_async(countdown=3600)
        inspect = tasks.app.control.inspect(timeout=1)

        def jobs(question):
            """The worker's answer, once there is one: a busy worker may take its time."""
            found = []
            wait_until(lambda: found.extend(sum((question() or {}).values(), [])) or found, "jobs")
            return found

        jobs(inspect.scheduled)
        tasks.app.control.revoke(waits.id)
        runs = tasks.sleep_until.delay("endless")
        client.blpop("endless", PATIENCE_S)
        [active] = jobs(inspect.active)
        self.assertEqual(active["id"], runs.id)
        tasks.app.control.revoke(runs.id, terminate=True, signal="SIGKILL")
        with self.assertRaises(TaskRevokedError):
            runs.get(timeout=PATIENCE_S)
        self.assertEqual(runs.state, "REVOKED")
        self.assertIn(waits.id, jobs(inspect.revoked))

        # The child that was killed has been replaced.
        stopped = tasks.sleep_until.delay("ended")
        client.blpop("ended", PATIENCE_S)
        client.set("ended:stop", 1)
        self.assertEqual(stopped.get(timeout=PATIENCE_S), "stopped")
        stopped.forget()
        self.assertEqual(stopped.state, "PENDING")
