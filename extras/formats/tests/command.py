"""Runs glint in a directory of its own, for tests of its jobs."""

import os
import subprocess
import tempfile
import unittest

import pyarrow
import pyarrow.parquet

GLINT = os.path.join(os.path.dirname(os.environ["GLINT_FORMATS"]), "..", "glint")


class Command(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, name):
        return os.path.join(self.directory, name)

    def run_glint(self, *arguments, code=0, stdin=None):
        """What `glint submit` prints, as (standard output, standard error)."""
        run = subprocess.run([GLINT, "submit", "--quiet", "--overwrite", *arguments], check=False,
                             input=stdin, capture_output=True, text=True,
                             env=os.environ | {"HOME": self.directory})
        self.assertEqual(run.returncode, code, run.stderr)
        return run.stdout, run.stderr

    def submit(self, *arguments):
        """The notes and the summary of a job without --quiet."""
        return subprocess.run([GLINT, "submit", "--overwrite", *arguments], check=True,
                              stderr=subprocess.PIPE, text=True,
                              env=os.environ | {"HOME": self.directory}).stderr

    def parts(self, name):
        """The paths of all files of an output, sorted."""
        found = []
        for directory, _, files in os.walk(self.path(name)):
            found += [os.path.join(directory, file) for file in files if file.startswith("part-")]
        return sorted(found)

    def output(self, name):
        """The bytes of all parts, in order."""
        data = b""
        for part in self.parts(name):
            with open(part, "rb") as file:
                data += file.read()
        return data

    def lines(self, *arguments):
        """What a job saves as text."""
        form = [] if arguments[0] == "count-keys" else ["--output-format", "tsv"]
        self.run_glint(arguments[0], *form, *arguments[1:], self.path("out"))
        return self.output("out").decode(errors="surrogateescape").splitlines()

    def table(self, name):
        """The rows of all parts, in order."""
        return pyarrow.concat_tables(pyarrow.parquet.ParquetFile(part).read()
                                     for part in self.parts(name))
