"""The figures that the papers state, and which of them the report shows.

published.tsv has one figure per line: paper, place in the paper, row, column, value, unit. sources.tsv
describes each paper. An experiment looks up a figure by paper, place, row and column and puts it into a table,
so each figure is typed once. A text that quotes a paper may only contain numbers that published.tsv has.
"""
import csv
import os
import re
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
# Numbers of a paper's parts ("table 2") and names of papers ("s0") are not figures.
PLACES = re.compile(r"\b(?:figures?|tables?|sections?|listings?|chapters?|parts?|stages?|solutions?|algorithms?|formulas?)"
                    r"\s+\d+(?:\.\d+)*(?:(?:,| and| to| or)\s+\d+(?:\.\d+)*)*|\bs[0-4]\b", re.IGNORECASE)


class Missing(Exception):
    """A figure that no paper states, or a quotation with a number that the paper does not have."""


@dataclass(frozen=True)
class Figure:
    """One published figure. A table shows it as printed in the paper, except that integers get thousands separators."""
    paper: str
    where: str
    row: str
    column: str
    value: str
    unit: str

    @property
    def number(self):
        """The value as a float, or None if it is a formula or a word."""
        try:
            return float(self.value)
        except ValueError:
            return None

    @property
    def grouped(self):
        return f"{int(self.value):,}" if self.value.isdigit() else self.value

    def __str__(self):
        return self.value


@dataclass(frozen=True)
class Source:
    paper: str
    authors: str
    title: str
    institution: str
    year: str
    kind: str


def rows_of(name, directory=HERE):
    with open(os.path.join(directory, name), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def numbers_in(text):
    """Returns the numbers in a text, except the numbers of figures, tables and sections."""
    return [float(found.replace(",", "")) for found in NUMBER.findall(PLACES.sub(" ", text))]


class Published:
    def __init__(self, directory=HERE):
        self.figures = [Figure(**row) for row in rows_of("published.tsv", directory)]
        self.sources = {row["paper"]: Source(**row) for row in rows_of("sources.tsv", directory)}
        if len(set(self.figures)) != len(self.figures):
            raise Missing("published.tsv has a figure twice")
        self.shown = {}  # figure -> the first experiment with a table that shows it

    def figure(self, paper, where, row="", column=""):
        found = [f for f in self.figures if (f.paper, f.where, f.row, f.column) == (paper, where, row, column)]
        if len(found) != 1:
            raise Missing(f"published.tsv has {len(found)} figures {(paper, where, row, column)}")
        return found[0]

    def of(self, paper, where, row=None):
        """Returns all figures of one place in a paper, or of one row of it, in the order of the file."""
        found = [f for f in self.figures if (f.paper, f.where) == (paper, where) and row in (None, f.row)]
        if not found:
            raise Missing(f"published.tsv has no figures {(paper, where, row)}")
        return found

    def check_quotation(self, paper, text):
        """Raises Missing if the text has a number that published.tsv does not have for that paper."""
        known = {number for f in self.figures if f.paper == paper
                 for field in (f.where, f.row, f.column, f.value, f.unit) for number in numbers_in(field)}
        unknown = [number for number in numbers_in(text) if number not in known]
        if paper not in self.sources:
            raise Missing(f"sources.tsv has no paper {paper}")
        if unknown:
            raise Missing(f"quoted from {paper}, but not in published.tsv: "
                          f"{', '.join(f'{number:g}' for number in unknown)}\n{text}")

    def show(self, figure, experiment):
        self.shown.setdefault(figure, experiment)

    def not_shown(self):
        return [figure for figure in self.figures if figure not in self.shown]
