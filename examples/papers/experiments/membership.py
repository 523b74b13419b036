"""Stage 2 of the multi-set paper: for each id the keys whose filters may hold it."""
import math

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


def run(lab):
    lab.found("""The paper's second stage asks all filters for each id and answers the set of keys that may hold
        it. An id of the data always finds its own key; a false positive shows as a second one. More filters or a
        larger p make such sets more frequent.""")
    lab.command("glint submit membership INPUT FILTERS OUTPUT --counts DIR --sets DIR\n"
                "glint submit membership INPUT FILTERS OUTPUT --counts DIR --members none")
    lab.submit("bloom-build", "0.01", lab.train, lab.counts, lab.path("filters"))
    own, total, path, keys = counts_table(lab, "members", "key", lab.train,
                                          "Ids that are in one filter: how many keys they get.")
    none, others, path_none, _ = counts_table(lab, "strangers", "none", lab.test,
                                              "Ids that are in no filter.")
    lab.table("keys", list(keys[0]), [row.values() for row in keys],
              "Of the ids that are in a filter: what each filter answers.")
    lab.plot("counts", "set style fill solid 0.7 noborder\nset boxwidth 0.35\nset logscale y\n"
             "set yrange [0.5:*]\nset xtics 1\nset xrange [-0.6:5.6]\nset xlabel 'keys that may hold the id'\nset ylabel 'ids'\n"
             "set key inside top right\nset multiplot layout 1,2\n" + "\n".join(
                 f"set title '{title}'\nplot '{file}' skip 1 using ($1-0.2):($2 > 0 ? $2 : NaN) with boxes "
                 f"lt 1 title 'measured', '{file}' skip 1 using ($1+0.2):($3 > 0.5 ? $3 : NaN) with boxes "
                 "lt 2 title 'expected'"
                 for title, file in (("ids in one filter", path), ("ids in none", path_none))) +
             "\nunset multiplot", "The scale is logarithmic. Expected is what independent filters with the "
             "rates that their bits predict would give.", size=(1000, 400))
    ids = lab.generate(lab.rows)
    jobs = [lab.submit("membership", "--members", "none", ids, lab.path("filters"), lab.path("keys"))
            for _ in range(lab.repeats(REPEATS))]
    walls = sorted(job.wall_s / lab.rows * 1e9 for job in jobs)
    cpus = sorted(job.cpu_s / lab.rows * 1e9 for job in jobs)
    middle = len(walls) // 2
    lab.table("time", ["ids", "filters", "ns an id", "least", "greatest", "CPU ns an id"],
              [[lab.rows, len(keys), walls[middle], walls[0], walls[-1], cpus[middle]]],
              "Wall time of the whole job on all processors, reading and parsing included.")
    lab.measured(f"""Of {total:,} ids that were put in, {many(own, "ids"):,} get more than one key, a rate of
        {many(own, "ids") / total:.5f}; {sum(row["expected"] for row in own if row["keys"] > 1):.5f} were expected.
        Of {others:,} others {sum(row["ids"] for row in none if row["keys"] > 0):,} get any. Asking {len(keys)}
        filters takes {walls[middle]:.0f} ns an id.""")
    lab.read("""A false negative would be an id without its own key: there is none, or the filters are wrong.
        The expectation for c keys is a Poisson binomial distribution over the filters, not a power of p: every
        filter has a rate of its own.""")
    lab.check(all(row["false negatives"] == 0 for row in keys), "no id misses its own key")
    lab.check(near(many(own, "ids"), total * sum(r["expected"] for r in own if r["keys"] > 1), total)
              and near(many(none, "ids"), others * sum(r["expected"] for r in none if r["keys"] > 1), others),
              "sets with more than one key are as frequent as expected, within 4 standard errors")
