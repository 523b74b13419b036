"""glint.pyspark on executors of a cluster on this machine: the same results as in one process, also
if an executor is killed, and what executors refuse."""

from __future__ import annotations

import collections
import dataclasses
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import unittest
from typing import Any, Callable

from glint.pyspark import SparkContext, SparkFiles
from glint.pyspark.errors import PythonException


def free_ports(count: int) -> list[int]:
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports


def job(sc: Any, kill: Callable[[], None] = lambda: None) -> bytes:
    """Bytes that depend on every element and on their order."""
    words = sc.parallelize([f"w{i % 97} w{i % 11}" for i in range(4000)], 12)
    added, base = sc.accumulator(0), sc.broadcast({"more": 5})

    def split(line: str) -> list[str]:
        if line.startswith("w96"):
            kill()
        return line.split()

    def add(pair: tuple[str, int]) -> tuple[str, int]:
        added.add(1)
        return pair[0], pair[1] + base.value["more"]

    counts = words.flatMap(split).map(lambda w: (w, 1)).reduceByKey(lambda a, b: a + b, 5).map(add)
    groups = counts.map(lambda kv: (kv[1], kv[0])).groupByKey(3).mapValues(sorted)
    result = counts.collect(), added.value, groups.sortByKey(numPartitions=4).glom().collect()
    return repr(result).encode()


class ClusterCase(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.addCleanup(os.environ.update, XDG_STATE_HOME=os.environ.get("XDG_STATE_HOME", ""))
        os.environ["XDG_STATE_HOME"] = os.path.join(self.directory, "state")

    def configure(self, count: int = 3, keys: str = "", python: str = sys.executable) -> str:
        path = os.path.join(self.directory, "cluster.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'cluster = "tests"\nlaunch = "local"\npython = "{python}"\n{keys}\n')
            for i, port in enumerate(free_ports(count)):
                file.write(f'[[executor]]\nid = "e{i}"\nport = {port}\nslots = 2\n'
                           f'memory = "256M"\nwork_dir = "{self.directory}"\n')
        os.chmod(path, 0o600)
        return "glint://" + path

    def fails(self, master: str, f: Any, kind: Any = Exception) -> Any:
        with SparkContext(master) as sc, self.assertRaises(kind) as caught:
            sc.parallelize([1], 1).map(f).collect()
        return caught.exception


class Cluster(ClusterCase):
    def test_keys_whose_hash_is_an_address(self) -> None:
        """Each executor has others; a key is in one partition for all that."""
        @dataclasses.dataclass(frozen=True)
        class Place:
            town: Any
            street: Any

        keys = [None, int, len, sum, str.upper, os, ..., NotImplemented, textwrap.dedent, (int, 1),
                frozenset([None]), frozenset([("a", None)]), frozenset([int]), range(0),
                range(5, 6), Place(None, 1),
                Place("a", (None, frozenset([None]))), Place("b", Place(None, None))]
        pairs = [(key, 1) for key in keys for _ in range(6)]
        with SparkContext(self.configure()) as sc:
            rdd = sc.parallelize(pairs, 12)
            for made in (rdd.reduceByKey(lambda a, b: a + b, 7), rdd.groupByKey(7).mapValues(len),
                         rdd.partitionBy(7).mapPartitions(lambda part: collections.Counter(
                             key for key, _ in part).items())):
                found = made.collect()
                self.assertEqual((len(found), dict(found)), (len(keys), {k: 6 for k in keys}))

    def test_the_same_bytes(self) -> None:
        results = []
        for master in ("local[1]", "local[8]", self.configure()):
            with SparkContext(master) as sc:
                results.append(job(sc))
        self.assertEqual(results, results[:1] * 3)

    def test_an_executor_is_killed(self) -> None:
        marker = os.path.join(self.directory, "killed")

        def kill() -> None:
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return
            # The executor has started the parent of this worker.
            with open(f"/proc/{os.getppid()}/stat", encoding="ascii") as file:
                os.kill(int(file.read().rpartition(")")[2].split()[1]), signal.SIGKILL)

        with SparkContext("local[1]") as sc:
            expected = job(sc)
        with SparkContext(self.configure()) as sc:
            self.assertEqual(sc.defaultParallelism, 6)
            self.assertEqual(job(sc, kill), expected)
        self.assertTrue(os.path.exists(marker))

    def test_accumulators_of_what_is_taken(self) -> None:
        """With the last element the action has enough; what the task has added arrives before."""
        for master in ("local[2]", self.configure()):
            with SparkContext(master) as sc:
                added = sc.accumulator(0)

                def add(x: int, added: Any = added) -> str:
                    added.add(1)
                    return str(x) * 200_000

                rdd = sc.range(0, 100, 1, 10).map(add)
                self.assertEqual([len(text) for text in rdd.take(3)], [200_000] * 3)
                self.assertEqual(added.value, 3)
                rdd.first()
                self.assertFalse(rdd.isEmpty())
                self.assertEqual(added.value, 5)

    def test_what_is_shipped(self) -> None:
        """A module, a file, a broadcast, what is printed: nothing of the driver's directory."""
        module = os.path.join(self.directory, "shipped_module.py")
        with open(module, "w", encoding="utf-8") as file:
            file.write("def triple(x): return 3 * x\n")
        done = self.run_program("""
            from pyspark import SparkContext, SparkFiles
            import shipped_module
            sc = SparkContext()
            value = sc.broadcast(b"x" * 3000000)
            def f(x):
                print("in the worker", x)
                with open(SparkFiles.get("shipped_module.py")) as file:
                    return shipped_module.triple(x), len(value.value), len(file.read())
            print(sc.parallelize([1, 2], 2).map(f).collect())
            """, "--cluster", self.configure(1)[len("glint://"):], "--py-files", module)
        self.assertEqual((done.stdout, done.stderr), (
            "in the worker 1\nin the worker 2\n[(3, 3000000, 28), (6, 3000000, 28)]\n", ""))
        self.assertEqual(done.returncode, 0)

    def run_program(self, text: str, *options: str) -> subprocess.CompletedProcess[str]:
        path = os.path.join(self.directory, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        return subprocess.run([sys.executable, "-m", "glint.submit", *options, path],
                              capture_output=True, text=True, check=False, timeout=300)

    def test_files_that_are_added_later(self) -> None:
        path = os.path.join(self.directory, "data")
        with SparkContext(self.configure(1)) as sc:
            for text in ("one", "two"):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                sc.addFile(path)
                self.assertEqual(sc.parallelize([1], 1).map(
                    lambda _: open(SparkFiles.get("data"), encoding="utf-8").read()).collect(),
                    [text])
            deep = os.path.join(self.directory, "tree")
            os.makedirs(os.path.join(deep, "a", "b", "c"))
            sc.addFile(deep, recursive=True)
            self.assertEqual(sc.parallelize([1], 1).map(
                lambda _: os.path.isdir(SparkFiles.get("tree/a/b/c"))).collect(), [True])
        self.assertEqual([n for n in os.listdir(self.directory) if n.startswith("glint-")], [])

    def test_exception(self) -> None:
        error = self.fails(self.configure(1), lambda x: 1 / 0)
        self.assertIsInstance(error, PythonException)
        self.assertIsInstance(error.__cause__, ZeroDivisionError)
        self.assertIn("test_spark_cluster.py", str(error))

    def test_missing_module(self) -> None:
        place = os.path.join(self.directory, "only_here")
        os.mkdir(place)
        with open(os.path.join(place, "not_shipped.py"), "w", encoding="utf-8") as file:
            file.write("def f(x): return x\n")
        sys.path.insert(0, place)
        self.addCleanup(sys.path.remove, place)
        import not_shipped  # type: ignore[import-not-found]

        error = self.fails(self.configure(1), not_shipped.f, PythonException)
        self.assertRegex(str(error), "No module named 'not_shipped'.*addPyFile")

    def test_another_python(self) -> None:
        """An interpreter that says that it has another version."""
        fake = os.path.join(self.directory, "python")
        with open(fake, "w", encoding="utf-8") as file:
            file.write(f"""#!{sys.executable}
import runpy, sys
sys.version_info = (3, 7, 0)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
""")
        os.chmod(fake, 0o700)
        error = self.fails(self.configure(1, python=fake), lambda x: x)
        self.assertRegex(str(error), r"its Python, .*, is cpython 3\.7; that of the driver is")

    def test_no_python(self) -> None:
        error = self.fails(self.configure(1, python="/no/such/python"), lambda x: x)
        self.assertIn("/no/such/python, or the interpreter that it names, does not exist",
                      str(error))

    def test_commands_are_not_allowed(self) -> None:
        error = self.fails(self.configure(1, "allow_commands = false"), lambda x: x)
        self.assertEqual(error.name, "COMMAND_NOT_ALLOWED")

    def test_no_file(self) -> None:
        with self.assertRaisesRegex(Exception, "E0901"):
            SparkContext("glint:///no/such/cluster.toml")


if __name__ == "__main__":
    unittest.main()
