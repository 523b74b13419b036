"""Rows about commands of other languages, beside GNU parallel."""

import shutil

from harness import Failure, parts
from workloads import per_row, work

OVER_PARALLEL = 0.7     # of its speed, at least
BLOCK = "10M"


@work("pipe-count", "stream --map 'wc -l', large, local[2], beside parallel --pipe",
      f">= {OVER_PARALLEL}x its speed")
def pipe_count(row, bench):
    if not bench.glint:
        return None
    parallel = shutil.which("parallel")
    if parallel is None:
        return row.result("ns/row", note="parallel is not installed")
    table, out = bench.table("large"), bench.out("glint")
    command = bench.submit("stream", "--map", "wc -l", "--split-size", BLOCK, table, out,
                           master="local[2]")
    counts = f"mkdir {out} && {{}} > {out}/counts"
    halves = " ".join(map(str, bench.halves("large")))
    beside = {
        "parallel": f"{parallel} -j 2 --pipe --block {BLOCK} wc -l < {table}",
        "xargs": f"echo {halves} | xargs -P 2 -n 1 wc -l"}
    bench.one(command, out, cpus="0,1")
    counted = sum(int(line) for line in b"".join(parts(out)).split())
    if counted != bench.rows["large"]:
        raise Failure(f"stream counted {counted} lines")
    sides = {name: lambda c=["sh", "-c", counts.format(line)]: bench.one(c, out, cpus="0,1")
             for name, line in beside.items()}
    sides["glint"] = lambda: bench.one(command, out, cpus="0,1")
    samples = bench.alternate(sides)
    ns = {name: per_row(bench, "large", taken.seconds) for name, taken in samples.items()}
    ratio = ns["parallel"] / ns["glint"]
    return row.result("ns/row", glint=ns["glint"], ratio=ratio, met=ratio >= OVER_PARALLEL,
                      samples=samples,
                      note=f"parallel {ns['parallel']:.2f} ns/row; wc -l on two files, "
                           f"which it reads itself, {ns['xargs']:.2f}")
