"""The multi-set filter in use: for each id the ratings whose filters may hold it."""
import math
import statistics

NAME, TITLE, ORDER = "membership", "the keys that may hold an id", 50
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
    """Within 4 standard errors, of a count of ids."""
    share = expected / total
    return abs(measured - expected) <= 4 * math.sqrt(total * share * (1 - share)) + 1


def plot(lab, path, path_none):
    style = ("set style fill solid 0.7 noborder\nset boxwidth 0.35\nset logscale y\nset yrange [0.5:*]\nset format y '%.0s%c'\n"
             "set xtics 1\nset xrange [-0.6:5.6]\nset xlabel 'keys that may hold the id'\nset ylabel 'ids'\n")
    lab.panels("counts", [
        f"{style}set title '{title}'\nplot '{file}' skip 1 using ($1-0.2):($2 > 0 ? $2 : NaN) with boxes lt 1 title 'measured', "
        f"'{file}' skip 1 using ($1+0.2):($3 > 0.5 ? $3 : NaN) with boxes lt 2 title 'expected'"
        for title, file in (("ids in one filter", path), ("ids in none", path_none))],
        "The scale is logarithmic. Expected is what independent filters with the rates that their bits predict would give.")


def query_all(lab, filters):
    ids = lab.generate(lab.rows)
    jobs = [lab.submit("membership", "--members", "none", ids, lab.path("filters"), lab.path("keys"))
            for _ in range(lab.repeats(REPEATS))]
    walls = sorted(job.wall_s / lab.rows * 1e9 for job in jobs)
    cpus = sorted(job.cpu_s / lab.rows * 1e9 for job in jobs)
    lab.table("time", ["ids", "filters", "ns an id", "least", "greatest", "CPU ns an id"],
              [[lab.rows, filters, statistics.median(walls), walls[0], walls[-1], statistics.median(cpus)]],
              "Wall time of the whole job on all processors, reading and parsing included.")
    return statistics.median(walls)


def run(lab):
    lab.found("s2", """Given several sets, a standard Bloom filter is not sufficient to look for what set an element belongs to; a
        multi-set filter, with a filter per set, is. Its overall false positive rate is the average of the rates of its filters.""")
    lab.command("glint submit membership INPUT FILTERS OUTPUT --counts DIR --sets DIR\n"
                "glint submit membership INPUT FILTERS OUTPUT --counts DIR --members none")
    lab.submit("bloom-build", "0.01", lab.train, lab.counts, lab.path("filters"))
    own, total, path, keys = counts_table(lab, "members", "key", lab.train,
                                          "Ids that are in one filter: how many keys they get.")
    none, others, path_none, non_members = counts_table(lab, "non-members", "none", lab.test, "Ids that are in no filter.")
    lab.table("keys", list(keys[0]), [row.values() for row in keys], "Of the ids that are in a filter: what each filter answers.")
    plot(lab, path, path_none)
    wall = query_all(lab, len(keys))
    rate = statistics.fmean(row["false positive rate"] for row in non_members)
    formula = statistics.fmean((1 - math.exp(-row["k"] * row["n"] / row["m"])) ** row["k"] for row in non_members)
    lab.measured(f"""Of {total:,} ids that were put in, {many(own, "ids"):,} get more than one key, a rate of
        {many(own, "ids") / total:.5f}; {sum(row["expected"] for row in own if row["keys"] > 1):.5f} were expected. Of {others:,} others
        {sum(row["ids"] for row in none if row["keys"] > 0):,} get any. The mean of the filters' rates is {rate:.6f}, the formula's
        {formula:.6f}. Asking {len(keys)} filters takes {wall:.0f} ns an id.""")
    lab.read("""A false negative would be an id without its own key: there is none, or the filters are wrong. The expectation for c keys
        is a Poisson binomial distribution over the filters, not a power of p: every filter has a rate of its own.""")
    lab.claim("s2", "section 1.4", "the overall rate is the average of the filters' rates by the formula",
              f"the mean over the filters is {rate:.6f}, by the formula {formula:.6f}", abs(rate / formula - 1) < 0.05,
              "" if abs(rate / formula - 1) < 0.05 else "few ids were asked for")
    lab.check(all(row["false negatives"] == 0 for row in keys), "no id misses its own key")
    lab.check(near(many(own, "ids"), total * sum(r["expected"] for r in own if r["keys"] > 1), total)
              and near(many(none, "ids"), others * sum(r["expected"] for r in none if r["keys"] > 1), others),
              "sets with more than one key are as frequent as expected, within 4 standard errors")
