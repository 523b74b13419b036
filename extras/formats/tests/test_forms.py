"""Every job that saves rows, in every form of input and output: rows of a model, or an error. The
files of an input have their columns in other orders, more of them, or fewer."""

import concurrent.futures
import itertools
import json

import command
import pyarrow
import pyarrow.parquet

import test_random_text

INPUTS = ("csv", "csv plain", "tsv", "text", "text plain", "jsonl", "parquet", "arrow")
OUTPUTS = ("", "csv", "tsv", "jsonl", "parquet", "arrow")
OPTIONS = {"csv": ["--csv", "--header"], "csv plain": ["--csv"],
           "tsv": ["--csv", "--header", "--delimiter", "\\t"], "text": ["--header"],
           "text plain": [], "jsonl": ["--json-lines"], "parquet": [], "arrow": []}
FILES = {"one": [[{"id": "1", "a": "x"}, {"id": "2", "a": None}, {"id": "3", "a": 'q,"\u00c4'}]],
         "several": [[{"id": "1", "a": "x"}], [{"a": None, "id": "2"}],
                     [{"more": "m", "a": "\\N", "id": "3"}], [{"id": "4"}]]}
# The rows that they keep, each by its id.
JOBS = {"sort": (["sort", "--by", "id"], lambda _: True),
        "sort lines": (["sort"], lambda _: True),
        "top": (["top", "9", "--by", "id"], lambda _: True),
        "top per": (["top", "1", "--per", "id", "--by", "id"], lambda _: True),
        "dedup": (["dedup", "--by", "id"], lambda _: True),
        "distinct": (["distinct"], lambda _: True),
        "sample": (["sample", "--fraction", "1"], lambda _: True),
        "select": (["select"], lambda _: True),
        "select *": (["select", "--columns", "*"], lambda _: True),
        "select where": (["select", "--where", "id = 2"], lambda row: row["id"] == "2"),
        "grep": (["grep", "2"], lambda row: row["id"] == "2"),
        "grep column": (["grep", "--column", "id", "2"], lambda row: row["id"] == "2"),
        "join": (["join", "--key-column", "id"], lambda _: True)}


def names_of(files):
    names = {}
    for rows in files:
        names |= dict.fromkeys(rows[0])
    return list(names)


def form_of(form):
    return form.split()[0]


class Forms(command.Command):
    def write(self, form, kind, files):
        """An input; of plain text the columns have places instead of names."""
        paths = []
        for number, rows in enumerate(files):
            names = list(rows[0])
            if form.endswith("plain"):
                names = [name for name in names_of(files) if name in names]
            path = self.path(f"{kind}-{number}.{form.replace(' ', '-')}")
            paths.append(path)
            if form in ("parquet", "arrow"):
                made = pyarrow.table({name: pyarrow.array([row[name] for row in rows],
                                                          pyarrow.string()) for name in names})
                if form == "parquet":
                    pyarrow.parquet.write_table(made, path)
                else:
                    with pyarrow.ipc.new_file(path, made.schema) as file:
                        file.write_table(made)
                continue
            with open(path, "w", encoding="utf-8", newline="") as file:
                if form == "jsonl":
                    file.writelines(json.dumps(row) + "\n" for row in rows)
                    continue
                mark = test_random_text.MARKS[form_of(form)]
                if not form.endswith("plain"):
                    file.write(mark.join(names) + "\n")
                for row in rows:
                    file.write(mark.join(self.field(row[name], form) for name in names) + "\n")
        return ",".join(paths)

    @staticmethod
    def field(value, form):
        if value is None:
            return "\\N"
        special = any(c in value for c in ',\t"') or value == "\\N"
        if not special or form_of(form) == "text":
            return value
        return '"' + value.replace('"', '""') + '"'

    def read(self, out, form, output):
        """The rows of the output, as a list of values or, of JSON, a dict."""
        rows = []
        for part in self.parts(out):
            if output in ("parquet", "arrow"):
                made = (pyarrow.parquet.ParquetFile(part).read() if output == "parquet"
                        else pyarrow.ipc.open_file(part).read_all())
                rows += made.to_pylist()
                continue
            with open(part, encoding="utf-8", newline="") as file:
                text = file.read()
            if output == "jsonl":
                rows += [json.loads(line) for line in text.splitlines()]
            elif output == "text":
                rows += [[None if value == "\\N" else value for value in line.split("\t")]
                         for line in text.splitlines()]
            else:
                mark = "," if output == "csv" and form != "tsv" else "\t"
                rows += test_random_text.split_csv(text, mark)
        return rows

    @staticmethod
    def refused(form, job, output, kind):
        """What is no output of such an input: each is an error."""
        named = form in ("csv", "tsv", "parquet", "arrow")
        if form in ("parquet", "arrow"):
            return job in ("grep",)
        if form == "jsonl":
            if job == "join":
                return output != ""
            return job == "select *" or output not in ("", "jsonl")
        if output == "":
            return False
        if form.startswith("text"):
            return True
        if job == "grep" and kind != "one" and output != "csv" and form != "csv plain":
            return True
        if job == "join" and not named:
            return output != "csv"
        return not named and output in ("jsonl", "parquet", "arrow")

    def check(self, cell):
        """None, or what is wrong."""
        form, kind, job, output = cell
        out = self.path(" ".join(cell).replace("*", "star"))
        arguments, keeps = JOBS[job]
        if form.endswith("plain"):
            arguments = [{"id": "1", "id = 2": "$1 = 2"}.get(word, word) for word in arguments]
        options = list(OPTIONS[form])
        if job == "join" and "--delimiter" in options:
            at = options.index("--delimiter")
            options[at:] = ["--left-delimiter", "\\t", "--right-delimiter", "\\t"]
        if output:
            options += ["--output-format", output]
        inputs = [self.inputs[form, kind]] * (2 if job == "join" else 1)
        refused = self.refused(form, job, output, kind)
        try:
            _, message = self.run_glint(*arguments, *options, *inputs, out,
                                        code=64 if refused else 0)
        except AssertionError as error:
            return str(error)
        if refused:
            return None if "error[E01" in message else message
        written = output or {"csv plain": "csv", "text plain": "text"}.get(form, form)
        found = sorted(self.read(out, form, written), key=repr)
        rows = [row for rows in FILES[kind] for row in rows if keeps(row)]
        model = self.model(form, job, written, kind, names_of(FILES[kind]), rows)
        return None if found == sorted(model, key=repr) else f"{found} is not {model}"

    @staticmethod
    def model(form, job, written, kind, names, rows):
        """Rows whose columns have no names stay as they are; so do lines of JSON."""
        if form == "jsonl":
            return [[row, row] for row in rows] if job == "join" else rows
        as_they_are = (form.endswith("plain") or (job == "grep" and written in ("csv", "tsv"))
                       or (form == "text" and job in ("sort lines", "distinct", "sample", "grep",
                                                      "select", "select *")))
        made = []
        for row in rows:
            own = [name for name in names if name in row] if form.endswith("plain") else list(row)
            if not as_they_are:
                own = names
            values = [row.get(name) for name in own]
            if form == "text" and not as_they_are:
                values = [row.get(name) for name in names_of([[FILES[kind][0][0]]])]
                values += [row[name] for name in row if name not in FILES[kind][0][0]]
            if form.startswith("text"):  # has no quotes: the text is null
                values = [None if value == "\\N" else value for value in values]
            pair = job == "join"
            if written in ("jsonl", "parquet", "arrow"):
                right = dict(zip([f"{name}_right" for name in own], values)) if pair else {}
                made.append(dict(zip(own, values)) | right)
            else:
                made.append(values * 2 if pair else values)
        return made

    def test_every_form(self):
        cells = []
        self.inputs = {(form, kind): self.write(form, kind, files)
                       for form in INPUTS for kind, files in FILES.items()}
        for form, kind, job, output in itertools.product(INPUTS, FILES, JOBS, OUTPUTS):
            if kind == "one" or not form.endswith("plain"):  # which has no names to match
                cells.append((form, kind, job, output))
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for cell, problem in zip(cells, pool.map(self.check, cells)):
                with self.subTest(cell=cell):
                    self.assertIsNone(problem)
