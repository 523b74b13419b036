"""The course report: a filter against a set that does not err. Then the layouts, with a million elements."""
NAME, TITLE, ORDER = "filter-vs-set", "a filter against an exact hash set", 80
KINDS = (("hash-set", "exact"), ("classic", "spark"), ("block512", "xxh64"), ("split-block", "xxh64"))
ELEMENTS = 250
ROUNDS = (2000, 4000, 6000, 8000, 10000)


def label(kind):
    return kind[0] if kind[0] in ("hash-set", "split-block", "block512") else f"{kind[0]}, {kind[1]}"


def of(rows, kind):
    return [row for row in rows if (row["structure"], row["scheme"]) == kind]


def by_kind(lab, name, rows, **more):
    """A file whose kinds lie one behind the other, and how gnuplot picks one of them."""
    path = lab.table(name, list(rows[0]), [row.values() for row in rows], **more)

    def part(kind):
        at = [i for i, row in enumerate(rows) if (row["structure"], row["scheme"]) == kind]
        return f"'{path}' skip {1 + at[0]} every ::0::{len(at) - 1}"
    return part


def run(lab):
    lab.found("""A filter of m = 500 to 2500 bits is held against a hash set: how much memory each takes, how many false positives the
        filter gives in 10 trials with random seeds, beside the predicted number, and how long 2,000 to 10,000 rounds of queries
        take.""")
    lab.command("glint submit filter-vs-set --elements 250 --m 500,1000,1500,2000,2500 --trials 10 --times DIR WORDS OUTPUT")
    rows, times = small(lab)
    large_rows = large(lab)
    exact, filters = rows[0], rows[1:]
    best = of(rows, KINDS[1])[-1]
    per_round = {kind: of(times, kind)[-1]["us"] * 1e3 / ROUNDS[-1] / 2 for kind in KINDS}
    large_of = {(row["structure"], row["scheme"], round(row["bits per key"])): row for row in large_rows}
    wide, narrow = large_of[*KINDS[1], 10], large_of[*KINDS[3], 10]
    lab.measured(f"""A set of {ELEMENTS} words takes {exact["bytes"]:,} bytes, {exact["bits per key"]:.0f} bits each; the filter of 2500
        bits takes {best["bytes"]}, and errs {100 * best["rate"]:.2f} times of 100 where {100 * best["textbook"]:.2f} are predicted.
        One query takes {per_round[KINDS[0]]:.0f} ns in the set and {per_round[KINDS[1]]:.0f} ns in the filter of 2500 bits, one at a
        time: a set this small lies in the cache, and hashes once where the filter hashes {best["k"]} times; layouts of blocks hash
        once too, {per_round[KINDS[2]]:.0f} and {per_round[KINDS[3]]:.0f} ns.

        With {large_rows[0]["elements"]:,} words the set takes {large_rows[0]["bytes"] / 1e6:.0f} MB and {large_rows[0]["query ns"]:.0f} ns a
        query, the classic filter of 10 bits {wide["bytes"] / 1e6:.2f} MB and {wide["query ns"]:.1f} ns in batches, a split-block filter
        {narrow["query ns"]:.1f} ns, for a rate of {100 * narrow["rate"]:.2f} % instead of {100 * wide["rate"]:.2f} %.""")
    lab.read("""`bytes` of the set are its table, its entries and the words themselves, which it must keep to compare them; the set is
        uthash's, with XXH3 as its hash. Each trial puts other words in. `from bits` is what the bits of each filter say, by blocks where
        there are some; `textbook` the formula for the size alone. Blocks are uneven, so their rates lie above the classic layout's at
        the same size; a query touches one cache line. `build ns` and `query ns` are per word, filters in batches as all jobs use them,
        the set one by one, all of it on one thread.""")
    for row in filters + large_rows[1:]:
        p = row["from bits"]
        row["off"] = abs(row["rate"] - p) / (p * (1 - p) / row["asked"]) ** 0.5
    lab.check(exact["false positives"] == 0, "the set does not err")
    lab.check(all(row["off"] <= 4 for row in filters + large_rows[1:]),
              "each filter's rate lies within 4 standard errors of its bits' prediction, in every layout")
    lab.check(same_everywhere(lab), "the same counts on local[1], local[2] and local[5]")


def small(lab):
    """The report's own sizes."""
    lab.submit("filter-vs-set", "--elements", ELEMENTS, "--scheme", "spark,xxh64", "--times", lab.path("times"), "--rounds",
               ",".join(map(str, ROUNDS)), lab.words(100_000), lab.path("table"))
    rows, times = lab.rows_of(lab.path("table")), lab.rows_of(lab.path("times"))
    part = by_kind(lab, "rates", rows, caption=f"{ELEMENTS} words in, asked for all of 100,000; 10 trials.")
    lab.plot("rates", "set logscale y\nset yrange [0.005:1.2]\nset ytics (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)\nset xrange [400:2700]\nset xlabel 'm, bits'\n"
             "set ylabel 'false positive rate'\nset key inside bottom left\nplot " + ", ".join(
                 f"{part(kind)} using 3:10:11 with yerrorbars lt {i} title '{label(kind)}', "
                 f"{part(kind)} using 3:13 with lines lt {i} lw 1 dt 2 notitle" for i, kind in enumerate(KINDS) if i > 0),
             "Points: measured, with the deviation over the trials. Dashed: predicted from the size.", size=(760, 400))
    largest = [row for row in times if row["m"] in (0, max(of(times, (row["structure"], row["scheme"])),
                                                           key=lambda r: r["m"])["m"])]
    part = by_kind(lab, "rounds", largest, shown=0)
    top = 2 * max(row["us"] for row in largest)  # a run that was held up may go beyond
    lab.plot("rounds", f"set xrange [1500:10500]\nset yrange [0:{top:.0f}]\nset xtics 2000\nset xlabel 'rounds, each asks for two words'\nset ylabel 'microseconds'\n"
             "set key inside top left\nplot " + ", ".join(
                 f"{part(kind)} using 5:6:7:8 with yerrorbars lt {i or 8} title '{label(kind)}', "
                 f"{part(kind)} using 5:6 with lines lt {i or 8} lw 1 notitle" for i, kind in enumerate(KINDS)),
             "Medians over 10 trials, from the least to the greatest; filters of about 2500 bits, all of it in the cache.", size=(760, 380))
    return rows, largest


def large(lab):
    """Where it matters: more than a cache holds."""
    words, elements = (100_000, 50_000) if lab.quick else (2_000_000, 1_000_000)
    lab.submit("filter-vs-set", "--scheme", "spark,wide,xxh64", "--elements", elements, "--bits-per-element", "8,10,16",
               "--trials", 3, "--repeats", 1, lab.words(words), lab.path("large"))
    rows = [{**row, "elements": elements} for row in lab.rows_of(lab.path("large"))]
    shown = [{key: row[key] for key in ("structure", "scheme", "k", "bits per key", "rate", "from bits", "textbook", "build ns",
                                        "query ns", "query lowest", "query highest")} for row in rows]
    path = lab.table("layouts", list(shown[0]), [row.values() for row in shown],
                     f"{elements:,} words in, asked for {words:,}; medians of 3 trials, one thread.")
    by = lambda kind: next(i for i, row in enumerate(shown) if (row["structure"], row["scheme"]) == kind)
    lab.plot("layouts", "set logscale y\nset xlabel 'bits per word'\nset xrange [7:17]\nset xtics (8, 10, 16)\nset key inside top right\n"
             "set multiplot layout 1,2\nset ylabel 'false positive rate'\nset yrange [1e-4:0.1]\nplot " + ", ".join(
                 f"'{path}' skip {1 + by(kind)} every ::0::2 using 4:5 with linespoints lt {i} title '{label(kind)}'"
                 for i, kind in enumerate(KINDS) if i > 0)
             + "\nset ylabel 'ns a word, query'\nunset logscale\nset yrange [0:*]\nset key inside top left\nplot " + ", ".join(
                 f"'{path}' skip {1 + by(kind)} every ::0::2 using 4:9:10:11 with yerrorlines lt {i} notitle"
                 for i, kind in enumerate(KINDS) if i > 0) + "\nunset multiplot",
             "What a layout costs in errors, and what it saves in time.", size=(900, 380))
    return rows


def same_everywhere(lab):
    tables = []
    for master in ("local[1]", "local[2]", "local[5]"):
        lab.submit("filter-vs-set", "--master", master, "--repeats", 0, "--trials", 3, lab.words(100_000), lab.path("same"))
        tables.append(lab.parts(lab.path("same")))
    return all(table == tables[0] for table in tables)
