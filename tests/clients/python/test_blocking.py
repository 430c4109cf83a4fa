"""Blocking commands: served by another connection, timed out, unblocked."""

import threading
import time

import redis
from harness.server import PATIENCE_S, wait_until
from protocols import both_protocols


class Call(threading.Thread):
    """A call that may block, on a thread of its own; `result()` is its outcome."""

    def __init__(self, function, *args, **kwargs):
        super().__init__(daemon=True)
        self.work = lambda: function(*args, **kwargs)
        self.outcome = self.error = None
        self.start()

    def run(self):
        try:
            self.outcome = self.work()
        except Exception as error:
            self.error = error

    def result(self):
        self.join(PATIENCE_S)
        assert not self.is_alive(), "the call still blocks"
        if self.error is not None:
            raise self.error
        return self.outcome


@both_protocols
class Blocking:
    def blocked(self, count):
        wait_until(lambda: self.r.info("clients")["blocked_clients"] == count, f"{count} block")

    def test_served_by_another_connection(self):
        r = self.r
        for call, serve, expected in [
            (lambda c: c.blpop(["l", "m"], PATIENCE_S), lambda: r.rpush("m", 1), ["m", "1"]),
            (lambda c: c.brpop("l", PATIENCE_S), lambda: r.rpush("l", 1, 2), ["l", "2"]),
            (lambda c: c.blmove("s", "d", PATIENCE_S), lambda: r.rpush("s", 1), "1"),
            (lambda c: c.brpoplpush("t", "d", PATIENCE_S), lambda: r.rpush("t", 1), "1"),
            (lambda c: c.blmpop(PATIENCE_S, 1, "p", direction="LEFT"), lambda: r.lpush("p", 1), ["p", ["1"]]),
            (lambda c: c.bzpopmin("z", PATIENCE_S), lambda: r.zadd("z", {"a": 1}), ["z", "a", 1.0]),
            (lambda c: c.bzpopmax("z", PATIENCE_S), lambda: r.zadd("z", {"a": 1}), ["z", "a", 1.0]),
        ]:
            waiting = Call(call, self.client())
            self.blocked(1)
            serve()
            result = waiting.result()
            self.assertEqual(list(result) if isinstance(result, tuple) else result, expected)
            self.blocked(0)

    def test_streams(self):
        self.r.xgroup_create("s", "g", mkstream=True)
        reader = Call(self.client().xread, {"s": "$"}, block=1000 * PATIENCE_S)
        self.blocked(1)
        member = Call(self.client().xreadgroup, "g", "me", {"s": ">"}, block=1000 * PATIENCE_S)
        self.blocked(2)
        id = self.r.xadd("s", {"n": 1})
        self.assertIn(id, str(reader.result()))
        self.assertIn(id, str(member.result()))
        self.assertEqual(self.r.xpending("s", "g")["pending"], 1)

    def test_first_come_first_served(self):
        calls = []
        for i in range(6):
            calls.append(Call(self.client().blpop, "l", PATIENCE_S))
            self.blocked(i + 1)
        self.r.rpush("l", *range(6))
        self.assertEqual([tuple(call.result()) for call in calls], [("l", str(i)) for i in range(6)])

    def test_timeouts(self):
        started = time.monotonic()
        self.assertIsNone(self.r.blpop("l", 0.05))
        self.assertIsNone(self.r.bzpopmin("z", 0.05))
        self.assertIsNone(self.r.blmove("l", "m", 0.05))
        self.assertFalse(self.r.xread({"s": "$"}, block=50))
        self.assertGreaterEqual(time.monotonic() - started, 0.19)
        with self.assertRaisesRegex(redis.ResponseError, "timeout is negative"):
            self.r.blpop("l", -1)

    def test_client_unblock(self):
        for error in (False, True):
            client = self.client(single_connection_client=True)
            id = client.client_id()
            waiting = Call(client.blpop, "l", 0)
            self.blocked(1)
            self.assertTrue(self.r.client_unblock(id, error=error))
            if error:
                with self.assertRaisesRegex(redis.ResponseError, "UNBLOCKED"):
                    waiting.result()
            else:
                self.assertIsNone(waiting.result())
            self.assertFalse(self.r.client_unblock(id))
