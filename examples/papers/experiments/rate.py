"""Figure 1 of the multi-set paper: the false positive rate over m and k."""
import math

NAME, TITLE, ORDER = "rate", "the rate over m and k", 18
ELEMENTS = 1000
BITS = (4000, 8000, 12000, 16000)
HASHES = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24)


def textbook(m, k):
    return (1 - math.exp(-k * ELEMENTS / m)) ** k


def measure(lab, k):
    """A row per m, of three trials each."""
    lab.submit("filter-vs-set", "--scheme", "spark", "--layout", "classic", "--elements", ELEMENTS, "--k", k,
               "--m", ",".join(map(str, BITS)), "--trials", 3, "--repeats", 0, lab.words(100_000), lab.path("rates"))
    return lab.rows_of(lab.path("rates"))[1:]


def turns(rates):
    """Whether rates over k fall to one least value and then rise."""
    least = rates.index(min(rates))
    return 0 < least < len(rates) - 1 and rates[:least + 1] == sorted(rates[:least + 1], reverse=True) \
        and rates[least:] == sorted(rates[least:])


def run(lab):
    lab.found("s2", """The rate falls as m grows, and rises again as k becomes larger: more hash functions set more bits, which leads to
        more collisions.""")
    lab.command(f"glint submit filter-vs-set --layout classic --elements {ELEMENTS} --m 4000,8000,12000,16000 --k 8 WORDS OUTPUT")
    by = {(row["m"], k): row for k in HASHES for row in measure(lab, k)}
    rows = [[k, *(value for m in BITS for value in (by[m, k]["rate"], textbook(m, k)))] for k in HASHES]
    path = lab.table("rate", ["k", *(f"{what}, m = {m:,}" for m in BITS for what in ("rate", "formula"))], rows,
                     f"{ELEMENTS:,} elements, asked for 99,000 others; three trials.")
    lab.plot("rate", "set logscale y\nset yrange [1e-4:1]\nset format y '%g'\nset xlabel 'k'\nset ylabel 'false positive rate'\nplot "
             + ", ".join(f"'{path}' skip 1 using 1:(${2 + 2 * i} > 0 ? ${2 + 2 * i} : NaN) with points lt {i + 1} title 'm = {m:,}', "
                         f"'' skip 1 using 1:{3 + 2 * i} with lines lt {i + 1} notitle" for i, m in enumerate(BITS)),
             "Points: measured. Lines: (1 - e^(-kn/m))^k, which the paper's figure 1 draws.")
    falls = all(by[a, k]["rate"] > by[b, k]["rate"] for k in HASHES for a, b in zip(BITS, BITS[1:])
                if textbook(b, k) > 1e-3)
    rises = all(turns([textbook(m, k) for k in HASHES]) for m in BITS) and all(
        by[m, HASHES[-1]]["rate"] > min(by[m, k]["rate"] for k in HASHES) for m in BITS)
    lab.measured("The rate is least at " + ", ".join(
        f"k = {min(HASHES, key=lambda k, m=m: by[m, k]['rate'])} for m = {m:,}" for m in BITS)
        + f"; (m / n) ln 2 is {', '.join(f'{m / ELEMENTS * math.log(2):.1f}' for m in BITS)}.")
    lab.read("Too few hashes leave non-members a chance at each; too many fill the filter.")
    lab.claim("s2", "section 1.1, figure 1", "the rate falls as m grows, and rises again as k becomes larger",
              f"so for {len(BITS)} sizes and {len(HASHES)} numbers of hashes", falls and rises,
              "" if falls and rises else "see the table")
    off = [abs(row["rate"] - row["from bits"]) / math.sqrt(row["from bits"] / row["queried"]) for row in by.values()]
    lab.check(max(off) <= 5, "each rate lies within 5 standard errors of the one that the filters' bits predict")
