"""The results as a picture (SVG), on a logarithmic axis: for each row that has a hand-written side, the
median time of every other program divided by it; below, for rows without one, that of the peers
divided by glint's."""

import datetime
import math
import os
import platform
from xml.sax.saxutils import escape

GLINT, PEER = "#0b6fb8", "#b8560b"
LABEL, PLOT, ROW, HEAD, FOOT = 470, 520, 44, 34, 40  # pixels
LANES = [15, -8, 25, -18]  # where the name of a dot can be, below or above it
NAMES = {"duckdb": "DuckDB", "sort": "GNU sort", "polars": "Polars", "pyspark": "PySpark", "wc": "wc -l",
         "extra": "plain C", "local-1": "glint, 1 slot", "local-2": "2 slots", "stations": "glint",
         "stations_batch": "glint", "all memory": "with all memory"}
PEERS = {"duckdb", "polars", "pyspark", "wc", "extra", "sort"}
# Sides of rows that compare speed-ups; two processes at once are no single program.
LEFT_OUT = {"hand", "hand two"}


def ratios(results, reference):
    """[(what, [(side, ratio)])] of the rows that have this side and another one, over this side."""
    rows = []
    for result in results:
        if reference not in result.samples or result.unit == "x":
            continue
        one = result.samples[reference].seconds
        sides = [(name, s.seconds / one) for name, s in result.samples.items()
                 if name not in (reference, *LEFT_OUT)]
        if sides:
            rows.append((result.what, sides))
    return rows


def ticks(low, high):
    return [t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500) if low <= t <= high]


def text(x, y, words, anchor="start", colour="currentColor", size=13):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" '
            f'font-size="{size}">{escape(words)}</text>')


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file
                     if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.machine()


def dots(sides, x_of, y):
    """The dots of a row, from left to right, each with its name in the first lane that is free."""
    drawn, ends = [], [-math.inf] * len(LANES)
    for name, ratio in sorted(sides, key=lambda side: side[1]):
        x, colour, label = x_of(ratio), PEER if name in PEERS else GLINT, NAMES.get(name, name)
        half = 3.2 * len(label)
        lane = next((i for i, end in enumerate(ends) if end < x - half), len(LANES) - 1)
        ends[lane] = x + half
        drawn.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}">'
                     f'<title>{escape(label)}: {ratio:.2f}</title></circle>')
        drawn.append(text(x, y + LANES[lane], label, "middle", colour, size=10))
    return drawn


def chart(title, rows, top):
    """The elements of a chart that begins at `top`, and its height."""
    values = [ratio for _, sides in rows for _, ratio in sides] + [1]
    low, high = min(values) / 1.3, max(values) * 1.3
    scale = PLOT / math.log(high / low)
    bottom = top + HEAD + ROW * len(rows)

    def x_of(ratio):
        return LABEL + 10 + math.log(ratio / low) * scale

    drawn = [text(10, top + 14, title, size=15)]
    for tick in ticks(low, high):
        x = x_of(tick)
        strong = ' stroke-width="2"' if tick == 1 else ' stroke-dasharray="2 4"'
        drawn.append(f'<line x1="{x:.1f}" y1="{top + HEAD - 8}" x2="{x:.1f}" y2="{bottom}" '
                     f'stroke="currentColor" opacity="0.45"{strong}/>')
        drawn.append(text(x, bottom + 16, f"{tick:g}", "middle", size=11))
    for i, (what, sides) in enumerate(rows):
        y = top + HEAD + ROW * i + 18
        drawn.append(text(10, y + 4, what, size=12))
        drawn += dots(sides, x_of, y)
    return drawn, bottom - top + FOOT


def svg(bench, results, today=None):
    """The picture as text. Raises ValueError if no row has two sides to compare."""
    hand, others = ratios(results, "hand"), ratios([r for r in results if "hand" not in r.samples],
                                                   "glint")
    charts = [(title, rows) for title, rows in (
        ("Time of a whole process, divided by that of a program in C written by hand for this task", hand),
        ("Time of a whole process, divided by that of glint", others)) if rows]
    if not charts:
        raise ValueError("no row that was measured has two sides to compare")
    day = (today or datetime.date.today()).isoformat()
    drawn = [text(10, 22, f"medians of {bench.runs}; small = {bench.rows['small']:,} rows, large = "
                  f"{bench.rows['large']:,}; {day}, {os.cpu_count()} CPUs, {processor()}")]
    width, height = LABEL + PLOT + 40, 40
    for title, rows in charts:
        elements, used = chart(title, rows, height)
        drawn, height = drawn + elements, height + used
    style = ("svg{color:#222;background:#fff}"
             "@media(prefers-color-scheme:dark){svg{color:#ddd;background:#181818}}")
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
                      f'height="{height}" viewBox="0 0 {width} {height}" '
                      f'font-family="sans-serif"><style>{style}</style>', *drawn, "</svg>", ""])
