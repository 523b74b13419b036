"""The table that the Spark and Hadoop programs end with: the false positive rate of each rating."""
import math

NAME, TITLE, ORDER = "fpr-table", "the false positive rate of each rating", 10
PROBABILITIES = ("0.01", "0.05", "0.1")
SCHEMES = ("spark", "hadoop")


def run(lab):
    lab.found("""Both programs build one filter per rating from 60 % of IMDb's ratings, ask it for the other
        40 %, and print false positives, rows and rate: with p = 0.01 rating 6 has 403 of 40,292 under Spark
        (0.0100) and 431 under Hadoop (0.0107). The rate follows p, whatever the hash.""")
    rows = []
    for p in PROBABILITIES:
        for scheme in SCHEMES:
            lab.submit("bloom-build", "--scheme", scheme, p, lab.train, lab.counts,
                       lab.path("filters"))
            lab.submit("bloom-test", p, lab.test, lab.path("filters"), lab.counts,
                       lab.path("tested"))
            for line in lab.parts(lab.path("tested")):
                fields = line.translate(str.maketrans("\t", ",", "() ")).split(",")
                key, hits, tested, rate = (float(field) for field in fields)
                error = math.sqrt(float(p) * (1 - float(p)) / tested)
                rows.append([p, scheme, int(key), int(tested), int(hits), rate,
                             (rate - float(p)) / error])
    lab.table("rates", ["p", "scheme", "rating", "tested", "false positives", "rate",
                        "standard errors from p"], rows, "One row per filter.")
