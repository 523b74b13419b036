#!/usr/bin/env bash
# Version: PyPI pyspark 4.3.0, Java 17 (Python 3.11). Source: run on 2026-11-30.
# Guess: a number that does not fit in the column's type is null, or an error; as text it is what the file has, by from_json as by
# spark.read.json.
# Behaviour: in a TINYINT 128 is -128 and 255 is -1, and 256 is null; SMALLINT, INT and CSV have null. As text spark.read.json gives 1.10,
# from_json gives 1.1, 1.2345678999E7 for 12345678.999, and 1.2345678901234567E19 for 12345678901234567890.12, whose digits are lost.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pyspark==4.3.0
cat >finding.py <<'END'
from pyspark.sql import SparkSession

spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.ui.showConsoleProgress", "false").getOrCreate())
spark.sparkContext.setLogLevel("OFF")


def value(text, type_, parse="from_json", form='{{"a":{}}}'):
    return spark.sql(f"select {parse}('{form.format(text)}', 'a {type_}').a").collect()[0][0]


small = [value(n, "tinyint") for n in (127, 128, 255, 256, -129)]
print("tinyint", small)
assert small == [127, -128, -1, None, None]
others = value(32768, "smallint"), value(2**31, "int"), value(128, "tinyint", "from_csv", "{}")
print("smallint, int, CSV", others)
assert others == (None, None, None)

numbers = ["1.10", "12345678.999", "12345678901234567890.12"]
with open("t.json", "w") as file:
    file.writelines(f'{{"a":{number}}}\n' for number in numbers + [128])
texts = [value(number, "string") for number in numbers]
print("from_json", texts)
assert texts == ["1.1", "1.2345678999E7", "1.2345678901234567E19"]
of_file = [row.a for row in spark.read.schema("a string").json("t.json").collect()]
print("read.json", of_file)
assert of_file == numbers + ["128"]
assert spark.read.schema("a tinyint").json("t.json").collect()[3].a == -128
END
env/bin/python finding.py
