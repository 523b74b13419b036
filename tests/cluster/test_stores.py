"""Jobs from bucket to bucket on executors that share no directory with the driver."""
import os
import re
import signal
import sys

from cluster import ClusterTest, Process, until

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import http_server  # noqa: E402


class Stores(ClusterTest):
    executors = {"e1": {"slots": 2}, "e2": {"slots": 2}}

    def setUp(self):
        super().setUp()
        self.store = os.path.join(self.directory, "store")
        self.faults = os.path.join(self.directory, "faults")
        os.mkdir(self.store)
        self.server = http_server.HttpServer(self.store, os.path.join(self.directory, "requests"))
        self.addCleanup(self.server.stop)
        self.env.update(AWS_ENDPOINT_URL=self.server.url("").rstrip("/"),
                        AWS_ACCESS_KEY_ID="AKID",
                        no_proxy="*",
                        AWS_SECRET_ACCESS_KEY="se+cret/key",
                        AWS_REGION="x",
                        GLINT_HTTP_TIMEOUT="5")
        for name in self.executors:
            self.executor_elsewhere(name)
        status, out, err = self.run_glint("generate", "ratings", "--rows", "60000")
        self.assertEqual(status, 0, err)
        self.put("in/ratings.tsv", out)

    def put(self, name, text):
        path = os.path.join(self.store, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def executor_elsewhere(self, name):
        """It does not see the files behind the store."""
        script = f"mount -t tmpfs tmpfs {self.store} && exec \"$@\""
        process = Process(self,
                          name, ("executor", "--cluster", self.config, "--id", name),
                          prefix=("unshare", "-Urm", "bash", "-c", script, "bash"))
        self.processes.append(process)
        process.until_says(f"executor {name} ready on ")
        return process

    def jobs(self, place):
        return (("split-dataset", f"{place}/in/ratings.tsv", f"{place}/train",
                 f"{place}/test"), ("count-keys", f"{place}/train", f"{place}/counts"),
                ("bloom-build", "0.01", f"{place}/train", f"{place}/counts",
                 f"{place}/filters"), ("bloom-test", "0.01", f"{place}/test", f"{place}/filters",
                                       f"{place}/counts", f"{place}/result"))

    def words(self, job):
        return ("submit", "-q", job[0], "--split-size", "200K", "--partitions", "4", *job[1:])

    def content(self, *path):
        """The bytes of all parts of a complete output."""
        directory = os.path.join(*path)
        names = sorted(os.listdir(directory))
        self.assertEqual([name for name in names if not name.startswith("part-")], ["_SUCCESS"],
                         path)
        return b"".join(
            open(os.path.join(directory, name), "rb").read() for name in names
            if name != "_SUCCESS")

    def expected(self):
        local = os.path.join(self.directory, "local")
        os.mkdir(local)
        os.symlink(os.path.join(self.store, "in"), os.path.join(local, "in"))
        for job in self.jobs(local):
            self.glint(*self.words(job))
        return {
            name: self.content(local, name)
            for name in ("train", "test", "counts", "filters", "result")
        }

    def glint(self, *words):
        status, _, err = self.run_glint(*words)
        self.assertEqual(status, 0, (words, err))

    def on_cluster(self, job):
        return (*self.words(job), "--cluster", self.config, "--executors", "2")

    def assert_nothing_visible(self, name):
        path = os.path.join(self.store, name)
        self.assertFalse(os.path.exists(path) and os.listdir(path), name)

    def hold(self, fault):
        with open(self.faults, "w", encoding="ascii") as file:
            file.write(fault + "\n")

    def until_held(self, pattern):
        until(
            lambda: any(
                re.search(pattern, r["path"]) and "status" not in r for r in self.server.requests),
            "a request is held")

    def test_four_jobs_with_an_executor_and_a_driver_that_die(self):
        expected = self.expected()
        *first, last = self.jobs("s3://bucket")
        self.glint(*self.on_cluster(first[0]))
        # An executor dies while its task uploads a part; the other one does its work again.
        self.hold("hold PUT /counts/.*partNumber=")
        job = self.start("job", *self.on_cluster(first[1]))
        self.until_held("/counts/.*partNumber=")
        self.assert_nothing_visible("counts")
        victim = next(p for p in self.processes if p.name == "e1")
        os.remove(self.faults)
        for pid in self.executor_processes(victim):
            os.kill(pid, signal.SIGKILL)
        job.wait()
        self.assertEqual(self.content(self.store, "counts"), expected["counts"])
        self.assertEqual(self.server.uploads.uploads, {}, "uploads of the dead executor")
        self.glint(*self.on_cluster(first[2]))
        # The driver dies while it commits.
        self.hold("hold POST /result/part-00001.*uploadId=")
        job = self.start("job", *self.on_cluster(last))
        self.until_held("/result/part-00001.*uploadId=")
        os.remove(self.faults)
        job.popen.send_signal(signal.SIGKILL)
        job.popen.wait()
        status, _, err = self.run_glint("cat", "s3://bucket/result")
        self.assertEqual(status, 75, err)
        self.assertIn("E0217", err)
        status, _, err = self.run_glint(
            *self.on_cluster(last))  # finishes that, and has nothing to do
        self.assertIn("E0301", err)
        self.assertIn("an earlier job's commit was finished now", err)
        for name, content in expected.items():
            self.assertEqual(self.content(self.store, name), content, name)
        self.assertEqual(self.server.uploads.uploads, {})

    def executor_processes(self, daemon):
        """Of the jobs that it runs."""
        found, new = [], [daemon.pid]
        while new:
            with open(f"/proc/{new[0]}/task/{new.pop(0)}/children", encoding="ascii") as file:
                children = [int(word) for word in file.read().split()]
            found += children
            new += children
        return found
