"""The table that the Spark and Hadoop programs end with: the false positive rate of each rating."""
import math

NAME, TITLE, ORDER = "fpr-table", "the false positive rate of each rating", 10
PROBABILITIES = ("0.01", "0.05", "0.1")
SCHEMES = ("spark", "hadoop")


def standard_error(row):
    """Of a measured rate, if each id answers by chance with the rate that the bits predict."""
    return math.sqrt(row["from bits"] * (1 - row["from bits"]) / max(row["tested"], 1))


def panel(path, p, scheme, at):
    """Points with bars of two standard errors, a bit left or right of the rating."""
    chosen = f"(strcol(2) eq '{scheme}' && $3 == {p} && strcol(1) ne 'average' ? $1{at:+} : NaN)"
    return (f"'{path}' skip 1 using {chosen}:10:13 with yerrorbars lt {1 + (at > 0)} "
            f"title '{scheme}'")


def run(lab):
    lab.found("""Both programs build one filter per rating from 60 % of IMDb's ratings, ask it for the other
        40 %, and print false positives, rows and rate: with p = 0.01 rating 6 has 403 of 40,292 under Spark
        (0.0100) and 431 under Hadoop (0.0107). The rate follows p, whatever the hash.""")
    lab.command("glint submit fpr-table TRAIN TEST OUTPUT --p 0.01,0.05,0.1 --scheme spark,hadoop")
    lab.submit("fpr-table", "--p", ",".join(PROBABILITIES), "--scheme", ",".join(SCHEMES),
               lab.train, lab.test, lab.path("table"))
    rows = lab.rows_of(lab.path("table"))
    keys = [row for row in rows if row["key"] != "average" and row["tested"] > 0]
    means = [row for row in rows if row["key"] == "average"]
    columns = list(rows[0])
    path = lab.table("rates", [*columns, "two standard errors"],
                     [[*row.values(), 2 * standard_error(row)] for row in rows], shown=0)
    lab.table("average", ["scheme", "p", "tested", "false positives", "mean rate", "from bits",
                          "textbook"],
              [[row[name] for name in ("scheme", "p", "tested", "false positives", "rate",
                                       "from bits", "textbook")] for row in means],
              "Means over the ratings.")
    lab.table("per-rating", columns, [row.values() for row in keys if row["p"] == 0.01],
              "The filters with p = 0.01; all others are in rates.tsv.")
    panels = "\n".join(
        f"set title 'p = {p}'\nset yrange [0:{2.2 * float(p):g}]\nplot {p} lc rgb '#999999' dt 2 title 'p', " +
        ", ".join(panel(path, p, scheme, at) for scheme, at in zip(SCHEMES, (-0.15, 0.15)))
        for p in PROBABILITIES)
    lab.plot("rates", "set xrange [0.3:10.7]\nset xtics 1\nset xlabel 'rating'\n"
             "set ylabel 'false positive rate'\nset key inside top center horizontal\n"
             "set multiplot layout 1,3\n" + panels + "\nunset multiplot",
             "Measured rates with bars of two standard errors. The first rating has few rows, so its "
             "bar is long.", size=(1100, 400))
    worst = max(keys, key=lambda row: abs(row["rate"] - row["from bits"]) / standard_error(row))
    lab.measured(f"""Over {sum(row["tested"] for row in keys):,} look-ups the rates stay with p. The one that is
        farthest from what its filter's bits predict is rating {worst["key"]}, {worst["scheme"]}, p =
        {worst["p"]}: {worst["rate"]:.5f} against {worst["from bits"]:.5f},
        {abs(worst["rate"] - worst["from bits"]) / standard_error(worst):.1f} standard errors.""")
    lab.read("""`from bits` is (bits set / m)^k, what this very filter must give; `textbook` is
        (1 - e^(-kn/m))^k, what filters of its size give on average. A rate is above p where k was rounded up
        from a number close to the one below: p = 0.05 and 0.1.""")
    lab.check(all(abs(row["rate"] - row["from bits"]) <= 4 * standard_error(row) for row in keys),
              "each rate lies within 4 standard errors of the one that the filter's bits predict")
