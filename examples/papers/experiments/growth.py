"""Figure 7 of the multi-set paper: bytes over n, with a fixed number of lines per split."""
from experiments.methods import FORMULA, INT, EMITTED, SHUFFLED, PARTIALS, TITLES, VARINT, VINT, by_method, lines, measure, slope, wide_table

NAME, TITLE, ORDER = "growth", "bytes over the number of rows, with fixed lines per split", 32
METHODS = (INT, VINT, VARINT, PARTIALS)
PUBLISHED = "bytes over n, lines of a split fixed: solution"


def run(lab):
    lab.found("s2", """With a fixed number of lines per split, the map output bytes of the first solution grow linearly with the dataset, and those of the second
        quadratically: more rows mean larger filters, and more mappers that emit them. The authors chose the first solution, mainly because of its
        map output bytes and memory.""")
    lines_per_split = 15_000
    mappers = (4, 8, 16, 32) if lab.quick else (4, 8, 16, 32, 64)
    lab.command(f"glint submit constructions --mappers 4 --methods lists-fixed,lists-vint,partials INPUT OUTPUT  # {4 * lines_per_split:,} rows; "
                f"--mappers 8: {8 * lines_per_split:,}")
    rows = [row for count in mappers
            for row in measure(lab, lab.generate(count * lines_per_split), [0.01], [count], METHODS)]
    path = wide_table(lab, "bytes", rows, "n", METHODS, [EMITTED, SHUFFLED], caption=f"{lines_per_split:,} lines per split, p = 0.01.")
    by = by_method(rows, "n")
    sizes = sorted({row["n"] for row in rows})
    lab.table("formulas", ("n", "mappers", "k n v, Int", "Int, bytes", "formula 2, 8 bytes per filter", "partial filters, bytes"), [
        [n, n // lines_per_split, *(by[n, method][column] for method in (INT, PARTIALS) for column in (FORMULA, EMITTED))] for n in sizes],
        "Formula 2: mappers x the sum over the filters of (m / 8 + 8), without the paper's additional factor 10. The 8 bytes are m and k, which our filters do not contain.")
    slopes = {(method, column): slope([(n, by[n, method][column]) for n in sizes]) for method in METHODS for column in (FORMULA, EMITTED, SHUFFLED)}
    lab.table("slopes", ("", "paper", "slope of log bytes over log n", "the same, shuffled bytes"), [
        [f"solution 1, {TITLES[INT]}", lab.paper("s2", "2.3 figure 7", f"{PUBLISHED} 1"), slopes[INT, EMITTED], slopes[INT, SHUFFLED]],
        *([f"solution 1, {TITLES[method]}", None, slopes[method, EMITTED], slopes[method, SHUFFLED]] for method in (VINT, VARINT)),
        ["solution 2, partial filters", lab.paper("s2", "2.3 figure 7", f"{PUBLISHED} 2"), slopes[PARTIALS, EMITTED], slopes[PARTIALS, SHUFFLED]],
        ["solution 2, by formula 2", None, slopes[PARTIALS, FORMULA], None]],
        "1 is linear, 2 is quadratic. Larger filters have larger indexes, which take more bytes as VInt. Shuffled bytes are packed, and nearly empty filters "
        "compress well.", why="none for emitted bytes; shuffled bytes are packed")
    axis = (f"set logscale xy\nset xrange [{0.8 * sizes[0]}:{1.25 * sizes[-1]}]\nset format x '%.0s%c'\nset xlabel 'n, rows'\n")
    first = by[sizes[0], INT][EMITTED] / 1e6, by[sizes[0], PARTIALS][EMITTED] / 1e6
    lab.panels("bytes", [
        f"{axis}set ylabel 'MB emitted'\nplot " + lines(path, METHODS, 2, 0, scale="1e6")
        + f", {first[0]}*x/{sizes[0]} ls 10 title 'paper, linear', {first[1]}*(x/{sizes[0]})**2 ls 10 dt 3 title 'paper, quadratic'",
        f"{axis}set ylabel 'MB shuffled'\nplot " + lines(path, METHODS, 2, 1, scale="1e6")],
        "The paper publishes the shape of its lines, not the numbers, so its lines start at our first points.")
    linear = all(abs(slopes[method, EMITTED] - 1) <= 0.1 for method in (INT, VINT, VARINT))
    quadratic = abs(slopes[PARTIALS, EMITTED] - 2) <= 0.1
    lab.measured(f"""The slopes are {slopes[INT, EMITTED]:.2f} for Int, {slopes[VINT, EMITTED]:.2f} for Hadoop's VInt, {slopes[VARINT, EMITTED]:.2f} for our varint and
        {slopes[PARTIALS, EMITTED]:.2f} for partial filters.""")
    lab.read("A slope of s means that the bytes grow like n^s. Both axes of the plots are logarithmic, so s is the slope of a line.")
    lab.claim("s2", "section 2.3, figure 7", "with a fixed number of lines per split, the bytes of solution 1 grow linearly with the dataset, those of solution 2 "
              "quadratically", f"slopes of {slopes[VINT, EMITTED]:.2f} and {slopes[PARTIALS, EMITTED]:.2f}", linear and quadratic,
              "" if linear and quadratic else "see the table")
    lab.check(linear, "for index lists, the slope of log bytes over log n is within 0.1 of 1")
    lab.check(quadratic, "for partial filters, the slope of log bytes over log n is within 0.1 of 2")
