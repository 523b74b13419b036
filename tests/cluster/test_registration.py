"""Executor processes connect to the driver: who is accepted, and at which address."""
import os
import signal
import socket
import unittest

import frames
from cluster import DEADLINE_S, ClusterTest, free_port, until
from netns import PREFIX, NetworkTest


class RegistrationTest(ClusterTest):
    """The test process sends no heartbeats."""

    keys = {**ClusterTest.keys, "suspect": "50s", "dead": "60s", "connect": "5s", "start": "60s"}
    executors = {"e1": {"slots": 1}}

    def setUp(self):
        super().setUp()
        path = os.path.join(self.directory, "secret")
        self.assertEqual(self.run_glint("secret", "new", path)[0], 0)
        with open(path, encoding="ascii") as file:
            self.secret = bytes.fromhex(file.read().strip())
        self.write_cluster()
        self.build = None

    def write_cluster(self, executors=None, **keys):
        super().write_cluster(executors, **{"secret_file": os.path.join(self.directory, "secret"), **keys})

    def secured(self, port, key, kind, **hello):
        """(connection, first frame): None if TLS failed."""
        peer = frames.Secured(port, DEADLINE_S, key, kind)
        self.peers.append(peer)
        peer.send(frames.hello(self.build, cluster="test", **hello))
        return peer, peer.receive_frame()

    def assert_reject(self, found, code, words):
        self.assertIsNotNone(found)
        self.assertEqual(found[0], frames.REJECT)
        fields = frames.decode("REJECT", found[1])
        self.assertEqual(fields["code"], code, fields)
        self.assertIn(words, fields["cause"])


class Driver(RegistrationTest):
    """The test process is the daemon of a real driver, and its executor process."""

    def setUp(self):
        super().setUp()
        self.listener = self.listen("e1")
        self.job = self.submit("job", "empty-tasks")
        self.daemon, self.request = self.accept_driver(self.listener)

    def tearDown(self):
        if self.job.popen.poll() is None:
            self.job.signal(signal.SIGINT)
            self.assertEqual(self.job.wait(), 130, self.job.err)
        self.listener.close()
        super().tearDown()

    def listen(self, name):
        listener = frames.Listener(DEADLINE_S, self.secret, "peer", self.ports[name])
        self.peers.append(listener)
        return listener

    def accept_driver(self, listener):
        """Responds as the daemon e1. Returns the connection and the fields of REQUEST_EXECUTOR."""
        while True:  # on a busy machine openssl may be too slow: the driver dials again
            driver = listener.accept()
            found = driver.wait_frame(frames.HELLO)
            if found is None:
                continue
            self.build = frames.decode("HELLO", found[1])["build"]
            driver.send(frames.hello(self.build, role=frames.DAEMON, cluster="test", node="e1"))
            found = driver.wait_frame(frames.REQUEST_EXECUTOR)
            if found is not None:
                break
        request = frames.decode("REQUEST_EXECUTOR", found[1])
        driver.send(frames.frame(frames.EXECUTOR_STARTED))
        return driver, request

    def connect(self, channel=frames.CONTROL_CHANNEL, kind="job", request=None, **values):
        request = request or self.request
        hello = {"role": frames.EXECUTOR, "node": "e1", "incarnation": request["incarnation"], **values}
        key = request["key"] if kind == "job" else self.secret
        return self.secured(request["driver_port"], key, kind, channel=channel, **hello)

    def register(self):
        """The two connections of an executor that has joined the job."""
        (control, hello), (data, _) = self.connect(), self.connect(frames.DATA_CHANNEL)
        self.assertEqual(hello[0], frames.HELLO)
        control.send(frames.frame(frames.REGISTER, frames.encode("REGISTER")))
        self.assertIsNotNone(control.wait_frame(frames.MESSAGE))
        return control, data

    def test_second_register_frame_loses_the_executor(self):
        control, _ = self.register()
        control.send(frames.frame(frames.REGISTER, frames.encode("REGISTER")))
        control.until_closed()
        self.job.until_says(r"executor e1 \(127\.0\.0\.1\) lost: duplicate or invalid REGISTER")
        again = self.accept_driver(self.listener)[1]
        self.assertEqual((again["job"], again["key"]), (self.request["job"], self.request["key"]))
        self.assertNotEqual(again["incarnation"], self.request["incarnation"])

    def test_second_pair_of_connections_is_rejected(self):
        control, _ = self.register()
        for channel in (frames.CONTROL_CHANNEL, frames.DATA_CHANNEL):
            _, found = self.connect(channel)
            self.assert_reject(found, -606, "duplicate connection")
        self.assertIsNotNone(control.wait_frame(frames.PING))
        self.assertNotIn("lost", self.job.err)

    def test_wrong_job_key_is_rejected(self):
        _, found = self.connect(request={**self.request, "key": os.urandom(32)})
        self.assertIsNone(found)
        self.register()

    def test_secret_of_the_cluster_does_not_register(self):
        """The processes of a daemon have the key of the job."""
        _, found = self.connect(kind="peer")
        self.assert_reject(found, -904, "executor e1 does not have the key of the job")
        _, found = self.connect(kind="client")
        self.assertIsNone(found)
        self.register()

    def test_unknown_incarnation_is_rejected(self):
        _, found = self.connect(incarnation=os.urandom(16))
        self.assert_reject(found, -904, "the driver has not requested executor e1")
        self.register()

    def test_process_that_connects_too_late_is_rejected(self):
        _, request = self.accept_driver(self.listener)  # after four times `connect`
        _, found = self.connect()
        self.assert_reject(found, -904, "the driver has not requested executor e1")
        self.request = request
        self.register()

    def test_other_role_with_the_job_key_is_rejected(self):
        for role in (frames.DRIVER, frames.DAEMON, frames.CLIENT):
            with self.subTest(role=role):
                _, found = self.connect(role=role)
                self.assert_reject(found, -913, "e1 has the key of a job, which is for its executors only")
        self.register()

    def test_key_opens_no_other_job(self):
        self.ports["other"] = free_port()
        config = self.config.replace("cluster.toml", "other.toml")
        with open(self.config, encoding="utf-8") as file, open(config, "w", encoding="utf-8") as out:
            out.write(file.read().replace(str(self.ports["e1"]), str(self.ports["other"])))
        listener = self.listen("other")
        other = self.start("other", "submit", "empty-tasks", "--cluster", config)
        _, request = self.accept_driver(listener)
        self.assertNotEqual(request["key"], self.request["key"])
        for mine, theirs in ((self.request, request), (request, self.request)):
            _, found = self.connect(request={**theirs, "key": mine["key"]})
            self.assertIsNone(found)
        other.signal(signal.SIGINT)
        self.assertEqual(other.wait(), 130, other.err)
        listener.close()
        self.register()

    def test_exit_before_registration_is_reported(self):
        self.job.signal(signal.SIGINT)
        self.assertEqual(self.job.wait(), 130)
        self.write_cluster(start="5s")
        job = self.submit("dying", "empty-tasks")
        exited = frames.frame(frames.EXECUTOR_EXITED, frames.encode("EXECUTOR_EXITED", wait_status=9, log="/its/log"))
        self.listener.socket.settimeout(0.2)
        while job.popen.poll() is None:
            try:
                daemon, _ = self.accept_driver(self.listener)
            except TimeoutError:  # the driver waits, or has ended
                continue
            daemon.send(exited)
        self.assertEqual(job.wait(), 69, job.err)
        self.assertIn("killed by signal 9", job.err)


class Process(RegistrationTest):
    """The test process is the driver of a real daemon."""

    def setUp(self):
        super().setUp()
        self.e1 = self.executor("e1")
        self.build = self.executor_status("e1")["version"]
        self.key = os.urandom(32)

    def request(self, **fields):
        driver, (kind, _) = self.secured(self.e1.port, self.secret, "peer", role=frames.DRIVER, node="driver")
        self.assertEqual(kind, frames.HELLO)
        driver.send(frames.frame(frames.REQUEST_EXECUTOR, frames.encode("REQUEST_EXECUTOR", key=self.key, **fields)))
        self.assertIsNotNone(driver.wait_frame(frames.EXECUTOR_STARTED))
        return driver

    def listen(self):
        listener = frames.Listener(DEADLINE_S, self.key)
        self.peers.append(listener)
        return listener

    def exited(self, driver):
        return frames.decode("EXECUTOR_EXITED", driver.wait_frame(frames.EXECUTOR_EXITED)[1])

    def assert_idle(self):
        until(lambda: not self.e1.children(), "no process is left")
        self.until_state("e1", "idle")

    def test_process_killed_before_it_registers_is_reported(self):
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        driver = self.request(driver_port=server.getsockname()[1])
        server.settimeout(DEADLINE_S)
        dialled, _ = server.accept()  # with a directory that says whose it is
        self.addCleanup(dialled.close)
        os.kill(until(self.e1.children, "it runs")[0], signal.SIGKILL)
        exited = self.exited(driver)
        self.assertEqual((exited["wait_status"], exited["code"]), (signal.SIGKILL, 0))
        self.assert_idle()

    def test_unreachable_driver_is_reported(self):
        port = free_port()
        exited = self.exited(self.request(driver_port=port))
        self.assertEqual(exited["code"], -906, exited)
        self.assertIn(f"cannot connect to the driver at 127.0.0.1:{port}: ", exited["cause"])
        self.assertIn("set driver_host", exited["hint"])
        self.e1.until_says(f"E0906 cannot connect to the driver at 127.0.0.1:{port}: ")
        self.assert_idle()

    def test_driver_with_another_key_is_reported(self):
        listener = frames.Listener(DEADLINE_S, os.urandom(32))
        self.peers.append(listener)
        driver = self.request(driver_port=listener.port)
        for _ in range(3):
            listener.accept()
        exited = self.exited(driver)
        self.assertEqual(exited["code"], -903, exited)
        self.assert_idle()

    def test_process_has_the_requested_identity(self):
        listener, me = self.listen(), os.urandom(16)
        self.request(driver_port=listener.port, incarnation=me)
        control, _, hello = listener.accept_executor(self.build, cluster="test")
        self.assertEqual((hello["incarnation"], hello["node"], hello["role"]), (me, "e1", frames.EXECUTOR))
        self.assertEqual(frames.decode("REGISTER", control.wait_frame(frames.REGISTER)[1])["slots"], 1)

    def test_key_is_in_no_argument_variable_or_file(self):
        listener = self.listen()
        self.request(driver_port=listener.port)
        control, _, _ = listener.accept_executor(self.build, cluster="test")
        control.wait_frame(frames.REGISTER)
        pid = self.e1.children()[0]
        seen = {}
        for name in ("cmdline", "environ"):
            with open(f"/proc/{pid}/{name}", "rb") as file:
                seen[name] = file.read()
        for root, _, names in os.walk(self.directory):
            for name in names:
                with open(os.path.join(root, name), "rb") as file:
                    seen[os.path.join(root, name)] = file.read()
        self.assertIn(b"--executor-process", seen["cmdline"])
        self.assertTrue(any(path.startswith(self.tmp) for path in seen), "its work directory was read")
        for place, data in seen.items():
            for key in (self.key, self.key.hex().encode(), self.secret):
                self.assertNotIn(key, data, place)
            if not place.endswith("/secret"):
                self.assertNotIn(self.secret.hex().encode(), data, place)

    def test_job_key_does_not_open_the_daemon(self):
        listener = self.listen()
        self.request(driver_port=listener.port)
        control, _, _ = listener.accept_executor(self.build, cluster="test")
        registered = frames.decode("REGISTER", control.wait_frame(frames.REGISTER)[1])
        for role in (frames.DRIVER, frames.EXECUTOR, frames.DAEMON, frames.CLIENT):
            _, found = self.secured(self.e1.port, self.key, "job", role=role)
            self.assertIsNone(found)
        for role in (frames.DRIVER, frames.DAEMON, frames.CLIENT):  # nor its process, to other roles
            _, found = self.secured(registered["port"], self.key, "job", role=role)
            self.assertEqual(found and found[0], frames.REJECT)
        _, found = self.secured(registered["port"], self.key, "job", role=frames.EXECUTOR,
                                channel=frames.DATA_CHANNEL)
        self.assertEqual(found and found[0], frames.HELLO)

    def test_processes_do_not_read_the_secret_file(self):
        own = os.path.join(self.directory, "of-e2")
        with open(os.open(own, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(self.secret.hex() + "\n")
        self.write_cluster({"e1": {"slots": 1}, "e2": {"slots": 1}})
        self.executor("e2", "--secret-file", own)
        os.unlink(own)
        job = self.submit("job", "count-keys", self.ratings(), "out", "--executors", "2")
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(self.read_output("out"), self.expected())


class DriverAddress(ClusterTest):
    """driver_host and driver_ports, on one host."""

    def run_job(self, *options):
        executors = [self.executor(name) for name in self.executors]
        job = self.submit("job", "count-keys", self.ratings(), "out", "--executors", "2", *options)
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(self.read_output("out"), self.expected())
        return executors

    def test_fixed_port_is_used(self):
        port = free_port()
        self.write_cluster(driver_ports=port)
        for e in self.run_job():
            e.until_says(f"serving driver at 127.0.0.1:{port} ")

    def test_configured_host_is_used(self):
        self.write_cluster(driver_host="127.0.0.9")
        for e in self.run_job():
            e.until_says(r"serving driver at 127\.0\.0\.9:\d+ ")

    def taken(self, count):
        """The first of `count` ports in a row on which this process listens."""
        for first in range(free_port(), 32768):
            servers = []
            try:
                servers += [socket.create_server(("127.0.0.1", first + i)) for i in range(count)]
            except OSError:
                continue
            for server in servers:
                self.addCleanup(server.close)
            return first

    def test_exhausted_ports_are_an_error(self):
        first = self.taken(2)
        e1 = None
        for ports, words in ((first, f"the driver: cannot listen on 127.0.0.1 port {first}: address already in use"),
                             (f"{first}-{first + 1}", f"the driver: none of the ports {first} to {first + 1} is free")):
            with self.subTest(ports):
                self.write_cluster({"e1": {"slots": 1}}, driver_ports=ports, start="5s")
                e1 = e1 or self.executor("e1")
                code, _, err = self.run_glint("submit", "empty-tasks", "--cluster", self.config)
                self.assertEqual(code, 69, err)
                self.assertIn(words, err)
                if ports != first:
                    self.assertIn("driver_ports", err)
                self.assertFalse(e1.children())
                self.assertEqual(self.executor_status("e1")["state"], "idle")

    def test_ipv6_cluster_shuffles(self):
        if not socket.has_ipv6:
            self.skipTest("no IPv6")
        self.write_cluster({name: {"host": "::1", "slots": 1} for name in ("e1", "e2")})
        for e in self.run_job():
            e.until_says(r"serving driver at \[::1\]:\d+ ")


class DriverNetwork(NetworkTest):
    """A driver with two addresses, and one that its executors cannot reach."""

    def test_second_address_is_used(self):
        self.node("driver").run("ip", "address", "add", f"{PREFIX}200/24", "dev", "eth0")
        self.write_cluster(driver_host=f"{PREFIX}200")
        executors = [self.executor(name) for name in ("e1", "e2")]
        job = self.submit("job", "count-keys", self.ratings(), "out", "--executors", "2")
        self.assertEqual(job.wait(), 0, job.err)
        for e in executors:
            e.until_says(f"serving driver at {PREFIX}200:")

    def test_local_address_of_the_connection_is_the_default(self):
        """The address of another interface, over which the executors are reached."""
        driver, e1 = self.node("driver"), self.node("e1")
        driver.run("ip", "address", "add", "10.78.0.1/24", "dev", "eth0")
        e1.run("ip", "address", "add", "10.78.0.2/24", "dev", "eth0")
        self.write_cluster({"e1": {"host": "10.78.0.2", "slots": 1}})
        e = self.executor("e1")
        job = self.submit("job", "count-keys", self.ratings(), "out")
        self.assertEqual(job.wait(), 0, job.err)
        e.until_says("serving driver at 10.78.0.1:")

    def test_unreachable_driver_host_is_named(self):
        self.write_cluster({"e1": {"slots": 1}}, driver_host=f"{PREFIX}250", connect="2s", start="15s")
        e1 = self.executor("e1")
        job = self.submit("job", "empty-tasks")
        e1.until_says(rf"E0906 cannot connect to the driver at {PREFIX}250:\d+: ")
        self.assertEqual(job.wait(), 69, job.err)
        self.assertRegex(job.err, rf"driver at {PREFIX}250:\d+")
        self.assertIn("hint: set driver_host to an address", job.err)
        until(lambda: not e1.children(), "no process is left")
        self.until_state("e1", "idle")


if __name__ == "__main__":
    unittest.main()
