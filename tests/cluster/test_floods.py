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
from cluster import SLOWDOWN, until
from netns import command, enter_once
from test_auth import AuthTest, memory

PENDING_MAX = 256  # net/pending_conns.h: of each class
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
    keys = {**AuthTest.keys, "connect": "60s"}
    host = "127.0.0.1"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if most < 4096:
            raise unittest.SkipTest(f"{most} descriptors, and no more")
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    def come(self, address):
        """A connection that sends nothing."""
        s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        self.addCleanup(s.close)
        s.settimeout(30 * SLOWDOWN)
        if ":" in address:
            s.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
        s.bind((address, 0))
        s.connect((self.host, self.e1.port))
        return s

    def flood(self, addresses, count):
        """Opens this many connections, from these addresses in turn; returns when all beyond the limit were closed."""
        held = [self.come(addresses[i % len(addresses)]) for i in range(count)]
        until(lambda: sum(not is_closed(s) for s in held) <= PENDING_MAX, "there is no place for more")
        return held


class PlaintextFloods(FloodTest):
    plain = True

    def get_in(self, s):
        """One that was silent sends its hello."""
        s.setblocking(True)
        s.sendall(frames.hello(self.build))
        self.assertEqual(s.recv(6)[5], frames.HELLO)

    def test_flood_from_many_addresses_spares_a_single_peer(self):
        alone = self.come("127.0.0.9")
        held = self.flood([f"127.2.0.{i + 1}" for i in range(200)], 2000)
        self.assertGreaterEqual(sum(not is_closed(s) for s in held), PENDING_MAX - 1, "no more go than must")
        self.assertFalse(is_closed(alone))
        self.get_in(alone)
        self.assert_well()

    def test_flood_from_one_address_spares_others(self):
        others = [self.come(f"127.3.0.{i + 1}") for i in range(100)]
        self.flood(["127.0.0.9"], 1000)
        self.assertEqual(sum(map(is_closed, others)), 0)
        for s in others:
            self.get_in(s)
        self.assert_well()


class TlsFloods(FloodTest):
    """The first message of a peer with a key protects its connection, also from others of the same address."""

    def test_flood_spares_an_authenticated_peer(self):
        with self.relay() as relay:
            peer = self.visitor(relay.port)
            peer.send(frames.hello(self.build))
            relay.until_answered()  # the executor has its ClientHello; the rest is delayed
            self.flood(["127.0.0.1"], 2000)
            relay.go_on()
            self.assertEqual(peer.receive_frame()[0], frames.HELLO)
            peer.send(frames.frame(frames.STATUS))
            self.assertEqual(peer.receive_frame()[0], frames.STATUS_REPLY)
        self.assert_well()

    def test_driver_connects_during_a_flood(self):
        held = self.flood(["127.0.0.9"], 1000)
        job = self.submit("job", "count-keys", self.ratings(), "out")
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(self.read_output("out"), self.expected())
        self.assertGreaterEqual(sum(not is_closed(s) for s in held), PENDING_MAX - 1, "the flood stands")

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
        self.answered, self.may_go_on = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            near = self.server.accept()[0]
        except OSError:
            return
        with near, socket.create_connection(("127.0.0.1", self.to)) as far, selectors.DefaultSelector() as selector:
            selector.register(near, selectors.EVENT_READ, far)
            selector.register(far, selectors.EVENT_READ, near)
            while True:
                for key, _ in selector.select():
                    data = key.fileobj.recv(65536)
                    if key.fileobj is far:
                        self.answered.set()
                        self.may_go_on.wait()
                    if not data:
                        return
                    key.data.sendall(data)

    def until_answered(self):
        if not self.answered.wait(30 * SLOWDOWN):
            raise AssertionError("no answer")

    def go_on(self):
        self.may_go_on.set()

    def close(self):
        self.go_on()
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
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
        alone = self.come("fd00:77:0:3::1")
        self.flood([f"fd00:77:0:2::{i + 1:x}" for i in range(3000)], 3000)
        self.assertFalse(is_closed(alone))
        alone.setblocking(True)
        alone.sendall(frames.hello(self.build))
        self.assertEqual(alone.recv(6)[5], frames.HELLO)


class Unread(AuthTest):
    """Clients that send many requests and read no responses. They have the secret."""

    keys = {**AuthTest.keys, "suspect": "20m", "dead": "30m"}  # a client that sends nothing more is not closed for that
    CLIENTS = 4
    ASKED = 27 * MIB  # by each, if possible

    def ask_for_ever(self, peer, status):
        """The number of bytes that could be sent, of these frames in turn; the last one may be partial."""
        peer.socket.settimeout(2 * SLOWDOWN)
        block, sent = status * (65536 // len(status)), 0
        while sent < self.ASKED:
            try:
                sent += peer.socket.send(block[sent % len(block):])
            except (TimeoutError, ConnectionError):
                break
        return sent

    def check(self):
        status = frames.frame(frames.STATUS)
        peers = [self.welcome() for _ in range(self.CLIENTS)]
        sent = [self.ask_for_ever(peer, status) for peer in peers]
        if "GLINT_SANITIZED" not in os.environ:  # the address sanitizer quarantines freed memory
            self.assertLess(memory(self.e1.pid), 100 * MIB, sent)
        self.assertLess(max(sent), self.ASKED, "nobody is listened to for ever")
        self.assertEqual(self.executor_status("e1")["state"], "idle")  # others are
        return peers, sent, status

    def test_unread_replies_use_bounded_memory(self):
        peers, sent, status = self.check()
        for peer, bytes_ in zip(peers, sent):
            peer.socket.settimeout(30 * SLOWDOWN)
            answered = 0
            while answered < bytes_ // len(status):
                kind, _ = peer.receive_frame()
                answered += kind == frames.STATUS_REPLY
            peer.send(status[bytes_ % len(status):] if bytes_ % len(status) else status)
            self.assertEqual(peer.wait_frame(frames.STATUS_REPLY)[0], frames.STATUS_REPLY)
        self.assert_well()


class PlaintextUnread(Unread):
    plain = True


if __name__ == "__main__":
    unittest.main()
