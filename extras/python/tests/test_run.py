"""glint.run: results, outputs, errors, and how a job ends that is interrupted."""

import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import glint
from fifo import Fifo


class Run(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.work = pathlib.Path(directory.name)
        self.words = self.work / "words"
        self.words.write_text("to be or not to be\n" * 100)

    def test_a_result(self):
        result = glint.run("wordcount", self.words, self.work / "counts")
        self.assertEqual(result.job, "wordcount")
        self.assertRegex(result.id, "^[0-9a-f]{16}$")
        self.assertEqual(result.counters["rows read"], 100)
        self.assertGreater(result.elapsed, 0)
        self.assertEqual([stage.stage for stage in result.stages], [0, 1])
        (output,) = result.outputs
        self.assertEqual(output.path, self.work / "counts")
        self.assertEqual(sorted(output), ["be\t200", "not\t100", "or\t100", "to\t200"])
        self.assertEqual([line.decode() for line in output.bytes()], list(output))
        self.assertTrue(output.parts[0].name.startswith("part-"))

    def test_bytes_that_are_not_text(self):
        (self.work / "lines").write_bytes(b"\xff\x01\nb\tc\n")
        output = glint.run("distinct", self.work / "lines", self.work / "out").outputs[0]
        self.assertEqual(sorted(output.bytes()), [b"b\tc", b"\xff\x01"])
        self.assertEqual(sorted(os.fsencode(line) for line in output), [b"b\tc", b"\xff\x01"])

    def test_lines_of_compressed_outputs(self):
        lines = ["", "a\r", "\u00e9", *(f"{i:06d}" for i in range(100_000))]
        for form, suffix in (("none", ""), ("gzip", ".gz"), ("zstd", ".zst")):
            with glint.Context("local[2]", compress=form) as sc:
                sc.parallelize(lines, 3).saveAsTextFile(self.work / form)
            output = glint.Output(self.work / form)
            self.assertEqual({part.suffix for part in output.parts}, {suffix})
            self.assertTrue(list(output) == lines)
        plain, result = self.work / "none", self.work / "sorted"
        output = glint.run("sort", plain, result, compress="zstd", master="local[1]").outputs[0]
        self.assertEqual(len(list(output.bytes())), len(lines))

    def test_damaged_zstd(self):
        with glint.Context("local[1]", compress="zstd") as sc:
            sc.parallelize(["a" * 100, "b"]).saveAsTextFile(self.work / "out")
        output = glint.Output(self.work / "out")
        (part,) = output.parts
        whole = part.read_bytes()
        for data, error in ((whole[:-1], EOFError), (whole + b"x" * 20, OSError)):
            part.write_bytes(data)
            with self.assertRaisesRegex(error, "zst: .*zstd data"):
                list(output)
        part.write_bytes(whole + whole)
        self.assertEqual(list(output), ["a" * 100, "b"] * 2)

    def test_relative_paths_and_other_directories(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.work)
        result = glint.run("wordcount", "words", "counts")
        os.chdir(before)
        self.assertEqual(len(list(result.outputs[0])), 4)

    def test_options(self):
        counts = self.work / "counts"
        for _ in range(2):
            result = glint.run("wordcount", self.words, counts, overwrite=True, no_sync=False,
                               master="local[1]", partitions=3, timeout=None)
        self.assertEqual(len(result.outputs[0].parts), 3)
        for name in ("json", "help", "graph"):
            with self.assertRaises(ValueError):
                glint.run("wordcount", self.words, counts, **{name: True})
        with self.assertRaises(TypeError):
            glint.run("wordcount", None, counts)

    def test_an_argument_that_looks_like_an_option(self):
        with self.assertRaises(glint.Error) as raised:
            glint.run("wordcount", "--help", self.work / "counts")
        self.assertEqual(raised.exception.code, "E0201")

    def test_filters(self):
        table = self.work / "table"
        table.write_text("".join(f"tt{i:07d}\t{i % 10 + 1}\t1\n" for i in range(5000)))
        glint.run("count-keys", table, self.work / "counts")
        built = glint.run("bloom-build", 0.001, table, self.work / "counts", self.work / "filters",
                          partitions=3)
        for mapped in (False, True):
            filters = built.outputs[0].filters(mmap=mapped)
            self.assertEqual(sorted(filters), list(range(1, 11)))
            self.assertEqual(filters[3].n, 500)
            ids = [f"tt{i:07d}" for i in range(2, 5000, 10)]
            self.assertTrue(all(filters[3].contains_many(ids)))
            self.assertLess(sum(filters[4].contains_many(ids)), 10)
            self.assertEqual(filters[3].read_only, mapped)
        with self.assertRaises(glint.Error) as raised:
            glint.Bloom.load(built.outputs[0].parts[0])
        self.assertIn("glint.load_filters", raised.exception.hint)

    def test_filters_of_other_systems(self):
        table = self.work / "table"
        table.write_text("".join(f"tt{i:07d}\t{i % 2 + 1}\t1\n" for i in range(1000)))
        glint.run("count-keys", table, self.work / "counts")
        for name in ("spark", "spark-v2", "hadoop", "guava", "parquet", "rbloom"):
            built = glint.run("bloom-build", 0.001, table, self.work / "counts", self.work / name,
                              format=name)
            filters = built.outputs[0].filters()
            ids = [f"tt{i:07d}" for i in range(1, 1000, 2)]
            with self.subTest(name):
                self.assertTrue(all(filters[2].contains_many(ids)))
                self.assertTrue(all(id in filters[2] for id in ids))
                self.assertLess(sum(filters[1].contains_many(ids)), 10)
                again = glint.Bloom(500, 0.001, scheme=filters[2].scheme, layout=filters[2].layout)
                again.add_many(ids)
                self.assertEqual(again, filters[2])

    def test_fuse_filters_are_read_and_never_changed(self):
        ids, others = ([f"{word}{i:06d}" for i in range(3000)] for word in ("tt", "nn"))
        table = self.work / "table"
        table.write_text("".join(f"{i}\t7\n" for i in ids))
        glint.run("count-keys", table, self.work / "counts")
        built = glint.run("bloom-build", 0.1, table, self.work / "counts", self.work / "fuse",
                          layout="fuse8")
        fuse = built.outputs[0].filters(mmap=True)[7]
        self.assertEqual((fuse.layout, fuse.scheme, fuse.n), ("fuse8", "xxh64", len(ids)))
        self.assertTrue(all(fuse.contains_many(ids)) and all(i in fuse for i in ids))
        self.assertLess(sum(fuse.contains_many(others)), len(others) / 50)
        self.assertEqual(list(fuse.contains_many(others)), [i in fuse for i in others])
        copy = glint.Bloom.from_bytes(fuse.to_bytes())
        for change in (lambda: copy.add("a"), lambda: copy.add_many(["a"]), copy.clear,
                       lambda: copy | copy, lambda: copy & copy,
                       lambda: glint.Bloom(10, 0.1, layout="fuse8")):
            with self.assertRaises(glint.Error) as raised:
                change()
            self.assertEqual(raised.exception.code, "E0804")

    def test_exact_filters_of_a_universe(self):
        ids = [f"tt{i:06d}" for i in range(5000)]
        everything, members = self.work / "everything", self.work / "members"
        everything.write_text("".join(f"{i}\t7\n" for i in ids))
        members.write_text("".join(f"{i}\t7\n" for i in ids[::10]))
        glint.run("count-keys", everything, self.work / "counts")
        built = glint.run("bloom-build", members, self.work / "counts", self.work / "exact",
                          exact=True, universe=everything)
        exact = built.outputs[0].filters(mmap=True)[7]
        self.assertEqual((exact.layout, exact.n, exact.p), ("exact", 500, 0.0))
        self.assertEqual([i in exact for i in ids], [i % 10 == 0 for i in range(5000)])
        self.assertEqual(list(exact.contains_many(ids)), [i % 10 == 0 for i in range(5000)])
        copy = glint.Bloom.from_bytes(exact.to_bytes())
        self.assertEqual(copy, exact)
        for change in (lambda: copy.add("a"), lambda: copy.remove("tt000000"), copy.clear,
                       lambda: copy | copy, lambda: glint.Bloom(10, 0.1, layout="exact")):
            with self.assertRaises(glint.Error) as raised:
                change()
            self.assertEqual(raised.exception.code, "E0804")

    def test_counting_filters_of_jobs_and_of_python_are_equal(self):
        ids = [f"tt{i:06d}" for i in range(1000)]
        table = self.work / "table"
        table.write_text("".join(f"{i}\t7\n" for i in ids))
        glint.run("count-keys", table, self.work / "counts")
        built = glint.run("bloom-build", 0.01, table, self.work / "counts", self.work / "filters",
                          layout="counting", scheme="wide")
        counting = glint.Bloom(1000, 0.01, layout="counting")
        counting.add_many(ids)
        self.assertEqual(built.outputs[0].filters()[7], counting)

    # ---- errors

    def test_another_program(self):
        """Of jobs of one's own; here the program of the wheel under another name."""
        mine = self.work / "mine"
        mine.write_text(f'#!/bin/sh\necho "$0 $*" >&2\nexec {glint.program()} "$@"\n')
        mine.chmod(0o755)
        result = glint.run("wordcount", self.words, self.work / "counts", program=mine)
        self.assertEqual(len(list(result.outputs[0])), 4)
        self.assertIn(f"{mine} submit wordcount", result.printed)
        with self.assertRaises(FileNotFoundError):
            glint.run("wordcount", self.words, self.work / "counts", program="./nowhere")

    def test_errors_have_all_parts(self):
        with self.assertRaises(glint.Error) as raised:
            glint.run("count-keys", self.work / "nowhere", self.work / "counts")
        error = raised.exception
        self.assertEqual((error.code, error.name, error.text, error.exit_status),
                         ("E0201", "INPUT_NOT_FOUND", "input not found", 66))
        self.assertIn("nowhere: No such file or directory", error.cause)
        self.assertIn("E0201: input not found", str(error))
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((again.code, again.cause), (error.code, error.cause))
        self.assertFalse((self.work / "counts").exists())

    def test_errors_of_the_command_line(self):
        cases = [("no-such-job", (), {}, "E0103"), ("wordcount", (), {}, "E0101"),
                 ("wordcount", ("a", "b"), {"no_such": 1}, "E0102"),
                 ("wordcount", ("a", "b"), {"partitions": "many"}, "E0104"),
                 ("wordcount", ("a", "b"), {"overwrite": "yes"}, "E0101")]
        for job, arguments, options, code in cases:
            with self.subTest(code), self.assertRaises(glint.Error) as raised:
                glint.run(job, *arguments, **options)
            self.assertEqual((raised.exception.code, raised.exception.exit_status), (code, 64))

    def test_an_output_that_exists(self):
        glint.run("wordcount", self.words, self.work / "counts")
        with self.assertRaises(glint.Error) as raised:
            glint.run("wordcount", self.words, self.work / "counts")
        self.assertEqual(raised.exception.code, "E0301")
        self.assertIn("--overwrite", raised.exception.hint)

    # ---- jobs that end early

    def running_job(self):
        """A Python program whose job runs a command without end; the process id of the job."""
        fifo = Fifo(self, self.work / "started")
        command = f"sh -c 'echo $PPID >{fifo.path}; exec sleep 100'"
        code = f"""
import glint, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background process may ignore it
try:
    print("started", flush=True)
    glint.run("stream", {str(self.words)!r}, {str(self.work / "out")!r}, map={command!r},
              master="local[1]")
except KeyboardInterrupt:
    print("interrupted")
except glint.Error as error:
    print(error.code)
"""
        python = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        return python, int(fifo.read())

    def test_interrupt(self):
        python, job = self.running_job()
        python.send_signal(signal.SIGINT)
        printed, _ = python.communicate(timeout=300)
        self.assertEqual(printed.split(), ["started", "interrupted"])
        self.assertFalse(os.path.exists(f"/proc/{job}"))
        self.assertEqual([path.name for path in self.work.iterdir() if "out" in path.name], [])

    def test_killed(self):
        python, job = self.running_job()
        os.kill(job, signal.SIGKILL)
        printed, _ = python.communicate(timeout=300)
        self.assertEqual(printed.split(), ["started", "None"])

    def test_an_error_of_a_killed_program(self):
        from glint._run import result_of

        with self.assertRaisesRegex(glint.Error, "killed by SIGKILL: last words"):
            result_of(-9, "", "last words\n")
        with self.assertRaisesRegex(glint.Error, "ended with status 3"):
            result_of(3, "", "")

    def test_threads(self):
        results = []

        def work(number):
            results.append(glint.run("wordcount", self.words, self.work / f"counts{number}"))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([len(list(result.outputs[0])) for result in results], [4] * 4)


class Command(unittest.TestCase):
    def test_the_program_of_the_wheel(self):
        script = pathlib.Path(sys.executable).parent / "glint"
        for command in ([script], [sys.executable, "-m", "glint"], [glint.program()]):
            done = subprocess.run([*command, "version"], check=True, capture_output=True, text=True)
            self.assertTrue(done.stdout.startswith("glint "), done.stdout)
        done = subprocess.run([script, "submit", "nothing"], check=False, capture_output=True)
        self.assertEqual(done.returncode, 64)

    def test_adapters_of_engines(self):
        """They are found, and say what is missing; the modules need it only to run."""
        import glint.dask
        import glint.spark

        script = pathlib.Path(sys.executable).parent / "glint"
        with tempfile.TemporaryDirectory() as work:
            (pathlib.Path(work) / "in").write_text("1\n")
            for engine, package in (("dask", "distributed"), ("spark", "pyspark")):
                command = [script, "submit", "--on", engine, "distinct", "in", "out"]
                done = subprocess.run(command, capture_output=True, text=True, cwd=work)
                self.assertEqual((done.returncode, done.stdout), (69, ""), done.stderr)
                self.assertIn(f"No module named '{package}'", done.stderr)
