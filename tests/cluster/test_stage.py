"""Jobs whose tasks another engine runs: here this test is the engine, which runs them in any order and number of processes,
and some of them twice."""
import base64
import json
import os
import random
import re
import shutil
import struct
import subprocess
import unittest

from cluster import DEADLINE_S, JOBS as PROGRAM, ClusterTest

ROWS = ("--bad-rows", "skip", "--split-size", "1M", "--partitions", "3")
LINES = ("--split-size", "1M", "--partitions", "3")
JOBS = {
    "count-keys": ("count-keys", *ROWS, "in", "OUT"),
    "bloom-build": ("bloom-build", *ROWS, "0.01", "in", "counts", "OUT"),
    "bloom-test": ("bloom-test", *ROWS, "0.01", "in", "filters", "counts", "OUT"),
    "segments": ("bloom-build", *ROWS, "--strategy", "indexes", "0.001", "in", "counts", "OUT"),
    "large": ("bloom-build", *ROWS, "0.000000001", "in", "counts", "OUT"),  # values in several lines
    "split-dataset": ("split-dataset", "--seed", "5", "--split-size", "1M", "in", "OUT", "OUT-2"),
    "fpr-table": ("fpr-table", "--bad-rows", "skip", "in", "in", "OUT"),
    "distinct": ("distinct", *LINES, "in", "OUT"),
    "sort": ("sort", *LINES, "--by", "2:n", "--header", "in", "OUT"),
    "agg": ("agg", *LINES, "--by", "2", "--header", "--mean", "3", "--count", "--median", "3", "--last", "1", "in", "OUT"),
    "select": ("select", "--split-size", "1M", "--columns", "$1, $2 * 2", "--where", "$2 > 5", "--header", "in", "OUT"),
    "top": ("top", "--by", "3", "--header", "--split-size", "1M", "5", "in", "OUT"),
    "join": ("join", *LINES, "--method", "shuffle", "in", "in", "OUT"),
    "stream": ("stream", *LINES, "--map", "cut -f 2", "--reduce", "uniq -c", "in", "OUT"),
    "params": ("params", *ROWS, "in", "OUT"),
    "fpr-check": ("fpr-check", "--bad-rows", "skip", "--samples", "2", "--p", "0.1", "in", "OUT"),
    "constructions": ("constructions", "--bad-rows", "skip", "--mappers", "1,2", "few", "OUT"),
    "membership": ("membership", *ROWS, "few", "filters", "OUT"),
    "gap-sample": ("gap-sample", "--split-size", "1M", "in", "OUT"),
    "admit": ("admit", "--split-size", "1M", "few", "in", "OUT"),
    "speedup": ("speedup", "--repeats", "0", "few", "few", "OUT"),
    "hadoop-pipeline": ("hadoop-pipeline", "--bad-rows", "skip", "--filters", "OUT-2", "in", "few", "OUT"),
    "wordcount": ("wordcount", *LINES, "in", "OUT"),
    "sample": ("sample", "--split-size", "1M", "in", "OUT"),
    "grep": ("grep", "--split-size", "1M", "--regex", "7$", "in", "OUT"),
    "dedup": ("dedup", *LINES, "--by", "2", "in", "OUT"),
    "filter-rows": ("filter-rows", "--split-size", "1M", "--with", "filters", "few", "OUT"),
    "union": ("union", *LINES, "in", "OUT"),
    "filter-vs-set": ("filter-vs-set", "--repeats", "0", "few", "OUT"),
    "empty-tasks": ("empty-tasks", "--tasks", "20"),
}


class Engine:
    """Runs the stages of a file, and continues until the job's last action is gathered."""

    def __init__(self, test, seed, raw=False):
        self.test, self.random, self.raw = test, random.Random(seed), raw
        self.longest, self.continued = 0, False  # of lines of records

    def glint(self, *words, data=b"", env=None):
        """An engine's tasks may have an empty environment."""
        return subprocess.run([self.test.program, "stage", *words], input=data, capture_output=True, cwd=self.test.directory,
                              env=self.test.env if env is None else env, timeout=DEADLINE_S, check=False)

    def run_task(self, command, file, stage, lines):
        io = ("--allow-commands", *(("--io", "rawbytes") if self.raw else ()))
        done = [self.glint(command, file, "--stage", str(stage), *io, data=b"".join(lines), env={})
                for _ in range(self.random.choice((1, 2)))]
        for one in done:
            self.test.assertEqual(one.returncode, 0, one.stderr)
            self.test.assertEqual(one.stdout, done[0].stdout)
        if command == "map" and not self.raw:
            self.longest = max([self.longest, *map(len, done[0].stdout.splitlines())])
            keys_and_records = [line.split(b"\t") for line in done[0].stdout.splitlines() if line.count(b".", 0, 40) == 4]
            self.continued = self.continued or any(base64.b64decode(records)[-4:] == b"\xff" * 4
                                                   for _, records in keys_and_records)
        return done[0].stdout

    def pairs(self, records):
        """Records of a stage as (key, bytes)."""
        if not self.raw:
            return [(line.split(b"\t")[0], line) for line in records.splitlines(True)]
        pairs, at = [], 0
        while at < len(records):
            key, = struct.unpack_from(">I", records, at)
            value, = struct.unpack_from(">I", records, at + 4 + key)
            pairs.append((records[at + 4:at + 4 + key], records[at:at + 8 + key + value]))
            at += 8 + key + value
        return pairs

    def run_stage(self, file, stage, outputs):
        if stage["run"] == "map":
            lines = [line for line in self.glint("splits", file).stdout.splitlines(True)
                     if line.startswith(b"%d." % stage["stage"])]
            groups = [[line] for line in lines]
        else:
            pairs = [pair for parent in stage["parents"] for pair in self.pairs(outputs[parent])]
            tasks = {key[:7] for key, _ in pairs}
            count = self.random.randint(1, len(tasks))
            groups = [[line for key, line in sorted(pairs) if int(key[:7]) % count == i] for i in range(count)]
        self.random.shuffle(groups)
        return b"".join(self.run_task(stage["run"], file, stage["stage"], group) for group in groups if group)

    def run_file(self, file):
        outputs = {}
        stages = json.loads(self.glint("show", file).stdout)["stages"]
        for stage in stages:
            outputs[stage["stage"]] = self.run_stage(file, stage, outputs)
        return outputs[stages[-1]["stage"]]

    def run_job(self, *words):
        packed = self.glint("pack", *words, "-o", "0.stage")
        for number in range(100):
            self.test.assertEqual(packed.returncode, 0, packed.stderr)
            results = self.run_file(f"{number}.stage")
            gathered = self.glint("gather", f"{number}.stage", data=results)
            if b"E0917" not in gathered.stderr:
                self.test.assertEqual(gathered.returncode, 0, gathered.stderr)
                return gathered.stdout
            packed = self.glint("pack", "--next", f"{number}.stage", "-o", f"{number + 1}.stage", data=results)
        raise AssertionError("the job does not end")


class StageTest(ClusterTest):
    def setUp(self):
        super().setUp()
        os.symlink(self.ratings(100000), os.path.join(self.directory, "in"))
        os.symlink(self.ratings(3000), os.path.join(self.directory, "few"))
        self.submit_or_fail("count-keys", *ROWS, "in", "counts")
        self.submit_or_fail("bloom-build", *ROWS, "0.01", "in", "counts", "filters")

    def submit_or_fail(self, *words):
        code, out, err = self.run_glint("submit", "-q", *words)
        self.assertEqual(code, 0, err)
        return out.encode()

    def tree(self, name):
        directory = os.path.join(self.directory, name)
        found = {}
        for file in os.listdir(directory) if os.path.isdir(directory) else ():
            with open(os.path.join(directory, file), "rb") as opened:
                found[file] = opened.read()
        return found

    def test_same_bytes_as_on_a_cluster(self):
        _, out, _ = self.run_glint("help")
        listed = re.findall(r"^  ([\w-]+)  ", out.partition("\nJobs")[2], re.MULTILINE)
        self.assertEqual(set(listed), {words[0] for words in JOBS.values()} | {"join-steps"})  # the test below
        for seed, (name, words) in enumerate(JOBS.items()):
            with self.subTest(name):
                here = [word.replace("OUT", f"{name}-a") for word in words]
                there = [word.replace("OUT", f"{name}-b") for word in words]
                out = self.submit_or_fail(*here)
                engine = Engine(self, seed, raw=seed % 2 == 1 and name != "large")
                self.assertEqual(engine.run_job(*there), out)
                self.assertLess(engine.longest, 70000)
                self.assertTrue(engine.continued or name != "large")
                for suffix in ("", "-2"):
                    self.assertEqual(self.tree(f"{name}-b{suffix}"), self.tree(f"{name}-a{suffix}"))
                self.assertEqual("_SUCCESS" in self.tree(f"{name}-b"), "OUT" in words)

    def test_engine_feeds_the_lines(self):
        """Of the input "-". Which lines a task gets is up to the engine; one gets none."""
        with open(os.path.join(self.directory, "in"), "rb") as file:
            lines = file.read().splitlines(True)
        parts = [lines[:40000], [], lines[40000:]]
        engine = Engine(self, 3)
        packed = engine.glint("pack", "bloom-build", "--bad-rows", "skip", "--partitions", "3", "0.01", "-", "counts", "out",
                              "-o", "0.stage", "--stdin-lines", "3")
        self.assertEqual(packed.returncode, 0, packed.stderr)
        self.assertEqual(engine.glint("splits", "0.stage").stdout, b"0.0\t-\n0.1\t-\n0.2\t-\n")
        mapped = [engine.glint("map", "0.stage", "--stdin-lines", str(i), data=b"".join(part), env={})
                  for i, part in enumerate(parts)]
        records = b"".join(done.stdout for done in mapped)
        stages = json.loads(engine.glint("show", "0.stage").stdout)["stages"]
        results = engine.run_stage("0.stage", stages[1], {0: records})
        gathered = engine.glint("gather", "0.stage", data=results)
        self.assertEqual(gathered.returncode, 0, gathered.stderr)
        self.assertIn(b": 100010 rows", gathered.stderr)  # with those of counts
        self.assertEqual(self.tree("out"), self.tree("filters"))

    @unittest.skipUnless(os.geteuid() == 0, "only root can run a task as another user")
    def test_task_of_another_user(self):
        """It can read the stage file and the input, and cannot write to the directory."""
        engine = Engine(self, 4)
        program = os.path.join(self.directory, "glint")
        shutil.copy(self.program, program)
        os.chmod(self.directory, 0o755)
        packed = engine.glint("pack", "count-keys", *ROWS, "in", "out", "-o", "0.stage")
        self.assertEqual(packed.returncode, 0, packed.stderr)
        splits = engine.glint("splits", "0.stage").stdout
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, "stage", "map", "0.stage"],
                              input=splits, capture_output=True, cwd=self.directory, env={}, timeout=DEADLINE_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, engine.glint("map", "0.stage", data=splits).stdout), done.stderr)

    def test_job_that_reads_its_own_output_says_which_action(self):
        engine = Engine(self, 1)
        words = ("join-steps", "in", "in", "filter", "kept", "out")
        packed = engine.glint("pack", *words, "-o", "0.stage")
        for number in range(3):
            if packed.returncode != 0:
                break
            results = engine.run_file(f"{number}.stage")
            packed = engine.glint("pack", "--next", f"{number}.stage", "-o", f"{number + 1}.stage", data=results)
        self.assertIn(b"cannot run as stages of another engine: stage 0 reads an output of this job", packed.stderr)

    def test_checkpoint_is_refused(self):
        self.program = PROGRAM
        code, _, err = self.run_glint("stage", "pack", "kept", "--checkpoint", "saved", "in", "out", "-o", "0.stage")
        self.assertEqual(code, 70, err)
        self.assertIn("error[E0917]", err)
        self.assertIn("checkpoint: it is published before the job ends, which glint stage cannot do", err)

    def test_file_of_another_program(self):
        """A program of a user's own has these commands, and its files are not those of glint."""
        engine = Engine(self, 5)
        packed = engine.glint("pack", "count-keys", *ROWS, "in", "out", "-o", "0.stage")
        self.assertEqual(packed.returncode, 0, packed.stderr)
        done = subprocess.run([os.path.abspath(PROGRAM), "stage", "map", "0.stage"], input=engine.glint("splits", "0.stage").stdout,
                              capture_output=True, cwd=self.directory, timeout=DEADLINE_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (65, b""), done.stderr)
        self.assertIn(b"0.stage was packed by build ", done.stderr)

    def test_changed_lines_are_rejected(self):
        """One that is lost, doubled, cut, or damaged; also if the engine passes pairs of raw bytes."""
        packed = Engine(self, 2).glint("pack", "bloom-build", *ROWS, "0.01", "in", "counts", "out", "-o", "0.stage")
        self.assertEqual(packed.returncode, 0, packed.stderr)
        for raw, end in ((False, b"\n"), (True, b"")):
            engine, rng = Engine(self, 2, raw), random.Random(3)
            stages = json.loads(engine.glint("show", "0.stage").stdout)["stages"]
            records = [line for _, line in sorted(engine.pairs(engine.run_stage("0.stage", stages[0], {})))]
            for _ in range(40):
                changed = list(records)
                at = rng.randrange(len(changed))
                line = bytearray(changed[at])
                line[rng.randrange(len(line) - 1)] ^= 1 << rng.randrange(7)
                changed[at:at + 1] = rng.choice(([], [changed[at]] * 2, [changed[at][:rng.randrange(len(line))] + end], [bytes(line)]))
                done = engine.glint("reduce", "0.stage", *(("--io", "rawbytes") if raw else ()), data=b"".join(changed))
                self.assertEqual((done.returncode, b"error[E0916]" in done.stderr), (65, True), done.stderr)


if __name__ == "__main__":
    unittest.main()
