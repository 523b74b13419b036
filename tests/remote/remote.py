"""Jobs with input at URLs must give what they give with the same files: in one process and on a cluster."""
import gzip
import json
import os
import random
import shutil
import subprocess
import tempfile

import servers
from cluster import DEADLINE_S, ClusterTest


def make_rows(seed, count):
    numbers = random.Random(seed)
    return b"".join(b"tt%d\t%d.%d\t%d\n" % (numbers.randrange(5000), numbers.randrange(10), numbers.randrange(10),
                                            numbers.randrange(1000)) for _ in range(count))


class RemoteTest(ClusterTest):
    """`data` is a directory of files that a server sends: `local` names them."""

    executors = {"e1": {"slots": 2}, "e2": {"slots": 2}}
    variables = {}  # of the environment of all processes
    LOCAL = ("local[1]", "local[3]")
    split_size = "50K"

    @classmethod
    def setUpClass(cls):
        cls.data = tempfile.mkdtemp(prefix="glint-remote-data-")
        rows = make_rows(1, 40000)
        cls.write("rows.tsv", rows)
        cls.write("rows.tsv.gz", gzip.compress(rows))
        cls.write("other.tsv", make_rows(2, 1000))
        frames = [subprocess.run(["zstd", "-q", "-c"], input=rows[i:i + 50000], capture_output=True, check=True).stdout
                  for i in range(0, len(rows), 50000)]
        cls.write("rows.tsv.zst", b"".join(frames))
        for number in range(5):
            cls.write(f"several/p{number}.tsv", make_rows(10 + number, 1000))
        cls.write("several/deep/a b+c&d=e%20.tsv", make_rows(20, 1000))

    @classmethod
    def write(cls, name, content):
        path = os.path.join(cls.data, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.data, ignore_errors=True)

    def setUp(self):
        super().setUp()
        self.env.update(self.variables, AWS_EC2_METADATA_DISABLED="true")

    def left_processes(self):
        return [pid for pid in super().left_processes() if pid not in servers.RUNNING]

    def local(self, name):
        return os.path.join(self.data, name)

    def start_executors(self, env=None):
        for name in self.executors:
            if not any(p.name == name and p.popen.poll() is None for p in self.processes):
                self.executor(name, env=env)

    def where(self):
        self.start_executors()
        yield from (("--master", master) for master in self.LOCAL)
        yield "--cluster", self.config, "--executors", "2"

    def count_keys(self, source, where, out, env=None):
        """(the result as JSON, everything that was printed or logged)"""
        log = os.path.join(self.directory, "events")
        done = subprocess.run([self.program, "submit", "count-keys", "--json", "--split-size", self.split_size, "--partitions", "3",
                               "--overwrite", "--event-log", log, *where, source, out], stdin=subprocess.DEVNULL,
                              capture_output=True, cwd=self.directory, env={**self.env, **(env or {})},
                              timeout=DEADLINE_S, check=False)
        with open(log, "rb") as file:
            said = (done.stdout + done.stderr + file.read()).decode(errors="replace")
        self.assertNotEqual(done.stdout, b"", done.stderr)
        return json.loads(done.stdout), said

    def same_everywhere(self, path, url, env=None):
        """Returns everything that was printed or logged."""
        here, _ = self.count_keys(path, ("--master", "local[1]"), "here")
        self.assertIsNone(here.get("error"), here)
        all_said = ""
        for where in self.where():
            there, said = self.count_keys(url, where, "there", env)
            self.assertIsNone(there.get("error"), (where, there.get("error")))
            self.assertEqual(self.read_output("there"), self.read_output("here"), (url, where))
            for name in ("rows read", "bytes read"):
                self.assertEqual(there["counters"][name], here["counters"][name], (name, url, where))
            all_said += said
        return all_said

    def fails_everywhere(self, url, code, *words, env=None, where=None):
        """The same error in one process and on a cluster, whose text has all these words; no output."""
        for place in where or list(self.where())[1:]:
            result, said = self.count_keys(url, place, "failed", env)
            error = result.get("error")
            self.assertIsNotNone(error, f"{url} went well at {place}")
            self.assertEqual(error["code"], code, (place, error))
            for word in words:
                self.assertIn(word, json.dumps(error, ensure_ascii=False), place)
            self.assertTrue(error["effect"], error)
            self.assertFalse(os.path.exists(os.path.join(self.directory, "failed")))
        return said


class HttpTest(RemoteTest):
    """nginx sends the data over http."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.nginx = servers.Nginx(f"server {{ listen 127.0.0.1:PORT1; root {cls.data}; }}")
        cls.addClassCleanup(cls.nginx.stop)
