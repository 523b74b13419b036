"""Queries of the multi-set filter: for each id, the ratings whose filters may contain it."""
import math
import statistics

NAME, TITLE, ORDER = "membership", "the keys whose filters may contain an id", 50
REPEATS = 5


def counts_table(lab, name, members, ids, caption):
    lab.submit("membership", "--members", members, "--counts", lab.path("counts"), ids,
               lab.path("filters"), lab.path("keys"))
    rows = lab.rows_of(lab.path("counts"))
    total = sum(row["ids"] for row in rows)
    path = lab.table(name, ["keys", "ids", "expected ids"],
                     [[row["keys"], row["ids"], row["expected"] * total] for row in rows], caption)
    return rows, total, path, lab.rows_of(lab.path("keys"))


def many(rows, column):
    return sum(row[column] for row in rows if row["keys"] > 1)


def near(measured, expected, total):
    """Returns whether a count of ids is within 4 standard errors of the expected one."""
    share = expected / total
    return abs(measured - expected) <= 4 * math.sqrt(total * share * (1 - share)) + 1


def plot(lab, path, path_none):
    style = ("set style fill solid 0.7 noborder\nset boxwidth 0.35\nset logscale y\nset yrange [0.5:*]\nset format y '%.0s%c'\n"
             "set xtics 1\nset xrange [-0.6:5.6]\nset xlabel 'keys per id'\nset ylabel 'ids'\n")
    lab.panels("counts", [
        f"{style}set title '{title}'\nplot '{file}' skip 1 using ($1-0.2):($2 > 0 ? $2 : NaN) with boxes lt 1 title 'measured', "
        f"'{file}' skip 1 using ($1+0.2):($3 > 0.5 ? $3 : NaN) with boxes lt 2 title 'expected'"
        for title, file in (("ids in one filter", path), ("ids in none", path_none))],
        "The y axis is logarithmic. Expected: for independent filters with the rates predicted from their bits.")


def query_all(lab, filters):
    ids = lab.generate(lab.rows)
    jobs = [lab.submit("membership", "--members", "none", ids, lab.path("filters"), lab.path("keys"))
            for _ in range(lab.repeats(REPEATS))]
    walls = sorted(job.wall_s / lab.rows * 1e9 for job in jobs)
    cpus = sorted(job.cpu_s / lab.rows * 1e9 for job in jobs)
    lab.table("time", ["ids", "filters", "ns per id", "lowest", "highest", "CPU ns per id"],
              [[lab.rows, filters, statistics.median(walls), walls[0], walls[-1], statistics.median(cpus)]],
              "Wall time of the whole job on all processors, including reading and parsing.")
    return statistics.median(walls)


def run(lab):
    lab.found("s2", """Given several sets, a standard Bloom filter is not sufficient to find the set that an element belongs to. The
        paper's multi-set filter has one filter per set. Its overall false positive rate is the average of the rates of its filters.""")
    lab.command("glint submit membership INPUT FILTERS OUTPUT --counts DIR --sets DIR\n"
                "glint submit membership INPUT FILTERS OUTPUT --counts DIR --members none")
    lab.submit("bloom-build", "0.01", lab.train, lab.counts, lab.path("filters"))
    own, total, path, keys = counts_table(lab, "members", "key", lab.train,
                                          "Ids that are in one filter: the number of keys found for them.")
    none, others, path_none, non_members = counts_table(lab, "non-members", "none", lab.test, "Ids that are in no filter: the number of keys found for them.")
    lab.table("keys", list(keys[0]), [row.values() for row in keys], "Results of each filter for the ids that are in one filter.")
    plot(lab, path, path_none)
    wall = query_all(lab, len(keys))
    rate = statistics.fmean(row["false positive rate"] for row in non_members)
    formula = statistics.fmean((1 - math.exp(-row["k"] * row["n"] / row["m"])) ** row["k"] for row in non_members)
    lab.measured(f"""Of {total:,} ids in the filters, {many(own, "ids"):,} get more than one key, a rate of
        {many(own, "ids") / total:.5f}; the expected rate is {sum(row["expected"] for row in own if row["keys"] > 1):.5f}. Of {others:,}
        ids in no filter, {sum(row["ids"] for row in none if row["keys"] > 0):,} get a key. The mean of the filters' rates is
        {rate:.6f}, by the formula {formula:.6f}. Looking up an id in {len(keys)} filters takes {wall:.0f} ns.""")
    lab.read("""A false negative is an id without its own key; correct filters have none. The expected number of ids with c keys
        follows a Poisson binomial distribution over the filters, because each filter has a different rate.""")
    lab.claim("s2", "section 1.4", "the overall rate is the average of the rates of the filters by the formula",
              f"the mean over the filters is {rate:.6f}; the formula gives {formula:.6f}", abs(rate / formula - 1) < 0.05,
              "" if abs(rate / formula - 1) < 0.05 else "too few ids were looked up")
    lab.check(all(row["false negatives"] == 0 for row in keys), "every id gets its own key")
    lab.check(near(many(own, "ids"), total * sum(r["expected"] for r in own if r["keys"] > 1), total)
              and near(many(none, "ids"), others * sum(r["expected"] for r in none if r["keys"] > 1), others),
              "the number of ids with more than one key is within 4 standard errors of the expected number")
