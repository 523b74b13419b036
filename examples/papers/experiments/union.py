"""The threads paper's MapReduce job and the book chapter's sizes: one filter of one large file."""
NAME, TITLE, ORDER = "union", "one filter from many splits", 90
# The paper's m and k as they are; then by bits for each element.
FILTERS = (("md5-random", "--m", 100_000_000, "--k", 6), ("spark", "--bits-per-element", 8),
           ("spark", "--bits-per-element", 10), ("wide", "--bits-per-element", 10))
PAPER_N = 10_000_000
COLUMNS = ("scheme", "sized by", "splits", "m", "k", "bits per element", "bits set", "rate", "from bits", "textbook",
           "standard errors", "file bytes", "moved bytes", "s", "lowest", "highest")


def sized_by(scheme, option, value, *more):
    return f"m = {value:,}, k = {more[1]}" if option == "--m" else f"{value} bits per element"


def line(lab, n, urls, others, spec):
    scheme, option, value, *more = spec
    if option == "--m":
        value = value * n // PAPER_N
    arguments = ("union", "--scheme", scheme, option, value, *more, urls, lab.path("filter"))
    runs = []
    time = lab.timed(lambda: runs.append(lab.submit(*arguments)), lab.repeats(3))
    done = runs[-1]
    lab.submit("membership", "--key", "none", "--members", "none", others, lab.path("filter"), lab.path("asked"))
    asked = lab.rows_of(lab.path("asked"))[0]
    info = lab.run("filter", "info", lab.path("filter")).splitlines()[1].split()
    m, k, rate, p = int(info[2]), int(info[3]), asked["false positive rate"], asked["from bits"]
    deviation = (p * (1 - p) / (asked["false positives"] + asked["true negatives"])) ** 0.5
    return [scheme, sized_by(scheme, option, value, *more), done.counter("map output records"), m, k, m / n,
            int(info[6]), rate, p, (1 - 2.718281828459045 ** (-k * n / m)) ** k, (rate - p) / deviation,
            done.counter("bytes written"), done.counter("bytes between stages"), time.median, time.low, time.high]


def run(lab):
    lab.found("""Key-value text becomes one filter: each split fills a filter, one reduce ORs them, and one binary file is left. In
        the paper m is 100,000,000 and k is 6, with indexes from a random generator that the MD5 of an element seeds. The book
        chapter sizes by bits per element: for 10 million URLs 8 bits give 2 %, and 10 bits 0.8 %.""")
    lab.command("glint generate urls --rows 10000000 URLS; glint submit union --m 100000000 --k 6 --scheme md5-random URLS "
                "FILTER; glint filter info FILTER; glint filter query FILTER < IDS")
    n = 200_000 if lab.quick else PAPER_N
    urls, others = lab.urls(n), lab.urls(n // 10, seed=2)
    rows = [line(lab, n, urls, others, spec) for spec in FILTERS]
    path = lab.table("union", COLUMNS, rows, f"{n:,} URLs, asked for {n // 10:,} others. Times are of the whole process, on all "
                     f"processors: it counts the elements first, then builds. `splits` filters were joined.")
    names = ", ".join(f"'{row[0]}, {row[5]:.0f} bits' {i}" for i, row in enumerate(rows))
    lab.plot("rates", "set style fill solid 0.8 border\nset boxwidth 0.25\nset yrange [0:*]\nset ylabel 'rate, %'\n"
             f"set xrange [-0.6:3.6]\nset xtics nomirror ({names})\nset key inside top right\nset grid noxtics\n"
             f"plot '{path}' skip 1 using ($0-0.15):($8*100) with boxes lt 1 "
             f"title 'measured', '{path}' skip 1 using ($0+0.15):($10*100) with boxes lt 2 title 'textbook'",
             "10 bits for each element leave less than half of the errors that 8 bits leave.", size=(760, 340))
    by = {(row[0], row[1]): row for row in rows}
    eight, ten = by["spark", "8 bits per element"], by["spark", "10 bits per element"]
    lab.measured(f"""With 8 bits for each of {n:,} URLs the filter admits {100 * eight[7]:.2f} % of others, with 10 bits
        {100 * ten[7]:.2f} %. The paper's own filter, 10 bits with k = 6, admits {100 * rows[0][7]:.2f} %: 7 would be the best k.
        It is made in {rows[0][13]:.2f} s from {rows[0][2]} splits, of {rows[0][13] * 1e9 / n:.0f} ns for each URL; with XXH3
        (`wide`) it is {rows[3][13]:.2f} s.""")
    lab.read("""Splits are made so large that the filters which go to the reduce stay small beside them: `moved bytes` is what went,
        packed, splits x m / 8 at most. `rate` is of URLs that were not put in, and `standard errors` how far it lies from
        what the bits of the filter say.""")
    lab.check(all(abs(row[10]) <= 4 for row in rows), "each rate lies within 4 standard errors of the bits' prediction")
    lab.check(abs(eight[8] - 0.02) < 0.002 and abs(ten[8] - 0.008) < 0.0005,
              "8 bits give about 2 %, 10 bits about 0.8 %, as in the chapter")
    lab.check(everywhere(lab, urls), "the same file on local[1], local[2] and from other splits")


def everywhere(lab, urls):
    """Whether the filter is the same whatever its way."""
    files = []
    for options in (("--master", "local[1]"), ("--master", "local[2]"), ("--split-size", "16M")):
        lab.submit("union", *options, "--bits-per-element", 8, urls, lab.path("filter"))
        with open(lab.path("filter", "part-00000"), "rb") as file:
            files.append(file.read())
    return all(file == files[0] for file in files)
