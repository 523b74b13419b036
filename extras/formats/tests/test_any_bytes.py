"""Values with the bytes by which rows are separated inside, from each form into each form."""

import csv
import io
import json
import os
import random
import urllib.parse

import pyarrow
import pyarrow.ipc
import pyarrow.parquet

from command import Command

BYTES = (b"\x1f", b"\x1d", b"\x1e", b"\x1c", b"\x1d=", b"\x1d?", b"a", b"=", b" ", b"\n", b'"',
         b",", b"\0", b"\xc3\xa9")
SCHEMA = pyarrow.schema([("u", pyarrow.binary(16)), ("s", pyarrow.string()),
                         ("b", pyarrow.binary()), ("n", pyarrow.int64())])
EDGES = ("\x1f", "\x1f\x1f", "\x1d", "\x1d\x1f", "\x1da", "a\x1d", "a\x1fb", "\x1e{}\x1f", "",
         "\x1d=")


def text(rng):
    return "".join(rng.choice(BYTES).decode() for _ in range(rng.randrange(4)))


def random_rows(rng, count):
    """Rows of a UUID's bytes, a text, bytes and a number, which is that of the row."""
    rows = []
    for number in range(count):
        s = rng.choice(EDGES) if rng.randrange(2) else text(rng)
        b = b"".join(rng.choice((bytes([rng.randrange(256)]), rng.choice(BYTES)))
                     for _ in range(rng.randrange(5)))
        rows.append({"u": rng.randbytes(16), "s": None if rng.randrange(9) == 0 else s, "b": b,
                     "n": number})
    return rows


class AnyBytes(Command):
    def setUp(self):
        super().setUp()
        seed = int(os.environ.get("GLINT_SEED", "43"))
        self.rows = random_rows(random.Random(seed), 400)
        table = pyarrow.Table.from_pylist(self.rows, SCHEMA)
        pyarrow.parquet.write_table(table, self.path("rows.parquet"), row_group_size=150)
        pyarrow.parquet.write_table(table, self.path("plain.parquet"), use_dictionary=False)
        with pyarrow.ipc.new_file(self.path("rows.arrow"), SCHEMA) as file:
            file.write_table(table)

    def job(self, *arguments):
        """The rows of a job with an output in Parquet."""
        self.run_glint(*arguments[:1], "--binary-files", "text", *arguments[1:], self.path("out"))
        return self.table("out").to_pylist()

    def test_jobs_keep_the_bytes(self):
        for name in "rows.parquet", "plain.parquet", "rows.arrow":
            form, path = ("--output-format", "parquet"), self.path(name)
            for job in (["select"], ["select", "--columns", "*"],
                        ["select", "--columns", "u,s,b,n"], ["sample", "--fraction", "1"],
                        ["sort", "--by", "n:n"]):
                self.assertEqual(self.job(*job, *form, path), self.rows, job)
            for column in "usb":
                found = self.job("sort", "--by", column, *form, path)
                self.assertEqual(found, sorted(self.rows, key=lambda row, c=column: (
                    row[c] is not None, row[c] if c != "s" else (row[c] or "").encode(),
                    row["n"])))
                found = self.job("dedup", "--by", column, *form, path)
                self.assertEqual({row[column] for row in found},
                                 {row[column] for row in self.rows})
            self.assertEqual(sorted(row["n"] for row in self.job("distinct", *form, path)),
                             list(range(400)))
            found = self.job("top", "7", "--by", "u", *form, path)
            self.assertEqual([row["u"] for row in found],
                             sorted((row["u"] for row in self.rows), reverse=True)[:7])
            for value in EDGES:
                found = self.job("select", "--where", f"s = '{value}'", *form, path)
                self.assertEqual(found, [row for row in self.rows if row["s"] == value])
                found = self.job("grep", value or "x", "--column", "s", *form, path)
                self.assertEqual(found, [row for row in self.rows
                                         if row["s"] is not None and (value or "x") in row["s"]])
            found = self.job("agg", "--by", "s,b", "--count", "--min", "u", "--first", "u", *form,
                             path)
            groups = {}
            for row in self.rows:
                groups.setdefault((row["s"], row["b"]), []).append(row["u"])
            self.assertEqual({(row["s"], row["b"]): (row["count"], row["min_text(u)"],
                                                     row["first(u)"]) for row in found},
                             {key: (len(us), min(us), us[0]) for key, us in groups.items()})
            found = self.job("agg", "--by", "s", "--sum", "n", *form, path)
            sums = {}
            for row in self.rows:
                sums[row["s"]] = sums.get(row["s"], 0) + row["n"]
            self.assertEqual({row["s"]: row["sum(n)"] for row in found}, sums)

    def test_joins_find_the_keys(self):
        left, right = self.path("rows.parquet"), self.path("plain.parquet")
        with open(self.path("keys.tsv"), "wb") as file:
            kept = sorted({row["s"] for row in self.rows if row["s"] and "\n" not in row["s"]})
            file.write(b"".join(key.encode() + b"\n" for key in kept[::2]))
        for method in "shuffle", "broadcast", "bloom":
            for columns in ("s",), ("s", "b"), ("u",):
                found = self.job("join", "--method", method, "--key-column", ",".join(columns),
                                 left, right)
                expected = sorted((a["n"], b["n"]) for a in self.rows for b in self.rows
                                  if all(a[c] == b[c] and a[c] is not None for c in columns))
                self.assertEqual(sorted((row["n"], row["n_right"]) for row in found), expected)
                for row in found:
                    self.assertEqual({c: row[c] for c in SCHEMA.names}, self.rows[row["n"]])
            found = self.job("join", "--type", "semi", "--method", method, "--left-key-column", "s",
                             "--right-key-column", "1", "--output-format", "parquet", left,
                             self.path("keys.tsv"))
            self.assertEqual(sorted(row["n"] for row in found),
                             [row["n"] for row in self.rows if row["s"] in kept[::2]])

    def test_forms_are_converted(self):
        texts = [{"s": row["s"], "n": row["n"]} for row in self.rows]
        self.run_glint("select", "--columns", "s,n", self.path("rows.parquet"), self.path("texts"))
        for form, options in (("csv", ("--csv", "--header")), ("jsonl", ("--json-lines",)),
                              ("tsv", ("--csv", "--header", "--delimiter", r"\t"))):
            header = ("--output-header",) if form != "jsonl" else ()
            self.run_glint("select", "--columns", "s,n", *header, "--output-format", form,
                           self.path("texts"), self.path("out"))
            data = self.output("out")
            if form == "jsonl":
                self.assertEqual([json.loads(line) for line in data.splitlines()], texts)
            else:
                lines = csv.reader(io.StringIO(data.replace(b"\0", b"%00").decode(), newline=""),
                                   delimiter="," if form == "csv" else "\t")
                self.assertEqual(list(lines)[1:], [
                    ["\\N" if row["s"] is None else row["s"].replace("\0", "%00"), str(row["n"])]
                    for row in texts])
            os.rename(self.parts("out")[0], self.path(form))
            found = self.job("select", *options, "--columns", "s,n", "--output-format", "parquet",
                             self.path(form))
            self.assertEqual([{"s": row["s"], "n": int(row["n"])} for row in found], texts, form)
            found = self.job("agg", *options, "--by", "s", "--count", "--max", "n",
                             "--output-format", "parquet", self.path(form))
            counts = {}
            for row in texts:
                counts[row["s"]] = counts.get(row["s"], 0) + 1
            self.assertEqual({row["s"]: int(row["count"]) for row in found}, counts, form)

    def test_names_of_columns(self):
        """A name with one of the bytes is an error, wherever it comes from, or stays what it is."""
        for byte in "\x1d\x1e\x1f":
            name = f"a{byte}b"
            table = pyarrow.table({"k": ["x", "y"], name: [1, 2]})
            pyarrow.parquet.write_table(table, self.path("in.parquet"))
            with pyarrow.ipc.new_file(self.path("in.arrow"), table.schema) as writer:
                writer.write_table(table)
            os.makedirs(self.path(f"hive/a%{ord(byte):02X}b=1"))
            pyarrow.parquet.write_table(table.select(["k"]),
                                        self.path(f"hive/a%{ord(byte):02X}b=1/f"))
            for path in ("in.parquet", "in.arrow", f"hive/a%{ord(byte):02X}b=1/f"):
                _, error = self.run_glint("select", self.path(path), self.path("out"), code=65)
                self.assertIn(f"has the byte 0x{ord(byte):02x}", error)
            with open(self.path("in.csv"), "w", encoding="utf-8") as file:
                file.write(f'k,"{name}"\nx,1\ny,2\n')
            for job in (["select"], ["agg", "--count"], ["sort", "--by", "k"],
                        ["select", "--columns", "$2 AS n", "--output-format", "jsonl"]):
                _, error = self.run_glint(*job, "--csv", "--header", self.path("in.csv"),
                                          self.path("out"), code=65)
                self.assertIn("the header: a field contains one of the bytes", error)
            with open(self.path("in.jsonl"), "w", encoding="utf-8") as file:
                file.write("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
            job = ["agg", "--json-lines", "--by", "k", "--sum", name, "--bad-rows", "skip"]
            for form in ("parquet", "jsonl"):
                _, error = self.run_glint(*job, "--output-format", form, self.path("in.jsonl"),
                                          self.path("out"), code=64)
                self.assertIn("a name in OUTPUT contains one of the bytes", error)
            self.run_glint(*job, self.path("in.jsonl"), self.path("out"))
            self.assertEqual(sorted(self.output("out").splitlines()), [b"x,1", b"y,2"])
            nested = pyarrow.table({"s": [{name: 5}]})
            pyarrow.parquet.write_table(nested, self.path("nested"))
            self.run_glint("select", "--where", "s IS NOT NULL", self.path("nested"),
                           self.path("out"))
            self.assertTrue(self.table("out").equals(nested))
            _, error = self.run_glint("agg", "--sum", f"s.{name}", self.path("nested"),
                                      self.path("out"), code=64)
            self.assertIn("a name in OUTPUT contains one of the bytes", error)

    def test_directories_of_values(self):
        self.run_glint("select", "--columns", "s,n", "--partition-by", "s",
                       self.path("rows.parquet"), self.path("dirs"))
        names = {urllib.parse.unquote(name[2:]) for name in os.listdir(self.path("dirs"))
                 if name.startswith("s=")}
        # An empty text cannot be told from null there.
        self.assertEqual(names - {"__HIVE_DEFAULT_PARTITION__", ""},
                         {row["s"] for row in self.rows} - {None, ""})
