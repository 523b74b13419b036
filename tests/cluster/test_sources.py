"""Every source keeps --memory, also when a small file is a long stream: decompressed it is as large as STREAM_MIB.

By default 160 MiB. A gigabyte, which compresses to about one megabyte:

    GLINT_LARGE_SOURCES=1 GLINT_SLOWDOWN=20 tests/cluster/run --verbose test_sources"""
import gzip
import os
import struct
import subprocess
import unittest

from cluster import GLINT, JOBS, SLOWDOWN, ClusterTest
from measured import BESIDE_MIB

STREAM_MIB = 1024 if os.environ.get("GLINT_LARGE_SOURCES") == "1" else 160
MEMORY_MIB = 64
RECORD_BYTES = 100
TEXT = b"x" * (RECORD_BYTES - 1)
RECORDS = {
    "lines": TEXT[:40] + b"," + TEXT[:58] + b"\n",
    "json": b'{"a": "' + TEXT[:90] + b'"}\n',
    "msgpack": struct.pack(">BB", 0xd9, 98) + TEXT[:98],
}


class Sources(ClusterTest):
    """In one process of one slot."""
    executors = {}

    def stream(self, kind):
        """A .gz of equal records; returns its path and their number."""
        record, path = RECORDS[kind], os.path.join(self.directory, kind + ".gz")
        per_block = (1 << 20) // len(record)
        with gzip.open(path, "wb", compresslevel=1) as file:
            for _ in range(STREAM_MIB):
                file.write(record * per_block)
        return path, per_block * STREAM_MIB

    def run_measured(self, program, *words):
        """Returns the exit status, standard output and error, after a check of the peak memory."""
        with subprocess.Popen([program, "submit", *words, "--master", "local[1]", "--memory", f"{MEMORY_MIB}M", "-q"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
            out, err = job.stdout.read(), job.stderr.read().decode()
            _, status, usage = os.wait4(job.pid, 0)
            job.returncode = os.waitstatus_to_exitcode(status)
        if "GLINT_SANITIZED" not in os.environ:
            self.assertLess(usage.ru_maxrss / 1024, MEMORY_MIB + BESIDE_MIB, words)
        return job.returncode, out.decode(), err

    def large(self):
        path = os.path.join(self.directory, "large")
        with open(path, "wb") as file:
            file.truncate(STREAM_MIB * RECORD_BYTES * 10_000)
        return path

    def count(self, kind, path):
        return self.run_measured(JOBS, "read", kind, path)

    def test_streams_of_records_are_read_in_parts(self):
        for kind, source in (("lines", "textFile"), ("lines", "csv"), ("lines", "keyValueTextFile"),
                             ("lines", "nLineTextFile"), ("json", "json"), ("msgpack", "msgpackFile")):
            with self.subTest(source=source):
                path, records = self.stream(kind)
                code, out, err = self.count(source, path)
                self.assertEqual((code, out.split()), (0, ["records", str(records)]), err)

    def test_records_of_one_size_are_read_in_parts(self):
        code, out, err = self.count("binaryRecords", self.large())  # it refuses compressed files
        self.assertEqual((code, out.split()), (0, ["records", str(STREAM_MIB * 10_000)]), err)

    def test_a_command_gets_a_stream(self):
        path, records = self.stream("lines")
        code, out, err = self.run_measured(GLINT, "stream", "--map", "wc -l", path, "-")
        self.assertEqual((code, out.split()), (0, [str(records)]), err)

    def test_a_file_that_is_one_value_must_fit(self):
        path, _ = self.stream("lines")
        code, _, err = self.count("wholeTextFiles", path)
        self.assertEqual(code, 78, err)
        self.assertIn(f"{path}: its content does not fit", err)
        self.assertIn("textFile", err)
        code, out, err = self.count("binaryFiles", path)  # as it is on disk
        self.assertEqual((code, out.split()), (0, ["records", "1"]), err)
        large = self.large()
        code, _, err = self.count("binaryFiles", large)
        self.assertEqual(code, 78, err)
        self.assertIn("MiB or more", err)


if __name__ == "__main__":
    unittest.main()
