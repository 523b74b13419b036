"""Many connections at once that have not proved a key: which ones are closed, and which are never displaced.

The effect of a flood at a given rate is measured by `flood`; nothing here depends on time."""
import contextlib
import os
import resource
import selectors
import socket
import threading
import unittest

import frames
from cluster import DEADLINE_S, SLOWDOWN, until
from netns import command, enter_once
from test_auth import AuthTest, memory

PENDING_MAX = 256  # limits.h: of each class
MIB = 1 << 20
IPV6_FREEBIND = 78


def is_closed(s):
    s.setblocking(False)
    try:
        return s.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


class FloodTest(AuthTest):
    host = "127.0.0.1"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if most < 4096:
            raise unittest.SkipTest(f"at most {most} descriptors")
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    def open_silent(self, address):
        """Returns a connection that sends nothing."""
        s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        self.addCleanup(s.close)
        s.settimeout(DEADLINE_S)
        if ":" in address:
            s.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
        s.bind((address, 0))
        s.connect((self.host, self.e1.port))
        return s

    def flood(self, addresses, count):
        """Opens this many connections, from these addresses in turn; returns when all beyond the limit were closed."""
        connections = [self.open_silent(addresses[i % len(addresses)]) for i in range(count)]
        until(lambda: sum(not is_closed(s) for s in connections) <= PENDING_MAX, "the excess connections are closed")
        return connections


class PlaintextFloods(FloodTest):
    plain = True

    def finish_hello(self, s):
        """Sends a hello on a silent connection, and checks that it gets a response."""
        s.setblocking(True)
        s.sendall(frames.hello(self.build))
        self.assertEqual(s.recv(6)[5], frames.HELLO)

    def test_flood_from_many_addresses_spares_a_single_peer(self):
        alone = self.open_silent("127.0.0.9")
        connections = self.flood([f"127.2.0.{i + 1}" for i in range(200)], 2000)
        self.assertGreaterEqual(sum(not is_closed(s) for s in connections), PENDING_MAX - 1,
                                "only the excess connections are closed")
        self.assertFalse(is_closed(alone))
        self.finish_hello(alone)
        self.assert_well()

    def test_flood_from_one_address_spares_others(self):
        others = [self.open_silent(f"127.3.0.{i + 1}") for i in range(100)]
        self.flood(["127.0.0.9"], 1000)
        self.assertEqual(sum(map(is_closed, others)), 0)
        for s in others:
            self.finish_hello(s)
        self.assert_well()


class TlsFloods(FloodTest):
    """The first message of a peer with a key protects its connection, also from others of the same address."""

    def test_flood_spares_an_authenticated_peer(self):
        with self.relay() as relay:
            peer = self.connect_without_hello(relay.port)
            peer.send(frames.hello(self.build))
            relay.until_response()  # the executor has its ClientHello; the rest is delayed
            flood = self.flood(["127.0.0.1"], 2000)
            relay.release()
            self.assertEqual(peer.receive_frame()[0], frames.HELLO)
            peer.send(frames.frame(frames.STATUS))
            self.assertEqual(peer.receive_frame()[0], frames.STATUS_REPLY)
        # While they are open, one more connection of the same address may be the one that is closed.
        for s in flood:
            s.close()
        until(lambda: self.executor_status("e1")["state"] == "idle", "the executor answers")
        self.assert_well()

    def test_driver_connects_during_a_flood(self):
        connections = self.flood(["127.0.0.9"], 1000)
        job = self.submit("job", "count-keys", self.ratings(), "out")
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(self.read_output("out"), self.expected())
        self.assertGreaterEqual(sum(not is_closed(s) for s in connections), PENDING_MAX - 1,
                                "the flood fills the limit")

    @contextlib.contextmanager
    def relay(self):
        relay = Relay(self.e1.port)
        try:
            yield relay
        finally:
            relay.close()


class Relay:
    """Proxies one connection to a port, but delays the responses until they are released."""

    def __init__(self, port):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port, self.to = self.server.getsockname()[1], port
        self.response_arrived, self.released = threading.Event(), threading.Event()
        self.near = None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            near = self.near = self.server.accept()[0]
        except OSError:
            return
        with near, socket.create_connection(("127.0.0.1", self.to)) as far, selectors.DefaultSelector() as selector:
            selector.register(near, selectors.EVENT_READ, far)
            selector.register(far, selectors.EVENT_READ, near)
            while True:
                for key, _ in selector.select():
                    data = key.fileobj.recv(65536)
                    if key.fileobj is far:
                        self.response_arrived.set()
                        self.released.wait()
                    if not data:
                        return
                    key.data.sendall(data)

    def until_response(self):
        if not self.response_arrived.wait(DEADLINE_S):
            raise AssertionError("no response")

    def release(self):
        self.released.set()

    def close(self):
        self.release()
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        if self.near is not None:
            with contextlib.suppress(OSError):  # its other end has closed it
                self.near.shutdown(socket.SHUT_RDWR)
        self.thread.join()


class Ipv6Floods(FloodTest):
    """Each IPv6 host has a /64, so a /64 counts as one source."""

    plain = True
    host = "::1"
    executors = {"e1": {"slots": 1, "host": host}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        enter_once()
        for number in (2, 3):  # all of these addresses are local
            command("ip", "-6", "route", "replace", "local", f"fd00:77:0:{number}::/64", "dev", "lo")

    def test_addresses_of_one_ipv6_prefix_count_as_one(self):
        alone = self.open_silent("fd00:77:0:3::1")
        self.flood([f"fd00:77:0:2::{i + 1:x}" for i in range(3000)], 3000)
        self.assertFalse(is_closed(alone))
        alone.setblocking(True)
        alone.sendall(frames.hello(self.build))
        self.assertEqual(alone.recv(6)[5], frames.HELLO)


class Unread(AuthTest):
    """Clients that send many requests and read no responses. They have the secret."""

    CLIENTS = 4
    REQUEST_BYTES = 27 * MIB  # by each, if possible

    def send_without_reading(self, peer, status):
        """Sends this frame until the peer stops reading. Returns the bytes sent; the last frame may be partial."""
        peer.socket.settimeout(2 * SLOWDOWN)
        block, sent = status * (65536 // len(status)), 0
        while sent < self.REQUEST_BYTES:
            try:
                sent += peer.socket.send(block[sent % len(block):])
            except (TimeoutError, ConnectionError):
                break
        return sent

    def check(self):
        status = frames.frame(frames.STATUS)
        peers = [self.connect() for _ in range(self.CLIENTS)]
        sent = [self.send_without_reading(peer, status) for peer in peers]
        if "GLINT_SANITIZED" not in os.environ:  # the address sanitizer quarantines freed memory
            self.assertLess(memory(self.e1.pid), 100 * MIB, sent)
        self.assertLess(max(sent), self.REQUEST_BYTES, "the executor stops reading")
        self.assertEqual(self.executor_status("e1")["state"], "idle")  # other clients get responses
        return peers, sent, status

    def test_unread_replies_use_bounded_memory(self):
        peers, sent, status = self.check()
        for peer, bytes_ in zip(peers, sent):
            peer.socket.settimeout(DEADLINE_S)
            responses = 0
            while responses < bytes_ // len(status):
                kind, _ = peer.receive_frame()
                responses += kind == frames.STATUS_REPLY
            peer.send(status[bytes_ % len(status):] if bytes_ % len(status) else status)
            self.assertEqual(peer.wait_frame(frames.STATUS_REPLY)[0], frames.STATUS_REPLY)
        self.assert_well()


class PlaintextUnread(Unread):
    plain = True


if __name__ == "__main__":
    unittest.main()
