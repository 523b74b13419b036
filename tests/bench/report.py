"""The results as a text table and as a JSON object."""

import os


def number(value, unit=""):
    if value is None:
        return "-"
    text = f"{value:.0f}" if value >= 1000 else f"{value:.2f}" if value < 100 else f"{value:.1f}"
    return f"{text} {unit}".rstrip()


def print_table(bench, results, other="hand-written"):
    """`other` is the name of the column that glint is compared with."""
    simd = f", hand-written side uses {bench.programs.simd}" if other == "hand-written" else ""
    print(f"small = {bench.rows['small']} rows, large = {bench.rows['large']} rows, medians of "
          f"{bench.runs}{simd}\n")
    rows = [("work", "glint", other, "ratio", "target", "met", "")]
    for result in results:
        met = {True: "yes", False: "NO", None: "-"}[result.met]
        rows.append((result.what, number(result.glint, result.unit),
                     number(result.hand, result.unit), number(result.ratio), result.goal, met,
                     result.note))
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    for row in rows:
        cells = [cell.rjust(width) if 1 <= column <= 3 else cell.ljust(width)
                 for column, (cell, width) in enumerate(zip(row, widths))]
        print("  ".join([*cells, row[6]]).rstrip())
    print_profiles(results)


def print_profiles(results):
    """Of the rows that miss their targets."""
    missed = [(result.name, side, s.profile) for result in results if result.met is False
              for side, s in result.samples.items() if s.profile]
    if missed:
        print("\nwhere glint's CPU time goes in the rows that miss their targets "
              "(one run under perf):\n")
    for name, side, found in missed:
        print(f"{name}, {side}: {found}")


def as_object(bench, results, other="hand-written"):
    return {
        "rows": bench.rows, "runs": bench.runs, "hand_written_simd": bench.programs.simd,
        "cpus": os.cpu_count(),
        "results": [{
            "name": r.name, "what": r.what, "unit": r.unit, "target": r.goal, "glint": r.glint,
            other.replace("-", "_"): r.hand, "ratio": r.ratio, "met": r.met, "note": r.note,
            "seconds": {side: [run.seconds for run in s.runs] for side, s in r.samples.items()},
            "peak_bytes": {side: s.peak_bytes for side, s in r.samples.items()},
            "profiles": {side: s.profile for side, s in r.samples.items() if s.profile},
        } for r in results],
    }
