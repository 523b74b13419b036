"""Several secrets at a time, changed while jobs run; and client secrets, which only permit status."""
import os
import signal
import unittest

import frames
from cluster import DEADLINE_S, free_port, listening_port, until
from faults import FaultTest


class SecretTest(FaultTest):
    def setUp(self):
        super().setUp()
        for name in ("old", "new"):
            code, _, err = self.run_glint("secret", "new", self.path(name))
            self.assertEqual(code, 0, err)

    def path(self, name):
        return os.path.join(self.directory, f"{name}.secret")

    def put(self, place, *names):
        """Replaces the secrets of a process, atomically."""
        self.write("next", "".join(map(self.read, names)))
        os.rename(self.path("next"), self.path(place))

    def write(self, name, text):
        with open(os.open(self.path(name), os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), encoding="ascii") as file:
            return file.read()


class Rotation(SecretTest):
    """The driver and each executor have separate files, as on separate nodes."""

    keys = {**FaultTest.keys, "drivers_max": 2}
    executors = {"e1": {"slots": 2}, "e2": {"slots": 2}}

    def setUp(self):
        super().setUp()
        for place in ("driver", "e1", "e2"):
            self.put(place, "old")
        self.write_cluster(secret_file=self.path("driver"))

    def run_job(self, out):
        job = self.start(out, "submit", "count-keys", self.ratings(), out, "--cluster", self.config, "--executors", "2")
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(self.read_output(out), self.read_output("counts"))

    def responses(self, name):
        """The number of executors that respond to `glint status` with only these secrets."""
        code, out, err = self.run_glint("status", "--cluster", self.config, "--secret-file", self.path(name))
        self.assertIn(code, (0, 69), err)
        return out.count(" idle ") + out.count(" busy ") if code == 0 else 0

    def test_rotation_on_a_live_cluster_fails_no_job(self):
        hook = self.in_map()
        e1 = self.executor("e1", "--secret-file", self.path("e1"), hooks=[hook])
        e2 = self.executor("e2", "--secret-file", self.path("e2"))
        long = self.begin(name="long")  # from the first step to the last
        hook.until_hit()
        pid = self.executor_pid(e1)
        for number, names in enumerate((("old", "new"), ("new", "old"), ("new",))):
            self.assertEqual(self.responses("old"), 2)
            for place in ("driver", "e1", "e2"):
                self.put(place, *names)
                self.run_job(f"out-{number}-{place}")
            self.assertEqual(self.responses("new"), 2)
        self.assertEqual(self.responses("old"), 0)
        os.kill(pid, signal.SIGKILL)  # another one is started, which never had the old secret
        hook.go()
        self.ends_well(long)
        self.assertIn("executor e1 (127.0.0.1) lost: killed by signal 9", long.err)
        for process in (e1, e2):
            self.assertIn("2 secrets read from", process.err)
            self.assertIn("1 secret read from", process.err)

    def test_invalid_secret_file_changes_nothing(self):
        e1 = self.executor("e1", "--secret-file", self.path("e1"))
        self.executor("e2", "--secret-file", self.path("e2"))
        self.write("bad", "not a secret\n")
        self.put("e1", "bad")
        self.assertEqual(self.responses("old"), 2)
        e1.until_says("keeping the old secrets: .*e1.secret: not 64 varied hexadecimal digits")
        self.put("e1", "new")
        self.assertEqual(self.responses("old"), 1)
        os.unlink(self.path("e1"))
        self.assertEqual(self.responses("new"), 1)


class ClientSecret(SecretTest):
    """A client secret permits status."""

    executors = {"e1": {"slots": 1}}

    def setUp(self):
        super().setUp()
        self.put("cluster", "old", "new")
        self.write_cluster(secret_file=self.path("cluster"))
        code, _, err = self.run_glint("secret", "derive", self.path("cluster"), self.path("client"))
        self.assertEqual(code, 0, err)
        self.e1 = self.executor("e1")
        self.build = self.executor_status("e1")["version"]

    def with_client_secret(self, *words):
        return self.run_glint(*words, "--cluster", self.config, "--secret-file", self.path("client"))

    def test_client_secret_shows_status(self):
        code, out, err = self.with_client_secret("status")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, "e1 .* idle")
        other = self.path("client-of-new")
        self.assertEqual(self.run_glint("secret", "derive", self.path("new"), other)[0], 0)
        code, out, err = self.run_glint("status", "--cluster", self.config, "--secret-file", other)
        self.assertEqual(code, 0, err)
        self.put("cluster", "new")  # and it becomes invalid with the secret that it was derived from
        code, out, err = self.with_client_secret("status")
        self.assertEqual(code, 69, err)
        self.assertEqual(self.run_glint("status", "--cluster", self.config, "--secret-file", other)[0], 0)

    def assert_not_permitted(self, *words):
        code, _, err = self.with_client_secret(*words)
        self.assertEqual(code, 77, err)
        self.assertIn("error[E0913]: not permitted with this secret", err)
        self.assertIn("client secret", err)
        self.assertIn("hint: name the file of the cluster's own secret", err)

    def test_client_secret_cannot_run_or_cancel_jobs(self):
        hook = self.in_map()
        self.stop(self.e1)
        self.e1 = self.executor("e1", hooks=[hook])
        job = self.begin()
        hook.until_hit()
        self.assert_not_permitted("cancel", "bloom-build")
        self.assert_not_permitted("submit", "empty-tasks")
        self.assert_not_permitted("executor", "--id", "e1")
        code, _, err = self.run_glint("executor", "--join", "127.0.0.1:1", "--secret-file", self.path("client"))
        self.assertEqual((code, "error[E0913]" in err), (77, True), err)
        code, _, err = self.run_glint("submit", "empty-tasks", "--executors", "1", "--secret-file",
                                      self.path("client"), "--listen", f"127.0.0.1:{free_port()}")
        self.assertEqual((code, "error[E0913]" in err), (77, True), err)
        hook.go()
        self.ends_well(job)

    def test_client_secret_allows_only_status(self):
        def connect_as_client(**hello):
            peer = frames.Secured(self.e1.port, DEADLINE_S, bytes.fromhex(self.read("old")), "client")
            self.peers.append(peer)
            peer.send(frames.hello(self.build, **hello))
            return peer, peer.receive_frame()
        for role in (frames.DRIVER, frames.EXECUTOR, frames.DAEMON):
            with self.subTest(role=role):
                peer, (kind, payload) = connect_as_client(role=role)
                self.assertEqual(kind, frames.REJECT)
                code, cause, hint = frames.unpack(payload)[0]
                self.assertEqual(code, -913)
                self.assertIn("client secret", cause)
                self.assertTrue(hint)
                peer.until_closed()
        job = frames.pack([1, "a job"])
        for kind in range(0, 24):
            with self.subTest(kind=kind):
                peer, (response, _) = connect_as_client()
                self.assertEqual(response, frames.HELLO)
                peer.send(frames.frame(kind, job if kind in (frames.REQUEST_EXECUTOR, frames.CANCEL) else b""))
                found = peer.wait_frame(frames.STATUS_REPLY, frames.REJECT)
                if kind == frames.STATUS:
                    self.assertEqual(found[0], frames.STATUS_REPLY)
                    continue
                if kind == frames.CANCEL:
                    self.assertEqual(frames.unpack(found[1])[0][0], -913)
                else:
                    self.assertIsNone(found)
                peer.until_closed()
        self.assertFalse(self.e1.children())
        self.assertEqual(self.executor_status("e1")["state"], "idle")

    def test_secrets_are_rejected_by_executor(self):
        """Once it has a job it accepts the key of that job only."""
        hook = self.in_map()
        self.stop(self.e1)
        self.e1 = self.executor("e1", hooks=[hook])
        job = self.begin()
        hook.until_hit()
        port = until(lambda: listening_port(self.executor_pid(self.e1)), "the executor process listens")
        for kind in ("client", "peer"):
            peer = frames.Secured(port, DEADLINE_S, bytes.fromhex(self.read("old")), kind)
            self.peers.append(peer)
            peer.send(frames.hello(self.build, role=frames.EXECUTOR, channel=frames.DATA_CHANNEL))
            self.assertIsNone(peer.receive_frame())
        hook.go()
        self.ends_well(job)

    def test_client_secret_derives_no_other(self):
        code, _, err = self.run_glint("secret", "derive", self.path("client"), self.path("more"))
        self.assertEqual((code, "E0902" in err, "client secret" in err), (78, True, True), err)
        self.assertFalse(os.path.exists(self.path("more")))
        code, _, err = self.run_glint("secret", "derive", self.path("old"), self.path("client"))
        self.assertEqual((code, "E0301" in err), (73, True), err)


if __name__ == "__main__":
    unittest.main()
