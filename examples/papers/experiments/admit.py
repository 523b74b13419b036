"""The filter of the threads paper: built from a sample, then all strings of the dataset are looked up."""
import json
import math

NAME, TITLE, ORDER = "admit", "a filter of a sample, and the strings it admits", 60
SIZES = ((10_000, "10K"), (100_000, "100K"), (500_000, "500K"), (1_000_000, "1M"), (2_000_000, "2M"))
GAP = 500  # the paper samples about one string in 256, so gaps are up to about 500
SCHEMES = ("poly-mod", "spark")  # the paper's hash functions, with random R, and MurmurHash for comparison
SEEDS = {"poly-mod": ("--seeds", "random", "--seed", 1), "spark": ()}
COLUMNS = ("strings", "scheme", "paper: sample", "measured sample", "paper: m", "k", "admitted", "rejected", "false positives",
           "rate", "from bits", "textbook", "standard errors")


def size_of(lab, label):
    return lab.paper("s3", "2.4.1", f"{label} strings", "m")


def run_admit(lab, strings, scheme, m, *more):
    """Runs the admit job; returns the row of its report."""
    lab.submit("admit", "--scheme", scheme, "--m", m, *SEEDS[scheme], *more, lab.gap_sample(strings, GAP), lab.words(strings), lab.path("report"))
    return lab.rows_of(lab.path("report"))[0]


def rejected_of_sample(lab, strings, label):
    """How many elements of the sample their own filter rejects, with the paper's functions."""
    sample = lab.gap_sample(strings, GAP)
    lab.submit("admit", "--scheme", "poly-mod", *SEEDS["poly-mod"], "--m", int(size_of(lab, label).number), sample, sample, lab.path("report"))
    return lab.rows_of(lab.path("report"))[0]["rejected"]


def measure(lab, strings, label, scheme):
    m = size_of(lab, label)
    row = run_admit(lab, strings, scheme, int(m.number))
    others = row["queried"] - row["elements"]
    false = row["admitted"] - row["elements"]
    rate, p = false / others, row["from bits"]
    return [label, scheme, lab.paper("s3", "2.4.1", f"{label} strings", "sample"), row["elements"], m, row["k"], row["admitted"],
            row["rejected"], false, rate, p, row["textbook"], (rate - p) / (p * (1 - p) / others) ** 0.5]


def draws(lab, strings, label):
    """The paper's functions with other R: the rate of each draw, and the common factors of its R with m."""
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
    """Runs the two Hadoop jobs. Returns whether admit --filters gives the same report as admit alone, and whether its
    counters have the same counts."""
    alone = run_admit(lab, strings, "poly-mod", m)
    lab.submit("union", "--scheme", "poly-mod", *SEEDS["poly-mod"], "--m", m, lab.gap_sample(strings, GAP), lab.path("filter"))
    done = lab.submit("admit", "--filters", lab.path("filter"), lab.words(strings), lab.path("report"))
    row = lab.rows_of(lab.path("report"))[0]
    names = ("admitted", "rejected")
    lab.table("pipeline", ("", "by map and reduce", "counters", "admit alone"),
              [[name, row[name], done.counter(name), alone[name]] for name in names],
              "The two jobs of the Hadoop program: union writes the binary filter; admit --filters reads it, and counts by map and reduce.")
    return row == alone and all(row[name] == done.counter(name) for name in names)


def run(lab):
    lab.found("s3", """The program initializes a filter with a sample of a dataset, then admits or rejects each string of the dataset. A
        rejected string is certainly not in the sample; an admitted string may be a false positive. The five datasets have 10K,
        100K, 500K, 1M and 2M pronounceable strings. The samples, taken at random gaps, have 39, 409, 2012, 39176 and 8018
        strings; the filters have 100, 1050, 5160, 10200 and 20560 positions.""")
    lab.command(f"glint generate words --rows 2000000 WORDS; glint submit gap-sample --gap {GAP} WORDS SAMPLE\n"
                "glint submit admit --scheme poly-mod --seeds random --m 20560 SAMPLE WORDS OUTPUT\n"
                "glint submit union --scheme poly-mod --seeds random --m 20560 SAMPLE FILTER; glint submit admit --filters FILTER WORDS OUTPUT")
    sizes = SIZES[:3] if lab.quick else SIZES
    rows = [measure(lab, *size, scheme) for scheme in SCHEMES for size in sizes]
    path = lab.table("admitted", COLUMNS, rows, f"Gaps of up to {GAP} lines: about one string in {GAP // 2} is in the sample.",
                     why="the samples are random; the paper's 39176 does not fit its m, 3917 would")
    if lab.quick:
        lab.table("not-run", ("strings", "paper: sample", "paper: m"), [
            [label, lab.paper("s3", "2.4.1", f"{label} strings", "sample"), size_of(lab, label)] for _, label in SIZES[3:]],
            "Sizes that --quick skips.", why="not measured")
    lab.plot("rates", "set xlabel 'strings'\nset ylabel 'false positive rate'\nset yrange [0:1]\nset xrange [-0.5:4.5]\nplot "
             + ", ".join(f"'{path}' skip {1 + i * len(sizes)} every ::0::{len(sizes) - 1} using 0:10:xtic(1) with linespoints lt {i + 1} "
                         f"title '{scheme}', '' skip {1 + i * len(sizes)} every ::0::{len(sizes) - 1} using 0:11 with lines lt {i + 1} dt 3 "
                         f"title 'predicted from bits'" for i, scheme in enumerate(SCHEMES)),
             "The share of the strings not in the sample that the filter admits, and the rate predicted from the filter's bits.")
    lab.plot("samples", "set xlabel 'strings'\nset ylabel 'strings of the sample'\nset logscale y\nset format y '%.0s%c'\nset xrange [-0.5:4.5]\nplot "
             f"'{path}' skip 1 every ::0::{len(sizes) - 1} using 0:3:xtic(1) with linespoints ls 10 title 'paper', "
             f"'' skip 1 every ::0::{len(sizes) - 1} using 0:4 with linespoints lt 1 title 'measured'", "The size of each sample. The paper's sample for 1M strings does not fit its m.")
    drawn = draws(lab, *sizes[1])
    own, spread = rows[:len(sizes)], rows[len(sizes):]
    last = own[-1]
    lab.measured(f"""With the paper's hash functions and {last[4].number / last[3]:.2f} bits per element, the filter admits {last[6]:,} of {last[0]}
        strings: the {last[3]:,} of the sample, and {100 * last[9]:.1f} % of the others; its bits predict {100 * last[10]:.1f} %. Over
        {len(drawn)} draws of R, the rate for {sizes[1][1]} strings ranges from {100 * min(drawn):.0f} to {100 * max(drawn):.0f} %.""")
    lab.read("""`false positives` are admitted strings that are not in the sample; `rate` is their share of all strings not in the
        sample. `from bits` is (bits set / m)^k, and `standard errors` is the difference of `rate` from `from bits`, in standard
        errors. The prediction assumes independent hash functions. The functions of the paper are not independent: if R has a common
        factor with m, the hash modulo that factor depends only on the last characters, and pronounceable strings have few
        endings. Their rates are therefore above the prediction; those of MurmurHash are not.""")
    rejected = sum(rejected_of_sample(lab, *size) for size in sizes)
    lab.claim("s3", "section 1", "strings in the sample are always admitted; a rejected string is certainly not in it",
              f"{rejected} of the {sum(row[3] for row in own):,} elements of {len(own)} samples are rejected", rejected == 0,
              why="" if rejected == 0 else "a filter must not reject its own elements: an error in glint")
    lab.check(all(row[6] + row[7] == strings for row, (strings, _) in zip(rows, sizes * len(SCHEMES))),
              "every string is either admitted or rejected")
    lab.check(all(row[8] >= 0 for row in rows), "each filter admits at least as many strings as its sample has")
    lab.check(all(abs(row[3] / row[2].number - 1) < 0.2 for row in rows if row[0] != "1M"), "each sample size is within 20 % of the paper's, except for 1M strings")
    lab.check(all(abs(row[12]) <= 4 for row in spread), "with scheme spark, each rate is within 4 standard errors of the rate predicted from the filter's bits")
    lab.check(pipeline(lab, sizes[-1][0], int(last[4].number)), "union followed by admit --filters gives the same report and counters as admit alone")
    reports = [run_admit(lab, sizes[-1][0], "poly-mod", int(last[4].number), "--master", master)
               for master in ("local[1]", "local[2]", "local[5]")]
    lab.check(all(report == reports[0] for report in reports), "admit gives the same counts on local[1], local[2] and local[5]")
