"""Two builds of glint in turn, for --against: the rows' own commands, each run by both builds."""

import statistics
from dataclasses import dataclass

import harness

WORSE = 1.03  # the median of the pairs: time over that of the other build


@dataclass
class Pair:
    """The runs of one side of a row; runs with the same index were made one after the other."""
    row: str
    side: str
    ours: harness.Samples
    other: harness.Samples

    @property
    def ratios(self):
        return [a.seconds / b.seconds for a, b in zip(self.ours.runs, self.other.runs)]

    @property
    def ratio(self):
        return statistics.median(self.ratios)

    @property
    def worse(self):
        return self.ratio > WORSE


class Pairs(harness.Bench):
    """Runs a row as Bench does, its hand-written side once and its peers not at all. Each side that
    glint runs is timed with both builds, and the build that runs first alternates."""

    def __init__(self, directory, glint, sizes, other):
        super().__init__(directory, glint, sizes)
        self.with_peers = False
        self.pairs = []
        self._other = other
        self._other_runs = False  # now
        self._ran_glint = False   # since it was set to False
        self._row = None

    def run(self, work):
        self._row = work.name
        work.run(self)

    def measure(self, *commands, cpus):
        self._ran_glint |= any(map(self._is_glint, commands))
        if self._other_runs:
            commands = [self._by_other(command) for command in commands]
        return super().measure(*commands, cpus=cpus)

    def _by_other(self, command):
        if not self._is_glint(command):
            return command
        program = self._other
        if command[0] in self._made:
            program = self.program_of(command[0].name, self._other, "other")
        return [str(program), *command[1:]]

    def _run_other(self, run):
        self._other_runs = True
        try:
            return run()
        finally:
            self._other_runs = False

    def alternate(self, sides, times=1):
        samples = {}
        for name, run in sides.items():
            self._ran_glint = False
            samples[name] = harness.Samples([run()])
            if self._ran_glint:
                self.pairs.append(self._timed(name, run, self.runs * times))
        return samples

    def _timed(self, side, run, count):
        pair = Pair(self._row, side, harness.Samples(), harness.Samples())
        self._run_other(run)  # the warm-up; that of our build has just run
        for i in range(count):
            turns = [lambda: pair.ours.runs.append(run()),
                     lambda: pair.other.runs.append(self._run_other(run))]
            for turn in turns if i % 2 == 0 else reversed(turns):
                turn()
        return pair


def print_table(pairs):
    """Returns whether a row is worse."""
    rows = [("row", "side", "glint", "other", "ratio", "least", "most", "peaks, MiB", "")]
    for pair in pairs:
        peaks = f"{pair.ours.peak_bytes >> 20}, {pair.other.peak_bytes >> 20}"
        rows.append((pair.row, pair.side, f"{pair.ours.seconds:.4f} s",
                     f"{pair.other.seconds:.4f} s", f"{pair.ratio:.3f}",
                     f"{min(pair.ratios):.3f}", f"{max(pair.ratios):.3f}", peaks,
                     "WORSE" if pair.worse else ""))
    widths = [max(len(row[column]) for row in rows) for column in range(8)]
    for row in rows:
        cells = [cell.rjust(width) if column >= 2 else cell.ljust(width)
                 for column, (cell, width) in enumerate(zip(row, widths))]
        print("  ".join([*cells, row[8]]).rstrip())
    worse = [pair for pair in pairs if pair.worse]
    print(f"\n{len(pairs)} sides of rows, {len(worse)} worse: the median of its pairs is over {WORSE}")
    return bool(worse)


def as_object(bench, pairs):
    return {"rows": bench.rows, "pairs": bench.runs, "worse_over": WORSE, "results": [{
        "row": pair.row, "side": pair.side, "ratio": pair.ratio, "worse": pair.worse,
        "seconds": [run.seconds for run in pair.ours.runs],
        "other_seconds": [run.seconds for run in pair.other.runs],
        "peak_bytes": pair.ours.peak_bytes, "other_peak_bytes": pair.other.peak_bytes}
        for pair in pairs]}
