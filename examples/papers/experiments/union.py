"""One filter of a large file: the MapReduce job of the threads paper, and the filter sizes of the book chapter."""
import filecmp

NAME, TITLE, ORDER = "union", "one filter built from many splits, and its size", 90
# The program of the chapter, with 10 bits per element for 10 M elements; then filters sized by bits per element.
FILTERS = (("md5-random", "--m", None, "--k", 6), ("spark", "--bits-per-element", 8),
           ("spark", "--bits-per-element", 10), ("wide", "--bits-per-element", 10))
PAPER_N = 10_000_000
COLUMNS = ("scheme", "sized by", "splits", "m", "k", "bits per element", "bits set", "rate", "from bits", "textbook",
           "standard errors", "file bytes", "shuffled bytes", "s", "lowest", "highest")
BASE = 0.6185  # s4: the rate with the optimal k is 0.6185^(m/n)


def measure(lab, n, urls, others, spec):
    scheme, option, value, *more = spec
    label = f"{value} bits per element"
    if value is None:
        program = lab.paper("s4", "program", "m")
        value, label = int(program.number) * n // PAPER_N, f"m = {int(program.number) * n // PAPER_N:,}, k = 6"
    arguments = ("union", "--scheme", scheme, option, value, *more, urls, lab.path("filter"))
    runs = []
    time = lab.timed(lambda: runs.append(lab.submit(*arguments)), lab.repeats(3))
    done = runs[-1]
    lab.submit("membership", "--key", "none", "--members", "none", others, lab.path("filter"), lab.path("looked-up"))
    looked_up = lab.rows_of(lab.path("looked-up"))[0]
    info = lab.run("filter", "info", lab.path("filter")).splitlines()[1].split()
    m, k, rate, p = int(info[2]), int(info[3]), looked_up["false positive rate"], looked_up["from bits"]
    deviation = (p * (1 - p) / (looked_up["false positives"] + looked_up["true negatives"])) ** 0.5
    return [scheme, label, done.counter("map output records"), m, k, m / n, int(info[6]), rate, p,
            (1 - 2.718281828459045 ** (-k * n / m)) ** k, (rate - p) / deviation,
            done.counter("bytes written"), done.counter("shuffle value bytes"), time.median, time.low, time.high]


def sizing(lab, n, raw, eight, ten):
    """Adds tables with the sizes of the chapter and ours."""
    scale = PAPER_N / n
    rows = [[f"{bits} bits per element: rate, %", lab.paper("s4", "sizing", f"{bits} bits per element", "false positive rate"),
             100 * BASE ** bits, 100 * row[7]] for bits, row in ((8, eight), (10, ten))]
    rows += [["10 M URLs, raw, GB", lab.paper("s4", "sizing", "10 M URLs of 100 bytes, raw"), None, raw * scale / 1e9]]
    rows += [[f"10 M URLs, {bits} bits each, MB", lab.paper("s4", "sizing", f"10 M URLs, {bits} bits each"), PAPER_N * bits / 8e6,
              row[11] * scale / 1e6] for bits, row in ((8, eight), (10, ten))]
    path = lab.table("sizing", ("", "paper", "formula", "measured"), rows,
                     f"Measured with {n:,} URLs{'' if scale == 1 else ', scaled to 10 M'}; the formula of the rate is 0.6185^(m/n).",
                     why=f"our URLs have {raw / n:.0f} bytes including the line end, the chapter's 100; the chapter's rates are rounded")
    lab.table("program", ("", "paper", "measured"), [
        ["m", lab.paper("s4", "program", "m"), int(lab.paper("s4", "program", "m").number) * n // PAPER_N],
        ["k", lab.paper("s4", "program", "k"), 6],
        ["rate with the best k", lab.paper("s4", "sizing", "rate with the best k"), "see above"]],
        "The program of the chapter: the size of the filter does not depend on the number of elements.", why="none, except that --quick makes the filter smaller in proportion to the elements")
    return path


def run(lab):
    lab.found("s3", """Merging datasets and then calculating the Bloom filter is equivalent to calculating a filter of each dataset and
        merging the filters by OR. So each mapper calculates the filter of its part of the data; a single reducer merges the filters and
        writes one binary file.""")
    lab.found("s4", """The same method: each mapper builds a filter of its split, and a single reducer takes their union. The program's filter has
        100000000 bits and 6 hashes from a random number generator that is seeded with the MD5 of the element. With the optimal k the rate
        is 0.6185^(m/n): 8 bits per element give about 2 percent, 10 bits 0.8 percent. 10 M URLs of 100 bytes take 1 GB, their filter 10 MB
        or 12.5 MB.""")
    lab.command("glint generate urls --rows 10000000 URLS; glint submit union --m 100000000 --k 6 --scheme md5-random URLS "
                "FILTER; glint filter info FILTER; glint filter query FILTER < IDS\n"
                "glint submit union --bits-per-element 8 --scheme hadoop-bloom URLS FILTER; glint filter export --format hadoop --output DIR FILTER; "
                "glint filter import DIR --output FILTER")
    n = 200_000 if lab.quick else PAPER_N
    urls, others = lab.urls(n), lab.urls(n // 10, seed=2)
    rows = [measure(lab, n, urls, others, spec) for spec in FILTERS]
    path = lab.table("union", COLUMNS, rows, f"Filters of {n:,} URLs; {n // 10:,} others looked up. Times are wall times of the whole process on all "
                     "processors: it first counts the elements, then builds the filter. `splits` is the number of filters that were merged.")
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
             f"'{sizes}' skip 1 every ::0::1 using ($0+1):2 with points ls 10 title 'paper'", "The measured rate and the formula of the chapter.")
    lab.measured(f"""With 8 bits per URL for {n:,} URLs, the false positive rate is {100 * eight[7]:.2f} %, with 10 bits {100 * ten[7]:.2f} %.
        The filter of the chapter, with 10 bits and k = 6, has {100 * rows[0][7]:.2f} %; the optimal k is 7. The job builds it in
        {rows[0][13]:.2f} s from {rows[0][2]} splits, {rows[0][13] * 1e9 / n:.0f} ns per URL; with XXH3 (`wide`) it takes
        {rows[3][13]:.2f} s.""")
    lab.read("""The job chooses splits so large that the filters sent to the reduce task are small compared with the input.
        `shuffled bytes` is their packed size, at most splits x m / 8. `rate` is measured with URLs that are not in the filter;
        `standard errors` is its difference from the rate predicted from the filter's bits, in standard errors.""")
    same = same_everywhere(lab, urls)
    lab.claim("s3", "section 3.2", "merging the filters of parts gives the filter of the whole dataset", "the same file with other splits and slots",
              same, "" if same else "the files differ")
    rates = abs(eight[8] - 0.02) < 0.002 and abs(ten[8] - 0.008) < 0.0005
    lab.claim("s4", "implementing a Bloom filter", "the OR of the filters of two sets is the filter of their union", "the same file with other splits and slots",
              same, "" if same else "the files differ")
    fits = abs(rows[0][10]) <= 4
    lab.claim("s4", "implementing a Bloom filter", "indexes from a random number generator seeded with the MD5 are roughly independent and uniformly distributed",
              f"the rate is {100 * rows[0][7]:.3f} %; independent indexes would give {100 * rows[0][8]:.3f} %", fits, "" if fits else "see the table")
    md5, murmur = rows[0], rows[2]
    costly = True if md5[14] > murmur[15] else False if md5[15] < murmur[14] else None
    lab.claim("s3", "section 2", "cryptographic hash functions are computationally expensive, murmur is fast",
              f"a filter with {md5[4]} MD5 functions takes {md5[14]:.2f} to {md5[15]:.2f} s, with {murmur[4]} MurmurHash functions "
              f"{murmur[14]:.2f} to {murmur[15]:.2f} s", costly,
              {None: "the ranges of the times overlap", False: "MurmurHash takes longer here", True: ""}[costly])
    lab.claim("s4", "what does a Bloom filter do", "8 bits per element give about 2 percent, 10 bits 0.8 percent",
              f"{100 * eight[8]:.2f} % and {100 * ten[8]:.2f} %, predicted from the filters' bits", rates, "" if rates else "see the table")
    lab.claim("s4", "what does a Bloom filter do", "the storage shrinks by 2 orders of magnitude at 8 bits per element",
              f"{raw / 1e6:,.0f} MB of URLs, a filter of {eight[11] / 1e6:.2f} MB: {raw / eight[11]:.0f} times smaller; URLs of 100 bytes would take "
              f"{n * 100 / eight[11]:.0f} times its size", n * 100 / eight[11] > 99, "" if n * 100 / eight[11] > 99 else "see the table")
    lab.check(all(abs(row[10]) <= 4 for row in rows), "each rate is within 4 standard errors of the rate predicted from the filter's bits")
    lab.check(rates, "by the filters' bits, 8 bits per element give about 2 %, 10 bits about 0.8 %, as in the chapter")
    lab.check(as_hadoop(lab, urls), "a filter exported in the format of Hadoop's BloomFilter class, imported and exported again gives the same file")
    lab.check(same, "union writes the same file on local[1], on local[2] and with other splits")


def as_hadoop(lab, urls):
    """Returns whether a file in the format of Hadoop's BloomFilter class is unchanged after import and export."""
    lab.submit("union", "--scheme", "hadoop-bloom", "--bits-per-element", 8, urls, lab.path("filter"))
    lab.run("filter", "export", "--format", "hadoop", "--output", lab.path("exported"), lab.path("filter"))
    lab.run("filter", "import", "--output", lab.path("imported"), lab.path("exported"))
    lab.run("filter", "export", "--format", "hadoop", "--output", lab.path("again"), lab.path("imported"))
    return filecmp.cmp(lab.path("exported", "0.hadoop"), lab.path("again", "0.hadoop"), shallow=False)


def same_everywhere(lab, urls):
    """Returns whether the filter file is the same with other numbers of slots and other splits."""
    files = []
    for options in (("--master", "local[1]"), ("--master", "local[2]"), ("--split-size", "16M")):
        lab.submit("union", *options, "--bits-per-element", 8, urls, lab.path("filter"))
        with open(lab.path("filter", "part-00000"), "rb") as file:
            files.append(file.read())
    return all(file == files[0] for file in files)
