"""Ports for servers under test."""

import random
import socket

# Below those that the system gives to outgoing connections: none of them can take such a port, and none that waits
# for a server to listen can meet itself there.
PORTS = range(10_240, 32_768)


def free_port():
    """A port that nobody listens on, and that was not used of late."""
    while True:
        port = random.choice(PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def own_address():
    """An address of this machine that is not loopback, or None. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        address = probe.getsockname()[0]
        return None if address.startswith("127.") else address
