"""Fuse, exact and counting filters: the same bytes in one process and on a cluster."""
import os
import unittest

from cluster import ClusterTest

IDS = 30000
WAYS = {"exact": ("--exact", "--universe", "all", "members", "counts"),
        "fuse8": ("--layout", "fuse8", "0.1", "all", "counts"),
        "counting": ("--layout", "counting", "0.1", "all", "counts")}


class StaticFilters(ClusterTest):
    def setUp(self):
        super().setUp()
        self.ids = [f"id{i:06}\t{i % 5}\n" for i in range(IDS)]
        for name, ids in (("all", self.ids), ("members", self.ids[::7])):
            with open(os.path.join(self.directory, name), "w", encoding="ascii") as file:
                file.writelines(ids)
        with open(os.path.join(self.directory, "counts"), "w", encoding="ascii") as file:
            file.writelines(f"{key}\t3000000\n" for key in range(5))  # several shards of a key
        for name in self.executors:
            self.executor(name)

    def submit(self, out, *words):
        code, _, err = self.run_glint("submit", *words, out)
        self.assertEqual(code, 0, err)
        return self.parts(out)

    def parts(self, out):
        directory = os.path.join(self.directory, out)
        names = sorted(name for name in os.listdir(directory) if name.startswith("part-"))
        contents = []
        for name in names:
            with open(os.path.join(directory, name), "rb") as file:
                contents.append(file.read())
        return contents

    def test_filters_are_the_same_bytes(self):
        on_cluster = ("--cluster", self.config, "--executors", "2", "--split-size", "8K")
        for name, words in WAYS.items():
            with self.subTest(name):
                build = ("bloom-build", "--partitions", "3", "--key", "int", *words)
                alone = self.submit(f"{name}-alone", *build, "--master", "local[1]")
                self.assertEqual(self.submit(f"{name}-cluster", *build, *on_cluster), alone)
                self.assertGreater(sum(map(len, alone)), 1000)
        tested = self.submit("tested", "bloom-test", "--key", "int", "0.5", "all", "exact-cluster",
                             "counts", *on_cluster)
        lines = b"".join(tested).decode().splitlines()
        hits = [int(line.split("(")[2].split(",")[0]) for line in lines]
        self.assertEqual(sum(hits), len(self.ids[::7]))

    def test_rows_are_removed_and_absent_members_named(self):
        on_cluster = ("--cluster", self.config, "--executors", "2", "--split-size", "8K",
                      "--key", "int")
        build = ("bloom-build", *on_cluster)
        every = self.submit("every", *build, *WAYS["counting"])
        fewer = self.submit("fewer", *build, "--remove-from", "every", "members")
        again = self.submit("again", *build, "--add-to", "fewer", "members")
        self.assertNotEqual(every, fewer)
        self.assertEqual(sorted(b"".join(every)), sorted(b"".join(again)))
        with open(os.path.join(self.directory, "members"), "a", encoding="ascii") as file:
            file.write("nosuch\t3\n")
        code, _, err = self.run_glint("submit", "bloom-build", *WAYS["exact"], "out", *on_cluster)
        self.assertEqual(code, 65, err)
        self.assertIn('error[E0804]', err)
        self.assertIn('the id "nosuch" of key 3 is not in the universe', err)
        self.assertFalse(os.path.exists(os.path.join(self.directory, "out")))


if __name__ == "__main__":
    unittest.main()
