#!/usr/bin/env bash
# Version: duckdb 2.0.1, polars 2.1.0, pyarrow 26.0.1, pandas 3.1.1, rapidgzip 0.16.2, indexed_gzip 1.10.3, isal
# 1.9.1 (Python 3.11). Source: run on 2026-11-28; GNU gzip(1) ignores zeros after the last member, since tapes
# and block devices pad files to whole blocks.
# Guess: readers ignore them, as gzip does.
# Behaviour: duckdb, polars, pyarrow and rapidgzip refuse the file; pandas, indexed_gzip and isal read it.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" -q install duckdb==2.0.1 polars==2.1.0 pyarrow==26.0.1 pandas==3.1.1 rapidgzip==0.16.2 \
    indexed_gzip==1.10.3 isal==1.9.1
cd "$dir"
{ seq 1 1000 | sed '1i a' | gzip; head -c 1024 /dev/zero; } >padded.csv.gz
gzip -dc padded.csv.gz | wc -l
venv/bin/python - <<'PY' 2>/dev/null
import duckdb, indexed_gzip, pandas, polars, pyarrow.csv, rapidgzip
from isal import igzip

NAME = "padded.csv.gz"
readers = {
    "duckdb": lambda: duckdb.sql(f"select count(*) from read_csv('{NAME}')").fetchall()[0][0],
    "polars": lambda: polars.read_csv(NAME).height,
    "pyarrow": lambda: pyarrow.csv.read_csv(NAME).num_rows,
    "rapidgzip": lambda: rapidgzip.open(NAME).read().count(b"\n") - 1,
    "pandas": lambda: len(pandas.read_csv(NAME)),
    "indexed_gzip": lambda: indexed_gzip.IndexedGzipFile(NAME).read().count(b"\n") - 1,
    "isal": lambda: igzip.open(NAME).read().count(b"\n") - 1,
}
for name, read in readers.items():
    try:
        rows = read()
    except Exception as error:
        rows = f"{type(error).__name__}: {error}"
    print(f"{name}: {rows}")
    assert (rows == 1000) == (name in ("pandas", "indexed_gzip", "isal")), name
PY
