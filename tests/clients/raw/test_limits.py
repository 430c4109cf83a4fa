"""Limits on clients: their number, their time, their memory, and the effects of reaching them."""

import re
import resource
import select
import socket
import threading
import time
import unittest

from harness.ports import own_address
from harness.server import PATIENCE_S, Raw, Server, beyond_redis, encode, open_files, wait_until

MB = 1_000_000


class Connections(unittest.TestCase):
    def test_maxclients(self):
        with Server("--maxclients", 3) as server:
            inside = [server.connect() for _ in range(3)]
            for c in inside:
                self.assertEqual(c.command("PING"), b"+PONG")
            with server.connect() as outside:
                self.assertEqual(outside.line(), b"-ERR max number of clients reached")
                self.assertTrue(outside.is_closed())
            c = inside.pop()
            c.close()

            def admitted():
                with server.connect() as again:
                    try:
                        return again.command("PING") == b"+PONG"
                    except BrokenPipeError:
                        return False

            wait_until(admitted, "a place that became free was given away")
            stats = inside[0].command("INFO", "stats")
            text = inside[0].exactly(int(stats[1:]))
            self.assertRegex(text, rb"rejected_connections:[1-9]")
            for c in inside:
                c.close()

    def test_idle_clients_are_closed(self):
        with Server() as server, server.connect() as idle:
            self.assertEqual(idle.command("CONFIG", "SET", "timeout", 1), b"+OK")
            self.assertTrue(idle.is_closed())

    def test_busy_clients_are_not_closed(self):
        longest_pause = 10
        # Again where this process got so little time that this one was idle, too.
        while longest_pause > 2:
            with Server() as server, server.connect() as busy, server.connect() as idle:
                self.assertEqual(busy.command("CONFIG", "SET", "timeout", 3), b"+OK")
                reply, last, longest_pause = b"+PONG", time.monotonic(), 0
                closed = threading.Thread(target=idle.is_closed)
                closed.start()
                while closed.is_alive() and reply == b"+PONG":
                    closed.join(0.05)
                    try:
                        reply = busy.command("PING")
                    except OSError as error:
                        reply = error
                    longest_pause = max(longest_pause, time.monotonic() - last)
                    last = time.monotonic()
                closed.join()
        self.assertEqual(reply, b"+PONG")

    def test_a_client_that_was_just_answered_is_not_idle(self):
        with Server() as server, server.connect() as c:
            self.assertEqual(c.command("CONFIG", "SET", "timeout", 2), b"+OK")
            # A blocked client is not idle; its idle time begins when it is answered.
            c.send(encode("BLPOP", "nothing", "3.5"))
            self.assertEqual(c.line(), b"*-1")
            time.sleep(0.5)
            self.assertEqual(c.command("PING"), b"+PONG")

    def test_a_reader_of_a_long_reply_is_not_idle(self):
        with Server() as server, server.connect() as c:
            self.assertEqual(c.command("SET", "k", "x" * 50 * MB), b"+OK")
            self.assertEqual(c.command("CONFIG", "SET", "timeout", 1), b"+OK")
            c.send(encode("GET", "k"))
            self.assertEqual(c.line(), b"$50000000")
            left = 50 * MB + 2
            # Slowly, for some seconds, but something in every second.
            for _ in range(30):
                left -= len(c.exactly(MB))
                time.sleep(0.1)
            c.exactly(left)
            self.assertEqual(c.command("PING"), b"+PONG")

    @beyond_redis
    def test_a_client_that_has_gone_holds_no_memory(self):
        def work(seconds):
            return encode("EVAL", f"local t = os.clock() while os.clock() - t < {seconds} do end", 0)

        with Server("--threads", 2) as server:
            clients = [server.connect() for _ in range(8)]
            worker, *others = clients
            self.assertEqual(worker.command("CONFIG", "SET", "maxmemory-clients", "10mb"), b"+OK")
            beside, apart = [], []
            while not (beside and len(apart) > 1):
                # Clients on the same thread are answered later.
                worker.send(work(0.5))
                time.sleep(0.1)
                for c in others:
                    c.send(encode("PING"))
                time.sleep(0.1)
                ready, _, _ = select.select([c.socket for c in clients], [], [], 0)
                if worker.socket not in ready:
                    apart = [c for c in others if c.socket in ready]
                    beside = [c for c in others if c not in apart]
                self.assertEqual(worker.line(), b"$-1")
                self.assertEqual({c.line() for c in others}, {b"+PONG"})
            large, (observer, newcomer) = beside[0], apart[:2]
            large.send(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4100000\r\n" + b"x" * 4 * MB)

            def memory():
                header = observer.command("CLIENT", "LIST")
                text = observer.exactly(int(header[1:]) + 2)
                return max(int(bytes) for bytes in re.findall(rb"tot-mem=(\d+)", text))

            wait_until(lambda: memory() >= 4 * MB, "the beginning of a large command arrives")
            # The thread is busy when the client leaves.
            worker.send(work(2))
            time.sleep(0.3)
            large.close()
            self.assertEqual(newcomer.command("SET", "k", b"y" * 9 * MB), b"+OK")
            self.assertEqual(worker.line(), b"$-1")
            for c in clients:
                c.close()

    def test_protected_mode(self):
        address = own_address()
        if address is None:
            self.skipTest("this machine has loopback addresses only")
        with Server("--bind", "0.0.0.0", "--protected-mode", "yes") as server:
            with socket.create_connection((address, server.port), PATIENCE_S) as s:
                self.assertRegex(s.recv(4096), b"^-DENIED .*protected mode")
                try:
                    self.assertEqual(s.recv(1), b"")
                except ConnectionResetError:
                    pass
            with server.connect() as c:
                self.assertEqual(c.command("CONFIG", "SET", "requirepass", "x"), b"+OK")
            with socket.create_connection((address, server.port), PATIENCE_S) as s:
                s.sendall(encode("AUTH", "x"))
                self.assertEqual(s.recv(4096), b"+OK\r\n")

    def test_loopback_is_the_default(self):
        address = own_address()
        if address is None:
            self.skipTest("this machine has loopback addresses only")
        with Server("--bind", "127.0.0.1") as server:
            with self.assertRaises(ConnectionRefusedError):
                socket.create_connection((address, server.port), PATIENCE_S).close()

    @beyond_redis
    def test_running_out_of_descriptors(self):
        with Server() as server:
            first = server.connect()
            self.assertEqual(first.command("PING"), b"+PONG")
            hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)[1]
            # Below the number of its open files, so that every accept() fails with EMFILE.
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (3, hard))
            waiting = [server.connect() for _ in range(20)]
            for c in waiting:
                c.send(encode("PING"))
            self.assertEqual(first.command("PING"), b"+PONG", "others are not affected")
            before = server.cpu_s()
            time.sleep(1)
            self.assertLess(server.cpu_s() - before, 0.5, "the acceptor spins")
            self.assertEqual(first.command("PING"), b"+PONG")
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (hard, hard))
            with server.connect() as c:
                self.assertEqual(c.command("PING"), b"+PONG", "accepts again")
            for c in waiting:
                # Served late or closed, but not left hanging.
                self.assertIn(c.line(), [b"+PONG", b""])
                c.close()
            first.close()

    def test_10_000_connections(self):
        count = min(10_000, open_files(self, 10_300) - 300)
        with Server("--maxclients", count + 10) as server, server.connect() as other:
            self.assertEqual(other.command("PING"), b"+PONG")
            empty = server.rss_bytes()
            clients = []
            try:
                for _ in range(count):
                    clients.append(server.connect())
                for c in clients:
                    self.assertEqual(c.command("PING"), b"+PONG")
                idle = (server.rss_bytes() - empty) // count
                for c in clients:
                    c.send(b"*")
                self.assertEqual(other.command("PING"), b"+PONG")
                begun = (server.rss_bytes() - empty) // count
                print(f"         {count} connections: {idle} bytes each idle, {begun} with a byte sent")
                for c in clients:
                    c.send(encode("ECHO", "x")[1:])
                for c in clients:
                    self.assertEqual(c.exactly(7), b"$1\r\nx\r\n")
            finally:
                for c in clients:
                    c.close()
            self.assertLess(begun, 64 * 1024, "a connection that sent one byte")

    @beyond_redis
    def test_idle_connections_are_small(self):
        # The first connections pay for shared memory, so that only the others are counted.
        first = 500
        more = min(2_000, open_files(self, first + 2_300) - first - 300)
        with Server() as server:
            clients = [server.connect() for _ in range(first)]
            for c in clients:
                self.assertEqual(c.command("PING"), b"+PONG")
            before = server.rss_bytes()
            clients += [server.connect() for _ in range(more)]
            for c in clients[first:]:
                self.assertEqual(c.command("PING"), b"+PONG")
            each = (server.rss_bytes() - before) / more
            for c in clients:
                c.close()
            self.assertLess(each, 4096)


class Memory(unittest.TestCase):
    def assert_bounded(self, server, before, what, limit=64 * MB):
        grown = server.rss_bytes() - before
        self.assertLess(grown, limit, f"{what}: grew by {grown // MB} MB")

    def slow_reader(self, server):
        """A connection that asks for 4,000 MB and reads none of it."""
        with server.connect() as c:
            self.assertEqual(c.command("SET", "big", "x" * MB), b"+OK")
        slow = Raw(server.port)
        slow.socket.settimeout(2)
        try:
            slow.send(encode("GET", "big") * 4_000)
        except OSError:
            pass  # The server closed it, or stopped reading its requests: both bound the memory.
        slow.socket.settimeout(PATIENCE_S)
        return slow

    def test_a_slow_reader_is_closed_at_the_limit(self):
        limit = ["--client-output-buffer-limit", "normal", "16mb", "0", "0"]
        with Server(*limit) as server, server.connect() as other:
            other.command("SET", "big", "x" * MB)
            before = server.rss_bytes()
            gets = encode("GET", "big") * 20
            for request in (
                encode("MGET", *["big"] * 20),
                encode("MULTI") + gets + encode("EXEC"),
            ):
                with server.connect() as slow:
                    slow.send(request)
                    for _ in range(100):
                        self.assertEqual(other.command("PING"), b"+PONG", "others are served")
                    received = 0
                    while data := slow.receive(MB):
                        received += len(data)
                        self.assertLess(received, 20 * MB, "the limit was not applied")
            self.assert_bounded(server, before, "slow readers with a limit")

    def test_a_reply_without_end_ends_at_the_limit(self):
        with Server("--client-output-buffer-limit", "normal", "1mb", "0", "0") as server:
            with server.connect() as c:
                c.send(encode("HSET", "h", "f", "v") + encode("SADD", "s", "m"))
                c.send(encode("ZADD", "z", "1", "m"))
                self.assertEqual([c.line() for _ in range(3)], [b":1"] * 3)
            for command in ("HRANDFIELD h", "SRANDMEMBER s", "ZRANDMEMBER z"):
                with server.connect() as c:
                    c.send(encode(*command.split(), "-999999999"))
                    self.assertTrue(c.is_closed(), command)

    @beyond_redis
    def test_a_slow_reader_without_a_limit_is_held_back(self):
        with Server() as server, server.connect() as other:
            other.command("PING")
            before = server.rss_bytes()
            with self.slow_reader(server) as slow:
                for _ in range(100):
                    self.assertEqual(other.command("PING"), b"+PONG", "others are served")
                self.assert_bounded(server, before, "a slow reader")
                # It is behind, not lost: everything comes once it reads.
                reply = b"$1000000\r\n" + b"x" * MB + b"\r\n"
                for _ in range(100):
                    self.assertTrue(slow.exactly(len(reply)) == reply)

    def test_announced_lengths_take_no_memory(self):
        with Server() as server, server.connect() as other:
            other.command("PING")
            before = server.rss_bytes()
            clients = [server.connect() for _ in range(20)]
            for c in clients:
                c.send(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$500000000\r\nabc")
            for _ in range(20):
                clients.append(server.connect())
                clients[-1].send(b"*1000000\r\n$3\r\nDEL\r\n$1\r\n")
            self.assertEqual(other.command("PING"), b"+PONG")
            self.assert_bounded(server, before, "announced lengths", 200 * MB)
            for c in clients:
                c.close()

    def test_query_buffer_limit(self):
        with Server("--client-query-buffer-limit", "1mb") as server:
            with server.connect() as c:
                try:
                    c.send(encode("SET", "k", "x" * 4 * MB))
                except (BrokenPipeError, ConnectionResetError):
                    pass
                self.assertTrue(c.is_closed())
            with server.connect() as c:
                self.assertEqual(c.command("EXISTS", "k"), b":0")
                self.assertEqual(c.command("SET", "k", "x" * 900_000), b"+OK")

    def queue_until_closed(self, c, size):
        """Queues commands of `size` bytes; how many were queued when the connection was closed."""
        self.assertEqual(c.command("MULTI"), b"+OK")
        for i in range(400):
            try:
                reply = c.command("SET", "k", "x" * size)
            except (BrokenPipeError, ConnectionResetError):
                return i
            if reply != b"+QUEUED":
                self.assertEqual(reply, b"", "closed without a word")
                return i
        return None

    @beyond_redis  # Redis 7.2 and later do.
    def test_what_multi_queues_counts_as_input(self):
        with Server("--client-query-buffer-limit", "1mb") as server, server.connect() as other:
            with server.connect() as c:
                self.assertIn(self.queue_until_closed(c, 100_000), range(9, 12))
            with server.connect() as c:
                # Commands that have been run, or dropped, do not count.
                for end in ["EXEC", "DISCARD"] * 3:
                    self.assertEqual(c.command("MULTI"), b"+OK")
                    for _ in range(8):
                        self.assertEqual(c.command("SET", "k", "x" * 100_000), b"+QUEUED")
                    c.send(encode(end))
                    self.assertIn(c.line(), [b"*8", b"+OK"])
                    if end == "EXEC":
                        c.exactly(8 * len("+OK\r\n"))
            self.assertEqual(other.command("PING"), b"+PONG")

    def test_what_multi_queues_counts_as_memory_of_the_client(self):
        with Server("--maxmemory-clients", "5mb") as server, server.connect() as other:
            self.assertEqual(other.command("PING"), b"+PONG")
            with server.connect() as c:
                queued = self.queue_until_closed(c, 100_000)
                self.assertIsNotNone(queued, "it queued 40 MB")
            self.assertEqual(other.command("PING"), b"+PONG", "the others stay")
            text = other.exactly(int(other.command("INFO", "stats")[1:]))
            self.assertIn(b"evicted_clients:1\r\n", text)

    def test_nothing_is_queued_without_memory(self):
        with Server("--maxmemory-policy", "noeviction") as server, server.connect() as c:
            c.command("SET", "k", "v")
            self.assertEqual(c.command("MULTI"), b"+OK")
            with server.connect() as other:
                self.assertEqual(other.command("CONFIG", "SET", "maxmemory", 1), b"+OK")
            # Whatever it would do: to be queued takes memory, too.
            self.assertRegex(c.command("GET", "k"), b"^-OOM ")
            self.assertRegex(c.command("EXEC"), b"^-EXECABORT ")
            # Outside of a transaction reading needs none.
            self.assertEqual(c.command("STRLEN", "k"), b":1")

    def test_memory_of_closed_connections_comes_back(self):
        with Server() as server, server.connect() as other:
            for _ in range(3):
                clients = [server.connect() for _ in range(50)]
                for c in clients:
                    c.send(encode("PING", "x" * MB)[:-10])
                other.command("PING")
                for c in clients:
                    c.close()
            wait_until(lambda: clients_of(other) == 1, "the closed connections are gone")
            self.assert_bounded(server, 0, "after 150 closed connections", 120 * MB)


def clients_of(connection):
    """How many connections the server knows, this one included."""
    text = connection.exactly(int(connection.command("CLIENT", "LIST")[1:]) + 2)
    return len(text.strip().splitlines())
