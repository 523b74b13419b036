#!/usr/bin/env bash
# Version: fastparquet 2026.9.0, pandas 3.1.1, pyarrow 26.0.1, duckdb 2.0.1, polars 2.1.0 (Python 3.11). Source: run on 2026-12-01.
# Guess: has_nulls="infer" makes columns of objects optional and others required, and every reader has the rows.
# Behaviour: the footer then has a column's repetition as a truth value of Thrift, not as the enum's number. fastparquet reads
# that; pyarrow and DuckDB skip it and take each column for a required one, so that what precedes the values of an optional one
# is read as the first text: of a, null, c they have "\x03\x05", a, c, without an error. Polars calls the name missing. With
# has_nulls=True (the default) or a list of names the number is written, and all have the rows.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install fastparquet==2026.9.0 pandas==3.1.1 pyarrow==26.0.1 duckdb==2.0.1 polars==2.1.0
cat >finding.py <<'END'
import duckdb
import fastparquet
import pandas
import polars
import pyarrow.parquet as pq

frame = pandas.DataFrame({"n": [1, 2, 3], "s": ["a", None, "c"]})


def polars_reads():
    try:
        return polars.read_parquet("a.parquet")["s"].to_list()
    except polars.exceptions.ComputeError as error:
        return str(error).split(": ")[-1]


for has_nulls, others, of_polars in (
        (True, ["a", None, "c"], ["a", None, "c"]),
        (["s"], ["a", None, "c"], ["a", None, "c"]),
        ("infer", ["\x03\x05", "a", "c"], "SchemaElement.name missing"),
        (None, ["\x03\x05", "a", "c"], "SchemaElement.name missing")):
    fastparquet.write("a.parquet", frame, has_nulls=has_nulls)
    itself = [None if v != v else v for v in fastparquet.ParquetFile("a.parquet").to_pandas()["s"]]
    read = {"pyarrow": pq.read_table("a.parquet")["s"].to_pylist(),
            "DuckDB": [s for s, in duckdb.sql("select s from 'a.parquet'").fetchall()],
            "Polars": polars_reads(), "fastparquet": itself}
    print(f"has_nulls={has_nulls!r}:", read)
    assert read == {"pyarrow": others, "DuckDB": others, "Polars": of_polars,
                    "fastparquet": ["a", None, "c"]}
END
env/bin/python finding.py
