"""Progress bars, which tqdm draws: here a module of this name that prints what it is told."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import glint
from fifo import Fifo

TQDM = """
class tqdm:
    def __init__(self, total, desc, unit, leave, file):
        self.n = 0
        print("begin", desc, total, unit, leave)
    def update(self, count):
        self.n += count
    def refresh(self):
        pass
    def close(self):
        print("end", self.n)
"""


class Progress(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.work = pathlib.Path(directory.name)

    def run_program(self, program, **options):
        (self.work / "tqdm").mkdir(exist_ok=True)
        (self.work / "tqdm/__init__.py").touch()
        (self.work / "tqdm/auto.py").write_text(TQDM)
        code = f"import sys; sys.path.insert(0, {str(self.work)!r})\n{program}"
        return subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE,
                              text=True, timeout=300, **options).stdout.splitlines()

    def test_bars_of_stages(self):
        printed = self.run_program("""
import glint, glint._progress
glint._progress.DELAY_S = 0
with glint.Context("local[1]", progress=True) as sc:
    pairs = sc.parallelize([(i % 3, 1) for i in range(40)], 4)
    for _ in range(2):
        print("count", pairs.reduceByKey("sum_i64", 5).count())
""")
        started = [line for line in printed if line.startswith("begin")]
        self.assertIn("begin parallelize..reduceByKey 4 task False", started)
        self.assertEqual(len(started), printed.count("end 4") + printed.count("end 5"))
        self.assertEqual(sum(line == "count 3" for line in printed), 2)

    def test_short_actions_have_none(self):
        printed = self.run_program("""
import glint, glint._progress
glint._progress.DELAY_S = 1e9
with glint.Context("local[1]", progress=True) as sc:
    print(sc.range(40, numSlices=4).count(), "tqdm" in sys.modules)
""")
        self.assertEqual(printed, ["40 False"])

    def test_where_it_is_shown(self):
        program = "from glint._progress import is_shown; print(is_shown())"
        self.assertEqual(self.run_program(program, stderr=subprocess.DEVNULL), ["False"])
        main, terminal = os.openpty()
        try:
            self.assertEqual(self.run_program(program, stderr=terminal), ["True"])
        finally:
            os.close(main)
            os.close(terminal)
        notebook = """
import types
class ZMQInteractiveShell: pass
sys.modules["IPython"] = types.ModuleType("IPython")
sys.modules["IPython"].get_ipython = ZMQInteractiveShell
"""
        self.assertEqual(self.run_program(notebook + program, stderr=subprocess.DEVNULL), ["True"])

    def test_without_tqdm(self):
        with glint.Context("local[1]", progress=True) as sc:
            self.assertEqual(sc.range(40, numSlices=4).count(), 40)

    def test_the_stop_button(self):
        """A notebook sends SIGINT: the function ends, and the context can be used again."""
        fifo = Fifo(self, self.work / "started")
        code = f"""
import glint, os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
def endless(x):
    with open({str(fifo.path)!r}, "w") as file:
        print(os.getpid(), file=file)
    while True: pass
with glint.Context("local[1]", progress=True) as sc:
    try:
        sc.range(1).map(endless).count()
    except KeyboardInterrupt:
        print("interrupted")
    print(sc.range(3).map(str).collect())
"""
        python = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        worker = int(fifo.read())
        python.send_signal(signal.SIGINT)
        printed, _ = python.communicate(timeout=300)
        self.assertEqual(printed.splitlines(), ["interrupted", "['0', '1', '2']"])
        with self.assertRaises(ProcessLookupError):
            os.kill(worker, 0)


if __name__ == "__main__":
    unittest.main()
