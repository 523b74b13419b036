"""How long bloom-build and bloom-test take inside Hadoop, beside the Java programs of S0Programs.java on the same cluster: HDFS
and YARN in one process, four map and four reduce tasks in containers of their own. Start-up, that of the same job with one row for
each map task, is taken off. CPU time counts all processes, and does not depend on what else the machine does."""
import os
import re

import engines
from cpu_time import adopt_orphans, children, measure
from engines import GLINT

ROWS = int(os.environ.get("GLINT_BENCH_ROWS", 1_000_000))
MAPS = 4
SIZES = {"one": MAPS, "all": ROWS}  # rows: with one for each task, or all


def bench(checks, hadoop, jars):
    here = os.path.dirname(os.path.abspath(__file__))
    checks.succeeds("compile S0Programs.java", "javac", "-cp", jars, "-d", checks.path("s0"), os.path.join(here, "S0Programs.java"))
    checks.succeeds("its jar", "jar", "cf", "s0.jar", "-C", "s0", ".")
    servers = set(children())
    adopt_orphans()
    write_tables(checks, hadoop)
    java = ("java", "-Xmx512m", "--add-opens=java.base/java.lang=ALL-UNNAMED", "-cp", f"{hadoop.conf}:s0.jar:{jars}", "S0Programs")
    print(f"{ROWS} rows; load {' '.join(f'{load:.0f}' for load in os.getloadavg())} on {os.cpu_count()} processors")
    print(f"{'':24}{'Java s':>10}{'CPU s':>8}{'glint s':>12}{'CPU s':>8}")
    for job in ("build", "test"):
        rows = {}
        for size, count in SIZES.items():
            lines, out = str(count // MAPS), f"{job}-{size}"
            # Filters of all rows, also for the tests of a few.
            words = {"build": (f"train-{size}", "counts", f"/{out}-s0"), "test": (f"test-{size}", "counts", "/build-all-s0", f"/{out}-s0")}
            s0 = measure(checks, servers, [*java, job, "0.01", lines, *(f"/{w}" if w[0] != "/" else w for w in words[job])], hadoop.env)
            own = {"build": ("--scheme", "hadoop", "0.01", f"train-{size}", "counts", f"{out}-glint"),
                   "test": ("0.01", f"test-{size}", "build-all-glint", "counts", f"{out}-glint")}[job]
            if (job, size) == ("test", "one"):
                checks.check("filters of all rows", os.path.isdir(checks.path("build-all-glint")))
            glint = measure(checks, servers, [GLINT, "submit", "--on", "hadoop", f"bloom-{job}", "--partitions", "4", "--split-size", "1G",
                                              *own], hadoop.env)
            rows[size] = (*s0, *glint)
        show(f"bloom-{job}, start-up", rows["one"])
        show("    without it", [a - b for a, b in zip(rows["all"], rows["one"])])
    done = hadoop.run("hadoop", "fs", "-getmerge", "/test-all-s0", "s0.txt")
    theirs = numbers(engines.read(checks.path("s0.txt")).decode()) if done.returncode == 0 else done.stderr
    ours = numbers("".join(text.decode() for name, text in engines.tree(checks.path("test-all-glint")).items() if name.startswith("part-")))
    checks.check("bloom-test: the same false positives", len(theirs) == 10 and theirs == ours, f"{theirs} {ours}")


def write_tables(checks, hadoop):
    """One file for each map task, of the rows of both sizes; on Hadoop's file system for Java."""
    for table, seed in (("train", "5"), ("test", "6")):
        done = checks.run(GLINT, "generate", "ratings", "--rows", str(ROWS), "--seed", seed, "--no-header")
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines(True)
        for size, count in SIZES.items():
            os.mkdir(checks.path(f"{table}-{size}"))
            for part in range(MAPS):
                with open(checks.path(f"{table}-{size}", f"{part}.tsv"), "w", encoding="utf-8") as file:
                    file.writelines(lines[part * (count // MAPS):(part + 1) * (count // MAPS)])
    assert checks.run(GLINT, "submit", "-q", "count-keys", "--partitions", "1", "train-all", "counted").returncode == 0
    os.remove(checks.path("counts"))
    os.rename(checks.path("counted"), checks.path("counts"))
    done = hadoop.run("hadoop", "fs", "-put", "train-one", "train-all", "test-one", "test-all", "/")
    assert done.returncode == 0, done.stderr
    done = hadoop.run("hadoop", "fs", "-put", next(checks.path("counts", name) for name in os.listdir(checks.path("counts"))
                                                   if name.startswith("part-")), "/counts")
    assert done.returncode == 0, done.stderr


def numbers(text):
    """Rating, false positives and tests of each line."""
    return sorted(tuple(map(int, re.findall(r"\d+", line)[:3])) for line in text.splitlines())


def show(name, times):
    print(f"{name:24}{times[0]:10.1f}{times[1]:8.1f}{times[2]:12.1f}{times[3]:8.1f}", flush=True)
