"""The same bytes as in one process, for any number of executors and slots, with TLS and without."""
import os
import unittest

from cluster import ClusterTest

ROWS = 60000


def shape(executors, slots):
    return {f"e{i + 1}": {"slots": slots} for i in range(executors)}


class ClusterSizes(ClusterTest):
    """Runs all jobs in sequence, like a user; twice in one class, with TLS and in plain text."""

    keys = {**ClusterTest.keys, "suspect": "5s", "dead": "10s", "start": "30s"}

    def commands(self, to):
        """(job, options, inputs and outputs); the outputs are the directories that begin with `to`."""
        table = self.table()
        out = lambda name: os.path.join(to, name)
        yield "split-dataset", "--split-size", "100K", table, out("train"), out("test")
        train, tested = (os.path.join(to, name, "part-*") for name in ("train", "test"))
        yield "count-keys", "--split-size", "100K", "--partitions", "3", train, out("counts")
        for strategy in ("indexes", "partials", "segments"):
            cut = ("--segment-size", "8192") if strategy == "segments" else ()
            yield ("bloom-build", "--strategy", strategy, *cut, "--split-size", "100K", "--partitions", "5",
                   "0.01", train, out("counts"), out(strategy))
            yield ("bloom-test", "--split-size", "70K", "0.01", tested, out(strategy), out("counts"),
                   out(f"tested-{strategy}"))
        yield "params", "--p", "0.05", train, out("params")
        yield "fpr-table", "--p", "0.01,0.1", train, tested, out("fpr-table")
        yield "hadoop-pipeline", "--p", "0.1", "--filters", out("pipeline-filters"), train, tested, out("hadoop-pipeline")
        for method, kind in (("shuffle", "full"), ("bloom", "full"), ("broadcast", "full"),
                             ("shuffle", "semi"), ("bloom", "semi"), ("broadcast", "anti")):
            yield ("join", "--method", method, "--type", kind, "--split-size", "100K", "--partitions", "3",
                   table, tested, out(f"join-{method}-{kind}"))
        yield ("fpr-check", "--bad-rows", "skip", "--samples", "2", "--p", "0.1", "--keys",
               out("fpr-keys"), table, out("fpr-check"))
        yield "constructions", "--mappers", "1,5", train, out("constructions")
        yield ("membership", "--counts", out("how-many"), "--sets", out("sets"), train,
               out("partials"), out("membership"))
        yield ("join-steps", "--split-size", "100K", "--partitions", "3", table, tested, out("key-filter"), out("kept"),
               out("joined-in-steps"))
        yield "gap-sample", "--split-size", "100K", table, out("sample")
        yield ("admit", "--bits-per-element", "2.57", "--admitted", out("admitted"), "--rejected",
               out("rejected"), os.path.join(to, "sample", "part-*"), table, out("admit"))
        yield ("speedup", "--slots", "1,3", "--repeats", "0", os.path.join(to, "sample", "part-*"), table,
               out("speedup"))
        yield "union", "--split-size", "100K", "--m", "100000", "--scheme", "md5-random", table, out("union")
        yield ("filter-vs-set", "--repeats", "0", "--trials", "2", "--split-size", "100K", table,
               out("filter-vs-set"))

    def table(self):
        path = os.path.join(self.directory, "table.tsv")
        if not os.path.exists(path):
            code, _, err = self.run_glint("generate", "ratings", "--rows", str(ROWS), path)
            self.assertEqual(code, 0, err)
        return path

    def run_all(self, to, *options):
        os.mkdir(os.path.join(self.directory, to))
        for command in self.commands(to):
            job = self.start(f"{to}-{command[0]}", "submit", *command, "-q", *options)
            self.assertEqual(job.wait(), 0, job.err)
        return self.files(to)

    def files(self, to):
        found = {}
        for directory, _, names in os.walk(os.path.join(self.directory, to)):
            for name in names:
                path = os.path.join(directory, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, os.path.join(self.directory, to))] = file.read()
        return found

    def check(self, executors, slots, plaintext):
        cluster = shape(executors, slots)
        self.write_cluster(cluster, insecure_plaintext=plaintext)
        for name in cluster:
            self.executor(name)
        expected = self.run_all("local", "--master", "local[2]")
        self.assertGreater(len(expected), 20)
        got = self.run_all("cluster", "--cluster", self.config, "--executors", str(executors))
        self.assertEqual(sorted(got), sorted(expected))
        for path, content in expected.items():
            self.assertEqual(got[path], content, path)

    def test_1x1_equals_local(self):
        self.check(1, 1, False)

    def test_2x1_equals_local(self):
        self.check(2, 1, False)

    def test_3x2_equals_local(self):
        self.check(3, 2, False)

    def test_8x1_equals_local(self):
        self.check(8, 1, False)

    def test_1x1_plaintext_equals_local(self):
        self.check(1, 1, True)

    def test_2x1_plaintext_equals_local(self):
        self.check(2, 1, True)

    def test_3x2_plaintext_equals_local(self):
        self.check(3, 2, True)

    def test_8x1_plaintext_equals_local(self):
        self.check(8, 1, True)


if __name__ == "__main__":
    unittest.main()
