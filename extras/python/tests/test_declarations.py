"""What cffi is told equals <glint/bloom.h> of this tree, and its version is that of the program."""

import importlib.metadata
import pathlib
import re
import subprocess
import unittest

import glint
from glint._library import DECLARATIONS

HEADER = pathlib.Path(__file__).parents[3] / "jobs/bloom/glint/bloom.h"


def declarations(text):
    """Each declaration on one line, without comments."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE).replace("GLINT_BLOOM_API", "")
    found, depth, begin = [], 0, 0
    for at, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if char == ";" and depth == 0:
            found.append(re.sub(r"\s+", " ", text[begin:at]).strip())
            begin = at + 1
    return found


class Declarations(unittest.TestCase):
    def test_equal_the_header(self):
        header = HEADER.read_text()
        body = header[header.index('extern "C" {') + 12 : header.rindex("#ifdef __cplusplus")]
        body = re.sub(r"^#endif", "", body.lstrip(), count=1)
        known = set(declarations(body))
        self.assertGreater(len(known), 40)
        for declaration in declarations(DECLARATIONS):
            self.assertIn(declaration, known)

    def test_finds_a_difference(self):
        changed = DECLARATIONS.replace("size_t capacity", "int capacity")
        known = set(declarations(DECLARATIONS))
        self.assertEqual(len([d for d in declarations(changed) if d not in known]), 1)

    def test_every_declared_function_exists(self):
        for name in re.findall(r"\b(glint_bloom_\w+)\(", DECLARATIONS):
            self.assertTrue(callable(getattr(glint._library.lib, name)))

    def test_versions_are_equal(self):
        printed = subprocess.run([glint.program(), "version"], check=True, capture_output=True)
        version = importlib.metadata.version("glint")
        self.assertEqual(printed.stdout.split()[1].decode(), version)
