"""Invalid and malicious connections to an executor's port: they are rejected and do no damage."""
import contextlib
import functools
import os
import re
import resource
import shutil
import signal
import socket
import ssl
import threading
import unittest

import frames
from cluster import DEADLINE_S, SLOWDOWN, ClusterTest, free_port, open_files, until

SANITIZED = "GLINT_SANITIZED" in os.environ
MEMORY_SPARE = 128 << 20 if SANITIZED else 8 << 20  # the address sanitizer quarantines freed memory
ARRAY_32_MAX = b"\xdd\xff\xff\xff\xff"
NESTED_40 = b"\x91" * 40 + b"\xc0"
NESTED_ARRAYS_OF_65535 = b"\xdc\xff\xff" * 32
BOMBS = {"an array of 2^32-1": ARRAY_32_MAX, "40 deep": NESTED_40, "32 arrays of 65,535": NESTED_ARRAYS_OF_65535,
         "a map of 2^32-1": b"\xdf\xff\xff\xff\xff", "a text of 2^32-1": b"\xdb\xff\xff\xff\xff",
         "bytes of 2^32-1": b"\xc6\xff\xff\xff\xff",
         "an array that fills the frame": b"\xdc\x7f\xf0" + b"\x90" * 0x7ff0}


def memory(pid):
    """The peak of the resident memory, in bytes."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


class AuthTest(ClusterTest):
    """One executor, and connections to it, which send no heartbeats."""

    keys = {**ClusterTest.keys, "suspect": "300s", "dead": "400s", "connect": "60s"}
    executors = {"e1": {"slots": 1}}
    plain = False

    def setUp(self):
        super().setUp()
        self.write_cluster(insecure_plaintext=self.plain)
        self.e1 = self.executor("e1")
        self.build = self.executor_status("e1")["version"]

    def secret(self):
        with open(os.path.join(self.env["XDG_STATE_HOME"], "glint", "secret"), encoding="ascii") as file:
            return bytes.fromhex(file.read().strip())

    def connect_without_hello(self, port=None):
        port = port or self.e1.port
        if self.plain:
            peer = frames.Plain(port, DEADLINE_S)
        else:
            peer = frames.Secured(port, DEADLINE_S, self.secret())
        self.peers.append(peer)
        return peer

    def connect(self, port=None, **hello):
        peer = self.connect_without_hello(port)
        peer.send(frames.hello(self.build, **hello))
        self.assertEqual(peer.receive_frame()[0], frames.HELLO)
        return peer

    def silent_port(self):
        """Accepts connections and never responds."""
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        return server.getsockname()[1]

    def admit(self, job, **hello):
        """Requests an executor, whose process then waits for its driver."""
        peer = self.connect(role=frames.DRIVER, node="driver", **hello)
        peer.send(frames.frame(frames.REQUEST_EXECUTOR, frames.encode(
            "REQUEST_EXECUTOR", job=job, name="a name", driver_port=self.silent_port())))
        return peer, peer.wait_frame(frames.EXECUTOR_STARTED, frames.QUEUED, frames.REJECT)

    def assert_served(self):
        """Checks that a new client gets a response."""
        peer = self.connect()
        peer.send(frames.frame(frames.STATUS))
        self.assertEqual(frames.decode("STATUS_REPLY", peer.wait_frame(frames.STATUS_REPLY)[1])["node"], "e1")
        peer.close()

    def assert_rejected(self, connect, data, cause):
        """`data` closes its connection, for exactly this cause, and the next client is served.

        Retries if the log has no line about it: beyond ten per second they are counted, not logged."""
        def is_rejected():
            logged = len(self.e1.err)
            peer = connect()
            peer.send(data)
            peer.until_closed()
            peer.close()
            self.assert_served()
            found = re.findall(r"(?:rejected connection from \S+: |E\d{4} )(.*)", self.e1.err[logged:])
            return found if not found or re.search(cause, found[0]) else self.fail(f"{found}, not {cause}")
        until(is_rejected, f"a line with: {cause}")

    def assert_well(self):
        self.assertEqual(self.executor_status("e1")["state"], "idle")
        job = self.submit("after", "empty-tasks", "--tasks", "3")
        self.assertEqual(job.wait(), 0, job.err)

    @contextlib.contextmanager
    def memory_flat(self, pid):
        """A decompression bomb gets no memory beyond a small limit."""
        if not SANITIZED:
            resource.prlimit(pid, resource.RLIMIT_AS, (1 << 30, 1 << 30))
        before = memory(pid)
        yield
        self.assertLess(memory(pid) - before, MEMORY_SPARE)


class Frames(AuthTest):
    def test_malformed_frame_closes_connection(self):
        ping = frames.encode("PING")
        wrong = {"an empty hello": (frames.frame(frames.HELLO, b""), "a hello does not parse"),
                 "4 GB of hello": (frames.frame(frames.HELLO, b"", length=0xffffffff),
                                   "HELLO frame of 4294967295 bytes exceeds the limit of 1024"),
                 "2 KiB of hello": (frames.frame(frames.HELLO, bytes(2048)),
                                    "HELLO frame of 2048 bytes exceeds the limit of 1024"),
                 "before the hello": (frames.frame(frames.STATUS), "unexpected STATUS frame before the hello"),
                 "unknown before the hello": (frames.frame(99), "unknown frame type 99"),
                 "another magic": (b"GLNX" + frames.hello(self.build)[4:], "its first bytes are 47 4c 4e 58"),
                 "another version": (frames.frame(frames.HELLO, bytes(9), version=2),
                                     "frame version 2, expected version 1"),
                 "a flag": (frames.frame(frames.HELLO, bytes(9), flags=1), "HELLO frame with unknown flags 0001"),
                 "a damaged hello": (frames.frame(frames.HELLO, bytes(9), damage=1), "HELLO frame .* is damaged")}
        after = {"a second hello": (frames.hello(self.build), "unexpected HELLO frame on the connection of a client"),
                 "unknown": (frames.frame(99), "unknown frame type 99"),
                 "type 0": (frames.frame(0), "unknown frame type 0"),
                 "an empty ping": (frames.frame(frames.PING, b""), "a heartbeat does not parse"),
                 "4 GB of ping": (frames.frame(frames.PING, b"", length=0xffffffff),
                                  "PING frame of 4294967295 bytes exceeds the limit of 32768"),
                 "a ping over the limit": (frames.frame(frames.PING, bytes(40000)),
                                           "PING frame of 40000 bytes exceeds the limit of 32768"),
                 "half of the checksum": (frames.frame(frames.PING, ping, head=3), "whose checksum covers 3"),
                 "damaged": (frames.frame(frames.PING, ping, damage=1 << 63), "PING frame .* is damaged"),
                 "bytes after the ping": (frames.frame(frames.PING, ping + b"\xc0"), "a heartbeat does not parse"),
                 "a message for an executor process": (frames.message(frames.MSG_CANCEL),
                                                       "unexpected MESSAGE frame on the connection of a client"),
                 "unsolicited data": (frames.frame(frames.DATA, bytes(100), head=0), "DATA frame")}
        with self.memory_flat(self.e1.pid):
            for connect, table in ((self.connect_without_hello, wrong), (self.connect, after)):
                for name, (data, cause) in table.items():
                    with self.subTest(name):
                        self.assert_rejected(connect, data, cause)
        self.assert_well()

    def test_msgpack_bomb_in_frame_allocates_nothing(self):
        kinds = {frames.HELLO: "a hello does not parse", frames.PING: "a heartbeat does not parse",
                 frames.CANCEL: "a job id and name does not parse",
                 frames.REQUEST_EXECUTOR: "REQUEST_EXECUTOR does not parse"}
        with self.memory_flat(self.e1.pid):
            for name, bomb in BOMBS.items():
                for kind, cause in kinds.items():
                    if kind == frames.HELLO and len(bomb) > 1024:
                        continue
                    role = frames.DRIVER if kind == frames.REQUEST_EXECUTOR else frames.CLIENT
                    with self.subTest(name, kind=kind):
                        connect = self.connect_without_hello
                        if kind != frames.HELLO:
                            connect = functools.partial(self.connect, role=role)
                        self.assert_rejected(connect, frames.frame(kind, bomb), cause)
        self.assert_well()

    def test_frame_not_allowed_for_role_closes_connection(self):
        taken = {frames.CLIENT: (frames.PING, frames.STATUS, frames.CANCEL),
                 frames.DRIVER: (frames.PING, frames.REQUEST_EXECUTOR, frames.PROGRESS, frames.PROGRAM, frames.DATA,
                                 frames.FETCH_ERROR)}
        for role, kinds in taken.items():
            for kind, name in enumerate(frames.FRAMES, 1):
                if kind in kinds:
                    continue
                with self.subTest(name, role=role):
                    header = frames.frame(kind, length=frames.BYTES_MAX.get(name, 32 << 10),
                                          head=0 if kind == frames.DATA else None)
                    whose = "the connection of a client"
                    if role == frames.DRIVER:
                        whose = "the control connection of a driver"
                    self.assert_rejected(lambda role=role: self.connect(role=role), header,
                                        f"unexpected {name} frame on {whose}")
        self.assert_well()

    def test_frame_not_allowed_for_role_allocates_nothing(self):
        with self.memory_flat(self.e1.pid):  # of which less than 100 times 16 MiB is available
            peers = [self.connect() for _ in range(100)]
            for peer in peers:
                peer.send(frames.frame(frames.MESSAGE, b"x", length=16 << 20))
            for peer in peers:
                peer.until_closed()
            self.e1.until_says("unexpected MESSAGE frame on the connection of a client")
        self.assertNotIn("memory", self.e1.err)
        self.assert_well()


class Messages(AuthTest):
    """Messages of a driver to the executor process started for it, and messages that no driver sends."""

    def setUp(self):
        super().setUp()
        self.job, self.stage, self.task = self.honest_messages()

    def honest_messages(self):
        """JOB, STAGE and TASK as a driver sends them to an executor that connected to it: this process."""
        port = free_port()
        driver = self.start("driver", "submit", "count-keys", self.ratings(1000), "out", "--listen",
                            f"127.0.0.1:{port}", "--insecure-plaintext")
        driver.until_says("waiting for 1 executor on ")
        me = os.urandom(16)
        control, data = [frames.Plain(port, DEADLINE_S) for _ in range(2)]
        for peer, channel in ((control, frames.CONTROL_CHANNEL), (data, frames.DATA_CHANNEL)):
            self.peers.append(peer)
            peer.send(frames.hello(self.build, role=frames.EXECUTOR, channel=channel, cluster="glint", node="e1",
                                   incarnation=me))
            self.assertEqual(peer.receive_frame()[0], frames.HELLO)
        control.send(frames.frame(frames.REGISTER, frames.encode("REGISTER")))
        found = {}
        while frames.MSG_TASK not in found:
            fields = frames.decode("MESSAGE", control.wait_frame(frames.MESSAGE)[1])
            found[fields["type"]] = fields
        driver.signal(signal.SIGKILL)
        driver.wait()
        shutil.rmtree(os.path.join(self.directory, next(n for n in os.listdir(self.directory) if n.startswith(".out."))))
        return [found[kind] for kind in (frames.MSG_JOB, frames.MSG_STAGE, frames.MSG_TASK)]

    @staticmethod
    def frame(fields, **changes):
        return frames.frame(frames.MESSAGE, frames.encode("MESSAGE", **{**fields, **changes}))

    def begin_job(self, *messages):
        """Requests an executor as a driver, accepts the process that the daemon starts, and sends these messages."""
        driver, key = self.connect(role=frames.DRIVER, node="driver"), bytes(32) if self.plain else os.urandom(32)
        listener = frames.Listener(DEADLINE_S, None if self.plain else key)
        self.peers.append(listener)
        driver.send(frames.frame(frames.REQUEST_EXECUTOR, frames.encode("REQUEST_EXECUTOR", name="bomb", key=key,
                                                                        driver_port=listener.port)))
        self.assertIsNotNone(driver.wait_frame(frames.EXECUTOR_STARTED))
        if not SANITIZED:
            resource.prlimit(self.e1.children()[0], resource.RLIMIT_AS, (1 << 30, 1 << 30))
        control, _, _ = listener.accept_executor(self.build)
        self.assertEqual(control.wait_frame(frames.REGISTER)[0], frames.REGISTER)
        for message in messages:
            control.send(message)
        return driver, control

    def end_job(self, driver, control):
        control.close()
        driver.close()
        until(lambda: not self.e1.children(), "the executor process has exited")

    def assert_ends(self, cause, *messages):
        """The last message makes the executor process exit, for exactly this cause."""
        logged = len(self.e1.err)
        driver, control = self.begin_job(*messages)
        control.until_closed()
        self.end_job(driver, control)
        until(lambda: "E0606" in self.e1.err[logged:], "the log has the error")
        self.assertRegex(self.e1.err[logged:], f"E0606 {cause}")

    def outcome(self, control, fields, **changes):
        """Sends a TASK and returns its DONE or FAILED."""
        control.send(self.frame(fields, **changes))
        while True:
            found = control.wait_frame(frames.MESSAGE)
            self.assertIsNotNone(found, f"no response: {self.e1.err}")
            outcome = frames.decode("MESSAGE", found[1])
            if outcome["attempt"] == changes.get("attempt", fields["attempt"]):
                return outcome

    def assert_task_done(self, control):
        self.assertEqual(self.outcome(control, self.task, attempt=1000)["type"], frames.MSG_DONE)

    def test_valid_messages_run_a_task(self):
        driver, control = self.begin_job(self.frame(self.job), self.frame(self.stage))
        self.assert_task_done(control)
        self.end_job(driver, control)

    def test_msgpack_bomb_in_message_ends_only_its_executor(self):
        one_field_short = frames.pack(list(frames.PAYLOADS["MESSAGE"].values()))[5:-5]
        for name, bomb in BOMBS.items():
            for data, cause in ((frames.frame(frames.MESSAGE, bomb), "a message of .* does not parse"),
                                (frames.frame(frames.MESSAGE, b"\xdd\0\0\0\x0b" + one_field_short + bomb),
                                 "a message of .* does not parse"),
                                (self.frame(self.job, body=bomb), "the options of a job does not parse")):
                with self.subTest(name, cause=cause):
                    self.assert_ends(cause, data)
        self.assertNotIn("signal", self.e1.err)
        self.assert_well()

    def test_bomb_in_stage_or_map_outputs_ends_only_its_executor(self):
        for kind, cause in ((frames.MSG_STAGE, "cannot decode a stage"),
                            (frames.MSG_MAP_OUTPUTS, "a list of map outputs does not parse")):
            for name, bomb in BOMBS.items():
                with self.subTest(name, kind=kind):
                    self.assert_ends(cause, self.frame(self.job), self.frame(self.stage),
                                     frames.message(kind, stage=1, id=1, body=bomb))
        self.assertNotIn("signal", self.e1.err)
        self.assert_well()

    def test_bomb_in_splits_fails_the_task(self):
        driver, control = self.begin_job(self.frame(self.job), self.frame(self.stage))
        for attempt, (name, bomb) in enumerate(BOMBS.items(), 1):
            with self.subTest(name):
                failed = self.outcome(control, self.task, attempt=attempt, body=bomb)
                self.assertEqual(failed["type"], frames.MSG_FAILED)
                self.assertEqual(failed["error"][0], -606)
                self.assertIn(failed["error"][1], ("a task's splits do not parse", "a task has no split"))
        self.assert_task_done(control)
        self.end_job(driver, control)

    def test_bomb_in_unread_body_is_ignored(self):
        """The value of a broadcast is any bytes; the others have no body."""
        for kind in (frames.MSG_BROADCAST, frames.MSG_KILL, frames.MSG_CANCEL, frames.MSG_RELEASE):
            driver, control = self.begin_job(self.frame(self.job), self.frame(self.stage))
            for number, (name, bomb) in enumerate(BOMBS.items(), 1):
                with self.subTest(name, kind=kind):
                    go_on = kind == frames.MSG_CANCEL
                    control.send(frames.message(kind, stage=7, body=bomb, id=0 if go_on else number))
                    self.assert_task_done(control)
            self.end_job(driver, control)


class PlaintextMessages(Messages):
    plain = True


class PlaintextFrames(Frames):
    plain = True


class SlowClientTest(AuthTest):
    def send_slowly(self, data, cause):
        """Byte by byte: for this cause the connection is closed before all of it is sent."""
        peer = frames.Plain(self.e1.port, 0.05)
        self.peers.append(peer)
        sent = 0
        while sent < len(data) and peer.send(data[sent:sent + 1]):
            sent += 1
            try:
                if peer.receive() == b"":
                    break
            except TimeoutError:
                continue
        self.assertLess(sent, len(data))
        self.e1.until_says(rf"rejected connection from \S+: {cause}")
        self.assert_well()


class UnauthenticatedPeers(SlowClientTest):
    def test_tls_without_secret_is_rejected(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context.minimum_version = context.maximum_version = version
            with socket.create_connection(("127.0.0.1", self.e1.port), DEADLINE_S) as s:
                with self.assertRaises((ssl.SSLError, ConnectionError)):
                    context.wrap_socket(s)
        for cause in ("unsupported protocol", "no suitable signature algorithm"):
            self.e1.until_says(rf"rejected connection from \S+: the peer does not have this side's secret \(TLS: {cause}\)")
        self.assert_well()

    def test_wrong_secret_is_rejected(self):
        peer = frames.Secured(self.e1.port, DEADLINE_S, os.urandom(32))
        self.peers.append(peer)
        peer.send(frames.hello(self.build))
        peer.until_closed()
        self.e1.until_says(r"rejected connection from \S+: the peer does not have this side's secret")
        self.assert_well()

    def test_slow_client_of_http_is_rejected(self):
        self.send_slowly(b"GET / HTTP/1.1\r\n" + b"x" * 512, "the peer uses HTTP")


class SlowHandshake(SlowClientTest):
    keys = {**AuthTest.keys, "connect": "4s"}

    def test_slow_handshake_times_out(self):
        self.send_slowly(bytes.fromhex("160301400001") + bytes(4096),
                         f"timed out waiting for a TLS handshake after {int(4000 * SLOWDOWN)} ms")


class FullQueue(AuthTest):
    """More drivers than a daemon's status reports."""

    def test_status_reports_at_most_64_jobs(self):
        """One job runs and 64 are queued: the last one is left out, and the next driver is rejected."""
        replies = [self.admit(job)[1] for job in range(1, 67)]
        self.assertEqual([kind for kind, _ in replies],
                         [frames.EXECUTOR_STARTED] + 64 * [frames.QUEUED] + [frames.REJECT])
        self.assertIn("too many queued jobs on executor e1 (max 64)", frames.unpack(replies[-1][1])[0][1])
        jobs = self.executor_status("e1")["jobs"]
        self.assertEqual(len(jobs), 64)
        self.assertEqual([job["id"] for job in jobs if job["running"]], [f"{1:016x}"])


class Places(AuthTest):
    """Connections of clients, which may have a client secret only, take no place of a driver."""

    plain = True

    def test_clients_take_no_place_of_a_driver(self):
        clients = [self.connect() for _ in range(300)]
        self.assert_well()
        self.assertLess(open_files(self.e1.pid), 150)
        for client in clients[:-64]:
            client.until_closed()
        self.e1.until_says("closing the connection of a client: too many clients")
        clients[-2].send(frames.frame(frames.STATUS))  # its request makes it younger than the others
        self.assertEqual(clients[-2].wait_frame(frames.STATUS_REPLY)[0], frames.STATUS_REPLY)
        for _ in range(63):
            self.connect()
        clients[-1].until_closed()
        clients[-2].send(frames.frame(frames.STATUS))
        self.assertEqual(clients[-2].wait_frame(frames.STATUS_REPLY)[0], frames.STATUS_REPLY)


class IdleClients(AuthTest):
    keys = {**AuthTest.keys, "suspect": "4s", "dead": "5s"}
    plain = True

    def test_client_without_requests_is_closed(self):
        """Heartbeats are no requests."""
        client = self.connect()
        client.socket.settimeout(0.1)

        def is_closed():
            client.send(frames.frame(frames.PING, frames.encode("PING")))
            return "closing the connection of a client: no request within dead" in self.e1.err
        until(is_closed, "it is closed")
        client.socket.settimeout(DEADLINE_S)
        client.until_closed()
        self.assert_served()


class DriverAuthorization(AuthTest):
    """The id of a job is visible in STATUS; only the driver that submitted the job may use it."""

    def test_driver_cannot_end_the_job_of_another(self):
        job = self.submit("job", *self.held_job())
        found = until(lambda: self.executor_status("e1")["jobs"], "the job is listed")[0]
        pids = until(self.e1.children, "its process runs")
        for _ in range(20):
            peer, (kind, payload) = self.admit(int(found["id"], 16))
            self.assertEqual(kind, frames.REJECT)
            code, cause, _ = frames.unpack(payload)[0]
            self.assertEqual(code, -907)
            self.assertIn(f"executor e1 already has job {found['id']} of another driver", cause)
            peer.until_closed()
        self.e1.until_says(r"127\.0\.0\.1:\d+.* of another driver")
        self.assertEqual(self.e1.children(), pids)
        self.assertEqual([j["id"] for j in self.executor_status("e1")["jobs"]], [found["id"]])
        job.signal(signal.SIGINT)
        self.assertEqual(job.wait(), 130, job.err)
        self.assertNotIn("lost", job.err)
        self.assert_well()

    def test_progress_without_a_job_is_rejected(self):
        progress = frames.frame(frames.PROGRESS, frames.encode("PROGRESS"))
        self.assert_rejected(lambda: self.connect(role=frames.DRIVER, node="driver"), progress,
                             "PROGRESS without a job")

    def test_driver_replaces_its_own_connection(self):
        me = os.urandom(16)
        first, (kind, _) = self.admit(7, incarnation=me)
        self.assertEqual(kind, frames.EXECUTOR_STARTED)
        pids = self.e1.children()
        second, (kind, _) = self.admit(7, incarnation=me)
        if kind == frames.QUEUED:  # until the old process has exited
            kind, _ = second.wait_frame(frames.EXECUTOR_STARTED, frames.REJECT)
        self.assertEqual(kind, frames.EXECUTOR_STARTED)
        first.until_closed()
        self.e1.until_says("driver reconnected, replacing its connection from 127.0.0.1:")
        self.assertNotEqual(self.e1.children(), pids)
        second.close()
        self.assert_well()


class UnauthenticatedServers(ClusterTest):
    """Servers without the key on an executor's or a driver's port."""

    ALERT = bytes.fromhex("15030300020228")  # fatal: handshake_failure, as any peer can send it

    def reject_handshakes(self, server, times):
        """Sends a TLS alert to this many connections."""
        server.settimeout(DEADLINE_S)
        for _ in range(times):
            s, _ = server.accept()
            with s:
                self.assertTrue(s.recv(65536))
                s.sendall(self.ALERT)
                while s.recv(65536):
                    pass

    def test_two_failed_handshakes_do_not_exclude_executor(self):
        with socket.create_server(("127.0.0.1", self.ports["e1"])) as server:
            job = self.submit("job", "count-keys", self.ratings(), "out", "--executors", "2")
            self.reject_handshakes(server, 2)
        for name in ("e1", "e2"):
            self.executor(name)
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(self.read_output("out"), self.expected())

    def test_third_failed_handshake_ends_the_job(self):
        self.write_cluster(start="60s")
        with socket.create_server(("127.0.0.1", self.ports["e1"])) as server:
            job = self.submit("job", "empty-tasks", "--tasks", "1", "--executors", "2")
            self.reject_handshakes(server, 3)
            self.assertEqual(job.wait(), 77, job.err)  # at once, not after `start`
        self.assertIn("the peer does not have this side's secret", job.err)

    def test_two_failed_handshakes_do_not_end_joining_executor(self):
        port = free_port()
        with socket.create_server(("127.0.0.1", port)) as server:
            node = self.start("n1", "executor", "--join", f"127.0.0.1:{port}", "--slots", "1")
            self.reject_handshakes(server, 2)
        job = self.start("job", "submit", "count-keys", self.ratings(), "out", "--listen", f"127.0.0.1:{port}",
                         "--executors", "1")
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(node.wait(), 0, node.err)
        self.assertEqual(self.read_output("out"), self.expected())


class HelloMismatch(AuthTest):
    """A mismatch is rejected with both values in the message, and the executor continues."""

    def rejection(self, **hello):
        peer = self.connect_without_hello()
        peer.send(frames.hello(**{"build": self.build, **hello}))
        kind, payload = peer.receive_frame()
        self.assertEqual(kind, frames.REJECT)
        peer.until_closed()
        return frames.unpack(payload)[0]

    def test_mismatch_is_rejected_with_both_values(self):
        for hello, words in (({"protocols": (2, 3)}, ("2 to 3", "1 to 1")),
                             ({"protocols": (2, 3), "role": frames.DRIVER, "build": "0.0.9-aa"},
                              ("2 to 3", "1 to 1", self.build)),
                             ({"cluster": "other"}, ("other", "test")),
                             ({"role": frames.EXECUTOR}, ("e1 (daemon)", "peer (executor)")),
                             ({"channel": frames.DATA_CHANNEL}, ("data",)),
                             ({"expected_incarnation": bytes([171] * 16)}, ("abababababababab",))):
            with self.subTest(hello):
                code, cause, hint = self.rejection(**hello)
                self.assertEqual(code, -904)
                for word in words:
                    self.assertIn(word, cause)
                self.assertTrue(hint)
        self.assert_well()

    def test_daemon_mismatch_ends_the_job_with_both_values(self):
        self.stop(self.e1)
        self.write_cluster(insecure_plaintext=True)
        other_cluster = frames.hello(self.build, role=frames.DAEMON, node="e1", cluster="lab")
        newer = frames.hello(self.build, role=frames.DAEMON, node="e1", protocols=(7, 9))
        rejection = frames.frame(frames.REJECT, frames.pack([-9999, "a cause of a later version", "its hint"]))
        for response, words in ((other_cluster, ("lab", "test")), (newer, ("7 to 9", "1 to 1")),
                                (rejection, ("a cause of a later version", "its hint"))):
            with self.subTest(words), self.responding(response) as requests:
                code, _, err = self.run_glint("submit", "empty-tasks", "--cluster", self.config)
                self.assertEqual(code, 78, err)
                self.assertIn("error[E0904]", err)
                for word in words:
                    self.assertIn(word, err)
                self.assertEqual(len(requests), 1, "the driver does not retry")

    @contextlib.contextmanager
    def responding(self, response):
        """Listens in place of e1, and sends this response to each connection."""
        requests = []

        def serve(server):
            while True:
                try:
                    s, _ = server.accept()
                except OSError:
                    return
                with s:
                    requests.append(s.recv(65536))
                    s.sendall(response)
                    while s.recv(65536):
                        pass

        with socket.create_server(("127.0.0.1", self.ports["e1"])) as server:
            thread = threading.Thread(target=serve, args=(server,))
            thread.start()
            try:
                yield requests
            finally:
                server.shutdown(socket.SHUT_RDWR)
                thread.join()


if __name__ == "__main__":
    unittest.main()
