#!/usr/bin/env bash
# Version: polars 2.1.0, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-28; the Arrow format allows
# fixed offsets such as +05:30 as time zones.
# Guess: polars, which is built on Arrow, reads all Arrow types but unions.
# Behaviour: timestamps with a fixed offset, run-end encoded columns and list views are refused. arrow.uuid becomes
# plain Binary, though arrow.bool8 and arrow.json stay extension types; date64 becomes a timestamp.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" -q install polars==2.1.0 pyarrow==26.0.1
"$dir/venv/bin/python" - <<'PY'
import polars as pl, pyarrow as pa

columns = {
    "offset": pa.array([0], pa.timestamp("us", "+05:30")), "runs": pa.RunEndEncodedArray.from_arrays([2], ["a"]),
    "list view": pa.array([[1]], pa.list_view(pa.int32())), "uuid": pa.array([b"0" * 16], pa.uuid()),
    "bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1], pa.int8())),
    "json": pa.array(["{}"], pa.json_()), "date64": pa.array([0], pa.date64()),
}
found = {}
for name, column in columns.items():
    try:
        found[name] = str(pl.from_arrow(pa.table({"c": column}))["c"].dtype).split("(")[0]
    except pl.exceptions.ComputeError as error:
        found[name] = "refused"
    print(f"polars {pl.__version__}: {name}: {found[name]}")
assert list(found.values()) == ["refused", "refused", "refused", "Binary", "Extension", "Extension", "Datetime"]
PY
