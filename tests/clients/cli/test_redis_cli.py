"""redis-cli and redis-benchmark, as people use them at a prompt."""

import re
import subprocess
import tempfile
import unittest

from harness.server import Server, encode, wait_until

PATIENCE_S = 300


class RedisCli(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--repl-diskless-sync-delay", 0)
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        self.assertEqual(self.cli("FLUSHALL"), "OK\n")

    def run_tool(self, *command, stdin=b""):
        done = subprocess.run(
            [str(word) for word in command],
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=PATIENCE_S,
        )
        self.assertEqual(done.stderr, b"", command)
        self.assertEqual(done.returncode, 0, (command, done.stdout))
        return done.stdout.decode()

    def cli(self, *args, stdin=b""):
        return self.run_tool("redis-cli", "-p", self.server.port, *args, stdin=stdin)

    def fill(self, count):
        with self.server.connect() as c:
            c.send(b"".join(encode("SET", f"key:{i}", "x" * (i + 1)) for i in range(count)))
            self.assertEqual(c.exactly(5 * count), b"+OK\r\n" * count)

    def test_one_shots(self):
        self.assertEqual(self.cli("PING"), "PONG\n")
        self.assertEqual(self.cli("SET", "k", "v w"), "OK\n")
        self.assertEqual(self.cli("GET", "k"), "v w\n")
        self.assertEqual(self.cli("--no-raw", "GET", "k"), '"v w"\n')
        self.assertEqual(self.cli("--no-raw", "GET", "nope"), "(nil)\n")
        self.assertEqual(self.cli("--no-raw", "INCR", "n"), "(integer) 1\n")
        self.assertEqual(self.cli("--no-raw", "MGET", "k", "x"), '1) "v w"\n2) (nil)\n')
        self.assertEqual(self.cli("--csv", "MGET", "k", "x"), '"v w",NULL\n')
        self.assertEqual(self.cli("-n", "3", "DBSIZE"), "0\n")
        self.assertEqual(self.cli("-x", "SET", "in", stdin=b"from\0stdin"), "OK\n")
        self.assertEqual(self.cli("STRLEN", "in"), "10\n")

    def copy(self, option):
        """What another server loads from the file that `redis-cli` has written as a replica: keys and libraries."""
        with tempfile.TemporaryDirectory() as directory:
            command = ["redis-cli", "-p", str(self.server.port), option, f"{directory}/copy.rdb"]
            done = subprocess.run(command, capture_output=True, timeout=PATIENCE_S)
            self.assertEqual(done.returncode, 0, done)
            with Server("--dir", directory, "--dbfilename", "copy.rdb") as loaded:
                cli = ("redis-cli", "-p", loaded.port)
                return self.run_tool(*cli, "DBSIZE"), self.run_tool(*cli, "FUNCTION", "LIST")

    def test_it_takes_a_copy_as_a_replica(self):
        self.fill(1000)
        code = "#!lua name=mylib\nredis.register_function('f', function() return 1 end)"
        self.assertEqual(self.cli("FUNCTION", "LOAD", "REPLACE", code), "mylib\n")
        self.addCleanup(self.cli, "FUNCTION", "FLUSH")
        keys, libraries = self.copy("--rdb")
        self.assertEqual(keys, "1000\n")
        self.assertIn("mylib", libraries)
        keys, libraries = self.copy("--functions-rdb")
        self.assertEqual(keys, "0\n")
        self.assertIn("mylib", libraries)

    def test_it_shows_the_stream_as_a_replica(self):
        self.fill(10)
        command = ["redis-cli", "-p", str(self.server.port), "--replica"]
        shows = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(shows.stdout.close)
        self.addCleanup(shows.wait)
        self.addCleanup(shows.kill)
        wait_until(lambda: "state=online" in self.cli("INFO", "replication"), "it has the copy")
        self.cli("SET", "shown", "yes")
        lines = iter(shows.stdout.readline, b"")
        self.assertTrue(any(b'"shown","yes"' in line for line in lines))

    def test_errors(self):
        text = "ERR wrong number of arguments for 'get' command\n"
        self.assertEqual(self.cli("GET").strip(), text.strip())
        self.assertEqual(self.cli("--no-raw", "GET").strip(), f"(error) {text}".strip())
        answer = self.cli("--no-raw", "NOSUCH", "a", "b").strip()
        expected = "(error) ERR unknown command 'NOSUCH', with args beginning with: 'a' 'b'"
        self.assertEqual(answer.strip(), expected)

    def test_commands_from_stdin(self):
        answers = self.cli(stdin=b'SET k "a\\nb"\nGET k\nINCR n\n\nINCR n\n')
        self.assertEqual(answers.split(), ["OK", "a", "b", "1", "2"])

    def test_repeat(self):
        self.assertEqual(self.cli("-r", "5", "INCR", "n"), "1\n2\n3\n4\n5\n")

    def test_resp3(self):
        self.assertEqual(
            self.cli("-3", "--no-raw", "CONFIG", "GET", "databases"),
            '1# "databases" => "16"\n',
        )
        hello = self.cli("-3", "--no-raw", "HELLO")
        self.assertIn('"proto" => (integer) 3\n', hello)
        self.assertIn("redis_version:", self.cli("-3", "INFO", "server"))

    def test_pipe_mass_insertion(self):
        count = 100_000
        data = b"".join(encode("SET", f"key:{i}", i) for i in range(count))
        answer = self.cli("--pipe", stdin=data)
        self.assertIn(f"errors: 0, replies: {count}\n", answer)
        self.assertEqual(self.cli("DBSIZE"), f"{count}\n")

    def test_scan(self):
        self.fill(1_000)
        keys = self.cli("--scan", "--pattern", "key:*").split()
        self.assertEqual(sorted(keys), sorted(f"key:{i}" for i in range(1_000)))
        self.assertEqual(len(self.cli("--scan", "--pattern", "key:99*").split()), 11)

    def test_bigkeys(self):
        self.fill(1_000)
        answer = self.cli("--bigkeys")
        self.assertRegex(answer, r"Sampled 1000 keys in the keyspace!")
        self.assertRegex(answer, r"Biggest string found .*key:999.* has 1000 bytes")

    def test_memkeys(self):
        self.fill(100)
        self.assertRegex(self.cli("--memkeys"), r"Biggest string found .*key:\d+.* has \d+ bytes")

    def test_stat_once(self):
        self.fill(3)
        tool = subprocess.Popen(
            ["redis-cli", "-p", str(self.server.port), "--stat", "-i", "0.01"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        try:
            lines = [tool.stdout.readline().decode() for _ in range(4)]
        finally:
            tool.kill()
            tool.wait()
            tool.stdout.close()
        self.assertRegex(lines[0], "data")
        self.assertRegex(lines[1], "keys +mem +clients")
        self.assertRegex(lines[2], r"^3 +[\d.]+[KMG] +\d+ +0 +\d+ \(\+0\) +\d+")

    def test_latency(self):
        # One second is the least that redis-cli samples for.
        answer = self.cli("--latency", "--raw", "-i", "1")
        low, high, average, samples = answer.split()
        self.assertTrue(0 <= float(low) <= float(average) <= float(high), answer)
        self.assertGreater(int(samples), 0)

    def test_monitor(self):
        tool = subprocess.Popen(
            ["redis-cli", "-p", str(self.server.port), "MONITOR"], stdout=subprocess.PIPE
        )
        try:
            self.assertEqual(tool.stdout.readline(), b"OK\n")
            self.cli("SET", "k", 'a"b\n\1')
            self.cli("-n", "5", "GET", "k")
            seen = []
            while len(seen) < 2:
                line = tool.stdout.readline().decode()
                self.assertNotEqual(line, "", "MONITOR ended")
                if '"SET"' in line or '"GET"' in line:
                    seen.append(line)
        finally:
            tool.kill()
            tool.wait()
            tool.stdout.close()
        head = r'^\d+\.\d{6} \[%d 127\.0\.0\.1:\d+\] '
        self.assertRegex(seen[0], head % 0 + re.escape(r'"SET" "k" "a\"b\n\x01"') + "\n$")
        self.assertRegex(seen[1], head % 5 + '"GET" "k"\n$')

    def test_client_list_and_kill(self):
        with self.server.connect() as victim:
            client = victim.command("CLIENT", "ID").decode().lstrip(":")
            self.assertRegex(self.cli("CLIENT", "LIST", "ID", client), rf"^id={client} addr=")
            self.assertEqual(self.cli("CLIENT", "KILL", "ID", client), "1\n")
            self.assertTrue(victim.is_closed())


class RedisBenchmark(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.close)

    def bench(self, *args):
        done = subprocess.run(
            ["redis-benchmark", "-p", str(self.server.port), *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE_S,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotRegex(done.stdout, "(?i)warning|error|could not", done.stdout)
        return re.findall(r"^(?:.*\r)?([A-Z_a-z() \d]+): [\d.]+ requests per second", done.stdout, re.M)

    def test_usual_set(self):
        names = self.bench(*"-t set,get,incr,mset,ping -P 16 -n 20000 -q".split())
        expected = ["PING_INLINE", "PING_MBULK", "SET", "GET", "INCR", "MSET (10 keys)"]
        self.assertEqual([name.strip() for name in names], expected)

    def test_threads(self):
        names = self.bench(*"-t set,get -P 16 -n 20000 -q --threads 2 -r 1000 -c 20".split())
        self.assertEqual([name.strip() for name in names], ["SET", "GET"])

    def test_resp3_and_large_values(self):
        names = self.bench(*"-3 -t set,get -n 2000 -d 100000 -q".split())
        self.assertEqual([name.strip() for name in names], ["SET", "GET"])
