"""Jobs on random tables of CSV, of text with delimiters and of JSON lines give the rows that DuckDB
gives for the same values. GLINT_SEED and GLINT_CASES are as in test_random."""

import datetime
import decimal
import json
import math
import random

import command
import duckdb
import pyarrow
import pyarrow.parquet

import test_random
from test_random import CASES, SEED

FORMS = ("csv", "tsv", "text", "jsonl")
OUTPUTS = ("csv", "tsv", "jsonl", "parquet", "arrow")
NUMBERS, COLUMNS = "ilufm", "kilufmdtbn"
OPTIONS = {"csv": ("--csv", "--header"), "tsv": ("--csv", "--header", "--delimiter", "\\t"),
           "text": ("--header",), "jsonl": ("--json-lines",)}
MARKS = {"csv": ",", "tsv": "\t", "text": "\t"}


def table(rng, count, form):
    """The columns of test_random, texts that the form can have."""
    made = test_random.table(rng, count).select(list(COLUMNS))
    texts = made.column("k").to_pylist()
    if form == "text":  # a null is \N, and a quote is part of a field
        texts = [None if text == "\\N" else text for text in texts]
    elif rng.random() < 0.5:
        texts = [text if text is None or rng.random() < 0.9
                 else text + rng.choice(("\n", "\r\n", '"', "\t")) + "x" for text in texts]
    integers = made.column("i").cast(pyarrow.int64())  # DuckDB's sums of others overflow
    made = made.set_column(1, "i", integers)
    return made.set_column(0, "k", pyarrow.array(texts, pyarrow.string()))


def text_of(rng, value):
    """One of the texts of a value; numbers have many."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.datetime):
        return value.isoformat("T", "microseconds" if value.microsecond else "seconds")
    if isinstance(value, int) and rng.random() < 0.1:
        return f"{value:+d}" if value >= 0 else f"-000{-value}"
    if isinstance(value, float) and not math.isfinite(value):
        return rng.choice((str(value), str(value).upper(), str(value).replace("inf", "Infinity")))
    if isinstance(value, float) and rng.random() < 0.1:
        return f"{decimal.Decimal(repr(value)):e}"
    if isinstance(value, decimal.Decimal) and rng.random() < 0.1:
        return f"{value}00"
    return str(value)


def write_rows(rng, made, form, path):
    rows = made.to_pylist()
    with open(path, "w", encoding="utf-8", newline="") as file:
        if form == "jsonl":
            for row in rows:
                file.write(json_line(rng, row) + rng.choice(("\n", "\n", "\r\n")))
            return
        mark = MARKS[form]
        file.write(mark.join(made.column_names) + "\n")
        for row in rows:
            file.write(mark.join(field(rng, row[name], name, form) for name in row)
                       + rng.choice(("\n", "\n", "\r\n")))


def field(rng, value, name, form):
    """Keys are compared as texts: n has one text of each."""
    if value is None:
        return "\\N"
    text = str(value) if name == "n" else text_of(rng, value)
    special = any(c in text for c in ',\t\n\r"') or text == "\\N"
    if form == "text" or not (special or rng.random() < 0.1):
        return text
    return '"' + text.replace('"', '""') + '"'


def json_line(rng, row):
    """Numbers as such or as texts; a null may be missing."""
    parts = []
    for name, value in row.items():
        if value is None and rng.random() < 0.3:
            continue
        if value is None or name == "n" or isinstance(value, (bool, str)):
            text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
        elif isinstance(value, (int, decimal.Decimal)) and rng.random() < 0.8:
            text = str(value)
        elif isinstance(value, float) and math.isfinite(value):
            text = repr(value)
        else:
            text = json.dumps(text_of(rng, value))
        parts.append(f'"{name}":{rng.choice(("", " "))}{text}')
    rng.shuffle(parts)
    return "{" + ",".join(parts) + "}"


def literal(rng, name):
    if name == "d":
        return rng.choice(("DATE '2020-06-15'", "DATE '2019-02-28'"))
    if name == "t":
        return "TIMESTAMP '2021-01-01 00:00:01'"
    return test_random.literal(rng, name)


def condition(rng, depth=0):
    """Says what each column is, as its text does not: +i is a number."""
    kind = rng.random()
    if depth < 3 and kind < 0.35:
        left, right = condition(rng, depth + 1), condition(rng, depth + 1)
        return f"({left} {rng.choice(('and', 'or'))} {right})"
    if depth < 3 and kind < 0.42:
        return f"not ({condition(rng, depth + 1)})"
    name = rng.choice("kilufmdtn")
    if kind < 0.5:
        return f"{name} is {rng.choice(('', 'not '))}null"
    if kind < 0.6:
        return f"{name} {rng.choice(('', 'not '))}in ({literal(rng, name)}, {literal(rng, name)})"
    if kind < 0.7:
        return f"{name} between {literal(rng, name)} and {literal(rng, name)}"
    order = rng.choice(("<", "<=", ">", ">=", "=", "<>"))
    if kind < 0.8:
        return f"+{rng.choice(NUMBERS)} {order} +{rng.choice(NUMBERS)}"
    if kind < 0.85:
        sign = rng.choice(("+", "-", "*"))
        return f"i {sign} {rng.choice('in')} {order} {literal(rng, 'i')}"
    if kind < 0.9:
        return f"k like {rng.choice(TEXT_PATTERNS)}"
    return f"{name} {order} {literal(rng, name)}"


TEXT_PATTERNS = ("'%a%'", "'_'", "'z_'", "'%'", "'a%b'", "''", "'%\u00c4'")


def split_csv(text, mark):
    """The rows of CSV: None is null, which has no quotes."""
    rows, row, at = [], [], 0
    while at < len(text):
        if text[at] == '"':
            end = at + 1
            while text[end] != '"' or text[end + 1:end + 2] == '"':
                end += 2 if text[end] == '"' else 1
            row.append(text[at + 1:end].replace('""', '"'))
            at = end + 1
        else:
            end = at
            while end < len(text) and text[end] not in (mark, "\n"):
                end += 1
            found = text[at:end].removesuffix("\r") if text[end:end + 1] == "\n" else text[at:end]
            row.append(None if found == "\\N" else found)
            at = end
        if text[at:at + 1] == mark:
            at += 1
            if at == len(text):
                row.append("")
            continue
        if text[at:at + 1] == "\r":
            at += 1
        at += 1
        rows.append(row)
        row = []
    return rows


def value_of(text, kind):
    """A text as test_random.plain shows a value of the type."""
    if text is None:
        return None
    if pyarrow.types.is_boolean(kind):
        return {"true": "True", "false": "False"}[str(text).lower()]
    if pyarrow.types.is_floating(kind):
        return test_random.plain(float(text))
    if pyarrow.types.is_integer(kind) or pyarrow.types.is_decimal(kind):
        return test_random.plain(decimal.Decimal(str(text)))
    if pyarrow.types.is_timestamp(kind):
        return str(datetime.datetime.fromisoformat(str(text)))
    return str(text)


class RandomText(command.Command):
    def read_output(self, form, count):
        """The rows of all parts, each value a text or None."""
        rows = []
        for part in self.parts("out"):
            if form in ("parquet", "arrow"):
                read = (pyarrow.parquet.ParquetFile(part).read() if form == "parquet"
                        else pyarrow.ipc.open_file(part).read_all())
                rows += zip(*(column.to_pylist() for column in read.columns))
                continue
            with open(part, encoding="utf-8", newline="") as file:
                text = file.read()
            if form == "jsonl":
                rows += [list(json.loads(line, parse_float=decimal.Decimal).values())
                         for line in text.split("\n") if line]
            elif form == "text":
                rows += [[None if field == "\\N" else field
                          for field in line.removesuffix("\r").split("\t")]
                         for line in text.split("\n")[:-1]]
            else:
                rows += split_csv(text, MARKS[form])
        for row in rows:
            self.assertEqual(len(row), count, row)
        return rows

    def read_lines(self, form):
        """Rows of JSON that stayed as they are; of pairs, one after the other."""
        rows = []
        for part in self.parts("out"):
            with open(part, encoding="utf-8", newline="") as file:
                lines = [json.loads(line, parse_float=decimal.Decimal)
                         for line in file.read().split("\n") if line]
            for line in lines:
                objects = line if form == "pairs" else [line]
                rows.append([(row or {}).get(name) for row in objects for name in COLUMNS])
        return rows

    def compare(self, form, job, query, ordered=False):
        self.run_glint("--master", "local[2]", *job, self.path("out"))
        expected = self.duckdb.sql(query).to_arrow_table()
        kinds = expected.schema.types
        found = (self.read_lines(form) if form in ("lines", "pairs")
                 else self.read_output(form, len(expected.schema)))
        rows = [tuple(value_of(value, kind) for value, kind in zip(row, kinds)) for row in found]
        wanted = test_random.rows(expected)
        if not ordered:
            rows.sort(key=repr)
            wanted.sort(key=repr)
        self.assertEqual(rows, wanted, f"GLINT_SEED={SEED}: {job}\n{query}")

    def test_jobs_equal_queries(self):
        self.duckdb = duckdb.connect()
        self.addCleanup(self.duckdb.close)
        self.duckdb.execute("set timezone = 'UTC'")
        for case in range(CASES):
            rng = random.Random(SEED + case)
            form = rng.choice(FORMS)
            with self.subTest(case=case, form=form):
                for side, counts in (("left", (0, 1, 7, 60, 400)), ("right", (0, 3, 30))):
                    made = table(rng, rng.choice(counts), form)
                    self.duckdb.register(side, made)
                    write_rows(rng, made, form, self.path(f"{side}.{form}"))
                self.compare_jobs(rng, form, self.path(f"left.{form}"), self.path(f"right.{form}"))

    def compare_jobs(self, rng, form, left, right):
        options = (*OPTIONS[form], "--split-size", rng.choice(("1K", "64M")))
        where, by = condition(rng), rng.choice(("k", "d", "b", "k,b"))
        names = ",".join(COLUMNS)
        # Rows of JSON stay as they are: selected columns are CSV.
        rows = "csv" if form == "jsonl" else form
        self.compare(rows, ["select", *options, "--columns", names, "--where", where, left],
                     f"from left_rows where {where}".replace("left_rows", '"left"'))
        if form != "text":
            out = rng.choice(OUTPUTS)
            self.compare_output(form, out, options, names, left)
        typed = form != "text" and rng.random() < 0.5
        self.compare("parquet" if typed else rows,
                     ["agg", *options, *(["--output-format", "parquet"] if typed else []), "--by",
                      by, "--sum", "i,l,u,m", "--min", "i,u,m", "--max", "l,f,n", "--mean", "f",
                      "--count", "--distinct", "k", left],
                     f"select {by}, sum(i), sum(l::decimal(38)), sum(u::decimal(38)), sum(m), "
                     "min(i), min(u), min(m), max(l), max(f), max(n), avg(f), count(*), "
                     f"count(distinct k) from \"left\" group by {by}")
        self.compare(rows, ["agg", *options, "--by", by, "--count", "--min", "k:t,d:t", "--max",
                            "k:t", "--where", where, left],
                     f"select {by}, min(k), min(d), max(k), count(*) from \"left\" where {where} "
                     f"group by {by}")
        self.compare(rows, ["select", *options, "--columns",
                            "n, i + n AS a, -f AS b, m * 2 AS c, i > 0 AS e, u % 7 AS g", left],
                     "select n, i::bigint + n, -f, m::decimal(38,4) * 2, i > 0, u % 7 "
                     "from \"left\"")
        self.compare_rows(rng, form, options, left, right)

    def compare_output(self, form, out, options, names, left):
        """CSV has the delimiter of the input."""
        self.run_glint("select", *options, "--columns", names, "--output-format", out, left,
                       self.path("out"))
        found = self.read_output(form if out == "csv" and form == "tsv" else out, len(COLUMNS))
        kinds = self.duckdb.sql('from "left"').to_arrow_table().schema.types
        rows = sorted((tuple(value_of(value, kind) for value, kind in zip(row, kinds))
                       for row in found), key=repr)
        wanted = sorted(test_random.rows(self.duckdb.sql('from "left"').to_arrow_table()), key=repr)
        self.assertEqual(rows, wanted, f"GLINT_SEED={SEED}: {out} {options}")

    def compare_rows(self, rng, form, options, left, right):
        """Jobs that save rows as they are."""
        pairs, form = ("pairs", "lines") if form == "jsonl" else (form, form)
        key, kind = rng.choice("kdn"), rng.choice(("inner", "left", "right", "full"))
        method = rng.choice(("auto", "shuffle", "broadcast", "bloom"))
        join = f'"left" l {{}} join "right" r on l.{key} = r.{key}'
        plain = [option for option in options if option not in ("--delimiter", "\\t")]
        if form == "tsv":
            plain += ["--left-delimiter", "\\t", "--right-delimiter", "\\t"]
        self.compare(pairs, ["join", *plain, "--key-column", key, "--type", kind, "--method",
                             method, left, right], "select l.*, r.* from " + join.format(kind))
        for kind in ("semi", "anti"):
            self.compare(form, ["join", *plain, "--key-column", key, "--type", kind, left, right],
                         "select l.* from " + join.format(kind))
        name, reverse = rng.choice(COLUMNS[:-1]), rng.choice((True, False))
        letters = ("n" if name in NUMBERS else "") + ("r" if reverse else "")
        order = f"{name} {'desc nulls last' if reverse else 'nulls first'}, n"
        self.compare(form, ["sort", *options, "--by",
                            f"{name}{':' if letters else ''}{letters},n:n", left],
                     f'from "left" order by {order}', ordered=True)
        by = rng.choice(("k", "d", "k,b"))
        self.compare(form, ["dedup", *options, "--by", by, left],
                     f'from "left" where n in (select min(n) from "left" group by {by})')
        self.compare(form, ["top", *options, "--per", key, "--by", "n", "2", left],
                     "from \"left\" qualify row_number() over "
                     f"(partition by {key} order by n desc) <= 2")
