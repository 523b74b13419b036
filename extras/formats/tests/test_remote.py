"""Files of columns on servers: only the footer and the column chunks that a job needs are asked
for, by ranges."""

import os
import random
import re
import subprocess
import sys
import tempfile
import unittest

import pyarrow
import pyarrow.orc
import pyarrow.parquet

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
import http_server  # noqa: E402  pylint: disable=wrong-import-position

GLINT = os.path.join(os.path.dirname(os.environ["GLINT_FORMATS"]), "..", "glint")
ROWS, GROUP = 200_000, 20_000
FOOTER = 64 << 10  # bytes at the end that are asked for first, by each task
LOOK = 4 << 10     # and at the start, to see what the file is
DRIVER = 1         # times that the driver does so


def table():
    """Ten columns that do not compress, and a small one."""
    chance = random.Random(1)
    columns = {f"c{c}": [chance.random() for _ in range(ROWS)] for c in range(10)}
    return pyarrow.table(columns | {"key": [i // 1000 for i in range(ROWS)]})


class Remote(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.directory = cls.temporary.name
        pyarrow.parquet.write_table(table(), cls.path("in.parquet"), row_group_size=GROUP,
                                    use_dictionary=False)
        cls.size = os.path.getsize(cls.path("in.parquet"))
        group = pyarrow.parquet.read_metadata(cls.path("in.parquet")).row_group(0)
        cls.chunk = {group.column(i).path_in_schema: group.column(i).total_compressed_size
                     for i in range(group.num_columns)}

    @classmethod
    def path(cls, name):
        return os.path.join(cls.directory, name)

    def setUp(self):
        self.server = http_server.HttpServer(self.directory)
        self.addCleanup(self.server.stop)

    def glint(self, *arguments):
        settings = {"HOME": self.directory, "AWS_ACCESS_KEY_ID": "AKID",
                    "AWS_SECRET_ACCESS_KEY": "se+cret/key", "AWS_REGION": "eu-1",
                    "AWS_ENDPOINT_URL": self.server.url("").rstrip("/")}
        return subprocess.run([GLINT, "submit", "--overwrite", *arguments, self.path("out")],
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, env=os.environ | settings)

    def output(self):
        lines = []
        for part in sorted(os.listdir(self.path("out"))):
            if part.startswith("part-"):
                with open(os.path.join(self.path("out"), part), encoding="utf-8") as file:
                    lines += file.read().splitlines()
        return lines

    def asked(self):
        """Bytes, and the number of requests; all but those that only look are for ranges."""
        total = 0
        for request in self.server.requests:
            found = re.fullmatch(r"bytes=(\d+)-(\d+)", request.get("Range", ""))
            if found:
                total += min(int(found[2]) + 1, self.size) - min(int(found[1]), self.size)
            elif request["status"] == 200 and "?" not in request["path"]:
                self.fail(f"a request for the whole file: {request}")
        return total, len(self.server.requests)

    def places(self):
        yield self.server.url("plain/in.parquet")
        yield "s3://bucket/in.parquet"

    def test_only_the_column_chunks_that_are_needed(self):
        for place in self.places():
            self.server.requests.clear()
            run = self.glint("count-keys", "--key", "int", "--key-column", "key", place)
            self.assertEqual(run.returncode, 0, run.stdout)
            self.assertEqual(self.output(), [f"{i}\t1000" for i in range(ROWS // 1000)])
            asked, requests = self.asked()
            tasks = int(re.search(r"(\d+) tasks?", run.stdout)[1])
            groups = ROWS // GROUP
            most = groups * self.chunk["key"] + (tasks + DRIVER) * (FOOTER + LOOK)
            self.assertLess(asked, most, (place, requests))
            self.assertLess(asked, self.size / 5)

    def test_row_groups_that_are_left_out_are_not_asked_for(self):
        for place in self.places():
            self.server.requests.clear()
            run = self.glint("select", "--columns", "key", "--where", "key = 77",
                             "--output-format", "csv", place)
            self.assertEqual(run.returncode, 0, run.stdout)
            self.assertEqual(self.output(), ["77"] * 1000)
            self.assertIn("row groups skipped", run.stdout)
            asked, requests = self.asked()
            tasks = int(re.search(r"(\d+) tasks?", run.stdout)[1])
            most = self.chunk["key"] + (tasks + DRIVER) * (FOOTER + LOOK)
            self.assertLess(asked, most, (place, requests))

    def test_streams_of_orc(self):
        """Only the tail, the footers of stripes and the streams of a column are asked for."""
        pyarrow.orc.write_table(table(), self.path("in.orc"), stripe_size=2 << 20, batch_size=5000)
        size = os.path.getsize(self.path("in.orc"))
        for place in (self.server.url("plain/in.orc"), "s3://bucket/in.orc"):
            self.server.requests.clear()
            run = self.glint("count-keys", "--key", "int", "--key-column", "key", place)
            self.assertEqual(run.returncode, 0, run.stdout)
            self.assertEqual(self.output(), [f"{i}\t1000" for i in range(ROWS // 1000)])
            self.assertLess(self.asked()[0], size / 5)
            run = self.glint("select", "--columns", "key", "--where", "key = 77",
                             "--output-format", "csv", place)
            self.assertEqual(self.output(), ["77"] * 1000)
            self.assertIn("row groups skipped", run.stdout)

    def test_directories_in_a_store_are_columns(self):
        """As those of a local directory; files that a condition leaves out are not opened."""
        days = [None, "2026-01-01", "2026-01-02", "a/b", "x=y", "\u00fc", " ", "q?z"]
        for number, day in enumerate(days):
            name = (day or "__HIVE_DEFAULT_PARTITION__").replace("/", "%2F")
            os.makedirs(self.path(f"parted/dt={name}"))
            pyarrow.parquet.write_table(pyarrow.table({"n": [number]}),
                                        self.path(f"parted/dt={name}/part-0.parquet"))
        expected = [f"{number}\t{day or chr(92) + 'N'}" for number, day in enumerate(days)]
        for place in (self.path("parted/**"), "s3://bucket/parted/**"):
            run = self.glint("sort", "--by", "n", "--output-format", "tsv", place)
            self.assertEqual(run.returncode, 0, run.stdout)
            self.assertEqual(self.output(), expected)
            run = self.glint("agg", "--by", "dt", "--sum", "n", "--where", "dt >= '2026-01-02'",
                             "--output-format", "tsv", place)
            self.assertEqual(run.returncode, 0, run.stdout)
            self.assertEqual(sorted(self.output()), sorted(
                f"{day}\t{number}" for number, day in enumerate(days)
                if day is not None and day >= "2026-01-02"))
        self.server.requests.clear()
        run = self.glint("select", "--columns", "n,dt", "--where", "dt = '2026-01-02'",
                         "--output-format", "tsv", "s3://bucket/parted/dt=2026-*/*.parquet")
        self.assertEqual(self.output(), ["2\t2026-01-02"], run.stdout)
        left_out = [request for request in self.server.requests
                    if "2026-01-01" in request["path"] and "prefix" not in request["path"]]
        self.assertLessEqual(len(left_out), 3, left_out)  # of the driver

    def test_faults_of_servers(self):
        for fault in ("busy", "cut", "dated", "weak"):
            run = self.glint("count-keys", "--key", "int", "--key-column", "key",
                             self.server.url(f"{fault}/in.parquet"))
            self.assertEqual(run.returncode, 0, (fault, run.stdout))
            self.assertEqual(len(self.output()), ROWS // 1000, fault)
        for fault, message in (("changing", "E0204"), ("contradiction", "E02"), ("no", "E0201")):
            run = self.glint("count-keys", "--key", "int", "--key-column", "key",
                             self.server.url(f"{fault}/in.parquet" if fault != "no" else "x/y"))
            self.assertNotEqual(run.returncode, 0, fault)
            self.assertIn(message, run.stdout)
