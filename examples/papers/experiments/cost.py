"""Figure 8 of the multi-set paper, the memory of both constructions, and the variant that the paper rejected."""
from experiments.methods import CPU, EMITTED, ONCE, PARTIALS, TITLES, VARINT, VINT, WALL, by_method, measure
from lab import Timed, least_of

NAME, TITLE, ORDER = "cost", "time and memory of the two constructions", 34
PROBABILITIES = (0.001, 0.01, 0.1)
MAPPERS = 50
METHODS = (VINT, PARTIALS)


def times(lab):
    """Returns (p, method, WALL or CPU) -> samples. The runs alternate, so that load on the machine affects all methods."""
    out = {}
    for _ in range(lab.repeats(9)):
        for p in PROBABILITIES:
            for row in measure(lab, lab.train, [p], [MAPPERS], METHODS, 1):
                for column in (WALL, CPU):
                    out.setdefault((p, row["method"], column), []).append(row[column])
    return out


def show_times(lab, samples):
    rows = []
    for p in PROBABILITIES:
        line = [p]
        for column in (WALL, CPU):
            for method in METHODS:
                time = Timed(samples[p, method, column])
                line += [time.median, time.low, time.high]
        rows.append(line)
    path = lab.table("times", ("p", *(f"{TITLES[method]}, {name}{what}" for name in ("wall ms", "CPU ms") for method in METHODS
                                      for what in (" median", " lowest", " highest"))), rows,
                     f"{MAPPERS} mappers; {len(samples[PROBABILITIES[0], VINT, WALL])} alternating runs.")
    axis = "set logscale x\nset xrange [0.0008:0.13]\nset format x '%g'\nset xlabel 'p'\nset yrange [0:*]\n"
    lab.panels("times", [
        f"{axis}set ylabel '{name}'\nplot " + ", ".join(
            f"'{path}' skip 1 using 1:{at + 3 * i}:{at + 1 + 3 * i}:{at + 2 + 3 * i} with yerrorlines lt {i + 1} title '{TITLES[method]}'"
            for i, method in enumerate(METHODS)) for name, at in (("wall ms", 2), ("CPU ms", 8))],
        "Medians, with the lowest and the highest value. Left: wall time, as the average construction time in figure 8 of the paper.")


def peaks(lab):
    """Peak memory of separate processes, with --memory 1G and 64M."""
    rows = []
    for memory in ("1G", "64M"):
        base = min(lab.submit("count-keys", "--memory", memory, lab.train, lab.path("counted")).peak_bytes for _ in range(3))
        for method in (VINT, VARINT, ONCE, PARTIALS):
            peak = min(lab.submit("constructions", "--memory", memory, "--p", 0.01, "--mappers", MAPPERS, "--methods", method, lab.train,
                                  lab.path("table")).peak_bytes for _ in range(lab.repeats(3)))
            rows.append([memory, TITLES[method], peak / 1e6, (peak - base) / 1e6])
    lab.table("memory", ("--memory", "", "peak MB", "above count-keys, MB"), rows,
              f"Peak of the whole process with one slot per processor, p = 0.01, {MAPPERS} mappers; the lowest of {lab.repeats(3)} runs.")
    return {(memory, name): above for memory, name, _, above in rows}


def rejected(lab):
    """Mappers that emit each index once: bytes saved and memory used, over the number of mappers."""
    rows, counts = measure(lab, lab.train, [0.01], (1, 10, 50, 96), (VARINT, ONCE, PARTIALS)), (1, 10, 50, 96)
    by = by_method(rows, "mappers")
    out = []
    for mappers in counts:
        every, once, memory = (by[mappers, method][EMITTED] for method in (VARINT, ONCE, PARTIALS))
        out.append([str(mappers), every / 1e6, once / 1e6, 100 - 100 * once / every, (every - once) / mappers / 1e3, memory / mappers / 1e3])
    lab.table("rejected", ("mappers", "MB, every index", "MB, each once per mapper", "saved %", "saved kB per mapper", "memory kB per mapper"), out,
              "A mapper records the indexes that it has emitted in a bitmap with one bit per position of each filter; the paper used an associative array.")
    return {int(row[0]): row for row in out}


def run(lab):
    lab.found("s2", """The average construction time of both solutions decreases as the false positive rate increases. The second solution takes less CPU time, and
        the gap is larger for small rates. The second solution keeps the filters in memory; the first has no such overhead. The authors tried a mapper
        that emits each repeated hash value only once, and rejected it: the number of collisions is negligible, and the overhead of the associative
        array is higher than the benefit.""")
    lab.command(f"glint submit constructions --p 0.001,0.01,0.1 --mappers {MAPPERS} --methods lists-vint,lists-once,partials --repeats 9 INPUT OUTPUT")
    samples = times(lab)
    show_times(lab, samples)
    above, variant = peaks(lab), rejected(lab)
    cpu = {(p, method): Timed(samples[p, method, CPU]).median for p in PROBABILITIES for method in METHODS}
    low, high = PROBABILITIES[0], PROBABILITIES[-1]
    lab.measured(f"""For p = {low} index lists take {cpu[low, VINT]:.0f} ms of CPU time and partial filters {cpu[low, PARTIALS]:.0f} ms; for p = {high}
        {cpu[high, VINT]:.0f} ms and {cpu[high, PARTIALS]:.0f} ms. With 50 mappers the rejected variant saves {variant[50][3]:.1f} % of the bytes,
        {variant[50][4]:.0f} kB per mapper, and needs {variant[50][5]:.0f} kB of memory per mapper.""")
    lab.read("""`above count-keys` is the memory that building adds to a process that reads and counts the same rows. A slot that builds partial filters keeps all
        of them in memory. A slot that emits index lists keeps a shuffle buffer, which spills to disk if memory is short.""")
    verdicts(lab, samples, above, variant, cpu)


def verdicts(lab, samples, above, variant, cpu):
    low, high = PROBABILITIES[0], PROBABILITIES[-1]
    noise = "the difference is within the spread of the runs"
    for name, method in (("solution 1", VINT), ("solution 2", PARTIALS)):
        decreased = least_of(samples[high, method, WALL], samples[low, method, WALL])
        a, b = (Timed(samples[p, method, WALL]).median for p in (low, high))
        lab.claim("s2", "section 2.3, figure 8", f"the construction time of {name} decreases as the false positive rate increases",
                  f"{a:.0f} ms for p = {low}, {b:.0f} ms for p = {high}", decreased, {None: noise, False: "it increased here", True: ""}[decreased])
    less = least_of(samples[low, PARTIALS, CPU], samples[low, VINT, CPU])
    lab.claim("s2", "section 2.3", "solution 2 takes less CPU time, and the gap is larger for small rates",
              f"{cpu[low, PARTIALS]:.0f} and {cpu[low, VINT]:.0f} ms for p = {low}, {cpu[high, PARTIALS]:.0f} and {cpu[high, VINT]:.0f} ms for p = {high}",
              less and cpu[low, VINT] - cpu[low, PARTIALS] > cpu[high, VINT] - cpu[high, PARTIALS] if less is not None else None,
              noise if less is None else "the gap is not larger here" if less else "solution 1 takes less here")
    more = all(above[memory, TITLES[PARTIALS]] > above[memory, TITLES[method]] for memory in ("1G", "64M") for method in (VINT, VARINT))
    lab.claim("s2", "section 2.3", "solution 2 has a memory overhead that solution 1 does not have",
              f"above count-keys: {above['64M', TITLES[PARTIALS]]:.1f} and {above['64M', TITLES[VINT]]:.1f} MB with --memory 64M, "
              f"{above['1G', TITLES[PARTIALS]]:.1f} and {above['1G', TITLES[VINT]]:.1f} MB with 1G", more,
              "" if more else "glint keeps index lists in memory if they fit, Hadoop writes them to disk")
    few = variant[50][3] < 10
    lab.claim("s2", "section 2.2", "emitting each index once per mapper does not pay off: collisions are negligible, and the memory overhead is higher than the benefit",
              f"with 50 mappers it saves {variant[50][3]:.1f} %, {variant[50][4]:.0f} kB per mapper for {variant[50][5]:.0f} kB of memory; with one mapper it saves "
              f"{variant[1][3]:.0f} %", few and variant[50][5] > variant[50][4], "" if few else "see the table")
    lab.check(all(row[2] <= row[1] for row in variant.values()), "emitting each index once per mapper never takes more bytes than emitting all indexes")
    lab.check(variant[1][3] >= variant[96][3], "with one mapper the share of saved bytes is at least as large as with 96 mappers")
