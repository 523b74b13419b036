"""Figure 8 of the multi-set paper, memory, and the variant that it rejected."""
from experiments.methods import CPU, MADE, ONCE, PARTIALS, TITLES, VARINT, VINT, WALL, by_method, measure
from lab import Timed, least_of

NAME, TITLE, ORDER = "cost", "time and memory of the two constructions", 34
PROBABILITIES = (0.001, 0.01, 0.1)
MAPPERS = 50
METHODS = (VINT, PARTIALS)


def times(lab):
    """(p, method, WALL or CPU) -> samples; by turns, so that a busy machine is busy for all."""
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
                     f"{MAPPERS} mappers; {len(samples[PROBABILITIES[0], VINT, WALL])} runs, by turns.")
    axis = "set logscale x\nset xrange [0.0008:0.13]\nset format x '%g'\nset xlabel 'p'\nset yrange [0:*]\n"
    lab.panels("times", [
        f"{axis}set ylabel '{name}'\nplot " + ", ".join(
            f"'{path}' skip 1 using 1:{at + 3 * i}:{at + 1 + 3 * i}:{at + 2 + 3 * i} with yerrorlines lt {i + 1} title '{TITLES[method]}'"
            for i, method in enumerate(METHODS)) for name, at in (("wall ms", 2), ("CPU ms", 8))],
        "Medians, from the least to the greatest. Left as figure 8 of the paper draws its average construction time.")


def peaks(lab):
    """Of processes of their own, with all memory and with little."""
    rows = []
    for memory in ("1G", "64M"):
        base = min(lab.submit("count-keys", "--memory", memory, lab.train, lab.path("counted")).peak_bytes for _ in range(3))
        for method in (VINT, VARINT, ONCE, PARTIALS):
            peak = min(lab.submit("constructions", "--memory", memory, "--p", 0.01, "--mappers", MAPPERS, "--methods", method, lab.train,
                                  lab.path("table")).peak_bytes for _ in range(lab.repeats(3)))
            rows.append([memory, TITLES[method], peak / 1e6, (peak - base) / 1e6])
    lab.table("memory", ("--memory", "", "peak MB", "above counting the keys, MB"), rows,
              f"The whole process with two slots or as many as there are processors, p = 0.01, {MAPPERS} mappers; the least of {lab.repeats(3)} runs.")
    return {(memory, name): above for memory, name, _, above in rows}


def rejected(lab):
    """In-mapper removal of repeated indexes: bytes saved, memory spent, over the number of mappers."""
    rows, counts = measure(lab, lab.train, [0.01], (1, 10, 50, 96), (VARINT, ONCE, PARTIALS)), (1, 10, 50, 96)
    by = by_method(rows, "mappers")
    out = []
    for mappers in counts:
        every, once, memory = (by[mappers, method][MADE] for method in (VARINT, ONCE, PARTIALS))
        out.append([str(mappers), every / 1e6, once / 1e6, 100 - 100 * once / every, (every - once) / mappers / 1e3, memory / mappers / 1e3])
    lab.table("rejected", ("mappers", "MB, every index", "MB, each once a mapper", "saved %", "saved kB a mapper", "memory kB a mapper"), out,
              "A mapper remembers what it has emitted in a bit for each place of each filter, the least that can be; the paper used an associative array.")
    return {int(row[0]): row for row in out}


def run(lab):
    lab.found("s2", """The average construction time decreases as the rate is raised, for both solutions; by CPU time the second is the better one, by more for small
        rates. The second keeps the filters in memory, the first has no such burden. To emit each repeated hash value of a mapper only once was tried
        and not followed: collisions are negligible, and the overhead of the associative array is higher than the benefit.""")
    lab.command(f"glint submit constructions --p 0.001,0.01,0.1 --mappers {MAPPERS} --methods lists-vint,lists-once,partials --repeats 9 INPUT OUTPUT")
    samples = times(lab)
    show_times(lab, samples)
    above, variant = peaks(lab), rejected(lab)
    cpu = {(p, method): Timed(samples[p, method, CPU]).median for p in PROBABILITIES for method in METHODS}
    low, high = PROBABILITIES[0], PROBABILITIES[-1]
    lab.measured(f"""For p = {low} indexes take {cpu[low, VINT]:.0f} ms of CPU and partial filters {cpu[low, PARTIALS]:.0f}, for p = {high} {cpu[high, VINT]:.0f} and
        {cpu[high, PARTIALS]:.0f}. With 50 mappers the rejected variant saves {variant[50][3]:.1f} % of the bytes, {variant[50][4]:.0f} kB a mapper, for
        {variant[50][5]:.0f} kB of memory.""")
    lab.read("""`above counting the keys` is what building adds to a process that reads and counts the same rows. A slot that makes partial filters holds all of them;
        one that makes index lists holds a buffer of the shuffle, which goes to disk where memory is short.""")
    verdicts(lab, samples, above, variant, cpu)


def verdicts(lab, samples, above, variant, cpu):
    low, high = PROBABILITIES[0], PROBABILITIES[-1]
    noise = "the difference is within the spread of the runs"
    for name, method in (("solution 1", VINT), ("solution 2", PARTIALS)):
        held = least_of(samples[high, method, WALL], samples[low, method, WALL])
        a, b = (Timed(samples[p, method, WALL]).median for p in (low, high))
        lab.claim("s2", "section 2.3, figure 8", f"the construction time of {name} decreases as the rate is raised", f"{a:.0f} ms for p = {low}, {b:.0f} for {high}",
                  held, {None: noise, False: "it grew here", True: ""}[held])
    held = least_of(samples[low, PARTIALS, CPU], samples[low, VINT, CPU])
    lab.claim("s2", "section 2.3", "by CPU time solution 2 is the better one, by more for small rates",
              f"{cpu[low, PARTIALS]:.0f} against {cpu[low, VINT]:.0f} ms for p = {low}, {cpu[high, PARTIALS]:.0f} against {cpu[high, VINT]:.0f} for {high}",
              held and cpu[low, VINT] - cpu[low, PARTIALS] > cpu[high, VINT] - cpu[high, PARTIALS] if held is not None else None,
              noise if held is None else "the gap does not widen" if held else "solution 1 takes less here")
    more = all(above[memory, TITLES[PARTIALS]] > above[memory, TITLES[method]] for memory in ("1G", "64M") for method in (VINT, VARINT))
    lab.claim("s2", "section 2.3", "solution 2 has a memory overhead that solution 1 does not have",
              f"with --memory 64M, above counting: {above['64M', TITLES[PARTIALS]]:.1f} MB against {above['64M', TITLES[VINT]]:.1f}; with 1G "
              f"{above['1G', TITLES[PARTIALS]]:.1f} against {above['1G', TITLES[VINT]]:.1f}", more,
              "" if more else "glint holds index lists in memory where there is some, Hadoop writes them out")
    few = variant[50][3] < 10
    lab.claim("s2", "section 2.2", "to emit each index of a mapper once is not worth it: collisions are negligible, its memory costs more than it saves",
              f"with 50 mappers it saves {variant[50][3]:.1f} %, {variant[50][4]:.0f} kB a mapper for {variant[50][5]:.0f} kB of memory; with one mapper "
              f"{variant[1][3]:.0f} %", few and variant[50][5] > variant[50][4], "" if few else "see the table")
    lab.check(all(row[2] <= row[1] for row in variant.values()), "no index is emitted twice: never more bytes than with all of them")
    lab.check(variant[1][3] >= variant[96][3], "what can be saved shrinks as mappers see fewer rows each")
