#!/usr/bin/env bash
# Version: PyPI chdb 4.4.0 (ClickHouse 26.9), pyarrow 26.0.1, fastavro 1.13.1 (Python 3.11). Source: run on 2026-11-30; ClickHouse's Date is of 16
# bits without a sign, to 2149-06-06, DateTime of 32, to 2106-02-07; ORC's dates have a type of their own, and Avro has integers of 64 bits.
# Guess: dates and times are the same in ORC and Avro, or refused; unsigned integers get the next larger type.
# Behaviour: in ORC a Date from 2059-09-19 on is one before 1970, 2100-01-01 is 1920-07-28; times are right. In Avro a DateTime from
# 2038-01-19 on is a negative int without a type. Unsigned integers of 16 bits are right in Avro and -1 in ORC, of 32 bits -1 in both, of 64,
# too. Nothing tells; in Parquet and Arrow all these numbers are right.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install chdb==4.4.0 pyarrow==26.0.1 fastavro==1.13.1 cramjam==2.11.0 tzdata
cat >finding.py <<'END'
import datetime as dt
import os

import fastavro
import pyarrow.orc as orc
import pyarrow.parquet as pq
from chdb import session

house = session.Session()
for name in ("ORC", "Avro", "Parquet"):
    house.query("select toDate('2059-09-18') as last, toDate('2059-09-19') as next, toDate('2100-01-01') as late, "
                "toDateTime('2100-01-01 00:00:00', 'UTC') as time, toUInt16(65535) as small, toUInt32(4294967295) as middle, "
                f"toUInt64(18446744073709551615) as large into outfile '{os.getcwd()}/t.{name}' format {name}")

of_orc = orc.read_table("t.ORC").to_pylist()[0]
print("ORC", of_orc)
assert (of_orc["last"], of_orc["next"], of_orc["late"]) == (dt.date(2059, 9, 18), dt.date(1880, 4, 14), dt.date(1920, 7, 28))
assert of_orc["time"].replace(tzinfo=None) == dt.datetime(2100, 1, 1)
assert (of_orc["small"], of_orc["middle"], of_orc["large"]) == (-1, -1, -1)
with open("t.Avro", "rb") as file:
    of_avro = next(fastavro.reader(file))
print("Avro", of_avro)
assert of_avro["late"] == dt.date(2100, 1, 1) and of_avro["time"] == 4102444800 - 2**32
assert (of_avro["small"], of_avro["middle"], of_avro["large"]) == (65535, -1, -1)
of_parquet = pq.read_table("t.Parquet").to_pylist()[0]
print("Parquet", of_parquet)
assert of_parquet["late"] == dt.date(2100, 1, 1) and of_parquet["time"].year == 2100
assert (of_parquet["small"], of_parquet["middle"], of_parquet["large"]) == (65535, 2**32 - 1, 2**64 - 1)
END
env/bin/python finding.py
