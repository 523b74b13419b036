#!/usr/bin/env bash
# Version: pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-28.
# Guess: a data set of CSV files is decompressed as pyarrow.csv.read_csv does it, by the name's end.
# Behaviour: read_csv reads .csv.zst; a data set reads .csv.gz, .csv.bz2 and .csv.lz4, but takes .csv.zst
# for plain text and fails with an error about CSV.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" -q install pyarrow==26.0.1
cd "$dir"
venv/bin/python - <<'PY'
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset

# Compressible, but not so much that the compressed bytes look like a row of text.
text = b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(100_000))
for codec, end in (("gzip", "gz"), ("bz2", "bz2"), ("lz4", "lz4"), ("zstd", "zst")):
    name = f"rows.csv.{end}"
    with pa.output_stream(name, compression=codec) as out:
        out.write(text)
    assert pa.csv.read_csv(name).num_rows == 100_000
    try:
        rows = pa.dataset.dataset(name, format="csv").count_rows()
    except pa.ArrowInvalid as error:
        rows = f"{type(error).__name__}: {str(error)[:60]}"
    print(f"pyarrow {pa.__version__}: data set of {name}: {rows}")
    assert (rows == 100_000) == (end != "zst")
PY
