"""Figure 12 of the multi-set paper: compares measured rates with the formula."""
import statistics

NAME, TITLE, ORDER = "fpr-check", "measured rates against the formula", 40
PROBABILITIES = ("0.05", "0.1", "0.15", "0.2")


def over_filters(keys, p):
    """Returns the standard deviation of the filters' rates within a sample, averaged over the samples."""
    of_p = [row for row in keys if row["p"] == p and row["tested"] > 0]
    samples = sorted({row["sample"] for row in of_p})
    return statistics.fmean(statistics.stdev(row["rate"] for row in of_p if row["sample"] == sample) for sample in samples)


def run(lab):
    lab.found("s2", """After the construction, the authors counted the false positives of each filter and compared the rate with the formula.
        The practical rate is close to the theoretical one. They call the standard deviation negligible: 0.0011 for p = 0.05,
        0.0034 for p = 0.10, 0.0013 for p = 0.15 and 0.0027 for p = 0.20.""")
    lab.command("glint submit fpr-check INPUT OUTPUT --p 0.05,0.1,0.15,0.2 --samples 10 --keys DIR")
    samples = 3 if lab.quick else 10
    lab.submit("fpr-check", "--p", ",".join(PROBABILITIES), "--samples", samples, "--keys", lab.path("keys"),
               lab.ratings, lab.path("table"))
    rows, keys = lab.rows_of(lab.path("table")), lab.rows_of(lab.path("keys"))
    published = lab.published.of("s2", "2.6 figure 12")
    comparison = [[f"{row['p']:.2f}", figure, row["deviation"], row["deviation by chance"], over_filters(keys, row["p"])]
              for row, figure in zip(rows, published)]
    assert [f"p={row[0]}" for row in comparison] == [figure.row for figure in published]
    deviations = lab.table("deviations", ("p", "paper: standard deviation", "over the samples, of the mean rate", "expected by chance",
                             "over the filters of a sample"), comparison,
              f"{samples} samples; each is a different split of the rows.",
              why="the paper does not say what its deviation is taken over; ours are over the samples and over the filters; "
                  f"{lab.other_data}")
    lab.plot("deviations", "set xlabel 'p'\nset ylabel 'standard deviation'\nset xrange [0.03:0.22]\nset xtics 0.05\nset yrange [0:*]\n"
             f"plot '{deviations}' skip 1 using 1:2 with points ls 10 title 'paper', '' skip 1 using 1:3 with linespoints lt 1 title 'over samples', "
             "'' skip 1 using 1:4 with lines lt 1 dt 3 title 'expected by chance', '' skip 1 using 1:5 with linespoints lt 2 title 'over filters'",
             "The four published deviations and our two.")
    path = lab.table("rates", list(rows[0]), [row.values() for row in rows],
                     f"Means over the keys, averaged over {samples} samples.")
    all_keys = lab.table("keys", list(keys[0]), [row.values() for row in keys], shown=0)
    lab.panels("rates", [
        "set xlabel 'p'\nset ylabel 'rate / p'\nset xrange [0.03:0.22]\nset xtics 0.05\n"
        f"plot 1 title 'p' lc rgb '#999999' dt 2, '{path}' skip 1 using 1:($9/$1) with linespoints lt 2 title 'formula', "
        f"'{path}' skip 1 using ($1+0.001):($5/$1):($6/$1) with yerrorbars lt 1 title 'measured, with deviation'",
        "set xlabel 'ids looked up, per filter and sample'\nset logscale x\nset xrange [300:300000]\nset format x '%.0s%c'\n"
        "set ylabel 'measured / from the bits'\nset yrange [0.5:1.5]\n"
        f"plot 1 lc rgb '#999999' notitle, '{all_keys}' skip 1 using 7:($9/$10) with points lt 1 ps 0.4 title 'one filter', "
        + ", ".join(f"[100:200000] 1{sign}2*sqrt(0.9/(0.1*x)) lc rgb '#cc5533' dt 2 {title}"
                    for sign, title in (("+", "title '2 standard errors'"), ("-", "notitle")))],
        "Left: the formula is above p if k, rounded up to an integer, is far from the optimum. Right: every filter of every sample; the standard errors "
        "are for p = 0.1. Filters that are far from 1 were tested with few ids.")
    worst = max(rows, key=lambda row: row["deviation"] / row["deviation by chance"])
    lab.measured("The measured means are " + ", ".join(
        f"""{row["rate"]:.4f} for p = {row["p"]}""" for row in rows) + f""". The deviation over the samples is at most
        {worst["deviation"] / worst["deviation by chance"]:.2f} times the one expected by chance.""")
    lab.read("""Each sample is a different split of the same rows into rows to build the filters from and rows to look up. `deviation` is
        the standard deviation over the samples of the mean rate of the ten filters; `deviation by chance` is the one expected if
        all look-ups are independent. The deviation over the filters of one sample is larger, because the rates of ratings with
        few rows are far from the mean.""")
    near = all(abs(row["rate"] - row["from bits"]) <= 4 * row["deviation by chance"] / samples ** 0.5 for row in rows)
    relative = max(row["deviation"] / row["p"] for row in rows)
    lab.claim("s2", "section 2.6, figure 12", "the practical rate is close to the theoretical one, with a negligible standard deviation",
              f"each mean is within 4 standard errors of the rate predicted from the bits; the deviation over samples is at most {100 * relative:.1f} % of p",
              near and relative < 0.1, "" if near and relative < 0.1 else "see the table")
    lab.check(near, "each mean is within 4 standard errors of the rate predicted from the bits")
    lab.check(all(row["deviation"] <= 2.5 * row["deviation by chance"] for row in rows),
              "the deviation over the samples is at most 2.5 times the one expected by chance")
