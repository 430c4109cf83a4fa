"""Snapshots: their contents, their times, and their loading at the next start."""

import os
import signal
import threading
import unittest

from harness.server import Server, beyond_redis, encode, wait_until


def reply(c):
    """One whole reply, arrays flat."""
    line = c.line()
    if line[:1] == b"$":
        n = int(line[1:])
        return None if n < 0 else c.exactly(n + 2)[:-2]
    if line[:1] in (b"*", b"%"):
        return [reply(c) for _ in range(int(line[1:]) * (2 if line[:1] == b"%" else 1))]
    return line


def ask(c, *words):
    c.send(encode(*words))
    return reply(c)


def content(path):
    with open(path, "rb") as f:
        return f.read()


def info(c, field):
    for line in ask(c, "INFO", "persistence").split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.decode() == field:
            return value.decode()
    raise AssertionError(f"INFO has no {field}")


def fill(c):
    """One key of every type, small and big."""
    for n in (3, 3000):
        for i in range(n):
            ask(c, "RPUSH", f"list{n}", i, f"item {i}")
            ask(c, "SADD", f"set{n}", f"member {i}")
            ask(c, "SADD", f"ints{n}", i)
            ask(c, "ZADD", f"zset{n}", i / 3, f"member {i}")
            ask(c, "HSET", f"hash{n}", f"field {i}", i)
            ask(c, "XADD", f"stream{n}", f"{i + 1}-0", "a", i, "b", "x")
    ask(c, "XGROUP", "CREATE", "stream3000", "g", "0")
    ask(c, "XREADGROUP", "GROUP", "g", "me", "COUNT", "7", "STREAMS", "stream3000", ">")
    ask(c, "SET", "int", "12345")
    ask(c, "SET", "long", "x" * 100_000)
    ask(c, "SET", "later", "v", "PX", "100000000")
    ask(c, "PFADD", "hll", *range(1000))
    ask(c, "SELECT", "9")
    ask(c, "SET", "elsewhere", "1")
    ask(c, "SELECT", "0")


class Restarted(Server):
    """Starts again in the directory of a server that has ended."""

    def __init__(self, old, *options):
        self.kept = old.dir
        super().__init__("--dir", old.dir, *options)


DEBUG = ("--enable-debug-command", "yes")


class Snapshots(unittest.TestCase):
    def test_a_restart_finds_everything(self):
        with Server(*DEBUG) as server, server.connect() as c:
            fill(c)
            digest = ask(c, "DEBUG", "DIGEST")
            self.assertEqual(ask(c, "SAVE"), b"+OK")
            self.assertEqual(info(c, "rdb_changes_since_last_save"), "0")
            # Unsaved data is lost: the server is killed.
            ask(c, "SET", "unsaved", "1")
            self.assertEqual(info(c, "rdb_changes_since_last_save"), "1")
            server.process.send_signal(signal.SIGKILL)
            server.process.wait()
            for threads in ("1", "3"):
                with Restarted(server, "--threads", threads, *DEBUG) as again:
                    with again.connect() as d:
                        self.assertEqual(ask(d, "DEBUG", "DIGEST"), digest)
                        self.assertEqual(ask(d, "DEBUG", "RELOAD"), b"+OK")
                        self.assertEqual(ask(d, "DEBUG", "DIGEST"), digest)

    def test_a_background_save_is_of_one_moment(self):
        for threads in ("1", "3"):
            with Server("--threads", threads, *DEBUG) as server, server.connect() as c:
                fill(c)
                ask(c, "DEBUG", "POPULATE", "50000", "key", "20")
                digest = ask(c, "DEBUG", "DIGEST")
                # So slow that everything changes meanwhile.
                ask(c, "CONFIG", "SET", "rdb-key-save-delay", "5000")
                self.assertEqual(ask(c, "BGSAVE"), b"+Background saving started")
                busy = b"-ERR Background save already in progress"
                self.assertEqual(ask(c, "BGSAVE"), busy)
                self.assertEqual(ask(c, "BGSAVE", "SCHEDULE"), busy)
                self.assertEqual([ask(c, *w) for w in (["MULTI"], ["BGSAVE"], ["EXEC"])][2], [busy])
                for i in range(0, 50000, 7):
                    ask(c, "APPEND", f"key:{i}", "more")
                for name in ("list", "set", "ints", "zset", "hash", "stream"):
                    ask(c, "RENAME", f"{name}3", f"{name}new")
                    ask(c, "UNLINK", f"{name}3000")
                ask(c, "SWAPDB", "0", "9")
                ask(c, "FLUSHDB")
                ask(c, "SELECT", "9")
                ask(c, "SELECT", "0")
                self.assertEqual(info(c, "rdb_bgsave_in_progress"), "1", "it ended too soon")
                # It is the first one that is in progress.
                self.assertEqual(info(c, "rdb_saves"), "0", "it ended too soon")
                ask(c, "CONFIG", "SET", "rdb-key-save-delay", "0")
                wait_until(lambda: info(c, "rdb_saves") != "0", "saved")
                self.assertEqual(info(c, "rdb_last_bgsave_status"), "ok")
                os.rename(f"{server.dir}/dump.rdb", f"{server.dir}/first.rdb")
                # The next snapshot has the present data.
                self.assertEqual(ask(c, "BGSAVE"), b"+Background saving started")
                wait_until(lambda: info(c, "rdb_saves") == "2", "saved again")
                now = ask(c, "DEBUG", "DIGEST")
                options = ("--dbfilename", "first.rdb", *DEBUG)
                with Restarted(server, *options) as first, first.connect() as d:
                    self.assertEqual(ask(d, "DEBUG", "DIGEST"), digest)
                with Restarted(server, *DEBUG) as second, second.connect() as d:
                    self.assertEqual(ask(d, "DEBUG", "DIGEST"), now)

    def test_a_background_save_ends_in_the_directory_in_which_it_began(self):
        with Server("--enable-protected-configs", "yes") as server, server.connect() as c:
            for i in range(20):
                ask(c, "SET", i, "v")
            ask(c, "CONFIG", "SET", "rdb-key-save-delay", "20000")
            self.assertEqual(ask(c, "BGSAVE"), b"+Background saving started")
            os.mkdir(f"{server.dir}/other")
            self.assertEqual(ask(c, "CONFIG", "SET", "dir", f"{server.dir}/other"), b"+OK")
            self.assertEqual(info(c, "rdb_bgsave_in_progress"), "1", "it ended too soon")
            wait_until(lambda: info(c, "rdb_bgsave_in_progress") == "0", "saved")
            self.assertEqual(info(c, "rdb_last_bgsave_status"), "ok")
            self.assertTrue(os.path.exists(f"{server.dir}/dump.rdb"))

    def test_a_save_is_not_begun_while_the_journal_is_rewritten(self):
        with Server(*DEBUG) as server, server.connect() as c:
            ask(c, "DEBUG", "POPULATE", "50000")
            ask(c, "CONFIG", "SET", "rdb-key-save-delay", "2000")
            self.assertTrue(ask(c, "BGREWRITEAOF").startswith(b"+Background append only file"))
            wait_until(lambda: info(c, "aof_rewrite_in_progress") == "1", "begun")
            self.assertIn(b"-ERR Another child process is active (AOF?)", ask(c, "BGSAVE"))
            self.assertEqual(ask(c, "BGSAVE", "SCHEDULE"), b"+Background saving scheduled")
            self.assertEqual(info(c, "aof_rewrite_in_progress"), "1", "it ended too soon")
            ask(c, "CONFIG", "SET", "rdb-key-save-delay", "0")
            wait_until(lambda: info(c, "rdb_saves") == "1", "saved")

    def test_a_long_save_does_not_keep_the_server_from_its_last_one(self):
        with Server("--threads", "2", "--save", "3600 1000") as server, server.connect() as c:
            ask(c, "SET", "before", "v")
            ask(c, "CONFIG", "SET", "rdb-key-save-delay", "100000000")
            self.assertEqual(ask(c, "BGSAVE"), b"+Background saving started")
            ask(c, "SET", "after", "v")
            wait_until(lambda: info(c, "current_save_keys_processed") == "1", "it saves the key")
            ask(c, "CONFIG", "SET", "rdb-key-save-delay", "0")
            c.send(encode("SHUTDOWN"))
            self.assertEqual(server.wait(), 0)
            with Restarted(server) as again, again.connect() as d:
                self.assertEqual(ask(d, "DBSIZE"), b":2")

    def test_the_last_save_has_all_that_was_acknowledged(self):
        for how in ("SIGTERM", "SHUTDOWN"):
            with Server("--threads", "3", "--save", "3600 1") as server:
                counts = [0] * 6

                def write(n):
                    try:
                        with server.connect() as c:
                            while c.command("INCR", f"n{n}") == b":%d" % (counts[n] + 1):
                                counts[n] += 1
                    except OSError:
                        pass

                writers = [threading.Thread(target=write, args=(n,)) for n in range(6)]
                for w in writers:
                    w.start()
                wait_until(lambda: min(counts) > 100, "all of them write")
                if how == "SIGTERM":
                    server.process.send_signal(signal.SIGTERM)
                else:
                    with server.connect() as c:
                        c.send(encode("SHUTDOWN"))
                        self.assertTrue(c.is_closed())
                self.assertEqual(server.wait(), 0)
                for w in writers:
                    w.join()
                with Restarted(server) as again, again.connect() as c:
                    for n, count in enumerate(counts):
                        saved = int(ask(c, "GET", f"n{n}"))
                        # One more may have been executed and not answered.
                        self.assertIn(saved, (count, count + 1))

    def test_save_points(self):
        with Server("--save", "1 3") as server, server.connect() as c:
            ask(c, "SET", "a", "1")
            ask(c, "SET", "b", "1")
            ask(c, "SET", "c", "1")
            wait_until(lambda: info(c, "rdb_saves") == "1", "saved by itself")
            self.assertTrue(os.path.exists(f"{server.dir}/dump.rdb"))

    def test_a_save_that_fails_changes_nothing(self):
        with Server("--save", "3600 1") as server, server.connect() as c:
            ask(c, "SET", "a", "1")
            self.assertEqual(ask(c, "SAVE"), b"+OK")
            good = content(f"{server.dir}/dump.rdb")
            # A directory in the way: it cannot be replaced by a file.
            os.rename(f"{server.dir}/dump.rdb", f"{server.dir}/good.rdb")
            os.mkdir(f"{server.dir}/dump.rdb")
            ask(c, "SET", "a", "2")
            self.assertEqual(ask(c, "BGSAVE"), b"+Background saving started")
            wait_until(lambda: info(c, "rdb_last_bgsave_status") == "err", "failed")
            self.assertTrue(ask(c, "SET", "a", "3").startswith(b"-MISCONF "))
            self.assertTrue(ask(c, "PING").startswith(b"-MISCONF "))
            write = "return redis.call('set', KEYS[1], 3)"
            self.assertIn(b"MISCONF ", ask(c, "EVAL", write, "1", "a"))
            self.assertEqual(ask(c, "GET", "a"), b"2")
            self.assertFalse([n for n in os.listdir(server.dir) if n.startswith("temp-")])
            ask(c, "CONFIG", "SET", "stop-writes-on-bgsave-error", "no")
            self.assertEqual(ask(c, "SET", "a", "3"), b"+OK")
            ask(c, "CONFIG", "SET", "stop-writes-on-bgsave-error", "yes")
            # Without a save the server does not end.
            c.send(encode("SHUTDOWN"))
            self.assertEqual(c.line(), b"-ERR Errors trying to SHUTDOWN. Check logs.")
            os.rmdir(f"{server.dir}/dump.rdb")
            self.assertEqual(ask(c, "SAVE"), b"+OK")
            self.assertEqual(ask(c, "SET", "a", "4"), b"+OK")
            self.assertEqual(content(f"{server.dir}/good.rdb"), good)

    def test_libraries_are_part_of_it(self):
        code = "#!lua name=one\nredis.register_function('f', function() return 1 end)"
        other = "#!lua name=two\nredis.register_function('g', function() return 2 end)"
        for options in ((), ("--appendonly", "yes", "--appendfsync", "always")):
            with Server(*options, *DEBUG) as server, server.connect() as c:
                self.assertEqual(ask(c, "FUNCTION", "LOAD", code), b"one")
                self.assertEqual(ask(c, "SAVE"), b"+OK")
                self.assertEqual(ask(c, "FUNCTION", "LOAD", other), b"two")
                self.assertTrue(ask(c, "DEBUG", "RELOAD", "NOFLUSH").startswith(b"-ERR "))
                self.assertEqual(ask(c, "DEBUG", "RELOAD", "NOSAVE", "NOFLUSH", "MERGE"), b"+OK")
                self.assertEqual(ask(c, "FCALL", "g", "0"), b":2")
                self.assertEqual(ask(c, "FUNCTION", "DELETE", "one"), b"+OK")
                self.assertEqual(ask(c, "SAVE"), b"+OK")
                self.assertEqual(ask(c, "DEBUG", "RELOAD"), b"+OK")
                server.process.send_signal(signal.SIGKILL)
                server.process.wait()
                with Restarted(server, *options) as again, again.connect() as d:
                    self.assertEqual(ask(d, "FCALL", "g", "0"), b":2")
                    self.assertTrue(ask(d, "FCALL", "f", "0").startswith(b"-ERR "))

    @beyond_redis
    def test_load(self):
        with Server(*DEBUG) as server, server.connect() as c:
            fill(c)
            digest = ask(c, "DEBUG", "DIGEST")
            ask(c, "SAVE")
            ask(c, "FLUSHALL")
            ask(c, "SET", "other", "1")
            other = ask(c, "DEBUG", "DIGEST")
            path = f"{server.dir}/dump.rdb"
            good = content(path)
            with open(path, "wb") as f:
                f.write(good[:-20])
            self.assertTrue(ask(c, "LOAD").startswith(b"-ERR "))
            self.assertEqual(ask(c, "DEBUG", "DIGEST"), other, "a bad file leaves all as it was")
            with open(path, "wb") as f:
                f.write(good)
            self.assertEqual(ask(c, "LOAD"), b"+OK")
            self.assertEqual(ask(c, "DEBUG", "DIGEST"), digest)

    def test_a_damaged_file_is_refused_at_the_start(self):
        with Server() as server, server.connect() as c:
            fill(c)
            ask(c, "SAVE")
            path = f"{server.dir}/dump.rdb"
            good = bytearray(content(path))
            good[len(good) // 2] ^= 1
            with open(path, "wb") as f:
                f.write(good)
            with self.assertRaises(AssertionError) as refused:
                Restarted(server)
            self.assertIn("Fatal error loading the DB", str(refused.exception))
            self.assertIn("offset", str(refused.exception))

    def test_commands_wait_while_it_loads(self):
        with Server(*DEBUG) as server, server.connect() as c:
            ask(c, "DEBUG", "POPULATE", "20000")
            ask(c, "SAVE")
            ask(c, "SHUTDOWN", "NOSAVE")
            server.wait()
            # Half a second per batch: there is time to look.
            options = ("--key-load-delay", "2000", "--port", str(server.port))
            started = []
            t = threading.Thread(target=lambda: started.append(Restarted(server, *options)))
            t.start()
            try:

                def listens():
                    try:
                        server.connect().close()
                    except OSError:
                        return False
                    return True

                wait_until(listens, "it listens")
                with server.connect() as d:
                    self.assertTrue(ask(d, "GET", "a").startswith(b"-LOADING "))
                    self.assertEqual(info(d, "loading"), "1")
                    # The thread that loads has yet to open the file.
                    wait_until(lambda: b"loading_total_bytes" in ask(d, "INFO", "persistence"), "begun")
                    self.assertEqual(info(d, "loading_total_bytes"), str(
                        os.path.getsize(f"{server.dir}/dump.rdb")))
                    self.assertEqual(ask(d, "CONFIG", "SET", "key-load-delay", "0"), b"+OK")
                    t.join()
                    self.assertEqual(ask(d, "DBSIZE"), b":20000")
            finally:
                t.join()
                started[0].close()


if __name__ == "__main__":
    unittest.main()
