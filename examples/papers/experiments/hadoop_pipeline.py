"""The Hadoop programs' pipeline: no filter is broadcast, the tester is a join."""
import math

from lab import Timed

NAME, TITLE, ORDER = "hadoop-pipeline", "the Hadoop programs' pipeline", 15
PROBABILITIES = ("0.01", "0.05", "0.1")
LINES, REDUCERS = 15_000, 4


def submit_pipeline(lab, p, *options):
    return lab.submit("hadoop-pipeline", "--p", p, "--lines", LINES, "--reducers", REDUCERS, *options, lab.train, lab.test, lab.path("pipeline"))


def counts_of(lab):
    """rating -> (false positives, tested), as the job saved them: RATING TAB (HITS, ROWS, RATE)."""
    lines = (line.replace("(", "").replace(")", "").replace("\t", ",").split(",")
             for line in lab.parts(lab.path("pipeline")))
    return {int(rating): (int(hits), int(rows)) for rating, hits, rows, _ in lines}


def broadcast_counts(lab, p):
    """The same by fpr-table, which broadcasts the filters; and what the filters' bits predict."""
    done = lab.submit("fpr-table", "--p", p, "--scheme", "hadoop", lab.train, lab.test, lab.path("table"))
    rows = [row for row in lab.rows_of(lab.path("table")) if row["key"] != "average" and row["tested"] > 0]
    return done, {row["key"]: row for row in rows}


def within(hits, rows, rate):
    return abs(hits - rows * rate) <= 4 * math.sqrt(rows * rate * (1 - rate))


def cost(lab, p, way, submit):
    """A line of the table: bytes and times of several runs."""
    jobs = [submit() for _ in range(lab.repeats(3))]
    time = Timed([job.wall_s * 1e3 for job in jobs])
    return [p, way, jobs[0].counter("map output bytes") / 1e6, jobs[0].counter("map output records"), time.median, time.low, time.high]


def run(lab):
    lab.found("s0", """Each mapper gets 15000 lines and emits, for each film, its rating and the positions that are to be set;
        reducers, 4 of them, fill the filters. Hadoop has no efficient way to distribute much data, so the tester is a join: its
        mappers emit filters and positions, and a secondary sort puts the filter of a rating before its positions. The
        cluster has 4 nodes.""")
    lab.command("glint submit hadoop-pipeline TRAIN TEST OUTPUT --p 0.1 --lines 15000 --reducers 4")
    rows, costs, extra, same, elsewhere, near = [], [], [], True, True, True
    for p in PROBABILITIES:
        submit_pipeline(lab, p)
        counts = counts_of(lab)
        _, expected = broadcast_counts(lab, p)
        same = same and counts == {key: (row["false positives"], row["tested"]) for key, row in expected.items()}
        near = near and all(within(hits, tested, expected[key]["from bits"])
                            for key, (hits, tested) in counts.items())
        for options in (("--master", "local[1]"), ("--master", "local[2]"),
                        ("--lines", "40000", "--reducers", "7")):
            submit_pipeline(lab, p, *options)
            elsewhere = elsewhere and counts_of(lab) == counts
        rows += [[p, key, tested, hits, hits / tested, expected[key]["from bits"]]
                 for key, (hits, tested) in sorted(counts.items())]
        costs += [cost(lab, p, "the pipeline", lambda: submit_pipeline(lab, p)), cost(lab, p, "broadcast", lambda: broadcast_counts(lab, p)[0])]
        if p == PROBABILITIES[0]:
            for way, options in (("merged filters", ("--emit", "filters")), ("the pipeline, cluster", lab.cluster)):
                extra.append(cost(lab, p, way, lambda: submit_pipeline(lab, p, *options)))
                elsewhere = elsewhere and counts_of(lab) == counts
    mappers = math.ceil(sum(row["tested"] for row in expected.values()) / LINES)
    lab.table("setting", ("", "paper", "measured"), [
        ["lines of a mapper", lab.paper("s0", "4", "lines per mapper"), LINES],
        ["nodes", lab.paper("s0", "3.3", "nodes"), lab.shape[0]], ["slots of each", None, lab.shape[1]],
        ["reducers", None, REDUCERS]],
        f"With {LINES:,} lines each, the test rows take {mappers} mappers. The cluster: {lab.shape_text}.",
        why="ours are processes of one machine")
    columns = ["p", "rating", "tested", "false positives", "rate", "from bits"]
    path = lab.table("rates", columns, rows, "From the pipeline; from bits is what the filter's bits predict.")
    costs_path = lab.table("cost", ["p", "way", "MB shuffled", "records", "ms", "least", "greatest"], costs + extra,
                           "Counting, building and testing, in one process but for the last line. Merged filters: the builder's mappers emit a filter per "
                           "rating (`--emit filters`). Broadcast is fpr-table with scheme hadoop.")
    lab.plot("rates", "set logscale y\nset xrange [0.3:10.7]\nset yrange [0.003:0.3]\nset xtics 1\n"
             "set xlabel 'rating'\nset ylabel 'false positive rate'\nplot " + ", ".join(
                 f"'{path}' skip 1 using ($1 == {p} && $5 > 0 ? $2 : NaN):5 with points lt {i} title 'p = {p}', "
                 f"'{path}' skip 1 using ($1 == {p} ? $2 : NaN):6 with lines lt {i} dt 2 title 'from bits'"
                 for i, p in enumerate(PROBABILITIES, 1)),
             "Points are measured, lines are what the bits of each filter predict. Ratings with few rows "
             "lie farther from their line.")
    bars = ", ".join(f"'{costs_path}' skip 1 every 2::{at}::{len(costs) - 1} using 3:xtic(1) title '{way}'"
                     for at, way in enumerate(("the pipeline", "broadcast")))
    lab.plot("cost", "set style data histograms\nset style histogram clustered gap 1\n"
             "set style fill solid 0.8 noborder\nset yrange [0:*]\nset xlabel 'p'\n"
             f"set ylabel 'MB shuffled'\nplot {bars}",
             "What moves between the stages, in compressed form. The pipeline moves k indexes for each row that is "
             "tested, and the filters once more.")
    pipeline, other, merged, spread = *costs[:2], *extra
    lab.measured(f"""The join gives the counts of the broadcast to the last one. With p = 0.01 it shuffles
        {pipeline[2]:.1f} MB where the broadcast's plan shuffles {other[2]:.1f} MB, and takes {pipeline[4]:.0f} ms
        against {other[4]:.0f} ms in one process; on the cluster it takes {spread[4]:.0f} ms. Were the builder's filters merged, it
        would be {merged[2]:.1f} MB.""")
    lab.read("""The filters of all ratings fit every process here, so the broadcast is cheaper. The pipeline needs no
        process to hold more than one filter: it stands where filters are too large for that. A smaller p means a
        larger k, so each row that is tested carries more. A filter comes first in its group because the
        shuffle keeps the order of the map tasks and those of the filters are before those of the rows, which
        is what the secondary sort was for.""")
    built = sum(int(line.split("\t")[1]) for line in lab.parts(lab.counts))
    each = math.ceil(built / LINES) / lab.shape[0]
    lab.claim("s0", "section 4", "15000 lines for each mapper make about 10 mappers for each node",
              f"{built:,} rows make {each:g} mappers of the builder for each of {lab.shape[0]} executors", True if 8 <= each <= 13 else None,
              "" if 8 <= each <= 13 else "the number of rows decides it, and of nodes")
    lab.check(same, "the pipeline and the broadcast give the same counts")
    lab.check(elsewhere, "local[1], local[2], the cluster, merged filters, other splits and other partitions give the same counts")
    lab.check(near, "each rate lies within 4 standard errors of the one that the filter's bits predict")
