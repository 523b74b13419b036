"""What comes to a port of an executor and is not what it should be: it gets nothing, and harms nobody."""
import contextlib
import os
import resource
import socket
import ssl
import threading
import unittest

import frames
from cluster import SLOWDOWN, ClusterTest, until

SANITIZED = "GLINT_SANITIZED" in os.environ
MEMORY_SPARE = 128 << 20 if SANITIZED else 8 << 20  # address sanitizer keeps what was freed
ARRAY_32_MAX = b"\xdd\xff\xff\xff\xff"
NESTED_40 = b"\x91" * 40 + b"\xc0"
NESTED_ARRAYS_OF_65535 = b"\xdc\xff\xff" * 32
BOMBS = {"an array of 2^32-1": ARRAY_32_MAX, "40 deep": NESTED_40, "32 arrays of 65,535": NESTED_ARRAYS_OF_65535,
         "a map of 2^32-1": b"\xdf\xff\xff\xff\xff", "a text of 2^32-1": b"\xdb\xff\xff\xff\xff",
         "bytes of 2^32-1": b"\xc6\xff\xff\xff\xff", "an array that fills the frame": b"\xdc\x7f\xf0" + b"\x90" * 0x7ff0}


def memory(pid):
    """Resident bytes, at most so far."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


class DoorTest(ClusterTest):
    """One executor, and whoever comes."""

    keys = {**ClusterTest.keys, "connect": "1s"}
    executors = {"e1": {"slots": 1}}
    plain = False

    def setUp(self):
        super().setUp()
        self.write_cluster(insecure_plaintext=self.plain)
        self.e1 = self.executor("e1")
        self.build = self.executor_status("e1")["version"]

    def visitor(self, port=None):
        port = port or self.e1.port
        if self.plain:
            peer = frames.Plain(port, 30 * SLOWDOWN)
        else:
            with open(os.path.join(self.env["XDG_STATE_HOME"], "glint", "secret"), encoding="ascii") as file:
                secret = bytes.fromhex(file.read().strip())
            peer = frames.Secured(port, 30 * SLOWDOWN, secret)
        self.addCleanup(peer.close)
        return peer

    def welcome(self, port=None, **hello):
        peer = self.visitor(port)
        peer.send(frames.hello(self.build, **hello))
        self.assertEqual(peer.receive_frame()[0], frames.HELLO)
        return peer

    def assert_well(self):
        self.assertEqual(self.executor_status("e1")["state"], "idle")
        job = self.submit("after", "empty-tasks", "--tasks", "3")
        self.assertEqual(job.wait(), 0, job.err)

    @contextlib.contextmanager
    def memory_flat(self, pid):
        """No more than a little memory is taken, and there is none to be had for a bomb."""
        if not SANITIZED:
            resource.prlimit(pid, resource.RLIMIT_AS, (1 << 30, 1 << 30))
        before = memory(pid)
        yield
        self.assertLess(memory(pid) - before, MEMORY_SPARE)


class Frames(DoorTest):
    def test_of_wrong_shape_end_the_connection(self):
        ping = frames.pack([1, 0, 0])
        wrong = {"nothing for a hello": frames.frame(frames.HELLO, b""),
                 "4 GB of hello": frames.frame(frames.HELLO, b"", length=0xffffffff),
                 "2 KiB of hello": frames.frame(frames.HELLO, bytes(2048)),
                 "before the hello": frames.frame(frames.STATUS),
                 "unknown before the hello": frames.frame(99),
                 "another magic": b"GLNX" + frames.hello(self.build)[4:],
                 "another version": frames.frame(frames.HELLO, bytes(9), version=2),
                 "a flag": frames.frame(frames.HELLO, bytes(9), flags=1),
                 "a damaged hello": frames.frame(frames.HELLO, bytes(9), damage=1)}
        behind = {"a second hello": frames.hello(self.build),
                  "unknown": frames.frame(99),
                  "type 0": frames.frame(0),
                  "no ping in a ping": frames.frame(frames.PING, b""),
                  "4 GB of ping": frames.frame(frames.PING, b"", length=0xffffffff),
                  "more than a ping may have": frames.frame(frames.PING, bytes(40000)),
                  "half covered": frames.frame(frames.PING, ping, head=3),
                  "damaged": frames.frame(frames.PING, ping, damage=1 << 63),
                  "bytes behind the ping": frames.frame(frames.PING, ping + b"\xc0"),
                  "what a daemon never hears": frames.frame(frames.MESSAGE, frames.pack([1])),
                  "data that nobody asked for": frames.frame(frames.DATA, bytes(100), head=0)}
        with self.memory_flat(self.e1.pid):
            for name, data in wrong.items():
                with self.subTest(name):
                    peer = self.visitor()
                    peer.send(data)
                    peer.until_closed()
            for name, data in behind.items():
                with self.subTest(name):
                    peer = self.welcome()
                    peer.send(data)
                    peer.until_closed()
        self.assert_well()

    def test_with_bombs_inside_cost_nothing(self):
        with self.memory_flat(self.e1.pid):
            for name, bomb in BOMBS.items():
                for kind in (frames.HELLO, frames.PING, frames.CANCEL, frames.ADMIT):
                    if kind == frames.HELLO and len(bomb) > 1024:
                        continue
                    with self.subTest(name, kind=kind):
                        peer = self.visitor() if kind == frames.HELLO else self.welcome(role=frames.DRIVER)
                        peer.send(frames.frame(kind, bomb))
                        peer.until_closed()
        self.assert_well()

    def test_with_bombs_inside_end_a_child_at_most(self):
        """What a driver sends to the process that was started for it; the daemon starts another one."""
        for name, bomb in BOMBS.items():
            for payload in (bomb, b"\x9a\x01" + b"\x00" * 6 + bomb, self.job_of(bomb)):
                with self.subTest(name):
                    driver, control = self.begin_job()
                    control.send(frames.frame(frames.MESSAGE, payload))
                    control.until_closed()
                    until(lambda: not self.e1.children(), "it has ended")
                    driver.close()
        self.assertNotIn("signal", self.e1.err)
        self.assertIn("E0606", self.e1.err)
        self.assert_well()

    def test_with_bombs_for_plans_and_tasks_end_a_child_at_most(self):
        job = self.job_of(frames.pack([1 << 24, 1 << 30, 0, 0, ""]))
        for kind in range(2, 9):
            for name, bomb in BOMBS.items():
                with self.subTest(name, kind=kind):
                    driver, control = self.begin_job()
                    control.send(frames.frame(frames.MESSAGE, job))
                    control.send(frames.frame(frames.MESSAGE, self.message(kind, bomb)))
                    control.send(frames.frame(frames.PING, b""))  # which ends it at last
                    control.until_closed()
                    until(lambda: not self.e1.children(), "it has ended")
                    driver.close()
        self.assertNotIn("signal", self.e1.err)
        self.assert_well()

    def begin_job(self):
        """Connections, as a driver, to the daemon and to the process it has started."""
        driver = self.welcome(role=frames.DRIVER, node="driver")
        driver.send(frames.frame(frames.ADMIT, frames.pack([1, "bomb"])))
        found = driver.wait_frame(frames.ADMITTED, frames.REFUSE)
        self.assertEqual(found[0], frames.ADMITTED)
        port, incarnation = frames.unpack(found[1])[0]
        if not SANITIZED:
            resource.prlimit(self.e1.children()[0], resource.RLIMIT_AS, (1 << 30, 1 << 30))
        me = os.urandom(16)
        control, _ = [self.welcome(port, role=frames.DRIVER, node="driver", channel=channel,
                                   wanted=incarnation, incarnation=me)
                      for channel in (frames.CONTROL_CHANNEL, frames.DATA_CHANNEL)]
        self.assertEqual(control.wait_frame(frames.READY)[0], frames.READY)
        return driver, control

    @staticmethod
    def message(kind, body):
        """Right but for its body."""
        return b"\x9a" + b"".join(map(frames.pack, [kind, 0, 0, 0, 0, 0, 0, body, b""])) + b"\x90"

    def job_of(self, body):
        return self.message(1, body)


class PlainFrames(Frames):
    plain = True


class Strangers(DoorTest):
    def test_with_tls_but_no_key(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context.minimum_version = context.maximum_version = version
            with socket.create_connection(("127.0.0.1", self.e1.port), 30 * SLOWDOWN) as s:
                with self.assertRaises((ssl.SSLError, ConnectionError)):
                    context.wrap_socket(s)
        self.assert_well()

    def test_with_another_key(self):
        peer = frames.Secured(self.e1.port, 30 * SLOWDOWN, os.urandom(32))
        self.addCleanup(peer.close)
        peer.send(frames.hello(self.build))
        peer.until_closed()
        self.e1.until_says("was not let in: ")
        self.assert_well()

    def test_who_speak_byte_by_byte_have_no_more_time_than_others(self):
        for data in (bytes.fromhex("160301020001") + bytes(512), b"GET / HTTP/1.1\r\n" + b"x" * 512):
            peer = frames.Plain(self.e1.port, 0.05)
            self.addCleanup(peer.close)
            sent = 0
            while sent < len(data) and peer.send(data[sent:sent + 1]):
                sent += 1
                try:
                    if peer.receive() == b"":
                        break
                except TimeoutError:
                    continue
            self.assertLess(sent, len(data))
        self.assert_well()

    def test_an_address_with_many_of_them_takes_no_room_of_others(self):
        """Beyond 64 the oldest of an address with more than 16 gives way, and nobody else."""
        self.stop(self.e1)
        self.write_cluster(connect="30s")
        self.e1 = self.executor("e1")

        def come(address, count):
            comers = [socket.create_connection(("127.0.0.1", self.e1.port), 30 * SLOWDOWN, (address, 0))
                      for _ in range(count)]
            for s in comers:
                self.addCleanup(s.close)
            return comers

        def closed(s):
            s.setblocking(False)
            try:
                return s.recv(1) == b""
            except BlockingIOError:
                return False
            except ConnectionError:
                return True

        few, many = come("127.0.0.2", 10), come("127.0.0.3", 70)
        until(lambda: sum(map(closed, many)) == 16, "of 80 there is room for 64")
        self.assertEqual(sum(map(closed, many[:16])), 16, "the oldest have given way")
        others = come("127.0.0.4", 38)
        until(lambda: sum(map(closed, many)) == 54, "16 are left of the address with many")
        more = come("127.0.0.4", 10)
        until(lambda: sum(map(closed, others)) == 10, "its share is not taken from it")
        self.assertEqual((sum(map(closed, few)), sum(map(closed, many)), sum(map(closed, more))), (0, 54, 0))
        self.assertEqual(self.executor_status("e1")["state"], "idle")

    def test_a_thousand_silent_ones_do_not_keep_a_driver_out(self):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if most < 1200:
            self.skipTest(f"{most} descriptors, and no more")
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self.stop(self.e1)
        self.write_cluster(connect="30s")
        self.e1 = self.executor("e1")
        with contextlib.ExitStack() as stack:
            for _ in range(1000):
                stack.enter_context(socket.create_connection(("127.0.0.1", self.e1.port), 30 * SLOWDOWN))
            job = self.submit("job", "count-keys", self.ratings(), "out")
            self.assertEqual(job.wait(), 0, job.err)
            self.assertEqual(self.read_output("out"), self.expected())
            self.assertLess(len(os.listdir(f"/proc/{self.e1.pid}/fd")), 100)


class Mismatches(DoorTest):
    """Each is refused with both values, and the executor goes on."""

    def refusal(self, **hello):
        peer = self.visitor()
        peer.send(frames.hello(**{"build": self.build, **hello}))
        kind, payload = peer.receive_frame()
        self.assertEqual(kind, frames.REFUSE)
        peer.until_closed()
        return frames.unpack(payload)[0]

    def test_are_refused_with_both_values(self):
        for hello, words in (({"build": "0.0.9-aa"}, ("0.0.9-aa", self.build)),
                             ({"protocols": (2, 3)}, ("2 to 3", "1 to 1")),
                             ({"cluster": "other"}, ("other", "test")),
                             ({"role": frames.EXECUTOR}, ("e1 is a daemon", "stranger a executor")),
                             ({"channel": frames.DATA_CHANNEL}, ("data",)),
                             ({"wanted": bytes([171] * 16)}, ("abababababababab",))):
            with self.subTest(hello):
                code, cause, hint = self.refusal(**hello)
                self.assertEqual(code, -904)
                for word in words:
                    self.assertIn(word, cause)
                self.assertTrue(hint)
        self.assert_well()

    def test_of_a_daemon_end_the_job_with_both_values(self):
        self.stop(self.e1)
        self.write_cluster(insecure_plaintext=True)
        other = frames.hello("0.0.9-aa", role=frames.DAEMON, node="e1")
        other_cluster = frames.hello(self.build, role=frames.DAEMON, node="e1", cluster="lab")
        newer = frames.hello(self.build, role=frames.DAEMON, node="e1", protocols=(7, 9))
        refusal = frames.frame(frames.REFUSE, frames.pack([-9999, "what comes from the future", "go there"]))
        for answer, words in ((other, ("0.0.9-aa", self.build)), (other_cluster, ("lab", "test")),
                              (newer, ("7 to 9", "1 to 1")), (refusal, ("what comes from the future", "go there"))):
            with self.subTest(words), self.answering(answer) as visits:
                code, _, err = self.run_glint("submit", "empty-tasks", "--cluster", self.config)
                self.assertEqual(code, 78, err)
                self.assertIn("error[E0904]", err)
                for word in words:
                    self.assertIn(word, err)
                self.assertEqual(len(visits), 1, "it is not asked again")

    @contextlib.contextmanager
    def answering(self, answer):
        """Something listens where e1 should be, and answers each that comes with this."""
        visits = []

        def serve(server):
            while True:
                try:
                    s, _ = server.accept()
                except OSError:
                    return
                with s:
                    visits.append(s.recv(65536))
                    s.sendall(answer)
                    while s.recv(65536):
                        pass

        with socket.create_server(("127.0.0.1", self.ports["e1"])) as server:
            thread = threading.Thread(target=serve, args=(server,))
            thread.start()
            try:
                yield visits
            finally:
                server.shutdown(socket.SHUT_RDWR)
                thread.join()


if __name__ == "__main__":
    unittest.main()
