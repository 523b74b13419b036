"""The threads paper's filter: a sample is put in, everything is asked for."""
NAME, TITLE, ORDER = "admit", "one filter of a sample, and what it admits", 60
SIZES = (10_000, 50_000, 100_000, 500_000, 1_000_000, 2_000_000)
SIZED = (("--bits-per-element", 2.57), ("--p", 0.1), ("--p", 0.01))
COLUMNS = ("strings", "sized by", "elements", "m", "k", "admitted", "rejected", "false positives", "rate",
           "from bits", "textbook", "standard errors", "ms", "lowest", "highest")


def label(option, value):
    return f"{value} bits per element" if option != "--p" else f"p = {value}"


def ask(lab, strings, option, value, *more):
    """One job: its line of numbers."""
    lab.submit("admit", option, value, *more, lab.gap_sample(strings), lab.words(strings), lab.path("report"))
    return lab.rows_of(lab.path("report"))[0]


def line(lab, strings, option, value):
    row = ask(lab, strings, option, value)
    time = lab.timed(lambda: ask(lab, strings, option, value))
    others = row["asked"] - row["elements"]
    false = row["admitted"] - row["elements"]
    rate, p = false / others, row["from bits"]
    return [strings, label(option, value), row["elements"], row["m"], row["k"], row["admitted"], row["rejected"],
            false, rate, p, row["textbook"], (rate - p) / (p * (1 - p) / others) ** 0.5,
            time.median * 1e3, time.low * 1e3, time.high * 1e3]


def run(lab):
    lab.found("""A filter stands before a store: words of 30 letters that are in it are admitted, and almost all others
        rejected. The sample that is put in is taken from the data at random gaps, uniform up to a limit; data are 10,000 to
        2,000,000 strings, and m is about 2.57 bits per element.""")
    lab.command("glint generate words --rows 2000000 WORDS; glint submit gap-sample --gap 19 WORDS SAMPLE; "
                "glint submit admit --bits-per-element 2.57 --admitted DIR --rejected DIR SAMPLE WORDS OUTPUT")
    sizes = SIZES[:3] if lab.quick else SIZES
    rows = [line(lab, strings, *sized) for sized in SIZED for strings in sizes]
    path = lab.table("admitted", COLUMNS, rows, "Gaps up to 19 lines: one word in ten is put in. Times are of the "
                     "whole process with its start, on all processors: count, build, ask.")
    index = range(len(SIZED))
    part = lambda i: f"'{path}' skip {1 + i * len(sizes)} every ::0::{len(sizes) - 1}"
    lab.plot("rates", "set logscale x\nset xlabel 'strings'\nset format x '%.0s%c'\nset xrange [8000:2.5e6]\n"
             "set ylabel 'measured / from the bits'\nset yrange [0.8:1.2]\nset key inside bottom right\n"
             "plot 1 lc rgb '#999999' dt 2 notitle, " + ", ".join(
                 f"{part(i)} using ($1*{0.93 + 0.07 * i}):($9/$10):(4*sqrt($10*(1-$10)/($6+$7-$3))/$10) with yerrorbars lt {i + 1} "
                 f"title '{label(*SIZED[i])}'" for i in index),
             "Each bar is four standard errors of what chance gives.", size=(760, 360))
    lab.plot("times", "set logscale xy\nset xlabel 'strings'\nset format x '%.0s%c'\nset xrange [8000:2.5e6]\n"
             "set ylabel 'ms'\nset yrange [3:50]\nset ytics (3, 5, 10, 20, 50)\nset key inside top left\nplot " + ", ".join(
                 f"{part(i)} using ($1*{0.93 + 0.07 * i}):13:14:15 with yerrorbars lt {i + 1} title '{label(*SIZED[i])}', "
                 f"{part(i)} using ($1*{0.93 + 0.07 * i}):13 with lines lt {i + 1} lw 1 notitle" for i in index),
             "Medians, from the least to the greatest. Below 100,000 strings it is the start of the process that counts.",
             size=(760, 360))
    same, ratio = slots(lab, sizes[-1])
    last = {row[1]: row for row in rows if row[0] == sizes[-1]}
    dense, loose = last[label(*SIZED[0])], last[label(*SIZED[-1])]
    lab.measured(f"""With {dense[3] / dense[2]:.2f} bits for each element k is {dense[4]}, and of {sizes[-1]:,} strings the filter
        admits {dense[5]:,}: the {dense[2]:,} that are in it, and {100 * dense[8]:.1f} % of the others; the textbook has
        {100 * dense[10]:.1f} %. Sized for p = 0.01 it takes {loose[3] / loose[2]:.2f} bits, and admits {100 * loose[8]:.2f} %
        of the others. All of it takes {dense[12]:.0f} ms. In one process local[2] is {ratio:.2f} times as fast as local[1]; the paper
        has 1.17 to 1.3.""")
    lab.read("""`false positives` are admitted strings that were not put in; `rate` is their part of all that were not.
        `from bits` is (bits set / m)^k of the filter at hand, and `standard errors` how far the rate lies from it. 2.57 bits are so
        few that the rate does not help a store much; it is there to compare.""")
    lab.check(all(row[5] + row[6] == row[0] for row in rows), "each string is admitted or rejected")
    lab.check(all(abs(row[11]) <= 4 for row in rows), "each rate lies within 4 standard errors of the bits' prediction")
    lab.check(same, "the same counts on local[1], local[2] and local[5]")


def slots(lab, strings):
    """Whether all numbers of slots count the same, and how much faster two are."""
    masters = ("local[1]", "local[2]", "local[5]")
    reports = [ask(lab, strings, *SIZED[0], "--master", master) for master in masters]
    walls = {master: [] for master in masters[:2]}
    for _ in range(lab.repeats(15)):  # by turns, so that a busy machine is busy for both
        for master, samples in walls.items():
            samples.append(lab.submit("admit", *SIZED[0], "--master", master, lab.gap_sample(strings),
                                      lab.words(strings), lab.path("report")).wall_s * 1e3)
    table = [[master, *(f(samples) for f in (lambda s: sorted(s)[len(s) // 2], min, max))]
             for master, samples in walls.items()]
    lab.table("slots", ["master", "ms", "lowest", "highest"], table,
              f"{strings:,} strings, 2.57 bits per element: the whole job, without the start of the process.")
    return all(report == reports[0] for report in reports), table[0][1] / table[1][1]
