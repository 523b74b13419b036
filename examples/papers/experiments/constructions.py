"""Figures 5 to 8 of the multi-set paper: lists of indexes against partial filters."""
NAME, TITLE, ORDER = "constructions", "hash lists against partial filters", 30
MAPPERS = (1, 2, 4, 8, 10, 16, 24, 32, 50, 64, 96)
PROBABILITIES = (0.001, 0.01, 0.05, 0.1)
WAYS = ("lists-fixed", "lists-varint", "partials")
MOVED, WALL, CPU = "moved bytes", "wall ms", "cpu ms"


def series(rows, way, x, column):
    """Points of one way, in the order of x."""
    return sorted((row[x], row[column]) for row in rows if row["way"] == way)


def crossing(rows, column, one="lists-varint", other="partials"):
    """Where `other` becomes dearer than `one`, between the measured numbers of mappers; or None."""
    pairs = list(zip(series(rows, one, "mappers", column), series(rows, other, "mappers", column)))
    for (before, after) in zip(pairs, pairs[1:]):
        low, high = (b[1] - a[1] for a, b in (before, after))
        if low <= 0 < high:
            return before[0][0] + (after[0][0] - before[0][0]) * -low / (high - low)
    return None


def shown(value):
    return "none up to 96" if value is None else f"{value:.0f}"


def wide_table(lab, name, rows, x, columns):
    """One line per x, the ways side by side: what gnuplot likes."""
    xs = sorted({row[x] for row in rows})
    by = {(row[x], row["way"]): row for row in rows}
    return lab.table(name, [x, *(f"{way} {column}" for way in WAYS for column in columns)],
                     [[at, *(by[at, way][column] for way in WAYS for column in columns)] for at in xs],
                     shown=0)


def lines(path, width, offset, style="linespoints", scale="1", title=True, dash=1):
    return ", ".join(
        f"'{path}' skip 1 using 1:(${2 + width * i + offset}/{scale}) with {style} lt {i + 1} dt {dash} "
        + (f"title '{way}'" if title else "notitle") for i, way in enumerate(WAYS))


def measure(lab, data, p, mappers, repeats, *more):
    lab.submit("constructions", *more, "--p", ",".join(map(str, p)), "--mappers", ",".join(map(str, mappers)),
               "--repeats", repeats, data, lab.path("table"))
    return lab.rows_of(lab.path("table"))


def best(rows, column):
    """Of varint lists and partial filters, between which auto chooses."""
    return min((row for row in rows if row["way"] != "lists-fixed"), key=lambda row: row[column])["way"]


def auto_table(lab, rows, column):
    """Per p and mappers: what auto takes, and what was best. Answers right ones, and all."""
    out = []
    for p in sorted({row["p"] for row in rows}):
        for mappers in sorted({row["mappers"] for row in rows}):
            group = [row for row in rows if row["p"] == p and row["mappers"] == mappers]
            if not group:
                continue
            taken = next(row for row in group if row["auto"])
            least = min(row[column] for row in group if row["way"] != "lists-fixed")
            out.append([p, mappers, taken["way"], best(group, column), taken[column] / least])
    lab.table(f"auto-{column.replace(' ', '-')}", ["p", "mappers", "auto takes", f"least {column}",
              "what auto takes / least"], out, f"Auto against the least {column}.", shown=0)
    return sum(row[2] == row[3] for row in out), len(out), max(row[4] for row in out)


def run(lab):
    lab.found("s2", """Two solutions build the filters. In the first a mapper emits the k hash values of each film, so its output does not depend on the
        number of mappers; in the second a mapper emits a filter for each rating, so its output grows linearly with them. With fewer than
        50 mappers the second emits fewer bytes, with 10 far fewer; at 50 they are about equal; with 96 the first is ahead. With the
        lines of a split fixed, the bytes grow linearly with the dataset in the first and quadratically in the second. VInt instead of
        Int reduces the bytes on average. Emitting repeated hash values once was tried and given up: collisions are negligible.""")
    lab.command("glint submit constructions INPUT OUTPUT --p 0.01 --mappers 1,2,4,8,16,32,64,96 --repeats 5")
    repeats = lab.repeats(3)
    main = measure(lab, lab.train, [0.01], MAPPERS, repeats)
    path = wide_table(lab, "over-mappers", main, "mappers",
                      ["formula bytes", MOVED, WALL, "lowest", "highest", CPU])
    lab.table("mappers", list(main[0]), [row.values() for row in main if row["mappers"] in (1, 16, 96)],
              f"p = 0.01. Times are medians of {repeats} on all processors; all of it is in over-mappers.tsv.")
    lab.plot("bytes", "set logscale xy\nset xrange [0.9:110]\nset xtics (1, 2, 4, 8, 16, 32, 64, 96)\n"
             "set xlabel 'mappers'\nset ylabel 'MB between the stages'\n"
             "plot " + lines(path, 6, 1, scale="1e6") + ", "
             + lines(path, 6, 0, style="lines", scale="1e6", title=False, dash=3),
             "Points: bytes that moved, packed. Dotted: the formulas.")
    axis = "set logscale x\nset xrange [0.9:110]\nset xtics (1, 2, 4, 8, 16, 32, 64, 96)\nset yrange [0:*]\nset xlabel 'mappers'\nset ylabel 'ms'\n"
    lab.panels("times", [
        f"{axis}set title 'wall time, least to greatest'\nplot " + lines(path, 6, 2, scale="1") + ", "
        + ", ".join(f"'{path}' skip 1 using 1:{4 + 6 * i}:{5 + 6 * i}:{6 + 6 * i} with yerrorbars lt {i + 1} notitle" for i in range(3)),
        f"{axis}set title 'CPU time of all slots'\nplot " + lines(path, 6, 5, scale="1")], "Filters are built and counted, not saved.")
    over_n(lab)
    layouts(lab)
    over_p(lab, main)


def over_p(lab, main):
    rows = measure(lab, lab.train, PROBABILITIES, MAPPERS, 0)
    out = []
    for p in PROBABILITIES:
        part = [row for row in rows if row["p"] == p]
        out.append([p, crossing(part, "formula bytes", "lists-fixed"), crossing(part, "formula bytes"),
                    crossing(part, MOVED)])
    lab.table("crossings", ["p", "formula, fixed lists", "formula, varints", "moved bytes, varints"],
              [[p, *map(shown, points)] for p, *points in out],
              "The number of mappers from which lists are the smaller.")
    zoomed = [f for f in lab.published.of("s2", "2.3 figure 6") if f.row == "mappers zoomed in on"]
    lab.table("published", ("", "paper", "measured"), [
        ["map output bytes meet at, mappers", lab.paper("s2", "2.3 figure 6", "map output bytes of the two solutions meet at"),
         shown(crossing(main, "bytes"))],
        *(["zoomed in on, mappers", figure, figure.number in MAPPERS] for figure in zoomed),
        *([f"bytes over n, lines of a split fixed: solution {i}", lab.paper("s2", "2.3 figure 7", f"bytes over n, lines of a split fixed: solution {i}"), None]
          for i in (1, 2)),
        ["additional data of a filter, bytes", lab.paper("s2", "2.3", "additional data of a filter"), None],
        *([name, lab.paper("s2", "2.4", name), None] for name in ("reducer size q", "replication rate r", "q / r"))],
        "", why="the wire form of an index and its framing differ")
    at16 = wide_table(lab, "over-p", [row for row in rows if row["mappers"] == 16], "p",
                      ["formula bytes", MOVED])
    lab.plot("over-p", "set logscale x\nset xrange [0.0008:0.13]\nset xlabel 'p'\nset ylabel 'MB between the stages'\nset yrange [0:*]\n"
             "plot " + lines(at16, 2, 1, scale="1e6") + ", "
             + lines(at16, 2, 0, style="lines", scale="1e6", title=False, dash=3),
             "16 mappers. Both ways follow -log p: the choice depends on the mappers, hardly on p.",
             size=(760, 380))
    right, count, _ = auto_table(lab, rows, "formula bytes")
    right_moved, _, lost = auto_table(lab, rows, MOVED)
    right_wall, timed, lost_wall = auto_table(lab, main, WALL)
    moved = crossing(main, MOVED)
    formula = crossing(main, "formula bytes")
    lab.measured(f"""With p = 0.01 the formulas of varint lists and partial filters cross at {shown(formula)} mappers;
        the bytes that move cross at {shown(moved)}: a filter that one of many mappers fills is nearly empty, and
        packs well, and an index does not. Varints save {100 - 100 * first(main, "lists-varint") / first(main, "lists-fixed"):.0f} %
        of fixed lists. `auto` takes what its formula says. By bytes that moved it is right in {right_moved} of {count}
        cases, and takes up to {lost:.1f} times the least where it is not; by wall time in {right_wall} of {timed},
        with up to {lost_wall:.1f} times the least.""")
    lab.read("""A line that is level is a cost of the rows, one that climbs a cost of the mappers. `bytes` are what map
        tasks give away, values only, and meet the formulas; `moved bytes` are those after packing, keys and heads
        included, and what a network would carry. bloom-build itself makes splits for partial filters so large that
        it stays left of the crossing. A layout of blocks needs more bits for the same rate, and touches one cache line for
        an id; lists go by its k alone, 6 for block512 and 8 for split-block.""")
    lab.check(all(row["bytes"] == row["formula bytes"] for row in rows if row["way"] == "lists-fixed"),
              "fixed lists take k n v bytes, to the byte")
    lab.check(all(row["bytes"] <= row["formula bytes"] for row in rows), "no way takes more than its formula")
    lab.check(right == count, "auto takes what is least by the formulas, in every case")


def layouts(lab):
    """The same filters in layouts of blocks, sized for the same rate; what is asked for are the same ids."""
    out = []
    for layout, scheme in (("classic", "spark"), ("block512", "xxh64"), ("split-block", "xxh64")):
        rows = measure(lab, lab.train, [0.01], [1, 16], lab.repeats(3), "--layout", layout, "--scheme", scheme)
        at = {(row["mappers"], row["way"]): row for row in rows}
        alone = at[1, "partials"]
        bits = 8 * alone["formula bytes"] / alone["n"]
        lab.submit("filter-vs-set", "--layout", layout, "--scheme", scheme, "--elements", alone["n"] // 2,
                   "--bits-per-element", bits, "--trials", 3, "--repeats", 2, lab.train, lab.path("asked"))
        asked = lab.rows_of(lab.path("asked"))[1]
        out.append([layout, scheme, asked["k"], bits, asked["rate"], asked["from bits"], asked["build ns"], asked["query ns"],
                    alone[WALL] * 1e6 / alone["n"], at[16, "lists-varint"][MOVED], at[16, "partials"][MOVED]])
    lab.table("layouts", ["layout", "scheme", "k", "bits per key", "rate", "from bits", "build ns", "query ns",
                          "whole build, ns", "moved bytes, varints", "moved bytes, partials"], out,
              "p = 0.01 in every layout. `build ns` and `query ns`: one filter of half of the ids, per id on one thread. `whole "
              "build`: filters per key by one mapper, with reading. Bytes are those of 16 mappers.")
    lab.check(all(abs(row[4] - 0.01) < 0.002 for row in out), "every layout keeps p = 0.01, the uneven blocks included")


def first(rows, way):
    return next(row[MOVED] for row in rows if row["way"] == way)


def over_n(lab):
    sizes = (20_000, 100_000) if lab.quick else (100_000, 300_000, 1_000_000, 3_000_000)
    rows = []
    for n in sizes:
        rows += measure(lab, lab.generate(n), [0.01], [16], lab.repeats(3))
    path = wide_table(lab, "over-n", rows, "n", [MOVED, WALL])
    axis = (f"set logscale xy\nset xrange [{0.8 * sizes[0]}:{1.25 * sizes[-1]}]\nset format x '%.0s%c'\nset xlabel 'n, ids in all'\n")
    lab.panels("over-n", [f"{axis}set ylabel 'MB between the stages'\nplot " + lines(path, 2, 0, scale="1e6"),
                          f"{axis}set ylabel 'wall time, ms'\nplot " + lines(path, 2, 1, scale="1")],
               "16 mappers, p = 0.01. Everything grows with n.")
