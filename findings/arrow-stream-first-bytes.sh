#!/usr/bin/env bash
# Version: pyarrow 26.0.1 and polars 2.1.0 of PyPI. Source: run on 2026-11-30.
# Guess: streams of Arrow IPC can be told from other files by their first 16 bytes, as the mark ffffffff and the size are
# followed by 0x10, the offset of the message's table, in all examples and in what writers give for usual schemas.
# Behaviour: Polars has 4 there. pyarrow has 0x10, but 0x14 for some schemas: of two columns with dictionaries, not of one.
# What is there depends on how the writer lays out the table's list of fields; both read all of them.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pyarrow==26.0.1 polars==2.1.0
env/bin/python - <<'END'
import io

import polars
import pyarrow
import pyarrow.ipc

words = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())


def from_pyarrow(columns):
    table = pyarrow.table({f"k{i}": pyarrow.array(["a", "b"], words) for i in range(columns)})
    out = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue().to_pybytes()


def from_polars():
    out = io.BytesIO()
    polars.DataFrame({"k0": ["a", "b"]}).write_ipc_stream(out)
    return out.getvalue()


streams = {"pyarrow, a column": from_pyarrow(1), "pyarrow, two columns": from_pyarrow(2), "Polars": from_polars()}
for name, stream in streams.items():
    print(f"{name}: {stream[:16].hex(' ', 4)}")
    assert stream[:4] == b"\xff" * 4
    assert pyarrow.ipc.open_stream(stream).read_all().num_rows == 2
    assert polars.read_ipc_stream(io.BytesIO(stream)).height == 2
assert [int.from_bytes(stream[8:12], "little") for stream in streams.values()] == [0x10, 0x14, 4]
END
