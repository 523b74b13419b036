"""Shared by the experiments on the two construction methods: runs the job and arranges its rows by method."""
import math

INT, VARINT, VINT, ONCE, PARTIALS = "lists-fixed", "lists-varint", "lists-vint", "lists-once", "partials"
TITLES = {INT: "indexes as Int", VARINT: "indexes, our varint", VINT: "indexes as VInt",
          ONCE: "indexes, each once per mapper", PARTIALS: "partial filters"}
EMITTED, SHUFFLED, FORMULA, WALL, CPU = "bytes", "moved bytes", "formula bytes", "wall ms", "cpu ms"


def measure(lab, data, p, mappers, methods, repeats=0, *more):
    """Runs the job; returns a row per p, number of mappers and method."""
    joined = lambda values: ",".join(map(str, values))
    lab.submit("constructions", "--p", joined(p), "--mappers", joined(mappers), "--methods", joined(methods), "--repeats", repeats,
               *more, data, lab.path("table"))
    return lab.rows_of(lab.path("table"))


def by_method(rows, x):
    """(x, method) -> row."""
    return {(row[x], row["method"]): row for row in rows}


def wide_table(lab, name, rows, x, methods, columns, **more):
    """Writes a table for gnuplot: one line per x, the methods side by side."""
    by = by_method(rows, x)
    return lab.table(name, [x, *(f"{TITLES[method]}, {column}" for method in methods for column in columns)],
                     [[at, *(by[at, method][column] for method in methods for column in columns)]
                      for at in sorted({row[x] for row in rows})], **more)


def lines(path, methods, width, offset, style="linespoints", scale="1", title=True, dash=1):
    """Returns gnuplot plots of one column for each method of a wide table."""
    return ", ".join(f"'{path}' skip 1 using 1:(${2 + width * i + offset}/{scale}) with {style} lt {i + 1} dt {dash} "
                     + (f"title '{TITLES[method]}'" if title else "notitle") for i, method in enumerate(methods))


def crossing(rows, column, one, other=PARTIALS):
    """Returns the number of mappers from which `other` costs more than `one`, interpolated, or None."""
    by = by_method(rows, "mappers")
    counts = sorted({row["mappers"] for row in rows})
    gaps = [(at, by[at, other][column] - by[at, one][column]) for at in counts]
    for (before, low), (after, high) in zip(gaps, gaps[1:]):
        if low <= 0 < high:
            return before + (after - before) * -low / (high - low)
    return None


def slope(points):
    """Returns the slope of log y over log x, by least squares."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    x_mean, y_mean = (sum(column) / len(logs) for column in zip(*logs))
    return (sum((x - x_mean) * (y - y_mean) for x, y in logs) / sum((x - x_mean) ** 2 for x, _ in logs))
