"""Stage 1 of the multi-set paper: how many ids each key has, and the size of its filter."""
import math

NAME, TITLE, ORDER = "params", "counts and sizes of the filters", 20
PROBABILITIES = (0.1, 0.01, 0.001)


def run(lab):
    lab.found("""The first of the paper's two stages counts the ids of each key and emits the key with n, m and k;
        counts are combined in the mapper, so that a mapper sends one number per key and not one per id. Each
        key may have its own p.""")
    lab.command("glint submit params INPUT OUTPUT --p 0.01\n"
                "glint submit params INPUT OUTPUT --p-file FILE      # lines KEY TAB P")
    sizes = {}
    for p in PROBABILITIES:
        done = lab.submit("params", "--p", p, lab.train, lab.path("params"))
        sizes[p] = [list(map(int, line.split("\t"))) for line in lab.parts(lab.path("params"))]
        sizes[p].sort()
    with open(lab.path("own"), "w", encoding="ascii") as file:
        for key, n, _, _ in sizes[0.01]:  # large keys are asked for most: they get smaller a p
            file.write(f"{key}\t{0.1 if n < 10_000 else 0.01 if n < 100_000 else 0.001}\n")
    lab.submit("params", "--p-file", lab.path("own"), lab.train, lab.path("params"))
    own = sorted(list(map(int, line.split("\t"))) for line in lab.parts(lab.path("params")))
    rows = [[key, n, *(number for p in PROBABILITIES for number in sizes[p][i][2:]), m, k]
            for i, (key, n, m, k) in enumerate(own)]
    names = [f"{name}, p = {p}" for p in PROBABILITIES for name in ("m", "k")]
    path = lab.table("sizes", ["key", "n", *names, "m, own p", "k, own p"], rows,
                     "Bits and hashes of each filter. Own p: 0.1 under 10,000 ids, 0.01 under "
                     "100,000, else 0.001.")
    bars = ", ".join(f"'{path}' skip 1 using (${column}/8e3):xtic(1) title '{title}'" for column, title in
                     ((3, "p = 0.1"), (5, "p = 0.01"), (7, "p = 0.001"), (9, "own p")))
    lab.plot("sizes", "set style data histograms\nset style histogram clustered gap 1\n"
             "set style fill solid 0.8 noborder\nset logscale y\nset xlabel 'rating'\n"
             "set ylabel 'filter, kB'\nplot " + bars, "A tenth of p costs 4.8 bits an id.")
    total = sum(row[1] for row in rows)
    lab.measured(f"""{done.counter("rows read"):,} rows became {done.counter("map output records"):,} counts between
        the stages, {done.counter("map output bytes"):,} bytes. All filters together take
        {sum(size[2] for size in sizes[0.01]) / 8e3:,.0f} kB for p = 0.01 and {sum(row[-2] for row in rows) / 8e3:,.0f}
        kB with each key's own.""")
    lab.read("""m = ceil(-n ln p / (ln 2)^2) and k = ceil(-ln p / ln 2): the size follows n, the hashes p.""")
    lab.check(all(m == math.ceil(-n * math.log(p) / math.log(2) ** 2) for p in PROBABILITIES
                  for _, n, m, _ in sizes[p]), "each m is that of the formula")
    lab.check(done.counter("map output records") < total / 100,
              "counts are combined before they move")
