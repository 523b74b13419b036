"""The processes of an executor: startup, requests, and clean-up."""
import json
import os
import re
import signal
import socket
import time
import unittest

from cluster import (DEADLINE_S, SLOWDOWN, ClusterTest, children_of, free_port, is_zombie, listening_port, make_leftover,
                     open_files, until)


class Daemon(ClusterTest):
    def test_daemon_prints_ready_and_exits_on_sigterm(self):
        e1 = self.executor("e1")
        self.assertEqual(e1.err, f"executor e1 ready on 127.0.0.1:{e1.port}\n")
        self.stop(e1)
        self.assertEqual(e1.out, "")

    def test_daemon_exits_on_sigint(self):
        e1 = self.executor("e1")
        e1.signal(signal.SIGINT)
        self.assertEqual(e1.wait(), 0)

    def test_daemon_notifies_the_service_manager(self):
        path = os.path.join(self.directory, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(DEADLINE_S)
            e1 = self.executor("e1", env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "20000"})
            self.assertEqual([manager.recv(64) for _ in range(2)], [b"READY=1", b"WATCHDOG=1"])
            e1.signal(signal.SIGTERM)
            while (got := manager.recv(64)) == b"WATCHDOG=1":
                pass
            self.assertEqual(got, b"STOPPING=1")
            self.assertEqual(e1.wait(), 0)

    def test_log_lines_can_be_json(self):
        e1 = self.executor("e1", "--log-format", "json")
        self.stop(e1)
        lines = [json.loads(line) for line in e1.err.splitlines()]
        self.assertIn("ready on", lines[0]["message"])
        self.assertEqual({line["executor"] for line in lines}, {"e1"})

    def test_port_in_use_is_reported(self):
        self.executor("e1")
        again = self.start("again", "executor", "--cluster", self.config, "--id", "e1")
        self.assertEqual(again.wait(), 78)
        self.assertIn("error[E0905]", again.err)
        self.assertRegex(again.err, rf"cause: .*cluster\.toml:10:8: cannot listen on 127\.0\.0\.1 port {self.ports['e1']}: ")
        self.assertIn("hint: another process uses this port", again.err)

    def test_wrong_arguments_are_rejected(self):
        for words, code, text in (
                (("--cluster", self.config), 64, "--id is missing"),
                (("--cluster", self.config, "--id", "e9"), 78, "no executor e9"),
                (("--cluster", self.config, "--id", "e1", "--slots", "2"), 64, "--slots needs --join"),
                (("--id", "e1"), 64, "needs a cluster file"),
                (("--cluster", self.config, "--id", "e1", "--log-format", "xml"), 64, "text or json"),
                (("--join", "nowhere"), 64, "HOST:PORT"),
                (("--join", "127.0.0.1:1", "--slots", "0"), 64, "--slots 0"),
                (("--join", "127.0.0.1:1", "--memory", "1M"), 78, "at least"),
                (("--join", "10.0.0.1:7400"), 78, "no secret_file"),
                (("--join", "127.0.0.1:1", "--listen", "0.0.0.0:7400"), 78, "no secret_file"),
                (("--executor-process",), 64, "only an executor daemon")):
            with self.subTest(words=words):
                got, _, err = self.run_glint("executor", *words)
                self.assertEqual(got, code, err)
                self.assertIn(text, err)

    def test_help_hides_internal_options(self):
        code, out, _ = self.run_glint("executor", "--help")
        self.assertEqual(code, 0)
        self.assertNotIn("--executor-process", out)
        for name in ("--join", "--launched"):
            self.assertIn(name, out)

    def test_leftovers_of_dead_runs_are_removed(self):
        dead = os.path.join(self.tmp, "glint-0123456789abcdef")
        make_leftover(dead)
        self.executor("e1")
        until(lambda: not os.path.exists(dead), "the directory of a dead run is gone")

    def test_idle_daemon_uses_little_memory(self):
        if os.environ.get("GLINT_SANITIZED"):
            self.skipTest("sanitizers need memory of their own")
        e1 = self.executor("e1")
        self.status()
        with open(f"/proc/{e1.pid}/status", encoding="ascii") as file:
            sizes = dict(re.findall(r"^(RssAnon|VmRSS):\s+(\d+) kB", file.read(), re.MULTILINE))
        self.assertLess(int(sizes["RssAnon"]), 4 * 1024)
        self.assertLess(int(sizes["VmRSS"]), 12 * 1024)

    def test_launched_daemon_exits_without_driver(self):
        self.write_cluster(start="500ms")
        e1 = self.executor("e1", "--launched")
        self.assertEqual(e1.wait(), 0)
        self.assertIn("no driver is connected", e1.err)


class Confinement(ClusterTest):
    def status_of(self, pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file)

    def oom_adjust(self, pid):
        with open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as file:
            return int(file.read())

    def test_executor_has_no_new_privs_and_higher_oom_score(self):
        self.write_cluster({"e1": {"slots": 1}})
        e1 = self.executor("e1")
        job = self.submit("job", *self.held_job())
        pid = until(e1.children, "an executor process runs")[0]
        e1.until_says("serving driver")
        self.assertEqual(self.status_of(pid)["NoNewPrivs"], "1")
        self.assertEqual(self.oom_adjust(pid), min(1000, self.oom_adjust(e1.pid) + 200))
        self.assertEqual(self.status_of(e1.pid)["NoNewPrivs"], self.status_of("self")["NoNewPrivs"])
        job.signal(signal.SIGTERM)
        self.assertEqual(job.wait(), 143, job.err)

    def test_joining_executor_has_no_new_privs(self):
        port = free_port()
        job = self.start("job", "submit", *self.held_job(), "--listen", f"127.0.0.1:{port}", "--executors", "1")
        node = self.start("n1", "executor", "--join", f"127.0.0.1:{port}", "--id", "n1")
        node.until_says("serving driver")
        self.assertEqual(self.status_of(node.pid)["NoNewPrivs"], "1")
        job.signal(signal.SIGTERM)
        self.assertEqual(job.wait(), 143, job.err)


class UnauthenticatedPeers(ClusterTest):
    """Connections that are not glint, or belong to another cluster."""

    def connect(self, data=b""):
        s = socket.create_connection(("127.0.0.1", self.ports["e1"]), timeout=DEADLINE_S)
        self.addCleanup(s.close)
        if data:
            s.sendall(data)
        return s

    def until_closed(self, s):
        while True:
            try:
                if s.recv(4096) == b"":
                    return
            except ConnectionError:
                return

    def is_rejected(self, e1, data, cause):
        """False: the log has no line of it, because there were ten in that second."""
        s = self.connect(data)
        host, port = s.getsockname()
        self.until_closed(s)
        self.assertEqual(self.executor_status("e1")["state"], "idle")
        return f"rejected connection from {host}:{port}: {cause}" in e1.err

    def test_garbage_connections_are_rejected(self):
        self.write_cluster(connect="4s")
        e1 = self.executor("e1")
        files = open_files(e1.pid)
        half_record = bytes.fromhex("1603010200010001fc0303")
        late = f"timed out waiting for a TLS handshake after {int(4000 * SLOWDOWN)} ms"
        silent = [self.connect() for _ in range(100)]
        self.assertEqual(self.executor_status("e1")["state"], "idle")
        for data, cause in ((b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "the peer uses HTTP"),
                            (b"\0" * 100, "invalid frame: its first bytes are 00 00 00 00"),
                            (b"\xde\xad" + os.urandom(4096), "invalid frame: its first bytes are de ad"),
                            (half_record, late),
                            (b"GLNT\x01\x01\0\0" + b"\xff" * 24, "the peer uses plain text")):
            with self.subTest(data=data[:16]):
                until(lambda: self.is_rejected(e1, data, cause), f"a line with: {cause}")
        for s in silent:
            self.until_closed(s)
        self.assertEqual(self.executor_status("e1")["state"], "idle")
        until(lambda: open_files(e1.pid) <= files, "no descriptor is left")

    def test_silent_connections_do_not_block_others(self):
        self.write_cluster(connect="30s")
        self.executor("e1")
        for _ in range(200):
            self.connect()
        self.assertEqual(self.executor_status("e1")["state"], "idle")

    def test_client_without_the_secret_is_rejected(self):
        self.write_cluster(start="5s")
        self.executor("e1")
        other = {"XDG_STATE_HOME": os.path.join(self.directory, "other")}
        code, out, err = self.run_glint("status", "--cluster", self.config, env=other)
        self.assertEqual(code, 69, err)
        self.assertRegex(out, r"(?m)^e1 .* unreachable .*the peer does not have this side's secret")
        code, _, err = self.run_glint("submit", "empty-tasks", "--tasks", "1", "--cluster", self.config,
                                      "--executors", "1", env=other)
        self.assertEqual(code, 77, err)
        self.assertIn("the peer does not have this side's secret", err)
        self.assertEqual(self.executor_status("e1")["state"], "idle")

    def test_client_of_another_cluster_is_rejected(self):
        self.executor("e1")
        with open(self.config, encoding="utf-8") as file:
            text = file.read()
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(text.replace("cluster = \"test\"", "cluster = \"other\""))
        code, _, err = self.run_glint("status", "--cluster", self.config)
        self.assertEqual(code, 69)
        self.assertIn("e1 belongs to cluster test, client to cluster other", err)


class ClientCommands(ClusterTest):
    def test_status_lists_reachable_and_unreachable_executors(self):
        code, out, err = self.run_glint("status", "--cluster", self.config)
        self.assertEqual(code, 69)
        self.assertIn("error[E0907]", err)
        self.assertEqual(out.count("unreachable"), 2)
        self.executor("e1")
        code, out, err = self.run_glint("status", "--cluster", self.config)
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"(?m)^e1 +127\.0\.0\.1:\d+ +idle +1 +1\.0 GiB")
        self.assertRegex(out, r"(?m)^e2 +127\.0\.0\.1:\d+ +unreachable .*refused")

    def test_status_can_be_json(self):
        self.executor("e1")
        first, second = self.status()["executors"]
        self.assertEqual((first["state"], first["slots"], first["jobs"]), ("idle", 1, []))
        self.assertRegex(first["version"], r"^\d+\.\d+\.\d+-[0-9a-f]{40}$")
        self.assertEqual((second["state"], second["error"]["code"]), ("unreachable", "E0906"))

    def test_cancel_of_unknown_job_fails(self):
        code, _, err = self.run_glint("cancel", "--cluster", self.config, "unknown")
        self.assertEqual(code, 69, err)
        self.executor("e1")
        for job in ("unknown", "0123456789abcdef"):
            code, _, err = self.run_glint("cancel", "--cluster", self.config, job)
            self.assertEqual(code, 66, err)
            self.assertIn("error[E0912]", err)
        code, _, err = self.run_glint("cancel", "--cluster", self.config)
        self.assertEqual(code, 64, err)


class Jobs(ClusterTest):
    def test_job_leaves_nothing_behind(self):
        executors = [self.executor("e1"), self.executor("e2")]
        files = [open_files(e.pid) for e in executors]
        for i in range(2):
            job = self.submit("job", "count-keys", self.ratings(), f"out-{i}", "--executors", "2")
            self.assertEqual(job.wait(), 0, job.err)
            self.assertEqual(self.read_output(f"out-{i}"), self.expected())
        for e, before in zip(executors, files):
            until(lambda e=e: not e.children(), "no executor process is left")
            until(lambda e=e, n=before: open_files(e.pid) <= n, "no descriptor is left")
        self.assertEqual(os.listdir(self.tmp), [])

    def test_relative_paths_resolve_at_the_driver(self):
        self.executor("e1")
        self.expected()
        name = os.path.basename(self.ratings())
        job = self.submit("job", "count-keys", name, "out")
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(self.read_output("out"), self.expected())

    def test_plaintext_job_runs(self):
        self.write_cluster(insecure_plaintext=True)
        e1 = self.executor("e1")
        self.assertIn("insecure_plaintext", e1.err)
        job = self.submit("job", "count-keys", self.ratings(), "out")
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(self.read_output("out"), self.expected())

    def test_plaintext_on_one_side_is_rejected(self):
        self.executor("e1")
        code, _, err = self.run_glint("submit", "empty-tasks", "--cluster", self.config, "--insecure-plaintext",
                                      "--start", "5s")
        self.assertEqual(code, 69, err)
        self.assertIn("insecure_plaintext must be the same", err)

    def test_cancel_ends_job_and_starts_the_queued_one(self):
        self.executor("e1")
        first = self.submit("first", *self.held_job())
        busy = until(lambda: self.executor_status("e1")["jobs"], "the first job is listed")
        self.assertTrue(busy[0]["running"])
        second = self.submit("second", "count-keys", self.ratings(), "out")
        second.until_says("position 1 in its queue")
        jobs = self.executor_status("e1")["jobs"]
        self.assertEqual([j["running"] for j in jobs], [True, False])
        self.assertEqual([j["name"] for j in jobs], ["stream", "count-keys"])
        code, _, err = self.run_glint("cancel", "--cluster", self.config, "stream")
        self.assertEqual(code, 0, err)
        self.assertEqual(first.wait(), 1, first.err)
        self.assertIn("error[E0704]", first.err)
        self.assertEqual(second.wait(), 0, second.err)
        self.assertEqual(self.read_output("out"), self.expected())

    def test_cancel_by_id_ends_the_job(self):
        self.executor("e1")
        job = self.submit("job", *self.held_job())
        found = until(lambda: self.executor_status("e1")["jobs"], "the job is listed")
        code, _, err = self.run_glint("cancel", "--cluster", self.config, found[0]["id"])
        self.assertEqual(code, 0, err)
        self.assertEqual(job.wait(), 1, job.err)

    def test_two_drivers_run_concurrently(self):
        self.write_cluster({"e1": {"slots": 2}}, drivers_max=2)
        self.executor("e1")
        first = self.submit("first", *self.held_job())
        until(lambda: self.executor_status("e1")["jobs"], "the first job is listed")
        second = self.submit("second", "count-keys", self.ratings(), "out")
        self.assertEqual(second.wait(), 0, second.err)
        self.assertIsNone(first.popen.poll())
        self.run_glint("cancel", "--cluster", self.config, "stream")
        self.assertEqual(first.wait(), 1)

    def test_status_names_the_running_job(self):
        self.executor("e1")
        job = self.submit("job", *self.held_job())
        until(lambda: any(j["stage"] for j in self.executor_status("e1")["jobs"]), "a stage is named")
        code, out, _ = self.run_glint("status", "--cluster", self.config)
        self.assertEqual(code, 0)
        self.assertRegex(out, r"(?m)^e1 .* busy .*[0-9a-f]{16} stream, \d+ tasks? here, for .*textFile")
        job.signal(signal.SIGINT)
        self.assertEqual(job.wait(), 130, job.err)


class ProcessExits(ClusterTest):
    """Processes that get SIGKILL or SIGTERM while a job runs."""

    def busy(self, *names):
        executors = [self.executor(name) for name in names]
        job = self.submit("job", *self.held_job(), "--executors", str(len(names)))
        for e in executors:
            until(e.children, "an executor process runs")
            e.until_says("serving driver")
        return (job, *executors)

    def test_killed_driver_ends_its_executor(self):
        job, e1 = self.busy("e1")
        job.signal(signal.SIGKILL)
        self.assertEqual(job.wait(), -signal.SIGKILL)
        until(lambda: not e1.children(), "its executor process has exited")
        self.until_state("e1", "idle")
        self.assertEqual(os.listdir(self.tmp), [])

    def test_paused_driver_ends_its_executor(self):
        job, e1 = self.busy("e1")
        job.signal(signal.SIGSTOP)
        until(lambda: not e1.children(), "its executor process has exited")
        self.until_state("e1", "idle")
        job.signal(signal.SIGCONT)
        job.signal(signal.SIGTERM)
        job.wait()

    def test_driver_pause_while_waiting_is_no_timeout(self):
        """A pause of the driver does not make its executors look dead."""
        self.write_cluster(heartbeat="100ms", suspect="300ms", start="5s")
        with socket.create_server(("127.0.0.1", self.ports["e1"])) as server:
            job = self.submit("job", "count-keys", self.ratings(), "out")
            server.accept()[0].close()
            job.signal(signal.SIGSTOP)
        for name in ("e1", "e2"):
            self.executor(name)
        until(lambda: self.executor_status("e1")["uptime_ms"] > 5600 * SLOWDOWN, "start is over")
        job.signal(signal.SIGCONT)
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(self.read_output("out"), self.expected())

    def test_killed_daemon_ends_executor_but_not_job(self):
        job, e1, e2 = self.busy("e1", "e2")
        pid = e1.children()[0]
        e1.signal(signal.SIGKILL)
        e1.wait()
        until(lambda: is_zombie(pid), "its executor process has exited")
        self.release_job()
        self.assertEqual(job.wait(), 0, job.err)
        self.assertIn("lost", job.err)
        self.assertFalse(e2.popen.poll())

    def test_killed_executor_is_reported_and_job_finishes(self):
        job, e1, _ = self.busy("e1", "e2")
        os.kill(e1.children()[0], signal.SIGKILL)
        e1.until_says("was killed by signal 9")
        self.release_job()
        self.assertEqual(job.wait(), 0, job.err)
        self.assertIn("killed by signal 9", job.err)
        self.assertIn(e1.err_path, job.err)

    def test_sigterm_drains_the_daemon(self):
        job, e1, _ = self.busy("e1", "e2")
        e1.signal(signal.SIGTERM)
        self.release_job()
        self.assertEqual(e1.wait(), 0, e1.err)
        self.assertIn("drained", e1.err)
        self.assertEqual(job.wait(), 0, job.err)

    def test_second_sigterm_ends_the_daemon_at_once(self):
        job, e1 = self.busy("e1")
        os.kill(e1.children()[0], signal.SIGSTOP)
        e1.signal(signal.SIGTERM)
        e1.until_says("draining")
        e1.signal(signal.SIGTERM)
        self.assertEqual(e1.wait(), 0, e1.err)
        job.signal(signal.SIGTERM)
        self.assertEqual(job.wait(), 143, job.err)

    def test_draining_daemon_accepts_no_jobs(self):
        self.write_cluster(suspect="300s", dead="400s", drain="400s")
        _, e1 = self.busy("e1")
        pid = e1.children()[0]
        os.kill(pid, signal.SIGSTOP)
        e1.signal(signal.SIGTERM)
        e1.until_says("draining")
        self.assertEqual(self.executor_status("e1")["state"], "draining")
        late = self.submit("late", "empty-tasks", "--tasks", "1", "--start", "5s")
        self.assertEqual(late.wait(), 69, late.err)
        self.assertIn("is draining", late.err)
        self.release_job()
        os.kill(pid, signal.SIGCONT)
        self.assertEqual(e1.wait(), 0, e1.err)


class Ports(ClusterTest):
    """Executor processes listen in the configured range of ports."""

    def take(self, count):
        """Occupies this many consecutive ports with listening sockets of the test."""
        while True:
            first, sockets = free_port(), []
            try:
                for port in range(first, first + count):
                    sockets.append(socket.create_server(("127.0.0.1", port)))
            except OSError:
                for s in sockets:
                    s.close()
                continue
            for s in sockets:
                self.addCleanup(s.close)
            return first, sockets

    def test_first_free_ports_of_the_range_are_used(self):
        first, sockets = self.take(3)
        self.write_cluster(ports=f"{first}-{first + 2}")
        executors = [self.executor(name) for name in ("e1", "e2")]
        for s in sockets[1:]:
            s.close()
        job = self.submit("job", *self.held_job(), "--executors", "2")
        for e in executors:
            e.until_says("serving driver")
        self.assertEqual({listening_port(e.children()[0]) for e in executors}, {first + 1, first + 2})
        job.signal(signal.SIGINT)
        self.assertEqual(job.wait(), 130, job.err)

    def test_job_waits_for_a_free_port(self):
        first, sockets = self.take(2)
        self.write_cluster(ports=f"{first}-{first + 1}", start="60s")
        e1 = self.executor("e1")
        job = self.submit("job", "count-keys", self.ratings(), "out")
        e1.until_says(f"E0905 none of the ports {first} to {first + 1} is free: cannot listen on 127.0.0.1 port ")
        sockets[1].close()
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(self.read_output("out"), self.expected())

    def test_joining_executor_uses_its_port_range(self):
        (first, sockets), port = self.take(1), free_port()
        sockets[0].close()
        node = self.start("n1", "executor", "--join", f"127.0.0.1:{port}", "--slots", "1", "--ports",
                          f"{first}-{first}")
        job = self.start("job", "submit", *self.held_job(), "--listen", f"127.0.0.1:{port}", "--executors", "1")
        node.until_says("serving driver")
        self.assertEqual(listening_port(node.pid), first)
        job.signal(signal.SIGINT)
        self.assertEqual(job.wait(), 130, job.err)
        node.wait()


class Launched(ClusterTest):
    def launch(self, *words):
        self.write_cluster(launch="local", log_dir=os.path.join(self.directory, "log"))
        return self.submit("job", *words, "--executors", "2")

    def test_launched_daemons_end_with_the_job(self):
        job = self.launch("count-keys", self.ratings(), "out")
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(self.read_output("out"), self.expected())
        self.assert_nothing_left()

    def test_launched_daemons_end_when_the_job_is_killed(self):
        job = self.launch(*self.held_job())
        until(lambda: all(e["state"] == "busy" for e in self.status()["executors"]), "both are busy")
        job.signal(signal.SIGKILL)
        job.wait()
        self.assert_nothing_left()


class Join(ClusterTest):
    def join(self, name, port, *options):
        return self.start(name, "executor", "--join", f"127.0.0.1:{port}", "--id", name, "--slots", "1",
                          *options)

    def listen(self, port, *words):
        return self.start("job", "submit", *words, "--listen", f"127.0.0.1:{port}", "--executors", "2")

    def test_driver_and_executors_may_start_in_any_order(self):
        for driver_first in (True, False):
            with self.subTest(driver_first=driver_first):
                port, out = free_port(), f"out-{driver_first}"
                words = ("count-keys", self.ratings(), out)
                job = self.listen(port, *words) if driver_first else None
                if job:
                    job.until_says("waiting for 2 executors")
                nodes = [self.join(f"n{i}-{driver_first}", port) for i in (1, 2)]
                if not job:
                    for node in nodes:
                        node.until_says("waiting for a driver")
                    job = self.listen(port, *words)
                self.assertEqual(job.wait(), 0, job.err)
                self.assertEqual(self.read_output(out), self.expected())
                for node in nodes:
                    self.assertEqual(node.wait(), 0, node.err)

    def test_executor_pause_while_waiting_is_no_timeout(self):
        """A pause of the executor does not make the driver look dead."""
        port = free_port()
        node = self.join("n1", port, "--start", "5s", "--suspect", "300ms", "--heartbeat", "100ms")
        node.until_says("waiting for a driver")
        node.signal(signal.SIGSTOP)
        stopped = time.monotonic()
        job = self.listen(port, "count-keys", self.ratings(), "out")
        job.until_says("waiting for 2 executors")
        other = self.join("n2", port)
        until(lambda: time.monotonic() - stopped > 6.5, "start is over, whatever was due")
        node.signal(signal.SIGCONT)
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(node.wait(), 0, node.err)
        self.assertEqual(other.wait(), 0, other.err)

    def test_join_without_driver_fails(self):
        node = self.join("n1", free_port(), "--start", "300ms")
        self.assertEqual(node.wait(), 69, node.err)
        self.assertIn("no driver at", node.err)

    def test_join_without_the_secret_is_rejected(self):
        port = free_port()
        job = self.listen(port, "empty-tasks", "--tasks", "1")
        job.until_says("waiting for 2 executors")
        node = self.start("n1", "executor", "--join", f"127.0.0.1:{port}",
                          env={"XDG_STATE_HOME": os.path.join(self.directory, "other")})
        self.assertEqual(node.wait(), 77, node.err)
        self.assertIn("the peer does not have this side's secret", node.err)
        job.signal(signal.SIGTERM)
        self.assertEqual(job.wait(), 143, job.err)

    def test_sigterm_drains_a_joined_executor(self):
        port = free_port()
        job = self.listen(port, *self.held_job())
        nodes = [self.join(f"n{i}", port) for i in (1, 2)]
        for node in nodes:
            node.until_says("serving driver")
        nodes[0].signal(signal.SIGTERM)
        self.release_job()
        self.assertEqual(nodes[0].wait(), 0, nodes[0].err)
        self.assertIn("drained", nodes[0].err)
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(nodes[1].wait(), 0)
        self.assertEqual(children_of("self"), [])


if __name__ == "__main__":
    unittest.main()
