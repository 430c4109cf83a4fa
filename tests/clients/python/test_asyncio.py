"""redis-py's asyncio client: many tasks, pipelines and a connection pool."""

import asyncio
import unittest

import redis.asyncio as redis
from harness.server import Server


class Asyncio(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.close)

    async def clients(self):
        for protocol in (2, 3):
            r = redis.Redis(port=self.server.port, protocol=protocol, max_connections=100)
            await r.flushall()
            yield r
            await r.aclose()

    async def test_increments_of_many_tasks_add_up(self):
        async for r in self.clients():

            async def task(r=r):
                for _ in range(50):
                    await r.incr("n")

            await asyncio.gather(*[task() for _ in range(50)])
            self.assertEqual(await r.get("n"), b"2500")

    async def test_pipelines_side_by_side(self):
        async for r in self.clients():

            async def task(name, r=r):
                async with r.pipeline(transaction=False) as pipe:
                    for i in range(500):
                        pipe.set(f"{name}:{i}", i).get(f"{name}:{i}")
                    return (await pipe.execute())[1::2]

            expected = [b"%d" % i for i in range(500)]
            for replies in await asyncio.gather(*[task(name) for name in "abcdefgh"]):
                self.assertEqual(replies, expected)

    async def test_scan_iter(self):
        async for r in self.clients():
            await r.mset({f"k{i}": 1 for i in range(1_000)})
            found = {key async for key in r.scan_iter(match="k*", count=50)}
            self.assertEqual(len(found), 1_000)

    async def test_large_values_at_once(self):
        async for r in self.clients():
            values = [bytes([65 + i]) * 2_000_000 for i in range(8)]
            await asyncio.gather(*[r.set(f"big{i}", v) for i, v in enumerate(values)])
            replies = await asyncio.gather(*[r.get(f"big{i}") for i in range(len(values))])
            self.assertTrue(replies == values, "a large value came back changed")

    async def test_expiry_is_seen_by_everyone(self):
        async for r in self.clients():
            await r.set("k", "v", px=1)
            while await r.exists("k"):
                await asyncio.sleep(0.001)
            self.assertEqual(await r.mget("k", "k"), [None, None])
