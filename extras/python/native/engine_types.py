"""Writes the module glint._engine_types: the declarations of glint._engine, as cffi keeps them, so
that a program does not parse them each time it starts.

    python engine_types.py ENGINE_PY TYPES_PY
"""

import importlib.util
import sys

import cffi

spec = importlib.util.spec_from_file_location("engine", sys.argv[1])
assert spec is not None and spec.loader is not None
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
ffi = cffi.FFI()
module.declare(ffi)
ffi.set_source("glint._engine_types", None)
ffi.emit_python_code(sys.argv[2])
