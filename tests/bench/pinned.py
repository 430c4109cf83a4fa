"""A server on core 0 for the benchmarks of clients, programs on core 1, and verdicts on what they measure."""

import contextlib
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

TICK = os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def server(command):
    """A server that keeps nothing, on a port of its own: its process and its port. `command` is redis-server, or a
    path of apus."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = os.path.abspath(shutil.which(command) or command)
    serve = [] if "redis" in os.path.basename(program) else ["serve", "--threads", "1"]
    words = ["taskset", "-c", "0", program, *serve, "--port", str(port), "--save", ""]
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen(words, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            until = time.monotonic() + 30
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > until:
                        raise SystemExit(f"{program} does not listen") from None
                    time.sleep(0.05)
            yield process, port
        finally:
            process.kill()
            process.wait()


def run(*words):
    """What a program on core 1 prints, in words."""
    words = ["taskset", "-c", "1", *map(str, words)]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()


def cpu(pid):
    """Seconds of processor time that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def medians(turns):
    """The median of each column."""
    return [statistics.median(column) for column in zip(*turns)]


def verdict(what, value, floor, at_most=False):
    """Prints whether a floor was reached, and returns that."""
    is_reached = value <= floor if at_most else value >= floor
    print(f"{'reached' if is_reached else 'MISSED '}  {what}: {value:.2f}, {'at most' if at_most else 'at least'} {floor}")
    return is_reached
