"""A proxy on loopback that can be cut: connections are reset at whatever byte they have reached."""

import random
import select
import socket
import struct
import threading


class Proxy:
    """Forwards connections to a port. One thread serves them all."""

    def __init__(self, port):
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.peers = {}
        self.ends = False
        self.rng = random.Random(port)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.ends:
            with self.lock:
                socks = [self.listener, *self.peers]
            try:
                ready, _, _ = select.select(socks, [], [], 0.1)
            except (OSError, ValueError):
                continue  # One was closed by `cut`.
            for sock in ready:
                if sock is self.listener:
                    self._accept()
                else:
                    self._forward(sock)

    def _accept(self):
        try:
            near, _ = self.listener.accept()
            far = socket.create_connection(("127.0.0.1", self.target), 10)
        except OSError:
            return
        near.settimeout(10)
        with self.lock:
            self.peers[near], self.peers[far] = far, near

    def _forward(self, sock):
        with self.lock:
            peer = self.peers.get(sock)
        if peer is None:
            return
        try:
            data = sock.recv(1 << 16)
            if data:
                peer.sendall(data)
                return
        except OSError:
            pass
        self._drop(sock)

    def _drop(self, sock):
        with self.lock:
            peer = self.peers.pop(sock, None)
            if peer is None:
                return
            self.peers.pop(peer, None)
        for s in (sock, peer):
            try:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            except OSError:
                pass
            s.close()

    def cut(self):
        """Resets all connections; how many there were."""
        with self.lock:
            socks = list(self.peers)
        for sock in socks:
            self._drop(sock)
        return len(socks) // 2

    def close(self):
        self.ends = True
        self.thread.join()
        self.cut()
        self.listener.close()
