"""The pipeline of the Hadoop programs: filters are not broadcast; the tester is a join."""
import math

from lab import Timed

NAME, TITLE, ORDER = "hadoop-pipeline", "the pipeline of the Hadoop programs", 15
PROBABILITIES = ("0.01", "0.05", "0.1")
LINES, REDUCERS = 15_000, 4


def submit_pipeline(lab, p, *options):
    return lab.submit("hadoop-pipeline", "--p", p, "--lines", LINES, "--reducers", REDUCERS, *options, lab.train, lab.test, lab.path("pipeline"))


def counts_of(lab):
    """Returns rating -> (false positives, tested rows) from the job's output lines, RATING TAB (HITS, ROWS, RATE)."""
    lines = (line.replace("(", "").replace(")", "").replace("\t", ",").split(",")
             for line in lab.parts(lab.path("pipeline")))
    return {int(rating): (int(hits), int(rows)) for rating, hits, rows, _ in lines}


def broadcast_counts(lab, p):
    """Runs fpr-table, which broadcasts the filters. Returns the job, and its row of each rating: the counts, and the rate
    predicted from the filter's bits."""
    done = lab.submit("fpr-table", "--p", p, "--scheme", "hadoop", lab.train, lab.test, lab.path("table"))
    rows = [row for row in lab.rows_of(lab.path("table")) if row["key"] != "average" and row["tested"] > 0]
    return done, {row["key"]: row for row in rows}


def within(hits, rows, rate):
    return abs(hits - rows * rate) <= 4 * math.sqrt(rows * rate * (1 - rate))


def cost(lab, p, method, submit):
    """Returns a line of the cost table: bytes and times of several runs."""
    jobs = [submit() for _ in range(lab.repeats(3))]
    time = Timed([job.wall_s * 1e3 for job in jobs])
    return [p, method, jobs[0].counter("map output bytes") / 1e6, jobs[0].counter("map output records"), time.median, time.low, time.high]


def run(lab):
    lab.found("s0", """Each mapper gets 15000 lines and emits the rating of each film and the positions to set. 4 reducers fill the
        filters. Hadoop lacks an efficient way to distribute large data, so the tester is a join: its mappers emit filters and
        positions, and a secondary sort puts the filter of a rating before its positions. The cluster has 4 nodes.""")
    lab.command("glint submit hadoop-pipeline TRAIN TEST OUTPUT --p 0.1 --lines 15000 --reducers 4")
    rows, costs, extra, same_as_broadcast, same_everywhere, near = [], [], [], True, True, True
    for p in PROBABILITIES:
        submit_pipeline(lab, p)
        counts = counts_of(lab)
        _, expected = broadcast_counts(lab, p)
        same_as_broadcast = same_as_broadcast and counts == {key: (row["false positives"], row["tested"]) for key, row in expected.items()}
        near = near and all(within(hits, tested, expected[key]["from bits"])
                            for key, (hits, tested) in counts.items())
        for options in (("--master", "local[1]"), ("--master", "local[2]"),
                        ("--lines", "40000", "--reducers", "7")):
            submit_pipeline(lab, p, *options)
            same_everywhere = same_everywhere and counts_of(lab) == counts
        rows += [[p, key, tested, hits, hits / tested, expected[key]["from bits"]]
                 for key, (hits, tested) in sorted(counts.items())]
        costs += [cost(lab, p, "the pipeline", lambda: submit_pipeline(lab, p)), cost(lab, p, "broadcast", lambda: broadcast_counts(lab, p)[0])]
        if p == PROBABILITIES[0]:
            for method, options in (("merged filters", ("--emit", "filters")), ("the pipeline, cluster", lab.cluster)):
                extra.append(cost(lab, p, method, lambda: submit_pipeline(lab, p, *options)))
                same_everywhere = same_everywhere and counts_of(lab) == counts
    mappers = math.ceil(sum(row["tested"] for row in expected.values()) / LINES)
    lab.table("setting", ("", "paper", "measured"), [
        ["lines per mapper", lab.paper("s0", "4", "lines per mapper"), LINES],
        ["nodes", lab.paper("s0", "3.3", "nodes"), lab.shape[0]], ["slots per node", None, lab.shape[1]],
        ["reducers", None, REDUCERS]],
        f"With {LINES:,} lines per mapper, the test rows take {mappers} mappers. The cluster: {lab.shape_text}.",
        why="our nodes are executor processes on one machine")
    columns = ["p", "rating", "tested", "false positives", "rate", "from bits"]
    path = lab.table("rates", columns, rows, "Rates of the pipeline; `from bits` is the rate predicted from the filter's bits.")
    costs_path = lab.table("cost", ["p", "method", "MB shuffled", "records", "ms", "lowest", "highest"], costs + extra,
                           "Counting, building and testing, in one process except for the last line. `merged filters`: the builder's mappers emit a filter per "
                           "rating (`--emit filters`). `broadcast`: the job fpr-table with scheme hadoop.")
    lab.plot("rates", "set logscale y\nset xrange [0.3:10.7]\nset yrange [0.003:0.3]\nset xtics 1\n"
             "set xlabel 'rating'\nset ylabel 'false positive rate'\nplot " + ", ".join(
                 f"'{path}' skip 1 using ($1 == {p} && $5 > 0 ? $2 : NaN):5 with points lt {i} title 'p = {p}', "
                 f"'{path}' skip 1 using ($1 == {p} ? $2 : NaN):6 with lines lt {i} dt 2 title 'from bits'"
                 for i, p in enumerate(PROBABILITIES, 1)),
             "Points: measured. Lines: predicted from the bits of each filter. Ratings with few rows "
             "are farther from their line.")
    bars = ", ".join(f"'{costs_path}' skip 1 every 2::{at}::{len(costs) - 1} using 3:xtic(1) title '{method}'"
                     for at, method in enumerate(("the pipeline", "broadcast")))
    lab.plot("cost", "set style data histograms\nset style histogram clustered gap 1\n"
             "set style fill solid 0.8 noborder\nset yrange [0:*]\nset xlabel 'p'\n"
             f"set ylabel 'MB shuffled'\nplot {bars}",
             "Compressed bytes between the stages. The pipeline shuffles k indexes for each tested row, and the filters "
             "a second time.")
    pipeline, broadcast, merged, on_cluster = *costs[:2], *extra
    lab.measured(f"""The join and the broadcast give {"the same counts" if same_as_broadcast else "different counts"}. With p = 0.01 the join shuffles
        {pipeline[2]:.1f} MB and takes {pipeline[4]:.0f} ms in one process; the broadcast shuffles {broadcast[2]:.1f} MB and takes
        {broadcast[4]:.0f} ms. On the cluster the join takes {on_cluster[4]:.0f} ms. With merged filters (`--emit filters`) it
        shuffles {merged[2]:.1f} MB.""")
    lab.read("""Here the filters of all ratings fit in the memory of every process, so the broadcast is cheaper. With the pipeline, a
        process needs only one filter in memory at a time, so it also works with filters that are too large to broadcast. A
        smaller p means a larger k, so the job shuffles more bytes per tested row. glint needs no secondary sort: the shuffle
        keeps the order of the map tasks, and the map tasks of the filters come before those of the rows, so the filter comes
        first in its group.""")
    built = sum(int(line.split("\t")[1]) for line in lab.parts(lab.counts))
    each = math.ceil(built / LINES) / lab.shape[0]
    lab.claim("s0", "section 4", "15000 lines per mapper give about 10 mappers per node",
              f"{built:,} rows give the builder {each:g} mappers for each of {lab.shape[0]} executors", True if 8 <= each <= 13 else None,
              "" if 8 <= each <= 13 else "the result depends on the numbers of rows and nodes")
    lab.check(same_as_broadcast, "the pipeline and the broadcast give the same counts")
    lab.check(same_everywhere, "the counts are the same on local[1], local[2] and the cluster, with merged filters, other splits and other partitions")
    lab.check(near, "each rate is within 4 standard errors of the rate predicted from the filter's bits")
