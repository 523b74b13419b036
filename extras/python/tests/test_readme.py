"""The examples of the README, in their order, on small inputs."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import glint

README = pathlib.Path(__file__).resolve().parents[1] / "README.md"
FILES = {
    "books/1": "a rose is a rose\n", "books/2": "is it\n",
    "names.tsv": "id\tname\n" + "".join(f"tt{i}\tCarmencita {i}\n" for i in range(9)),
    "votes.tsv": "tt1\t1000\ntt1\t967\ntt2\t5\n",
    "upper.py": "import sys\nsys.stdout.write(sys.stdin.read().upper())\n",
    "ratings.tsv": "tt0000001\t5.5\t10\ntt0000002\t6.5\t20\n",
}


class Readme(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(directory.name)
        for name, text in FILES.items():
            pathlib.Path(name).parent.mkdir(exist_ok=True)
            pathlib.Path(name).write_text(text, encoding="utf-8")
        glint.run("count-keys", "ratings.tsv", "ids", master="local[1]")
        glint.run("bloom-build", 0.01, "ratings.tsv", "ids", "filters", master="local[1]")

    @staticmethod
    def words(output):
        return pathlib.Path(output, "part-00000").read_text(encoding="utf-8").split()

    def test_examples(self):
        another = glint.Bloom(1_000_000, 0.01)
        another.add("tt9")
        place = {"ids": ["tt1", "tt2"], "other_ids": ["tt2", "none"], "another": another,
                 "spark_filter": glint.Bloom(9, layout="classic", scheme="spark-bloom-v2")}
        page = README.read_text(encoding="utf-8")
        examples = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
        examples = [example for example in examples if "import duckdb" not in example]
        self.assertEqual(len(examples), 4)
        for example in examples[1:]:
            exec(compile(example, str(README), "exec"), place)  # pylint: disable=exec-used
        self.assertEqual(place["result"].counters["rows read"], 2)
        self.assertEqual(sorted(self.words("counts")), sorted("a 2 is 2 it 1 rose 2".split()))
        self.assertEqual(place["word"], "rose")
        self.assertIn("CARMENCITA", self.words("upper"))
        self.assertEqual(list(place["mask"]), [True, False])
        self.assertTrue("tt9" in place["both"] and "tt1" in place["both"])


    def test_word_count_of_spark(self):
        """It begins the page, and needs no change."""
        page = README.read_text(encoding="utf-8")
        program = re.search(r"^```python\n(.*?)^```", page, re.M | re.S)[1]
        pathlib.Path("wordcount.py").write_text(program, encoding="utf-8")
        done = subprocess.run([sys.executable, "-m", "glint.submit", "wordcount.py"], check=True,
                              capture_output=True, text=True)
        self.assertEqual(done.stdout, "a: 2\nis: 2\nit: 1\nrose: 2\n")


if __name__ == "__main__":
    unittest.main()
