"""A TCP proxy before PostgreSQL that fails in ways a network does, and one that only a test can arrange: it loses the answer
to a COMMIT, and nothing else."""

import socket
import struct
import threading

LOCK = b"pg_try_advisory_lock"  # only the session that writes asks for it


class Link:
    """One connection. `near` is the client's side, `far` the database's."""

    def __init__(self, proxy, near):
        self.proxy, self.near, self.writes, self.silent = proxy, near, False, proxy.swallows
        self.far = socket.create_connection(("127.0.0.1", proxy.target))
        for carry in (self.carry_near, self.carry_far):
            threading.Thread(target=carry, daemon=True).start()

    def carry_near(self):
        """What the client says. It may go silent in the middle of a message."""
        try:
            while data := self.near.recv(65536):
                self.writes = self.writes or LOCK in data
                if self.silent:
                    continue
                if self.writes and self.proxy.takes("stop inside a message"):
                    data, self.silent = data[: len(data) // 2], True
                self.far.sendall(data)
        except OSError:
            pass
        if not self.silent:
            self.end()

    def carry_far(self):
        """What the database answers, message by message."""
        buffered = b""
        try:
            while data := self.far.recv(65536):
                buffered += data
                while len(buffered) >= 5 and len(buffered) > (n := struct.unpack("!I", buffered[1:5])[0]):
                    message, buffered = buffered[: n + 1], buffered[n + 1 :]
                    if self.silent:
                        continue
                    if self.writes and message[:1] == b"C" and message[5:] == b"COMMIT\0":
                        if self.proxy.takes("lose a commit's answer"):
                            return self.end()
                        if self.proxy.takes("reset at a commit's answer"):
                            return self.end(reset=True)
                        if self.proxy.takes("fall silent at a commit's answer"):
                            self.silent = True
                            continue
                    self.near.sendall(message)
        except OSError:
            pass
        if not self.silent:
            self.end()

    def end(self, reset=False):
        for side in (self.near, self.far):
            try:
                if reset:
                    side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    side.shutdown(socket.SHUT_RD)  # a thread that still receives would hold the reset back
                    side.close()
                else:
                    side.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Proxy:
    def __init__(self, target):
        self.target, self.links, self.planned, self.done = target, [], [], 0
        self.swallows = False  # new connections are silent
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.cut()

    def accept(self):
        try:
            while True:
                near = self.listener.accept()[0]
                try:
                    self.links.append(Link(self, near))
                except OSError:
                    near.close()
        except OSError:
            pass

    def uri(self, uri):
        """The database at that URI, through this proxy. It reads messages, so they are not encrypted."""
        return uri.replace(f":{self.target}/", f":{self.port}/") + "?sslmode=disable&gssencmode=disable"

    def plan(self, fault):
        """Does this once, to the session that writes."""
        with self.lock:
            self.planned.append(fault)

    def takes(self, fault):
        with self.lock:
            if fault not in self.planned:
                return False
            self.planned.remove(fault)
            self.done += 1
            return True

    def cut(self, reset=False):
        links, self.links = self.links, []
        for link in links:
            link.end(reset)

    def hush(self):
        """The connection that writes falls silent, and neither side is told. New ones work."""
        for link in self.links:
            link.silent = link.silent or link.writes

    def hush_all(self):
        for link in self.links:
            link.silent = True
