"""Ports for servers under test."""

import socket


def free_port():
    """A port that the system gives to no other process for a minute.

    A connection to it was closed by its own side and waits in TIME_WAIT; a server that sets
    SO_REUSEADDR, as that connection had, may listen there all the same.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", 0))
        probe.listen(1)
        with socket.create_connection(probe.getsockname()):
            probe.accept()[0].close()
        return probe.getsockname()[1]


def own_address():
    """An address of this machine that is not loopback, or None. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        address = probe.getsockname()[0]
        return None if address.startswith("127.") else address
