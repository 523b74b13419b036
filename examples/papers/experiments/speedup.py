"""Tables 1 and 2 of the threads paper: time, speed-up and efficiency over numbers of slots."""
import os

NAME, TITLE, ORDER = "speedup", "speed-up and efficiency", 70
SLOTS = (1, 2, 3, 5, 10, 15)


def run(lab):
    lab.found("""Two tables give time, speed-up and efficiency of a sequential run and of 2, 3, 5, 10 and 15 threads, for the
        building of the filter and for the asking. The speed-up is 1.17 to 1.3.""")
    lab.command("glint submit speedup --master 'local[15]' --slots 1,2,3,5,10,15 --bits-per-element 2.57 "
                "--repeats 15 SAMPLE WORDS OUTPUT")
    strings = 100_000 if lab.quick else 2_000_000
    lab.submit("speedup", "--master", f"local[{SLOTS[-1]}]", "--slots", ",".join(map(str, SLOTS)),
               "--bits-per-element", 2.57, "--repeats", lab.repeats(15), lab.gap_sample(strings),
               lab.words(strings), lab.path("table"))
    rows = lab.rows_of(lab.path("table"))
    path = lab.table("speedup", list(rows[0]), [row.values() for row in rows],
                     f"{strings:,} strings in the page cache; medians of {lab.repeats(15)} runs in one process after one "
                     "that warms up. counted: filters that were built, strings that were admitted.")
    many, processors = len(SLOTS), len(os.sched_getaffinity(0))
    part = lambda i: f"'{path}' skip {1 + many * i} every ::0::{many - 1}"
    lines = lambda column, titles: ", ".join(
        f"{part(i)} using 2:{column} with linespoints lt {i + 1} " + (f"title '{work}'" if titles else "notitle")
        for i, work in enumerate(("build", "admit")))
    lab.plot("speedup", "set xrange [0.5:15.5]\nset xtics (1, 2, 3, 5, 10, 15)\nset xlabel 'slots'\nset multiplot layout 1,3\n"
             f"set key inside top right\nset title 'ms, least to greatest'\nset yrange [0:*]\nplot "
             + ", ".join(f"{part(i)} using ($2{0.3 * i - 0.15:+}):5:6:7 with yerrorbars lt {i + 1} title '{work}'"
                         for i, work in enumerate(("build", "admit")))
             + f"\nset title 'speed-up'\nset yrange [0:{processors + 0.5}]\nset key inside bottom right\n"
             f"plot {processors} lc rgb '#999999' dt 2 title 'processors', {lines(9, False)}"
             f"\nset title 'efficiency'\nset yrange [0:1.1]\nplot {lines(10, False)}\nunset multiplot",
             f"On {processors} processors there is nothing to gain from more slots than that.", size=(1050, 360))
    best = {work: max((row for row in rows if row["work"] == work), key=lambda row: row["speed-up"])
            for work in ("build", "admit")}
    two = {row["work"]: row["speed-up"] for row in rows if row["slots"] == 2}
    lab.measured(f"""With two slots building is {two["build"]:.2f} times as fast as with one, and asking {two["admit"]:.2f} times;
        the most is {best["build"]["speed-up"]:.2f} with {best["build"]["slots"]} slots and {best["admit"]["speed-up"]:.2f} with
        {best["admit"]["slots"]}. One slot asks for {strings:,} strings in {first(rows, "admit"):.1f} ms, which is
        {first(rows, "admit") * 1e6 / strings:.1f} ns each, and builds a filter of them in {first(rows, "build"):.1f} ms.""")
    lab.read("""`efficiency` is the speed-up divided by the slots. Asking shares nothing but the filter, which nobody changes. Building
        fills a filter per slot and then ORs these: work that grows with the slots. The input is cut into as many parts as
        there shall be slots, so three parts on two processors can gain 1.5 at most; one process with 15 slots measures them all. Times of a few ms are easily disturbed:
        look at the least and the greatest.""")
    counted = {(row["work"], row["counted"]) for row in rows}
    lab.check(len(counted) == 2, "every number of slots counts the same")
    lab.check(all(row["lowest"] <= row["wall ms"] <= row["highest"] for row in rows), "medians lie in their spread")


def first(rows, work):
    return next(row["wall ms"] for row in rows if row["work"] == work)
