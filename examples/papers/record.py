"""Records what an experiment shows: texts, tables, plots, checks and claims, in the order of the page.

report.py writes the page from it. A table with published figures (lab.paper) must also say why they differ
from the measured ones.
"""
import contextlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field

from published import Figure, Missing, Published

COLORS = ("#3366aa", "#cc5533", "#559944", "#8855aa", "#997700", "#338899", "#aa3377", "#666666")
PAPER_COLOR = "#222222"  # of published figures, in every plot
TEXT_PX = 15             # of all text in plots; the same as on the page
PANEL_PX = (368, 300)    # width: fits a window of 400 px; height: without title and legend
LINE_PX = 19             # of a line of text in title and legend


class Failure(Exception):
    """An error that ends the run."""


@dataclass
class Section:
    name: str
    title: str
    items: list = field(default_factory=list)  # (kind, ...), in the order of the page


@dataclass
class Claim:
    """A claim of a paper, and the measurement. `holds` is None if they cannot be compared."""
    paper: str
    where: str
    statement: str
    measured: str
    holds: bool | None
    why: str
    section: str


class Record:
    def __init__(self, out):
        self.out = out
        self.published = Published()
        self.sections, self.claims, self.current = [], [], None
        os.makedirs(out, exist_ok=True)

    @contextlib.contextmanager
    def experiment(self, name, title):
        self.current = Section(name, title)
        shutil.rmtree(os.path.join(self.out, name), ignore_errors=True)
        os.makedirs(os.path.join(self.out, name))
        yield
        self.sections.append(self.current)
        self.current = None

    def _add(self, kind, *what):
        self.current.items.append((kind, *what))

    # ---- What the papers say

    def paper(self, paper, where, row="", column=""):
        """Returns a published figure, for a table."""
        return self.published.figure(paper, where, row, column)

    def found(self, paper, text):
        """Adds what the paper found, in a few sentences. All their numbers must be in published.tsv."""
        self.published.check_quotation(paper, text)
        self._add("found", paper, text)

    def claim(self, paper, where, statement, measured, holds, why=""):
        """Adds a row to the page's first table. `why` is required if the claim does not hold or is not comparable, and is
        not shown if it holds."""
        self.published.check_quotation(paper, statement)
        if not holds and not why:
            raise Missing(f"a claim that does not hold, or is not comparable, needs a reason: {statement}")
        holds = None if holds is None else bool(holds)
        self.claims.append(Claim(paper, where, statement, measured, holds, "" if holds else why, self.current.name))

    # ---- What we say

    def measured(self, text):
        self._add("text", "What we measured", text)

    def read(self, text):
        self._add("text", "How to read it", text)

    def command(self, text):
        """Adds the commands that repeat the experiment without this runner."""
        self._add("command", text)

    def check(self, good, text):
        """Adds a claim of the report itself. The run fails if it does not hold."""
        self._add("check", bool(good), text)

    def checked(self):
        checks = [item[1] for section in self.sections for item in section.items if item[0] == "check"]
        return sum(checks), len(checks) - sum(checks)

    # ---- Tables and plots

    def table(self, name, columns, rows, caption="", shown=None, why=None, fold=False):
        """Writes a TSV file and adds it to the page, or only its first `shown` rows (0: none). `why` says why the
        measured figures differ from the published ones. `fold` is the title under which the page hides the table
        until the reader opens it. Returns the path of the file."""
        rows = [list(row) for row in rows]
        path = os.path.join(self.out, self.current.name, f"{name}.tsv")
        with open(path, "w", encoding="utf-8") as file:
            for row in [columns, *rows]:
                file.write("\t".join(map(text_of, row)) + "\n")
        if shown == 0:
            return path
        figures = [cell for row in rows[:shown] for cell in row if isinstance(cell, Figure)]
        if figures and why is None:
            raise Missing(f"the table {name} has published figures but no reason (why) for differences")
        for figure in figures:
            self.published.show(figure, self.current.name)
        self._add("table", columns, rows[:shown], len(rows), caption, os.path.relpath(path, self.out), why, fold)
        return path

    def plot(self, name, script, caption):
        """Adds a figure with one panel."""
        self.panels(name, [script], caption)

    def panels(self, name, scripts, caption):
        """Adds a figure with one gnuplot SVG per script, side by side if the page is wide enough. Each script sets its
        axes and plots. Lines 1, 2, ... have COLORS; the legend is above the data."""
        paths = [self._draw(f"{name}-{i}" if len(scripts) > 1 else name, script)
                 for i, script in enumerate(scripts, 1)]
        self._add("plot", paths, caption)

    def drawing(self, path, caption):
        """Adds an existing SVG."""
        self._add("plot", [path], caption)

    def _draw(self, name, script):
        path = os.path.join(self.out, self.current.name, f"{name}.svg")
        unique = f"{self.current.name}_{name}".replace("-", "_")  # prefix of the ids inside the SVG
        width, height = PANEL_PX
        height += LINE_PX * len(re.findall(r"\btitle '", script))  # of the plot, and of each legend entry
        styles = "\n".join(f"set linetype {i} lc rgb '{color}' lw 2 pt 7 ps 0.6"
                           for i, color in enumerate(COLORS, 1))
        program = (f"set terminal svg size {width},{height} fixed noenhanced font 'sans-serif,{TEXT_PX}' "
                   f"name '{unique}'\nset output {quoted(path)}\nset encoding utf8\n"
                   f"set datafile separator '\\t'\nset datafile commentschars ''\n{styles}\n"
                   f"set style line 10 lc rgb '{PAPER_COLOR}' lw 2 pt 4 ps 0.8 dt 2\n"
                   "set border 3 lc rgb '#555555'\nset tics nomirror\nset lmargin 10\nset rmargin 3\n"
                   "set grid lc rgb '#dddddd' lw 1 dt 1\nset pointintervalbox 0\n"
                   "set key tmargin left vertical maxcols 1 Left reverse samplen 2\n"
                   f"{script}\n")
        done = subprocess.run(["gnuplot", "-"], input=program, capture_output=True, text=True, check=False)
        if done.returncode != 0 or done.stderr.strip():
            raise Failure(f"gnuplot, plot {self.current.name}/{name}:\n{done.stderr}\n{program}")
        return path


def text_of(value):
    """Returns the text of a TSV cell: floats with six significant digits, tabs replaced by spaces."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value).replace("\t", " ")


def quoted(path):
    """Quotes a path for gnuplot."""
    return "'" + path.replace("'", "''") + "'"
