"""What cffi is told equals <glint/bloom.h> and <glint/glint.h> of this tree, and its version is
that of the program."""

import ctypes
import importlib.metadata
import pathlib
import re
import subprocess
import sys
import unittest

import glint
from glint import _engine
from glint._blocks import FUNCTIONS
from glint._library import DECLARATIONS

ROOT = pathlib.Path(__file__).parents[3]
HEADER = ROOT / "jobs/bloom/glint/bloom.h"


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

    def engine_header(self):
        """The declarations of glint.h and what it includes, apart from macros and definitions."""
        text = (ROOT / "engine/glint.h").read_text().split("#pragma GCC visibility pop")[0]
        for name in ("context", "actions", "function", "persist"):
            text += (ROOT / f"engine/glint_{name}.h").read_text()
        text = re.sub(r"^\s*#(?:.*\\\n)*.*$", "", text, flags=re.MULTILINE)
        text = re.sub(r"^static inline [^;{]*\{.*?^\}", "", text, flags=re.MULTILINE | re.DOTALL)
        text = re.sub(r"^extern \"C\" \{$", "", text, flags=re.MULTILINE)
        text = re.sub(r"\s*__attribute__\(\(.*?\)\)\)", "", text)
        return text.replace("extern const struct", "extern struct")

    def test_equal_the_engine_header(self):
        known = set(declarations(self.engine_header()))
        self.assertGreater(len(known), 120)
        for declaration in declarations(_engine.DECLARATIONS):
            if not declaration.startswith("enum glint_code {"):
                self.assertIn(declaration, known)

    def test_columns(self):
        """What ctypes is told of <glint/glint_columns.h>."""
        header = (ROOT / "engine/glint_columns.h").read_text()
        found = {}
        for declaration in declarations(header.split("#pragma GCC visibility push(default)")[1]):
            match = re.fullmatch(r"(.*?\W)(glint_columns_\w+)\((.*)\)", declaration)
            if match:
                found[match[2]] = match[1].strip(), match[3].split(",")
        self.assertEqual(set(found), set(FUNCTIONS))
        kinds = {"int": ctypes.c_int, "void": None, "uint64_t": ctypes.c_uint64}
        for name, (result, arguments) in FUNCTIONS.items():
            with self.subTest(name):
                self.assertEqual(kinds.get(found[name][0], ctypes.c_void_p), result)
                self.assertEqual(len(found[name][1]), len(arguments))
                for text, kind in zip(found[name][1], arguments):
                    self.assertEqual("*" not in text, kind is ctypes.c_uint64)

    def test_codes(self):
        header = (ROOT / "engine/codes.h").read_text()
        codes = re.findall(r"GLINT_E_(\w+) = -(\d+)", _engine.DECLARATIONS)
        self.assertGreater(len(codes), 1)
        for name, number in codes:
            self.assertRegex(header, rf"X\({number}, +{name},")

    def test_the_engine_is_complete(self):
        ffi, lib = _engine.engine()
        for name in re.findall(r"\b(glint_\w+)\(", _engine.DECLARATIONS):
            self.assertTrue(callable(getattr(lib, name)))
        functions = re.findall(r"\bGLINT_\w+(?=[,;])", _engine.DECLARATIONS.split("extern", 1)[1])
        self.assertGreater(len(functions), 15)
        for name in functions:
            self.assertTrue(ffi.addressof(lib, name))

    def test_the_engine_is_loaded_by_the_first_context(self):
        code = "import glint\nprint('libglint.so' in open('/proc/self/maps').read())"
        printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        self.assertEqual(printed.stdout, b"False\n")

    def test_versions_are_equal(self):
        printed = subprocess.run([glint.program(), "version"], check=True, capture_output=True)
        version = importlib.metadata.version("glint-engine")
        self.assertEqual(printed.stdout.split()[1].decode(), version)
        self.assertEqual(glint.__version__, version)
        with self.assertRaises(AttributeError):
            glint.version
