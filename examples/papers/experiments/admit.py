"""The threads paper's filter: a sample is put in, everything is asked for."""
import json
import math

NAME, TITLE, ORDER = "admit", "one filter of a sample, and what it admits", 60
SIZES = ((10_000, "10K"), (100_000, "100K"), (500_000, "500K"), (1_000_000, "1M"), (2_000_000, "2M"))
GAP = 500  # the paper's samples are about one string in 256: gaps of up to about 500
SCHEMES = ("poly-mod", "spark")  # the paper's family of functions, with R drawn at random, and one that spreads well
SEEDS = {"poly-mod": ("--seeds", "random", "--seed", 1), "spark": ()}
COLUMNS = ("strings", "scheme", "paper: sample", "measured sample", "paper: m", "k", "admitted", "rejected", "false positives",
           "rate", "from bits", "textbook", "standard errors")


def size_of(lab, label):
    return lab.paper("s3", "2.4.1", f"{label} strings", "m")


def ask(lab, strings, scheme, m, *more):
    """One job: its line of numbers."""
    lab.submit("admit", "--scheme", scheme, "--m", m, *SEEDS[scheme], *more, lab.gap_sample(strings, GAP), lab.words(strings), lab.path("report"))
    return lab.rows_of(lab.path("report"))[0]


def line(lab, strings, label, scheme):
    m = size_of(lab, label)
    row = ask(lab, strings, scheme, int(m.number))
    others = row["queried"] - row["elements"]
    false = row["admitted"] - row["elements"]
    rate, p = false / others, row["from bits"]
    return [label, scheme, lab.paper("s3", "2.4.1", f"{label} strings", "sample"), row["elements"], m, row["k"], row["admitted"],
            row["rejected"], false, rate, p, row["textbook"], (rate - p) / (p * (1 - p) / others) ** 0.5]


def draws(lab, strings, label):
    """The paper's family with other R: what each draw admits, and what its R have in common with m."""
    m, rows = int(size_of(lab, label).number), []
    for seed in range(1, 4 if lab.quick else 11):
        options = ("--scheme", "poly-mod", "--seeds", "random", "--seed", seed, "--m", m)
        lab.submit("union", *options, lab.gap_sample(strings, GAP), lab.path("filter"))
        lab.submit("admit", "--filters", lab.path("filter"), lab.words(strings), lab.path("report"))
        row = lab.rows_of(lab.path("report"))[0]
        drawn = json.loads(lab.run("filter", "info", "--json", lab.path("filter")))["filters"][0]["seeds"]
        rate = (row["admitted"] - row["elements"]) / (row["queried"] - row["elements"])
        rows.append([str(seed), ", ".join(map(str, drawn)), ", ".join(str(math.gcd(r, m)) for r in drawn), rate, row["from bits"], row["textbook"]])
    lab.table("draws", ("--seed", "R", "gcd of R and m", "rate", "from bits", "textbook"), rows, f"{label} strings, m = {m:,}.")
    return [row[3] for row in rows]


def pipeline(lab, strings, m):
    """The two Hadoop jobs: whether admit --filters reports what admit on its own does, and its counts by counters."""
    alone = ask(lab, strings, "poly-mod", m)
    lab.submit("union", "--scheme", "poly-mod", *SEEDS["poly-mod"], "--m", m, lab.gap_sample(strings, GAP), lab.path("filter"))
    done = lab.submit("admit", "--filters", lab.path("filter"), lab.words(strings), lab.path("report"))
    row = lab.rows_of(lab.path("report"))[0]
    names = ("admitted", "rejected")
    lab.table("pipeline", ("", "by map and reduce", "counters", "admit alone"),
              [[name, row[name], done.counter(name), alone[name]] for name in names],
              "The two jobs of the Hadoop program: union writes the binary filter, admit --filters reads it and counts by map and reduce.")
    return row == alone and all(row[name] == done.counter(name) for name in names)


def run(lab):
    lab.found("s3", """The filter is initialized with a sample, and each string of a dataset is then admitted or rejected. A rejected one is
        surely not in the sample; an admitted one may be a false positive. Five datasets have 10K, 100K, 500K, 1M and 2M
        pronounceable strings; the samples, taken at random gaps, have 39, 409, 2012, 39176 and 8018 strings, and the filters 100, 1050,
        5160, 10200 and 20560 places.""")
    lab.command(f"glint generate words --rows 2000000 WORDS; glint submit gap-sample --gap {GAP} WORDS SAMPLE\n"
                "glint submit admit --scheme poly-mod --seeds random --m 20560 SAMPLE WORDS OUTPUT\n"
                "glint submit union --scheme poly-mod --seeds random --m 20560 SAMPLE FILTER; glint submit admit --filters FILTER WORDS OUTPUT")
    sizes = SIZES[:3] if lab.quick else SIZES
    rows = [line(lab, *size, scheme) for scheme in SCHEMES for size in sizes]
    path = lab.table("admitted", COLUMNS, rows, f"Gaps up to {GAP} lines: about one string in {GAP // 2} is put in.",
                     why="the sample is drawn by chance; 39176 does not fit its m, and 3917 would")
    if lab.quick:
        lab.table("not-run", ("strings", "paper: sample", "paper: m"), [
            [label, lab.paper("s3", "2.4.1", f"{label} strings", "sample"), size_of(lab, label)] for _, label in SIZES[3:]],
            "Under --quick these are not run.", why="not measured")
    lab.plot("rates", "set xlabel 'strings'\nset ylabel 'false positive rate'\nset yrange [0:1]\nset xrange [-0.5:4.5]\nplot "
             + ", ".join(f"'{path}' skip {1 + i * len(sizes)} every ::0::{len(sizes) - 1} using 0:10:xtic(1) with linespoints lt {i + 1} "
                         f"title '{scheme}', '' skip {1 + i * len(sizes)} every ::0::{len(sizes) - 1} using 0:11 with lines lt {i + 1} dt 3 "
                         f"title 'from its bits'" for i, scheme in enumerate(SCHEMES)),
             "How many of the others are admitted, and what the bits of the filter predict.")
    lab.plot("samples", "set xlabel 'strings'\nset ylabel 'strings of the sample'\nset logscale y\nset format y '%.0s%c'\nset xrange [-0.5:4.5]\nplot "
             f"'{path}' skip 1 every ::0::{len(sizes) - 1} using 0:3:xtic(1) with linespoints ls 10 title 'paper', "
             f"'' skip 1 every ::0::{len(sizes) - 1} using 0:4 with linespoints lt 1 title 'measured'", "The samples; that of 1M strings is the paper's slip.")
    drawn = draws(lab, *sizes[1])
    own, spread = rows[:len(sizes)], rows[len(sizes):]
    last = own[-1]
    lab.measured(f"""With {last[4].number / last[3]:.2f} bits for each element, of {last[0]} strings the filter of the paper's functions admits
        {last[6]:,}: the {last[3]:,} that are in it, and {100 * last[9]:.1f} % of the others; its bits predict {100 * last[10]:.1f} %. Over
        {len(drawn)} draws of R, {sizes[1][1]} strings have rates from {100 * min(drawn):.0f} to {100 * max(drawn):.0f} %.""")
    lab.read("""`false positives` are admitted strings that were not put in; `rate` is their part of all that were not. `from bits` is
        (bits set / m)^k of the filter at hand, and `standard errors` how far the rate lies from it. The prediction takes the functions
        for independent. Those of the paper are not quite: where R shares a factor with m, only
        the last characters count modulo that factor, and pronounceable strings have few endings. So their rates lie above it; MurmurHash's do not.""")
    lab.claim("s3", "section 1", "what is in the sample is always admitted: what is rejected is surely not in it",
              f"all {sum(row[3] for row in own):,} elements of {len(own)} samples are admitted", True)
    lab.check(all(row[6] + row[7] == strings for row, (strings, _) in zip(rows, sizes * len(SCHEMES))),
              "each string is admitted or rejected")
    lab.check(all(row[8] >= 0 for row in rows), "no element of a sample is rejected")
    lab.check(all(abs(row[3] / row[2].number - 1) < 0.2 for row in rows if row[0] != "1M"), "the samples are about as large as the paper's")
    lab.check(all(abs(row[12]) <= 4 for row in spread), "with scheme spark each rate lies within 4 standard errors of the bits' prediction")
    lab.check(pipeline(lab, sizes[-1][0], int(last[4].number)), "union, then admit --filters: the report of admit on its own, and its counters")
    reports = [ask(lab, sizes[-1][0], "poly-mod", int(last[4].number), "--master", master)
               for master in ("local[1]", "local[2]", "local[5]")]
    lab.check(all(report == reports[0] for report in reports), "the same counts on local[1], local[2] and local[5]")
