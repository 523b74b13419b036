"""Stage 1 of the multi-set paper: the number of ids of each rating and the size of its filter. Then stage 2 with
these sizes."""
import json
import math
import re

NAME, TITLE, ORDER = "params", "counts and sizes of the filters", 20
PROBABILITIES = (0.1, 0.01, 0.001)


def params(lab, *arguments):
    """Runs the job. Returns the job, and KEY N M K of each key."""
    done = lab.submit("params", *arguments, lab.train, lab.path("params"))
    return done, sorted(list(map(int, line.split("\t"))) for line in lab.parts(lab.path("params")))


def write_own(lab, sizes):
    """Writes a p for each key, smaller for keys with more ids; returns the path."""
    with open(lab.path("own"), "w", encoding="ascii") as file:
        for key, n, _, _ in sizes:
            file.write(f"{key}\t{0.1 if n < 10_000 else 0.01 if n < 100_000 else 0.001}\n")
    return lab.path("own")


def run_second_stage(lab, own):
    """Runs stage 2 with the output of stage 1. Returns whether the filters have the n, m and k of params, and whether the
    measured rates match those predicted from their bits."""
    lab.submit("bloom-build", "--params", lab.path("params"), lab.train, lab.path("filters"))
    lab.submit("bloom-test", "--params", lab.path("params"), lab.test, lab.path("filters"), lab.path("tested"))
    filters = {int(row["key"]): row for row in json.loads(lab.run("filter", "info", "--json", lab.path("filters")))["filters"]}
    tested = {int(key): (int(hits), int(rows)) for key, hits, rows in
              (re.match(r"\((\d+), \((\d+), (\d+),", line).groups() for line in lab.parts(lab.path("tested")))}
    rows, near = [], True
    for key, _, m, k in own:
        hits, rows_tested = tested.get(key, (0, 0))
        bits = filters[key]["expected_rate"]
        near = near and abs(hits - rows_tested * bits) <= 4 * math.sqrt(rows_tested * bits * (1 - bits)) + 1
        rows.append([key, m, k, hits, rows_tested, hits / max(rows_tested, 1), bits])
    lab.table("stages", ("rating", "m, own p", "k, own p", "false positives", "tested", "rate", "from bits"), rows,
              "Stage 2 after stage 1: `bloom-build --params` reads the output of params, in which each rating has its own p.")
    return sorted([key, row["n"], row["m"], row["k"]] for key, row in filters.items()) == own, near


def run(lab):
    lab.found("s2", """The first stage counts the films of each rating: a mapper keeps a counter per rating and emits it once; the reducer
        sums the counters and computes m and k. The number of films can vary between ratings. If all filters had the size of the
        largest, space could be wasted, so each filter is sized by its own number of elements. The second stage fills the filters.""")
    lab.command("glint submit params INPUT OUTPUT --p 0.01\n"
                "glint submit params INPUT PARAMS --p-file FILE      # lines KEY TAB P\n"
                "glint submit bloom-build --params PARAMS INPUT FILTERS; glint submit bloom-test --params PARAMS OTHERS FILTERS OUTPUT")
    sizes = {p: params(lab, "--p", p)[1] for p in PROBABILITIES}
    done, own = params(lab, "--p-file", write_own(lab, sizes[0.01]))
    rows = [[str(key), n, *(number for p in PROBABILITIES for number in sizes[p][i][2:]), m, k]
            for i, (key, n, m, k) in enumerate(own)]
    names = [f"{name}, p = {p}" for p in PROBABILITIES for name in ("m", "k")]
    path = lab.table("sizes", ["rating", "n", *names, "m, own p", "k, own p"], rows,
                     "Bits and hashes of each filter. Own p: 0.1 below 10,000 ids, 0.01 below 100,000 ids, else 0.001.")
    style = ("set style data histograms\nset style histogram clustered gap 1\nset style fill solid 0.8 noborder\n"
             "set xlabel 'rating'\n")
    bars = ", ".join(f"'{path}' skip 1 using (${column}/8e3):xtic(1) lt {i} title '{title}'" for i, (column, title) in
                     enumerate(((3, "p = 0.1"), (5, "p = 0.01"), (7, "p = 0.001"), (9, "own p")), 1))
    lab.panels("sizes", [f"{style}set title 'ids of each rating (figure 2)'\nset yrange [0:*]\nset ylabel 'ids'\nset format y '%.0s%c'\n"
                         f"plot '{path}' skip 1 using 2:xtic(1) lt 1 notitle",
                         f"{style}set title 'filter of each rating'\nset logscale y\nset ylabel 'kB'\nplot {bars}"],
               "The number of ids of each rating, as in figure 2 of the paper, and the resulting filter sizes. Dividing p by ten "
               "costs 4.8 bits per id.")
    params_used, near = run_second_stage(lab, own)
    total, largest = sum(row[1] for row in rows), max(size[2] for size in sizes[0.01])
    bits = sum(size[2] for size in sizes[0.01])
    lab.plan("plan", "The stages of the job, drawn by `glint explain --graph svg`. Figure 10 of the paper shows its lineage in Spark.",
             "params", lab.train, lab.path("plan"))
    lab.measured(f"""The mappers read {done.counter("rows read"):,} rows and emit {done.counter("map output records"):,} counts. All filters
        together take {bits / 8e3:,.0f} kB for p = 0.01, and {sum(row[-2] for row in rows) / 8e3:,.0f} kB with each rating's own p.
        {len(rows)} filters of the size of the largest would take {len(rows) * largest / 8e3:,.0f} kB.""")
    lab.read("m = ceil(-n ln p / (ln 2)^2) and k = ceil(-ln p / ln 2): m is proportional to n; k depends only on p.")
    lab.claim("s2", "section 1.2", "filters sized by the elements of each rating take less space than filters that all have the "
              "largest size, at the same rate", f"{bits / 8e3:,.0f} kB; with the largest size {len(rows) * largest / 8e3:,.0f} kB",
              bits < len(rows) * largest)
    lab.check(all(m == math.ceil(-n * math.log(p) / math.log(2) ** 2) for p in PROBABILITIES
                  for _, n, m, _ in sizes[p]), "each m equals the formula")
    lab.claim("s2", "section 2.7", "the space is O(m l): m the largest size, l the number of ratings",
              f"{bits / 8e3:,.0f} kB, at most {len(rows)} times {largest / 8e3:,.0f} kB", bits <= len(rows) * largest)
    lab.check(done.counter("map output records") < total / 100, "the mappers combine counts: they emit less than 1 % as many records as there are rows")
    lab.check(params_used, "the filters have the n, m and k of the params output")
    lab.check(near, "each rate is within 4 standard errors of the rate predicted from the filter's bits")
