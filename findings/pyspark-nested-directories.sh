#!/usr/bin/env bash
# Version: PyPI pyspark 4.3.0, Java 17 (Python 3.11). Source: run on 2026-11-30; its docstrings of SparkContext.textFile and
# wholeTextFiles: both read "a directory".
# Guess: a directory with a file and a directory in it is read in the same way by both: the file, or both, or an error.
# Behaviour: textFile raises, wholeTextFiles, binaryFiles and spark.read.text leave the nested directory out and do not say so.
# With DIR/* they read what is directly in the nested one, too.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyspark==4.3.0
mkdir -p in/nested/deeper
echo a > in/a
echo b > in/nested/b
echo c > in/nested/deeper/c
venv/bin/python - <<'PY'
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
         .config("spark.ui.showConsoleProgress", "false").getOrCreate())
sc = spark.sparkContext
readers = {
    "textFile": lambda path: sc.textFile(path),
    "wholeTextFiles": lambda path: sc.wholeTextFiles(path).values().map(str.strip),
    "binaryFiles": lambda path: sc.binaryFiles(path).values().map(lambda data: data.decode().strip()),
    "read.text": lambda path: spark.read.text(path).rdd.map(lambda row: row.value),
}

def read(reader, path):
    try:
        return "".join(sorted(reader(path).collect()))
    except Py4JJavaError as error:
        return type(error).__name__

seen = {name: (read(reader, "in"), read(reader, "in/*")) for name, reader in readers.items()}
print("in, in/*:", seen)
assert seen["textFile"][0] == "Py4JJavaError"
assert seen["wholeTextFiles"] == seen["binaryFiles"] == seen["read.text"] == ("a", "ab")
spark.stop()
PY
