"""Live channels that are topics in a bucket: what subscribers missed comes from there, to whichever server they connect."""

import shutil
import tempfile
import unittest

from harness.bucket import Bucket, needs_bucket
from harness.server import beyond_redis, wait_until
from test_live_topics import Topics, numbers, outlive_retention, place, seen


class Shared(Topics):
    """A server with channels that are topics of a bucket."""

    def __init__(self, bucket, **more):
        super().__init__("--topic-storage", bucket.url, env=bucket.env, **more)
        self.opened()

    def opened(self):
        """Waits until the bucket has answered."""
        wait_until(lambda: not self.resp.command("TOPIC.LIST").startswith(b"-"), "the bucket is open")
        self.resp.close()
        self.resp = self.connect()

    def lose_disk(self):
        """The server is killed, and starts on another machine."""
        self.kill()
        shutil.rmtree(self.data)
        self.data = tempfile.mkdtemp(prefix="apus-live-topics-")
        self.options[1] = self.data
        self.start()


@beyond_redis
@needs_bucket
class TestTopicsInABucket(unittest.TestCase):
    def test_positions_outlive_the_server_and_its_disk(self):
        with Bucket() as bucket, Shared(bucket) as live:
            with live.client() as c:
                live.append("audit", 0)
                at = place(c.call("subscribe", channel="audit:x"))
                self.assertEqual(at["offset"], 1)
                live.append("audit", 1, 2)
                self.assertEqual(seen(c.publication() for _ in range(2)), numbers(1, 3))
                at["offset"] = 3
                self.assertEqual(seen(c.call("history", channel="audit:x", limit=2, reverse=True)["publications"]), numbers(1, 3)[::-1])
                live.append("audit", 3)
                self.assertEqual(seen([c.publication()]), numbers(3, 4))
            live.lose_disk()
            with live.client() as c:
                # Until the bucket has answered clients are told to try again.
                while (result := c.call("subscribe", channel="audit:x", **at)).get("temporary"):
                    pass
                self.assertTrue(result["recovered"], result)
                self.assertEqual((seen(result["publications"]), result["epoch"]), (numbers(3, 4), at["epoch"]))
                live.append("audit", 4)
                self.assertEqual(seen([c.publication()]), numbers(4, 5))
                self.assertEqual(seen(live.api("history", channel="audit:x", limit=-1)["publications"]), numbers(0, 5))

    def test_each_server_shows_the_records_of_all(self):
        with Bucket() as bucket, Shared(bucket) as a, Shared(bucket) as b, a.client() as c, b.client() as d:
            a.append("audit", 0)
            first, second = [place(one.call("subscribe", channel="audit:x")) for one in (c, d)]
            self.assertEqual(first, second)
            expected = numbers(1, 21)
            for n in range(1, 21):
                (a, b)[n % 2].append("audit", n)
            for one in (c, d):
                self.assertEqual(seen(one.publication() for _ in expected), expected)
            # A client that moves recovers.
            with b.client() as moved:
                result = moved.call("subscribe", channel="audit:x", **{**first, "offset": 11})
                self.assertEqual(seen(result["publications"]), numbers(11, 21))
            # Deleted by one, and created again: the subscribers of both are told.
            b.run("TOPIC.DELETE", "audit")
            for one in (c, d):
                self.assertEqual(one.push()["unsubscribe"]["code"], 2500)
            b.append("audit", *range(30))
            with a.client() as moved:
                while (result := moved.call("subscribe", channel="audit:x", **first)).get("temporary"):
                    pass
                self.assertFalse(result.get("recovered"))
                self.assertNotEqual(result["epoch"], first["epoch"])

    def test_removed_objects_are_not_recovered(self):
        with Bucket() as bucket, Shared(bucket) as live, live.client() as c:
            live.run("TOPIC.CREATE", "audit", "retention_bytes", 4096, "linger_ms", 0)
            at, first = outlive_retention(self, live, c)
            with live.client() as late:
                result = late.call("subscribe", channel="audit:x", **at)
                self.assertEqual((result.get("recovered"), result["offset"], result["epoch"]), (None, 41, at["epoch"]))
                late.call("unsubscribe", channel="audit:x")
                result = late.call("subscribe", channel="audit:x", **{**at, "offset": first - 1})
                self.assertEqual([p["offset"] for p in result["publications"]], list(range(first, 42)))

    def test_a_bucket_that_is_away_for_a_while(self):
        with Bucket() as bucket, Shared(bucket, client={"ping_interval": "600s"}) as live, live.client() as c:
            live.append("audit", 0)
            at = place(c.call("subscribe", channel="audit:x"))
            bucket.stop()
            # Neither a wrong answer nor an end: another try helps.
            with live.client() as late:
                result = late.call("subscribe", channel="audit:y", **{**at, "offset": 0})
                if result.get("code"):
                    self.assertEqual((result["code"], result["temporary"]), (100, True))
                else:
                    # From copies.
                    self.assertEqual(seen(result["publications"]), numbers(0, 1))
            bucket.start()
            with live.connect() as producer:
                wait_until(lambda: producer.command("TOPIC.APPEND", "audit", "RECORDS", "1").startswith(b":"), "the bucket takes records")
            self.assertEqual(c.publication()["data"], 1)
            with live.client() as late:
                result = late.call("subscribe", channel="audit:y", **at)
                self.assertEqual((result["recovered"], result["publications"][0]["data"]), (True, 1))


if __name__ == "__main__":
    unittest.main()
