"""Figure 12 of the multi-set paper: is the rate what the formula says?"""
NAME, TITLE, ORDER = "fpr-check", "measured rates against the formula", 40
PROBABILITIES = "0.05,0.1,0.15,0.2"


def run(lab):
    lab.found("""For p from 0.05 to 0.20 the paper measures the rate over 10 samples, and finds it at p and at the
        formula (1 - e^(-kn/m))^k, with small deviations.""")
    lab.command("glint submit fpr-check INPUT OUTPUT --p 0.05,0.1,0.15,0.2 --samples 10 --keys DIR")
    samples = 3 if lab.quick else 10
    lab.submit("fpr-check", "--p", PROBABILITIES, "--samples", samples, "--keys", lab.path("keys"),
               lab.ratings, lab.path("table"))
    rows, keys = lab.rows_of(lab.path("table")), lab.rows_of(lab.path("keys"))
    path = lab.table("rates", list(rows[0]), [row.values() for row in rows],
                     f"Means over the keys, averaged over {samples} samples.")
    all_keys = lab.table("keys", list(keys[0]), [row.values() for row in keys], shown=0)
    lab.plot("rates", "set xlabel 'p'\nset ylabel 'rate / p'\nset xrange [0.03:0.22]\n"
             "set yrange [0.95:1.09]\nset key inside bottom right\n"
             f"plot 1 title 'p' lc rgb '#999999' dt 2, "
             f"'{path}' skip 1 using 1:($9/$1) with linespoints lt 2 title 'formula', "
             f"'{path}' skip 1 using ($1+0.001):($5/$1):($6/$1) with yerrorbars lt 1 "
             "title 'measured, and its standard deviation'",
             "The formula is above p where k, rounded up to a whole number, is far from the best one.",
             size=(760, 400))
    lab.plot("keys", "set xlabel 'ids looked up, per filter and sample'\nset logscale x\nset xrange [300:300000]\nset format x '%.0s%c'\nset key inside top right\n"
             "set ylabel 'measured / from the bits'\nset yrange [0.5:1.5]\n"
             f"plot 1 lc rgb '#999999' notitle, '{all_keys}' skip 1 using 7:($9/$10) with points lt 1 "
             "pt 7 ps 0.4 title 'one filter', "
             + ", ".join(f"[100:200000] 1{sign}2*sqrt(0.9/(0.1*x)) lc rgb '#cc5533' dt 2 {title}"
                         for sign, title in (("+", "title 'two standard errors'"), ("-", "notitle"))),
             "Every filter of every sample. What looks like a bad filter is a small number of ids: the "
             "bounds are those of p = 0.1.")
    worst = max(rows, key=lambda row: row["deviation"] / row["deviation by chance"])
    lab.measured("The measured means are " + ", ".join(
        f"""{row["rate"]:.4f} for p = {row["p"]}""" for row in rows) + f""". The deviation over the samples is at most
        {worst["deviation"] / worst["deviation by chance"]:.2f} times what chance alone gives.""")
    lab.read("""Each sample is another split of the same rows into those that are put in and those that are asked
        for. `deviation` is over the samples, `deviation by chance` what independent answers would have; `from bits`
        averages (bits set / m)^k.""")
    lab.check(all(abs(row["rate"] - row["from bits"]) <= 4 * row["deviation by chance"] / samples ** 0.5
                  for row in rows), "each mean lies within 4 standard errors of the bits' prediction")
    lab.check(all(row["deviation"] <= 2.5 * row["deviation by chance"] for row in rows),
              "samples differ no more than chance has it")
