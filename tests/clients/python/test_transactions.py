"""MULTI, EXEC and WATCH as redis-py offers them, with many connections at once."""

import threading

import redis
from protocols import both_protocols


@both_protocols
class Transactions:
    def test_a_transaction(self):
        pipe = self.r.pipeline()
        pipe.set("a", 1).incr("a").rpush("l", "x", "y").lrange("l", 0, -1).hset("h", "f", "v")
        self.assertEqual(pipe.execute(), [True, 2, 2, ["x", "y"], 1])

    def test_an_error_in_the_middle_stops_nothing(self):
        pipe = self.r.pipeline()
        pipe.set("a", "text").incr("a").set("b", 1)
        with self.assertRaisesRegex(redis.ResponseError, "not an integer or out of range"):
            pipe.execute()
        self.assertEqual(self.r.get("b"), "1")

    def test_an_error_while_queueing_stops_all(self):
        pipe = self.r.pipeline()
        pipe.set("a", 1).execute_command("NOSUCH")
        with self.assertRaisesRegex(redis.ResponseError, "unknown command 'NOSUCH'"):
            pipe.execute()
        self.assertIsNone(self.r.get("a"))

    def test_watch(self):
        pipe = self.r.pipeline()
        pipe.watch("a")
        self.client().set("a", 2)
        pipe.multi()
        pipe.set("a", 1)
        with self.assertRaises(redis.WatchError):
            pipe.execute()
        self.assertEqual(self.r.get("a"), "2")

    def test_watch_and_retry_from_many_connections_loses_nothing(self):
        # Keys of different shards, moved between in transactions: their sum never changes.
        self.r.mset({"account:a": 1_000, "account:b": 0})
        workers, rounds = 8, 25
        errors, sums = [], []

        def move(r):
            def transfer(pipe):
                a, b = int(pipe.get("account:a")), int(pipe.get("account:b"))
                pipe.multi()
                pipe.set("account:a", a - 1).set("account:b", b + 1)

            try:
                for _ in range(rounds):
                    r.transaction(transfer, "account:a", "account:b")
                    sums.append(sum(map(int, r.mget("account:a", "account:b"))))
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=move, args=(self.client(),)) for _ in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.assertEqual(set(sums), {1_000})
        self.assertEqual(self.r.mget("account:a", "account:b"), ["800", "200"])
