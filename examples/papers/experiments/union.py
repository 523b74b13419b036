"""One filter of one large file: the threads paper's MapReduce job, and the book chapter's sizes."""
import filecmp

NAME, TITLE, ORDER = "union", "one filter from many splits, and its size", 90
# The chapter's program: 10 bits for each of 10 M elements. Then by bits for each element.
FILTERS = (("md5-random", "--m", None, "--k", 6), ("spark", "--bits-per-element", 8),
           ("spark", "--bits-per-element", 10), ("wide", "--bits-per-element", 10))
PAPER_N = 10_000_000
COLUMNS = ("scheme", "sized by", "splits", "m", "k", "bits per element", "bits set", "rate", "from bits", "textbook",
           "standard errors", "file bytes", "moved bytes", "s", "lowest", "highest")
BASE = 0.6185  # of s4's rate with the best k, 0.6185^(m/n)


def line(lab, n, urls, others, spec):
    scheme, option, value, *more = spec
    label = f"{value} bits per element"
    if value is None:
        program = lab.paper("s4", "program", "m")
        value, label = int(program.number) * n // PAPER_N, f"m = {int(program.number) * n // PAPER_N:,}, k = 6"
    arguments = ("union", "--scheme", scheme, option, value, *more, urls, lab.path("filter"))
    runs = []
    time = lab.timed(lambda: runs.append(lab.submit(*arguments)), lab.repeats(3))
    done = runs[-1]
    lab.submit("membership", "--key", "none", "--members", "none", others, lab.path("filter"), lab.path("asked"))
    asked = lab.rows_of(lab.path("asked"))[0]
    info = lab.run("filter", "info", lab.path("filter")).splitlines()[1].split()
    m, k, rate, p = int(info[2]), int(info[3]), asked["false positive rate"], asked["from bits"]
    deviation = (p * (1 - p) / (asked["false positives"] + asked["true negatives"])) ** 0.5
    return [scheme, label, done.counter("map output records"), m, k, m / n, int(info[6]), rate, p,
            (1 - 2.718281828459045 ** (-k * n / m)) ** k, (rate - p) / deviation,
            done.counter("bytes written"), done.counter("shuffle value bytes"), time.median, time.low, time.high]


def sizing(lab, n, raw, eight, ten):
    """The chapter's sizes beside ours."""
    scale = PAPER_N / n
    rows = [[f"{bits} bits per element: rate, %", lab.paper("s4", "sizing", f"{bits} bits per element", "false positive rate"),
             100 * BASE ** bits, 100 * row[7]] for bits, row in ((8, eight), (10, ten))]
    rows += [["10 M URLs, raw, GB", lab.paper("s4", "sizing", "10 M URLs of 100 bytes, raw"), None, raw * scale / 1e9]]
    rows += [[f"10 M URLs, {bits} bits each, MB", lab.paper("s4", "sizing", f"10 M URLs, {bits} bits each"), PAPER_N * bits / 8e6,
              row[11] * scale / 1e6] for bits, row in ((8, eight), (10, ten))]
    path = lab.table("sizing", ("", "paper", "formula", "measured"), rows,
                     f"Measured with {n:,} URLs{'' if scale == 1 else ', scaled to 10 M'}; the formula of the rate is 0.6185^(m/n).",
                     why=f"our URLs have {raw / n:.0f} bytes with their line ends, the chapter's 100; its rates are rounded")
    lab.table("program", ("", "paper", "measured"), [
        ["m", lab.paper("s4", "program", "m"), int(lab.paper("s4", "program", "m").number) * n // PAPER_N],
        ["k", lab.paper("s4", "program", "k"), 6],
        ["rate with the best k", lab.paper("s4", "sizing", "rate with the best k"), "see above"]],
        "The chapter's program: a filter of fixed size, whatever is put in.", why="under --quick the filter shrinks with the elements")
    return path


def run(lab):
    lab.found("s3", """Merging datasets and then calculating the Bloom filter is equivalent to calculating a filter of each and merging these
        by OR. So each mapper calculates the filter of its part of the data, a single reducer merges them and writes one binary file.""")
    lab.found("s4", """The same: each mapper builds a filter of its split, a single reducer unites them. The program's filter has 100000000 bits, and 6
        hashes from a random generator that the MD5 of the element seeds. With the best k the rate is 0.6185^(m/n): 8 bits per
        element give about 2 percent, 10 bits 0.8 percent. 10 M URLs of 100 bytes take 1 GB, their filter 10 MB or 12.5 MB.""")
    lab.command("glint generate urls --rows 10000000 URLS; glint submit union --m 100000000 --k 6 --scheme md5-random URLS "
                "FILTER; glint filter info FILTER; glint filter query FILTER < IDS\n"
                "glint submit union --bits-per-element 8 --scheme hadoop-bloom URLS FILTER; glint filter export --format hadoop --output DIR FILTER; "
                "glint filter import DIR --output FILTER")
    n = 200_000 if lab.quick else PAPER_N
    urls, others = lab.urls(n), lab.urls(n // 10, seed=2)
    rows = [line(lab, n, urls, others, spec) for spec in FILTERS]
    path = lab.table("union", COLUMNS, rows, f"{n:,} URLs, asked for {n // 10:,} others. Times are of the whole process, on all "
                     "processors: it counts the elements first, then builds. `splits` filters were joined.")
    eight, ten = rows[1], rows[2]
    with open(urls, "rb") as file:
        raw = sum(line.index(b"\t") + 1 for line in file)
    sizes = sizing(lab, n, raw, eight, ten)
    names = ", ".join(f'"{row[0].partition("-")[0]}\\n{row[5]:.0f}" {i}' for i, row in enumerate(rows))
    lab.plot("rates", "set style fill solid 0.8 border\nset boxwidth 0.22\nset yrange [0:*]\nset ylabel 'rate, %'\n"
             f"set xrange [-0.6:3.6]\nset xtics nomirror ({names})\nset grid noxtics\nset bmargin 5\n"
             "set xlabel 'scheme, bits per element' offset 0,-1\n"
             f"plot '{path}' skip 1 using ($0-0.12):($8*100) with boxes lt 1 title 'measured', "
             f"'{path}' skip 1 using ($0+0.12):({BASE}**$6*100) with boxes lt 2 title '0.6185^(m/n)', "
             f"'{sizes}' skip 1 every ::0::1 using ($0+1):2 with points ls 10 title 'paper'", "The rate, beside the chapter's formula.")
    lab.measured(f"""With 8 bits for each of {n:,} URLs the filter admits {100 * eight[7]:.2f} % of others, with 10 bits
        {100 * ten[7]:.2f} %. The chapter's own filter, 10 bits with k = 6, admits {100 * rows[0][7]:.2f} %: 7 would be the best k.
        It is made in {rows[0][13]:.2f} s from {rows[0][2]} splits, of {rows[0][13] * 1e9 / n:.0f} ns for each URL; with XXH3
        (`wide`) it is {rows[3][13]:.2f} s.""")
    lab.read("""Splits are made so large that the filters which go to the reduce stay small beside them: `moved bytes` is what went,
        packed, splits x m / 8 at most. `rate` is of URLs that were not put in, and `standard errors` how far it lies from
        what the bits of the filter say.""")
    same = everywhere(lab, urls)
    lab.claim("s3", "section 3.2", "merging the filters of parts equals the filter of the whole", "the same file from other splits and slots",
              same, "" if same else "the files differ")
    rates = abs(eight[8] - 0.02) < 0.002 and abs(ten[8] - 0.008) < 0.0005
    lab.claim("s4", "implementing a Bloom filter", "the OR of the filters of two sets is the filter of their union", "the same file from other splits and slots",
              same, "" if same else "the files differ")
    fits = abs(rows[0][10]) <= 4
    lab.claim("s4", "implementing a Bloom filter", "indexes from a random generator with the MD5 as its seed are roughly independent and uniformly distributed",
              f"the rate is {100 * rows[0][7]:.3f} %, where independent ones give {100 * rows[0][8]:.3f} %", fits, "" if fits else "see the table")
    md5, murmur = rows[0], rows[2]
    costly = True if md5[14] > murmur[15] else False if md5[15] < murmur[14] else None
    lab.claim("s3", "section 2", "cryptographic hash functions are computationally expensive, murmur is fast",
              f"a filter by {md5[4]} functions of MD5 takes {md5[13]:.2f} s, by {murmur[4]} of MurmurHash {murmur[13]:.2f} s", costly,
              {None: "the spreads of the times overlap", False: "MurmurHash takes longer here", True: ""}[costly])
    lab.claim("s4", "what does a Bloom filter do", "8 bits per element give about 2 percent, 10 bits 0.8 percent",
              f"{100 * eight[7]:.2f} % and {100 * ten[7]:.2f} %", rates, "" if rates else "see the table")
    lab.claim("s4", "what does a Bloom filter do", "the storage shrinks by 2 orders of magnitude at 8 bits per element",
              f"{raw / 1e6:,.0f} MB of URLs, a filter of {eight[11] / 1e6:.2f} MB: {raw / eight[11]:.0f} times less; URLs of 100 bytes would take "
              f"{n * 100 / eight[11]:.0f} times its size", n * 100 / eight[11] > 99, "" if n * 100 / eight[11] > 99 else "see the table")
    lab.check(all(abs(row[10]) <= 4 for row in rows), "each rate lies within 4 standard errors of the bits' prediction")
    lab.check(rates, "8 bits give about 2 %, 10 bits about 0.8 %, as in the chapter")
    lab.check(as_hadoop(lab, urls), "a filter exported as Hadoop's own class writes it, and imported and exported again, is the same file")
    lab.check(same, "the same file on local[1], local[2] and from other splits")


def as_hadoop(lab, urls):
    """Whether a file of Hadoop's BloomFilter class comes back as it was."""
    lab.submit("union", "--scheme", "hadoop-bloom", "--bits-per-element", 8, urls, lab.path("filter"))
    lab.run("filter", "export", "--format", "hadoop", "--output", lab.path("exported"), lab.path("filter"))
    lab.run("filter", "import", "--output", lab.path("imported"), lab.path("exported"))
    lab.run("filter", "export", "--format", "hadoop", "--output", lab.path("again"), lab.path("imported"))
    return filecmp.cmp(lab.path("exported", "0.hadoop"), lab.path("again", "0.hadoop"), shallow=False)


def everywhere(lab, urls):
    """Whether the filter is the same whatever its way."""
    files = []
    for options in (("--master", "local[1]"), ("--master", "local[2]"), ("--split-size", "16M")):
        lab.submit("union", *options, "--bits-per-element", 8, urls, lab.path("filter"))
        with open(lab.path("filter", "part-00000"), "rb") as file:
            files.append(file.read())
    return all(file == files[0] for file in files)
