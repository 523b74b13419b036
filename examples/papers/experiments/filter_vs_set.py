"""The course report: a filter of names compared with a hash set. Then the filter layouts, with a million elements."""
NAME, TITLE, ORDER = "filter-vs-set", "a filter compared with a hash set", 80
MEMBERS, NON_MEMBERS, HASHES = 329, 60, 8
SIZES, LARGEST = (500, 1000, 1500, 2000, 2500), 3200
ROUNDS = (2000, 4000, 6000, 8000, 10000)
TRIALS = 10
RATES, TIMES = "5.2 false positive rate, n=329 k=8", "5.3 query time, each round asks all 329 members"
SET, FILTER = ("hash-set", "exact"), ("classic", "poly-abs")
KINDS = (SET, FILTER, ("classic", "spark"), ("block512", "xxh64"), ("split-block", "xxh64"))
NAMES = {SET: "hash set", FILTER: "filter", KINDS[2]: "classic, spark", KINDS[3]: "block512", KINDS[4]: "split-block"}
LARGE = (SET, *KINDS[2:])


def of(rows, kind):
    return [row for row in rows if (row["structure"], row["scheme"]) == kind]


def run_paper_experiment(lab):
    """Repeats the report's experiment. Returns the rows per structure and size, the rates per trial, and the times per
    structure and number of rounds."""
    scale = 20 if lab.quick else 1  # --quick runs fewer rounds and scales the times up
    arguments = ("--non-members", lab.names(NON_MEMBERS, MEMBERS), "--k", HASHES, "--trials", TRIALS, "--seeds", "random",
                 lab.names(MEMBERS))
    lab.submit("filter-vs-set", "--m", ",".join(map(str, (*SIZES, LARGEST))), "--scheme", "poly-abs", "--layout", "classic",
               "--repeats", 0, "--rates", lab.path("trials"), *arguments, lab.path("table"))
    lab.submit("filter-vs-set", "--m", LARGEST, "--scheme", "poly-abs,spark,xxh64", "--repeats", 1, "--times", lab.path("times"),
               "--rounds", ",".join(str(rounds // scale) for rounds in ROUNDS), *arguments, lab.path("timed"))
    times = lab.rows_of(lab.path("times"))
    for row in times:
        row.update({key: row[key] * scale for key in ("rounds", "us", "lowest", "highest")})
    return lab.rows_of(lab.path("table")), lab.rows_of(lab.path("trials")), times


def show_rates(lab, rows, trials):
    figures = {(f.row, f.column): f for f in lab.published.of("s1", RATES)}
    lines = []
    for trial in (*map(str, range(1, TRIALS + 1)), "mean", "predicted"):
        label = f"trial {trial}" if trial.isdigit() else trial
        line = [trial]
        for m in (*SIZES, LARGEST):
            row = next(row for row in rows if row["m"] == m)
            ours = {"mean": row["rate"], "predicted": row["textbook"]}.get(trial)
            if ours is None:
                ours = next(t["rate"] for t in trials if t["m"] == m and t["trial"] == int(trial))
            line += [*([figures[label, f"m={m}"]] if m in SIZES else []), 100.0 * ours]
        lines.append(line)
    lab.table("rates", ("trial", *(f"m = {m}, {what}" for m in SIZES for what in ("paper %", "measured %")), f"m = {LARGEST}, measured %"), lines,
              f"Filters of {MEMBERS} names, tested with {NON_MEMBERS} other names; k = {HASHES}, seeds drawn from 0 to 99 for each trial. The paper has no rates for m = {LARGEST}.",
              why="other names and other seeds; each of our non-members is 1.7 % of the rate. The paper's rates are multiples of 1/58, because it counts only those of its "
                  "60 non-members whose names are not also names of members")
    means = lab.table("means", ("m", "paper %", "measured %", "predicted %", "from bits %"), [
        [m, figures.get(("mean", f"m={m}")), 100 * row["rate"], 100 * row["textbook"], 100 * row["from bits"]]
        for m, row in ((row["m"], row) for row in of(rows, FILTER))],
        shown=0)
    lab.plot("rates", "set xrange [400:3300]\nset xtics 1000\nset xlabel 'm, bits'\nset ylabel 'false positive rate, %'\nset yrange [0:100]\n"
             f"plot '{means}' skip 1 using 1:4 with lines lc rgb '#999999' dt 2 title 'predicted', "
             "'' skip 1 using 1:2 with points ls 10 title 'paper, mean of 10', '' skip 1 using 1:3 with points lt 1 title 'measured, mean of 10'",
             "Mean rates over m, as in the plot of the report.")
    return {m: (figures["mean", f"m={m}"].number, 100 * next(r["rate"] for r in rows if r["m"] == m),
                figures["predicted", f"m={m}"].number) for m in SIZES}, next(r for r in of(rows, FILTER) if r["m"] == LARGEST)


def show_times(lab, times):
    figures = {(f.row, f.column): f for f in lab.published.of("s1", TIMES)}
    names = [f"{kind}, {rounds} rounds" for kind in ("filter", "hash set") for rounds in ROUNDS]
    lab.table("published-times", ("trial", *names), [
        [str(i), *(figures[f"trial {i}", name] for name in names)] for i in range(1, 11)],
        "The paper's ten trials, in ms.", why="see the next table for our times", fold="The paper's ten trials, in ms")
    ms = {kind: {row["rounds"]: row for row in of(times, kind)} for kind in KINDS}
    lines = []
    for rounds in ROUNDS:
        line = [rounds]
        for kind in KINDS:
            if kind in (FILTER, SET):
                line.append(figures["mean", f"{NAMES[kind]}, {rounds} rounds"])
            line.append(ms[kind][rounds]["us"] / 1e3)
        lines.append(line)
    heads = [head for kind in KINDS for head in
             ((f"{NAMES[kind]}, paper mean ms", f"{NAMES[kind]}, measured ms") if kind in (FILTER, SET) else (f"{NAMES[kind]}, ms",))]
    path = lab.table("times", ("rounds", *heads), lines,
                     f"Each round looks up all {MEMBERS} members, one at a time. Medians of {TRIALS} trials, filters of {LARGEST} bits. "
                     "`filter` uses the paper's hash functions, the other filters use glint's.",
                     why="another machine, and C instead of Java; the paper does not state the m of the filter that it timed")
    axis = "set xrange [1500:10500]\nset yrange [0:*]\nset xtics 2000\nset xlabel 'rounds'\nset ylabel 'ms'\n"
    lab.panels("times", [
        f"{axis}plot '{path}' skip 1 using 1:4 with linespoints ls 10 title 'paper, filter', "
        "'' skip 1 using 1:2 with linespoints ls 10 pt 6 title 'paper, HashSet', '' skip 1 using 1:5 with linespoints lt 2 title 'filter', "
        "'' skip 1 using 1:3 with linespoints lt 1 title 'hash set'",
        f"{axis}plot " + ", ".join(f"'{path}' skip 1 using 1:{column} with linespoints lt {i} title '{NAMES[kind]}'" for i, (column, kind) in
                                   enumerate(((3, SET), (5, FILTER), *((6 + j, kind) for j, kind in enumerate(KINDS[2:]))), 1))],
        "Left: the times of the report and ours. Right: only ours, with the layouts that hash once.")
    return ms


def show_memory(lab, rows, names):
    exact, largest = rows[0], next(row for row in rows if row["m"] == LARGEST)
    characters = 2 * sum(map(len, names))  # in Java, two bytes each
    lab.table("setting", ("", "paper", "measured"), [
        ["members", lab.paper("s1", "5.1", "members"), MEMBERS], ["non-members", lab.paper("s1", "5.1", "non-members"), NON_MEMBERS],
        ["k", lab.paper("s1", "5.1", "k"), HASHES],
        ["seeds drawn from 0 to", lab.paper("s1", "5.1", "seeds", "drawn from 0.."), 99],
        [f"filter of {LARGEST} bits, bytes", lab.paper("s1", "5.1", "filter of m=3200"), largest["bytes"]],
        ["required rate", lab.paper("s1", "5.1", "required rate"), 0.01],
        ["bits for it", lab.paper("s1", "5.1", "bits for it"), LARGEST],
        ["characters of the names", lab.paper("s1", "5.1", "characters of the names"), sum(map(len, names))],
        ["characters of the names alone, bytes", lab.paper("s1", "5.1", "hash set, characters alone"), characters],
        ["the whole set, bytes", None, exact["bytes"]]],
        "A Java character has two bytes. Our set is a uthash table; its bytes are the table, the entries and the names in UTF-8.",
        why="other names; the paper counts only their characters")
    return exact["bytes"], largest["bytes"], characters


def large(lab):
    """Compares the layouts with more elements than fit in a CPU cache."""
    words, elements = (100_000, 50_000) if lab.quick else (2_000_000, 1_000_000)
    lab.submit("filter-vs-set", "--scheme", "spark,wide,xxh64", "--elements", elements, "--bits-per-element", "8,10,16",
               "--trials", 3, "--repeats", 1, lab.words(words), lab.path("large"))
    rows = [{**row, "elements": elements} for row in lab.rows_of(lab.path("large"))]
    shown = [{key: row[key] for key in ("structure", "scheme", "k", "bits per key", "rate", "from bits", "textbook", "build ns",
                                        "query ns", "query lowest", "query highest")} for row in rows]
    path = lab.table("layouts", list(shown[0]), [row.values() for row in shown],
                     f"Filters of {elements:,} words, {words:,} words looked up. Medians of 3 trials, one thread.")
    first_row = lambda kind: next(i for i, row in enumerate(shown) if (row["structure"], row["scheme"]) == kind)
    axis = "set xlabel 'bits per word'\nset xrange [7:17]\nset xtics (8, 10, 16)\n"
    lab.panels("layouts", [
        f"{axis}set logscale y\nset ylabel 'false positive rate'\nset yrange [1e-4:0.1]\nset format y '%g'\nplot " + ", ".join(
            f"'{path}' skip {1 + first_row(kind)} every ::0::2 using 4:5 with linespoints lt {i} title '{NAMES[kind]}'"
            for i, kind in enumerate(LARGE[1:], 1)),
        f"{axis}set ylabel 'query ns per word'\nset yrange [0:*]\nplot " + ", ".join(
            f"'{path}' skip {1 + first_row(kind)} every ::0::2 using 4:9:10:11 with yerrorlines lt {i} title '{NAMES[kind]}'"
            for i, kind in enumerate(LARGE[1:], 1))],
        "False positive rate and query time of each layout.")
    return rows


def slower(one, other, low, high):
    """Returns whether `one` takes longer than `other`, or None if the ranges of their times overlap."""
    return True if one[low] > other[high] else False if one[high] < other[low] else None


def claims(lab, means, largest, memory, ms, large_rows):
    """Claims of section 5 of the report and of its conclusion."""
    set_bytes, filter_bytes, characters = memory
    lab.claim("s1", "section 5.1", "the filter takes less memory: 400 bytes; the characters of the set alone take 1854 bytes",
              f"the filter takes {filter_bytes} bytes, the characters {characters:,}, the whole set {set_bytes:,}", filter_bytes < characters)
    enough = abs(100 * largest["textbook"] - 1) < 0.1 and largest["rate"] < 0.03
    lab.claim("s1", "section 5.1", "with k = 8 and 329 members, the required rate needs about 3200 bits",
              f"for a rate of 1 %: {100 * largest['textbook']:.2f} % by the formula, {100 * largest['rate']:.2f} % as the mean of {TRIALS} trials", enough,
              "" if enough else "see the table")
    our_distance = max(abs(ours - predicted) for _, ours, predicted in means.values())
    paper_distance = max(abs(paper - predicted) for paper, _, predicted in means.values())
    lab.claim("s1", "section 5.2", "the error rates basically agree with the predictions: mean rates of 94.65 to 2.93 %, predictions of 95.93 to 3.23 %",
              f"our means are within {our_distance:.1f} percentage points of the predictions, the paper's within {paper_distance:.1f}",
              our_distance < 10, "" if our_distance < 10 else "see the table")
    filter_row, set_row = ms[FILTER][ROUNDS[-1]], ms[SET][ROUNDS[-1]]
    filter_slower = slower(filter_row, set_row, "lowest", "highest")
    lab.claim("s1", "section 5.3", "queries of the filter take longer than queries of a hash set: 1255 ms and 832 ms for 10000 rounds",
              f"the filter takes {filter_row['us'] / 1e3:.0f} ms, the hash set {set_row['us'] / 1e3:.0f} ms, a split-block filter "
              f"{ms[KINDS[4]][ROUNDS[-1]]['us'] / 1e3:.0f} ms", filter_slower,
              {None: "the ranges of the times overlap", False: "the set takes longer here", True: ""}[filter_slower])
    large_set, large_filter = of(large_rows, SET)[0], of(large_rows, KINDS[2])[0]
    set_slower = slower(large_set, large_filter, "query lowest", "query highest")
    few, many = (of(large_rows, KINDS[2])[i] for i in (0, 2))
    more = slower(many, few, "query lowest", "query highest")
    lab.claim("s3", "section 2", "a filter with more hash functions is slower",
              f"{many['query ns']:.0f} ns per query with {many['k']} functions, {few['query ns']:.0f} ns with {few['k']}", more,
              {None: "the ranges of the times overlap", False: "it is faster here", True: ""}[more])
    lab.claim("s1", "conclusion", "with much data, the filter is faster to query than common data structures",
              f"with {large_rows[0]['elements']:,} words, a query takes {large_filter['query ns']:.0f} ns in the filter and {large_set['query ns']:.0f} ns in the set",
              set_slower, {None: "the ranges of the times overlap", False: "the filter takes longer here", True: ""}[set_slower])


def checks(lab, rows, large_rows):
    filters = [row for row in rows[1:] if row["scheme"] != "poly-abs"] + large_rows[1:]
    errors = [abs(row["rate"] - row["from bits"]) / (row["from bits"] * (1 - row["from bits"]) / row["queried"]) ** 0.5 for row in filters]
    lab.check(rows[0]["false positives"] == large_rows[0]["false positives"] == 0, "the set has no false positives")
    lab.check(max(errors) <= 4, "in every layout, each rate of the filters with our hash functions is within 4 standard errors of the rate predicted from the bits")
    tables = []
    for master in ("local[1]", "local[2]", "local[5]"):
        lab.submit("filter-vs-set", "--master", master, "--repeats", 0, "--trials", 3, "--seeds", "random", "--scheme", "poly-abs,spark",
                   lab.words(100_000), lab.path("same"))
        tables.append(lab.parts(lab.path("same")))
    lab.check(all(table == tables[0] for table in tables), "filter-vs-set gives the same counts on local[1], local[2] and local[5]")


def run(lab):
    lab.found("s1", """The author adds 329 names to a filter with k = 8 hash functions, whose seeds are drawn at random from 0 to 99, and looks up those of 60 other names
        that are not also names of members: 10 trials for each size from 500 to 2500 bits. The mean error rates of 94.65 to 2.93 % basically agree with the
        predictions of 95.93 to 3.23 %. A filter of 3200 bits takes 400 bytes; the characters of the set alone take 1854 bytes. Queries of the filter are
        slower than queries of Java's HashSet, because they compute several hash functions: 1255 ms and 832 ms for 10000 rounds over all members.""")
    lab.command(f"glint generate names --rows {MEMBERS} MEMBERS; glint generate names --rows {NON_MEMBERS} --skip {MEMBERS} NON_MEMBERS\n"
                f"glint submit filter-vs-set --non-members NON_MEMBERS --scheme poly-abs --seeds random --k {HASHES} "
                "--m 500,1000,1500,2000,2500,3200 --trials 10 --rates DIR --times DIR MEMBERS OUTPUT")
    rows, trials, times = run_paper_experiment(lab)
    means, largest = show_rates(lab, rows, trials)
    with open(lab.names(MEMBERS), encoding="utf-8") as file:
        memory = show_memory(lab, rows, file.read().splitlines())
    ms = show_times(lab, times)
    large_rows = large(lab)
    by = {(row["structure"], row["scheme"], round(row["bits per key"])): row for row in large_rows}
    classic, split_block = by[*KINDS[2], 10], by[*KINDS[4], 10]
    per_query = {kind: ms[kind][ROUNDS[-1]]["us"] * 1e3 / ROUNDS[-1] / MEMBERS for kind in KINDS}
    lab.measured(f"""With {SIZES[-1]} bits the mean rate of {TRIALS} trials is {means[SIZES[-1]][1]:.2f} %; the paper's is {means[SIZES[-1]][0]} %. A query takes
        {per_query[SET]:.0f} ns in the set and {per_query[FILTER]:.0f} ns in the filter with the paper's hash functions, which read the characters
        {HASHES} times. Block layouts hash once and take {per_query[KINDS[3]]:.0f} ns (block512) and {per_query[KINDS[4]]:.0f} ns (split-block).

        With {large_rows[0]["elements"]:,} words the set takes {large_rows[0]["bytes"] / 1e6:.0f} MB and {large_rows[0]["query ns"]:.0f} ns per query. A
        classic filter with 10 bits per word takes {classic["bytes"] / 1e6:.2f} MB and {classic["query ns"]:.1f} ns per query in batches; a split-block
        filter takes {split_block["query ns"]:.1f} ns, with a rate of {100 * split_block["rate"]:.2f} % instead of {100 * classic["rate"]:.2f} %.""")
    lab.read("""Each trial draws new seeds, so the rates vary more between trials than with fixed seeds: two equal seeds give the same function,
        and a function with seed 0 depends only on the last character. All bits of a member are set, so looking up members takes the longest,
        as in the paper. `from bits` is the rate predicted from the bits of each filter, per block in block layouts; `textbook` is the formula
        for the filter's size. `build ns` and `query ns` are per word, on one thread: filters in batches, as in all jobs, and the set one word
        at a time. The paper calls its two files student0 and student1 in section 5.1, and student1 and student2 in section 5.2.""")
    claims(lab, means, largest, memory, ms, large_rows)
    checks(lab, rows, large_rows)
