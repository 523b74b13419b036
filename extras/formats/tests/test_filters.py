"""Bloom filters inside Parquet files of pyarrow, DuckDB and glint: `glint filter import --column`
reads them, and glint hashes ids with a type as their writers do."""

import datetime
import decimal
import os
import shutil
import subprocess
import tempfile
import unittest
import uuid

import duckdb
import pyarrow
import pyarrow.parquet

GLINT = os.path.join(os.path.dirname(os.environ["GLINT_FORMATS"]), "..", "glint")
DISTINCT, ROWS = 500, 20_000
EPOCH = datetime.datetime(1960, 1, 1, 0, 0, 0, 1)
COLUMNS = {  # name: type in DuckDB, the type of ids, value of a number
    "small": ("utinyint", "i32", lambda i: i % 200),
    "i32": ("integer", "i32", lambda i: i * 77_777 - 9_999),
    "i64": ("bigint", "i64", lambda i: i * 1_234_567_891 - 300_000_000_000),
    "u64": ("ubigint", "u64", lambda i: 2**64 - 1 - i * 7),
    "f64": ("double", "f64", lambda i: (i - 100) / 7),
    "text": ("varchar", None, lambda i: f"tt{i}é"),
    "date": ("date", "date", lambda i: datetime.date(1960, 1, 1) + datetime.timedelta(days=31 * i)),
    "ts": ("timestamp", "timestamp", lambda i: EPOCH + datetime.timedelta(hours=i)),
    "uuid": ("uuid", "uuid", lambda i: uuid.UUID(int=i * 2**100 + 31)),
    "dec9": ("decimal(9,2)", "decimal(9,2)", lambda i: decimal.Decimal(i * 25 - 300) / 100),
    "dec18": ("decimal(18,2)", "decimal(18,2)", lambda i: decimal.Decimal(i * 10**12 + 5) / 100),
}


def arrow_types():
    types = {"small": pyarrow.uint8(), "i32": pyarrow.int32(), "i64": pyarrow.int64(),
             "u64": pyarrow.uint64(), "f64": pyarrow.float64(), "text": pyarrow.string(),
             "date": pyarrow.date32(), "ts": pyarrow.timestamp("us"), "uuid": pyarrow.binary(16),
             "dec9": pyarrow.decimal128(9, 2), "dec18": pyarrow.decimal128(18, 2)}
    return {name: types[name] for name in COLUMNS}


def table():
    """Each distinct value many times, so that DuckDB writes dictionaries, and with them filters."""
    columns = {}
    for name, kind in arrow_types().items():
        values = [COLUMNS[name][2](i % DISTINCT) for i in range(ROWS)]
        if name == "uuid":
            values = [value.bytes for value in values]
        columns[name] = pyarrow.array(values, kind)
    return pyarrow.table(columns)


class FilterFiles(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="filters-")
        self.addCleanup(shutil.rmtree, self.work)

    def path(self, *name):
        return os.path.join(self.work, *name)

    def glint(self, *arguments, stdin=b"", status=0):
        done = subprocess.run([GLINT, *arguments], input=stdin, capture_output=True, timeout=300,
                              check=False)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done.stdout.decode() if status == 0 else done.stderr.decode()

    def admitted(self, filters, values):
        """Those that the filter admits."""
        shown = ["".join(f"{value}\n" for value in values).encode()]
        lines = self.glint("filter", "query", filters, stdin=shown[0]).splitlines()
        return {value for value, line in zip(values, lines, strict=True) if line.endswith("\t0")}

    def check_column(self, file, name, probe):
        kind, id_type, value = COLUMNS[name]
        shutil.rmtree(self.path("in"), ignore_errors=True)
        self.glint("filter", "import", "--column", name, "--key", "0", file, "--output",
                   self.path("in"))
        shown = self.glint("filter", "info", "--json", self.path("in"))
        self.assertEqual(f'"id_type":"{id_type}"' in shown, id_type is not None, shown)
        members = sorted({value(i) for i in range(DISTINCT)})
        self.assertEqual(self.admitted(self.path("in"), members), set(members))
        others = sorted({value(i) for i in range(DISTINCT, 1200 if name == "text" else 4000)}
                        - set(members))
        found = self.admitted(self.path("in"), others)
        self.assertLess(len(found), len(others) // 8 + 1)
        if probe:  # DuckDB says of a row group that it does not have the value
            for other in others[:30] + members[:5]:
                excluded = duckdb.execute(
                    "select bool_and(bloom_filter_excludes) from parquet_bloom_probe(?, ?, "
                    f"?::{kind})", [file, name, other]).fetchall()[0][0]
                self.assertEqual(not excluded, other in found or other in members, (name, other))

    def check_same_bits(self, file, name):
        """glint's filter of the column's values, of the size of the one inside."""
        for directory in ("like", "bits", "more"):
            shutil.rmtree(self.path(directory), ignore_errors=True)
        self.glint("submit", "bloom-build", "-q", "--like", self.path("in"), "--key", "none",
                   "--id-column", name, file, self.path("like"))
        for filters, out in (("in", "bits"), ("like", "more")):
            self.glint("filter", "export", "--format", "parquet", self.path(filters), "--output",
                       self.path(out))
        with open(self.path("bits", "0.parquet"), "rb") as one, \
                open(self.path("more", "0.parquet"), "rb") as other:
            self.assertEqual(one.read(), other.read(), name)


class Filters(FilterFiles):
    def test_of_pyarrow(self):
        options = {name: {"ndv": 2 * DISTINCT, "fpp": 0.01} for name in COLUMNS}
        file = self.path("a.parquet")
        pyarrow.parquet.write_table(table(), file, bloom_filter_options=options,
                                    row_group_size=ROWS // 4, store_decimal_as_integer=True)
        for name in COLUMNS:
            with self.subTest(name=name):
                self.check_column(file, name, False)
                self.check_same_bits(file, name)

    def test_of_duckdb(self):
        rows = table()  # noqa: F841 (DuckDB reads it by its name)
        file = self.path("d.parquet")
        casts = ", ".join(f"{name}::{kind} as {name}" if name != "uuid" else
                          "cast(lower(hex(uuid)) as uuid) as uuid"
                          for name, (kind, _, _) in COLUMNS.items())
        duckdb.execute(f"copy (select {casts} from rows) to '{file}' "
                       f"(format parquet, row_group_size {ROWS // 2})")
        for name in COLUMNS:
            with self.subTest(name=name):
                self.check_column(file, name, True)
                self.check_same_bits(file, name)

    def test_of_glint(self):
        source, out = self.path("s.parquet"), self.path("out")
        pyarrow.parquet.write_table(table().select(["i64", "text"]), source)
        self.glint("submit", "filter-rows", "-q", "--with", self.any_filter(), "--drop",
                   "--output-format", "parquet", "--bloom-filter", "i64,text", source, out)
        parts = [os.path.join(out, part) for part in sorted(os.listdir(out)) if part[0] == "p"]
        for name in ("i64", "text"):
            with self.subTest(name=name):
                self.check_column(parts[0], name, False)

    def any_filter(self):
        with open(self.path("none"), "w", encoding="utf-8") as file:
            file.write("none of the ids\n")
        self.glint("submit", "union", "-q", "--p", "0.0001", self.path("none"), self.path("any"))
        return self.path("any")

    def test_note_of_ids_with_several_texts(self):
        """Ids without --id-type are texts; a warning says so where a value has more than one."""
        path, counts, filters = self.path("in.parquet"), self.path("counts"), self.path("filters")
        pyarrow.parquet.write_table(table().slice(0, 100), path)
        build = ["submit", "bloom-build", "--key", "none", "0.01", path, counts, filters]
        self.glint("submit", "count-keys", "-q", "--key", "none", path, counts)
        for name in COLUMNS:
            difference = {"f64": "5.0 is another id than 5", "dec9": "1.50 is another id than 1.5",
                          "dec18": "1.50 is another id than 1.5", "uuid": "its 16 bytes",
                          "ts": "2026-01-31 12:00:00"}.get(name)
            column = ["--id-column", name]
            jobs = [[*build, *column, "--overwrite"],
                    ["submit", "filter-rows", "--with", filters, *column, "--bad-rows", "skip",
                     "--output-format", "csv", path, self.path(f"kept-{name}")],
                    ["submit", "bloom-test", "--key", "none", *column, "0.01", path, filters,
                     counts, self.path(f"tested-{name}")]]
            for job in jobs:
                with self.subTest(name=name, job=job[1]):
                    done = subprocess.run([GLINT, *job], capture_output=True, timeout=120,
                                          check=True)
                    noted = f"warning: ids are the texts of the column {name}: ".encode()
                    self.assertEqual(difference is not None, noted in done.stderr, done.stderr)
                    self.assertIn((difference or "").encode(), done.stderr)
        done = subprocess.run([GLINT, *build, "--overwrite", "--id-column", "f64", "--id-type",
                               "text"], capture_output=True, timeout=120, check=True)
        self.assertNotIn(b"ids are the texts", done.stderr)

    def test_row_groups(self):
        rows = table().select(["i64"]).slice(0, 1100)
        file = self.path("uneven.parquet")
        pyarrow.parquet.write_table(
            rows, file, row_group_size=1050,
            bloom_filter_options={"i64": {"ndv": DISTINCT, "fpp": 0.01}})
        into = ("filter", "import", "--output", self.path("o"), "--column", "i64", file)
        members = [COLUMNS["i64"][2](i % DISTINCT) for i in range(1100)]
        others = [COLUMNS["i64"][2](i) for i in range(DISTINCT, 20 * DISTINCT)]
        alone = []
        for number, rows in ((0, members[:1050]), (1, members[1050:])):
            self.glint(*into, "--row-group", str(number), "--key", "0")
            self.assertEqual(self.admitted(self.path("o"), rows), set(rows))
            alone.append(self.admitted(self.path("o"), others))
            shutil.rmtree(self.path("o"))
        lines = self.glint("filter", "info", "--column", "1", file).splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["KEY", "0", "1"])
        sizes = [int(line.split()[2]) for line in lines[1:]]
        self.assertNotEqual(*sizes)
        self.glint(*into, "--key", "0")
        shown = self.glint("filter", "info", self.path("o")).splitlines()
        self.assertEqual(int(shown[1].split()[2]), max(sizes))
        self.assertEqual(self.admitted(self.path("o"), members), set(members))
        united = self.admitted(self.path("o"), others)
        self.assertLessEqual(alone[0] | alone[1], united)
        self.assertLess(len(united), len(others) / 10)
        for arguments, status, text in (
                (("--row-group", "2"), 64, "has 2 row groups"),
                (("--row-group", "-1"), 64, "it must be a whole number from 0 on"),
                (("--id-type", "i32"), 64, "does not store ids of the type i32"),
                (("--format", "guava"), 64, "--column is for --format parquet")):
            self.assertIn(text, self.glint("filter", "import", "--output", self.path("x"),
                                           "--column", "i64", *arguments, file, status=status))
        self.assertIn("none of them is named so", self.glint(
            "filter", "info", "--column", "id", file, status=64))
        self.assertIn("name a column with --column", self.glint(
            "filter", "import", "--output", self.path("x"), file, status=65))

    def test_columns_that_cannot_be_asked(self):
        file = self.path("a.parquet")
        rows = pyarrow.table({"f32": pyarrow.array([1.5], pyarrow.float32()),
                              "ms": pyarrow.array([1], pyarrow.timestamp("ms")),
                              "dec": pyarrow.array([decimal.Decimal("1.50")],
                                                   pyarrow.decimal128(18, 2)),
                              "none": pyarrow.array([1])})
        pyarrow.parquet.write_table(
            rows, file, bloom_filter_options={name: {"ndv": 10, "fpp": 0.01}
                                              for name in ("f32", "ms", "dec")})
        for name, text in (("f32", "has the type f of Arrow"), ("ms", "has the type tsm: of Arrow"),
                           ("dec", "does not store ids of the type decimal(18,2)"),
                           ("none", "row group 0 has no Bloom filter of column none")):
            self.assertIn(text, self.glint("filter", "info", "--column", name, file,
                                           status=65 if name == "none" else 64))

    def test_types_with_another_unit_or_scale(self):
        """Hashed as stored, an id would be another number: no filter would have it."""
        file = self.path("a.parquet")
        rows = pyarrow.table({
            "ms": pyarrow.array([1], pyarrow.timestamp("ms")),
            "ns": pyarrow.array([1000], pyarrow.timestamp("ns")),
            "dec": pyarrow.array([decimal.Decimal("1.50")], pyarrow.decimal128(9, 2)),
            "i8": pyarrow.array([1], pyarrow.int8()),
            "time": pyarrow.array([1], pyarrow.time64("us"))})
        pyarrow.parquet.write_table(
            rows, file, store_decimal_as_integer=True, bloom_filter_options={
                name: {"ndv": 10, "fpp": 0.01} for name in rows.column_names})
        for name, kind in (("ms", "timestamp"), ("ns", "timestamp"), ("dec", "decimal(9,4)"),
                           ("i8", "date"), ("time", "timestamp"), ("time", "i64")):
            with self.subTest(name=name, kind=kind):
                self.assertIn(f"does not store ids of the type {kind}", self.glint(
                    "filter", "import", "--output", self.path("o"), "--column", name,
                    "--id-type", kind, file, status=64))
        self.glint("filter", "import", "--output", self.path("o"), "--column", "dec",
                   "--id-type", "decimal(9,2)", "--key", "0", file)

    def test_damage(self):
        """A flipped bit of the header, or of where it is, is an error or another filter; never a
        crash."""
        file = self.path("a.parquet")
        pyarrow.parquet.write_table(table().select(["i64"]), file,
                                    bloom_filter_options={"i64": {"ndv": 1000, "fpp": 0.01}})
        where = pyarrow.parquet.ParquetFile(file).metadata.row_group(0).column(0)
        with open(file, "rb") as opened:
            data = bytearray(opened.read())
        start = data.index(b"\x1c\x1c\x00\x00\x1c\x1c\x00\x00\x1c\x1c\x00\x00\x00") - 3
        self.assertGreater(start, where.data_page_offset)
        for at in range(start, start + 16):
            damaged = bytearray(data)
            damaged[at] ^= 8
            with open(self.path("damaged.parquet"), "wb") as out:
                out.write(damaged)
            done = subprocess.run([GLINT, "filter", "info", "--column", "i64",
                                   self.path("damaged.parquet")], capture_output=True, check=False)
            self.assertIn(done.returncode, (0, 65), (at, done.stderr))
