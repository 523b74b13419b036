"""Figure 1 of the multi-set paper: the false positive rate over m and k."""
import math

NAME, TITLE, ORDER = "rate", "the rate over m and k", 18
ELEMENTS = 1000
BITS = (4000, 8000, 12000, 16000)
HASHES = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24)


def textbook(m, k):
    return (1 - math.exp(-k * ELEMENTS / m)) ** k


def measure(lab, k):
    """Runs three trials for each m; returns a row per m."""
    lab.submit("filter-vs-set", "--scheme", "spark", "--layout", "classic", "--elements", ELEMENTS, "--k", k,
               "--m", ",".join(map(str, BITS)), "--trials", 3, "--repeats", 0, lab.words(100_000), lab.path("rates"))
    return lab.rows_of(lab.path("rates"))[1:]


def turns(rates):
    """Returns whether the rates over k decrease to a minimum and then increase."""
    lowest = rates.index(min(rates))
    return 0 < lowest < len(rates) - 1 and rates[:lowest + 1] == sorted(rates[:lowest + 1], reverse=True) \
        and rates[lowest:] == sorted(rates[lowest:])


def run(lab):
    lab.found("s2", """The rate decreases as m increases, and increases again as k becomes larger: more hash functions set more bits, which
        leads to more collisions.""")
    lab.command(f"glint submit filter-vs-set --layout classic --elements {ELEMENTS} --m 4000,8000,12000,16000 --k 8 WORDS OUTPUT")
    by = {(row["m"], k): row for k in HASHES for row in measure(lab, k)}
    rows = [[k, *(value for m in BITS for value in (by[m, k]["rate"], textbook(m, k)))] for k in HASHES]
    path = lab.table("rate", ["k", *(f"{what}, m = {m:,}" for m in BITS for what in ("rate", "formula"))], rows,
                     f"Filters of {ELEMENTS:,} elements; 99,000 others looked up. Three trials.")
    lab.plot("rate", "set logscale y\nset yrange [1e-4:1]\nset format y '%g'\nset xlabel 'k'\nset ylabel 'false positive rate'\nplot "
             + ", ".join(f"'{path}' skip 1 using 1:(${2 + 2 * i} > 0 ? ${2 + 2 * i} : NaN) with points lt {i + 1} title 'm = {m:,}', "
                         f"'' skip 1 using 1:{3 + 2 * i} with lines lt {i + 1} notitle" for i, m in enumerate(BITS)),
             "Points: measured. Lines: (1 - e^(-kn/m))^k, as in figure 1 of the paper.")
    falls = all(by[a, k]["rate"] > by[b, k]["rate"] for k in HASHES for a, b in zip(BITS, BITS[1:])
                if textbook(b, k) > 1e-3)
    rises = all(turns([textbook(m, k) for k in HASHES]) for m in BITS) and all(
        by[m, HASHES[-1]]["rate"] > min(by[m, k]["rate"] for k in HASHES) for m in BITS)
    lab.measured("The rate is lowest at " + ", ".join(
        f"k = {min(HASHES, key=lambda k, m=m: by[m, k]['rate'])} for m = {m:,}" for m in BITS)
        + f"; the optimum (m / n) ln 2 is {', '.join(f'{m / ELEMENTS * math.log(2):.1f}' for m in BITS)}.")
    lab.read("With too few hashes, few bits are tested per look-up; with too many, most bits of the filter are set. Both increase the rate.")
    lab.claim("s2", "section 1.1, figure 1", "the rate decreases as m increases, and increases again as k becomes larger",
              f"measured with {len(BITS)} values of m and {len(HASHES)} values of k", falls and rises,
              "" if falls and rises else "see the table")
    errors = [abs(row["rate"] - row["from bits"]) / math.sqrt(row["from bits"] / row["queried"]) for row in by.values()]
    lab.check(max(errors) <= 5, "each rate is within 5 standard errors of the rate predicted from the filters' bits")
