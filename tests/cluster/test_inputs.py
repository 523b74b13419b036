"""Inputs of other formats and with headers: a cluster gives the same output and errors as one process."""
import csv
import gzip
import io
import json
import os
import struct
import sys
import tarfile
import unittest
import zlib

from cluster import ClusterTest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import http_server  # noqa: E402

ROWS = b"".join(b"tt%d\t%d.0\t1\n" % (i, i % 10) for i in range(20000))


def tar(content):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo("rows.tsv")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


class Inputs(ClusterTest):
    def setUp(self):
        super().setUp()
        for name in self.executors:
            self.executor(name)

    def put(self, name, content):
        path = os.path.join(self.directory, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def answer(self, *words):
        """Exit status, and code and cause of the error."""
        status, out, err = self.run_glint("submit", "count-keys", "--json", "--split-size", "50K", *words, "out")
        self.assertNotEqual(out, "", err)
        error = json.loads(out)["error"]
        self.assertIsNotNone(error, "it went well")
        self.assertFalse(os.path.exists(os.path.join(self.directory, "out")))
        return status, error["code"], error["cause"]

    def both(self, code, cause, *words):
        here = self.answer("--master", "local[2]", *words)
        self.assertEqual(here[1], code, here)
        self.assertIn(cause, here[2])
        self.assertEqual(self.answer("--cluster", self.config, "--executors", "2", *words), here)

    def test_cluster_rejects_inputs_like_local(self):
        zstd = b"\x28\xb5\x2f\xfd\x24\x05" + ROWS
        for policy in ("fail", "skip"):
            rows = ("--bad-rows", policy)
            self.both("E0208", "zstd", self.put("rows.zst", zstd), *rows)
            self.both("E0213", "NUL", self.put("binary", b"tt1\t\0" + ROWS), *rows)
            self.both("E0213", "tar archive", self.put("rows.tar.gz", gzip.compress(tar(ROWS))), *rows)
            quoted = ROWS.replace(b"\t", b",") + b'"tt,1",2.0,1\n'
            self.both("E0213", "rows.csv:20001: quoted field", self.put("rows.csv", quoted), *rows,
                      "--delimiter", ",")
        self.both("E0201", "a URL", "gs://bucket/rows.tsv")
        on_cluster = self.answer("--cluster", self.config, "--executors", "2", "-")
        self.assertEqual(on_cluster, (66, "E0203", "-: a pipe, which only one process can read"))

    def test_cluster_drops_headers_like_local(self):
        names = [self.put("a.tsv", b"id\trating\tvotes\n" + ROWS),
                 self.put("b", gzip.compress(b"id\trating\tvotes\n" + ROWS)),  # gzip without an original name
                 self.put("c.tsv", b"id\trating\tvotes")]
        whole = self.put("rows.tsv", ROWS + ROWS)
        for to, *words in (("here", "--master", "local[1]", whole),
                           ("headed", "--master", "local[2]", "--header", ",".join(names)),
                           ("cluster", "--cluster", self.config, "--executors", "2", "--header",
                            "file://" + ",file:".join(names))):
            status, _, err = self.run_glint("submit", "count-keys", "--split-size", "30K", "--partitions", "3",
                                            *words, to)
            self.assertEqual(status, 0, err)
        self.assertEqual(self.read_output("headed"), self.read_output("here"))
        self.assertEqual(self.read_output("cluster"), self.read_output("here"))

    def test_cluster_reads_frames_like_local(self):
        def block(content):  # of BGZF
            packed = zlib.compressobj(6, zlib.DEFLATED, -15)
            packed = packed.compress(content) + packed.flush()
            return (b"\x1f\x8b\x08\x04\0\0\0\0\0\xff" + struct.pack("<H2sHH", 6, b"BC", 2, len(packed) + 25) + packed
                    + struct.pack("<II", zlib.crc32(content), len(content)))

        whole = self.put("rows.tsv", ROWS)
        frames = self.put("rows.gz", b"".join(block(ROWS[i:i + 9999]) for i in range(0, len(ROWS), 9999)) + block(b""))
        for to, *words in (("here", "--master", "local[1]", whole), ("frames", "--master", "local[2]", frames),
                           ("cluster", "--cluster", self.config, "--executors", "2", frames)):
            status, _, err = self.run_glint("submit", "count-keys", "--split-size", "10K", "--partitions", "3", *words, to)
            self.assertEqual(status, 0, err)
        self.assertEqual(self.read_output("frames"), self.read_output("here"))
        self.assertEqual(self.read_output("cluster"), self.read_output("here"))

    def test_cluster_reads_csv_and_json_lines_like_local(self):
        rows = [("tt%d" % i, "%d.0" % (i % 10), 'a,"%d"\n,' % (i % 7)) for i in range(4000)]
        table = io.StringIO(newline="")
        csv.writer(table).writerows((("id", "rating", "text"), *rows))
        inputs = {"csv": self.put("rows.csv", table.getvalue().encode()),
                  "csv.gz": self.put("rows.csv.gz", gzip.compress(table.getvalue().encode())),
                  "json": self.put("rows.jsonl", "".join(
                      json.dumps({"t": {"id": i, "text": text}, "rating": float(rating)}) + "\n"
                      for i, rating, text in rows).encode())}
        tsv = self.put("rows.tsv", "".join("%s\t%s\n" % row[:2] for row in rows).encode())
        self.run_glint("submit", "count-keys", "--partitions", "3", tsv, "wanted")
        jobs = {"csv": (("count-keys", "--csv", "--header", "--key-column", "rating"),
                        ("sort", "--csv", "--header", "--by", "text,id:r"),
                        ("agg", "--csv", "--header", "--by", "text", "--max", "rating", "--distinct", "id")),
                "json": (("count-keys", "--json-lines", "--key-column", "rating"),
                         ("sort", "--json-lines", "--by", "t.text,t.id:r"),
                         ("agg", "--json-lines", "--by", "t.text", "--max", "rating", "--distinct", "t.id"))}
        for name, path in inputs.items():
            for job, *options in jobs[name[:4].rstrip(".")]:
                words = ("submit", job, *options, "--partitions", "3", "--split-size", "20K", "--overwrite", path)
                for to, *where in (("one", "--master", "local[1]"), ("two", "--master", "local[2]"),
                                   ("cluster", "--cluster", self.config, "--executors", "2")):
                    status, _, err = self.run_glint(*words, *where, to)
                    self.assertEqual(status, 0, err)
                one = self.read_output("one")
                self.assertEqual(self.read_output("two"), one, words)
                self.assertEqual(self.read_output("cluster"), one, words)
                if job == "count-keys":
                    self.assertEqual(one, self.read_output("wanted"), words)
        bad = self.put("bad.jsonl", b'{"rating":1}\n' * 9000 + b'{"rating":1]\n' + b'{"rating":1}\n' * 9000)
        self.both("E0210", "bad.jsonl:9001: JSON: neither , nor }", bad, "--json-lines", "--key-column", "rating")

    def test_cluster_reads_urls_like_local(self):
        self.put("rows.tsv", ROWS)
        self.put("rows.gz", gzip.compress(ROWS))
        server = http_server.HttpServer(self.directory)
        self.addCleanup(server.stop)
        self.run_glint("submit", "count-keys", "--partitions", "3", os.path.join(self.directory, "rows.tsv"), "here")
        for path in ("plain/rows.tsv?signature=hidden", "plain/rows.gz", "whole/rows.tsv", "busy/rows.tsv"):
            words = ("submit", "count-keys", "--partitions", "3", "--split-size", "30K", "--overwrite", "--event-log",
                     os.path.join(self.directory, "log"), server.url(path))
            for to, *where in (("local", "--master", "local[2]"),
                               ("cluster", "--cluster", self.config, "--executors", "2")):
                status, out, err = self.run_glint(*words, *where, to)
                self.assertEqual(status, 0, err)
                self.assertEqual(self.read_output(to), self.read_output("here"), path)
                with open(os.path.join(self.directory, "log"), encoding="utf-8") as log:
                    self.assertNotIn("hidden", log.read() + out + err)
        before = len(server.requests)
        self.both("E0204", "changing/rows.tsv: it was modified during the job", server.url("changing/rows.tsv"))
        self.assertGreater(len(server.requests), before)


if __name__ == "__main__":
    unittest.main()
