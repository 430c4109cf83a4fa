#!/usr/bin/env python3
"""Publishing with 5 ms of network latency: callers that share a connection, against a pool of 128 connections.

The server is on core 0, callers and relay on core 1 (tests/bench/clients/src/bin/distant.rs).

    tests/bench/distant.py SERVER-COMMAND
"""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

PROGRAM = pathlib.Path(__file__).resolve().parent / "clients/target/release/distant"


def main():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = shutil.which(sys.argv[1]) or os.path.abspath(sys.argv[1])
    serve = [] if "redis" in os.path.basename(program) else ["serve", "--threads", "1"]
    with tempfile.TemporaryDirectory() as directory:
        server = subprocess.Popen(["taskset", "-c", "0", program, *serve, "--port", str(port), "--save", ""],
                                  cwd=directory, stdout=subprocess.DEVNULL)
        try:
            time.sleep(1)
            for callers in ("128", "1024", "4096"):
                # CALLERS POOL MILLISECONDS SECONDS
                words = ["taskset", "-c", "1", PROGRAM, str(port), callers, "128", "5", "4"]
                subprocess.run(words, check=True)
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    main()
