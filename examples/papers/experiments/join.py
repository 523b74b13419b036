"""The joins of the book chapter: reduce-side, replicated, and reduce-side with map-side filtering."""
import math
import re

NAME, TITLE, ORDER = "join", "three join methods, and a chain of steps", 110
METHODS = ("shuffle", "bloom", "broadcast")
TYPES = ("inner", "left", "right", "full", "semi", "anti")
SHARES = (0.001, 0.01, 0.1, 1)  # of the rows of the large side that match
SHARE = 0.01
PROBABILITIES = (0.3, 0.1, 0.01, 0.001)
ROWS_PROBED, ROWS_FILTERED = "rows probed", "rows filtered out"


def visits_of(lab, rows):
    """Generates the large side, lines USER TAB 40 letters; returns its path."""
    path = lab.path(f"visits-{rows}")
    lab.run("generate", "visits", "--rows", rows, path)
    return path


def users_in(visits):
    with open(visits, encoding="ascii") as rows:
        return sorted({row[:8] for row in rows})


def users_of(lab, users, share):
    """Writes the small side: a share of the users in the visits, and 100 users without visits; returns its path."""
    path = lab.path(f"users-{share}")
    with open(path, "w", encoding="ascii") as out:
        out.writelines(f"{user}\tname of {user}\n" for user in users
                       if int(user[1:]) % 1000 < share * 1000)
        out.writelines(f"u{user:08}\tabsent\n" for user in range(100))
    return path


def join(lab, method, kind, visits, users, *options):
    return lab.submit("join", "--method", method, "--type", kind, *options, visits, users, lab.path("out"))


def timed(lab, method, kind, visits, users):
    """Runs a join several times. Returns the first job, and the median, lowest and highest time in milliseconds."""
    jobs = [join(lab, method, kind, visits, users) for _ in range(lab.repeats(3))]
    times_ms = sorted(job.wall_s * 1e3 for job in jobs)
    return jobs[0], (times_ms[len(times_ms) // 2], times_ms[0], times_ms[-1])


def over_shares(lab, visits, users):
    """Returns bytes and times of a semi join over the share of rows that match."""
    rows = []
    for share in SHARES:
        users_path = users_of(lab, users, share)
        for method in METHODS:
            done, times = timed(lab, method, "semi", visits, users_path)
            rows.append([share, method, done.counter("rows written"), done.counter("map output bytes"),
                         done.counter(ROWS_FILTERED), *times])
    return rows


def over_types(lab, visits, users):
    """Runs all join types with all methods. Returns a row of counts for each, and whether all methods give the same lines."""
    rows, same = [], True
    for kind in TYPES:
        seen = {}
        for method in METHODS:
            for master in ("local[1]", "local[2]"):
                done = join(lab, method, kind, visits, users, "--master", master)
                lines = sorted(lab.parts(lab.path("out")))
                same = same and seen.setdefault("lines", lines) == lines
                counts = [len(lines), done.counter("map output bytes"), done.counter(ROWS_FILTERED)]
                same = same and seen.setdefault(method, counts) == counts
            rows.append([kind, method, *counts])
    return rows, same


def over_probabilities(lab, visits, users):
    """Returns the rows without a match that pass the filter, over p."""
    rows = []
    for p in PROBABILITIES:
        done = join(lab, "bloom", "semi", visits, users, "--p", p)
        note = next(note for note in done.report["notes"] if note.startswith("a filter"))
        size, rate = re.search(r"in (\d+) bytes, rate ([^,]+),", note).groups()
        non_members = done.counter(ROWS_PROBED) - done.counter("rows written")
        through = non_members - done.counter(ROWS_FILTERED)
        rows.append([p, int(size), non_members, through, through / non_members, float(rate),
                     done.counter("map output bytes")])
    return rows


def steps(lab, visits, users):
    """Runs the same join as three steps of one job; each step reads the output of the step before. Returns whether the
    lines equal those of join, and the number of rows that pass the filter."""
    outputs = [lab.path(name) for name in ("filter", "kept", "joined")]
    lab.plan("plan", "The steps of join-steps, drawn by `glint explain --graph svg`: the first step saves a filter of the right side, the second the left rows that "
             "pass it, and the third joins these rows. The job commits all outputs together after the last step.", "join-steps", visits, users, *outputs)
    lab.submit("join-steps", visits, users, *outputs)
    join(lab, "shuffle", "inner", visits, users)
    return sorted(lab.parts(lab.path("joined"))) == sorted(lab.parts(lab.path("out"))), len(lab.parts(lab.path("kept")))


def plot_shares(lab, path):
    lab.panels("shares", [
        f"set datafile missing NaN\nset logscale xy\nset xlabel 'rows that match, %'\nset format '%g'\nset ylabel '{label}'\nplot " + ", ".join(
            f"'{path}' skip 1 using ($1*100):(strcol(2) eq '{method}' && ${column} > 0 ? ${column}/{unit} : NaN) "
            f"with linespoints lt {i} title '{method}'" for i, method in enumerate(METHODS, 1)
            if (method, column) != ("broadcast", 4))
        for column, unit, label in ((4, "1e6", "MB shuffled"), (6, "1", "ms"))],
        "A semi join; both axes are logarithmic. broadcast shuffles nothing.")


def run(lab):
    lab.found("s4", """A Bloom filter is sometimes used for joining data within Hadoop, and Hadoop's own class can be a good choice for a semijoin. The
        page has no measurements of joins. Its supplement lists the parts on joining data from different sources, on replicated joins with
        DistributedCache, and on reduce-side joins with map-side filtering.""")
    lab.command("glint submit join LEFT RIGHT OUTPUT --type semi --method bloom    # shuffle, broadcast, auto\n"
                "glint explain join LEFT RIGHT OUTPUT                              # the method that auto chooses, and why\n"
                "glint submit join-steps LEFT RIGHT FILTER KEPT OUTPUT")
    visits = visits_of(lab, lab.rows)
    known = users_in(visits)
    shares = over_shares(lab, visits, known)
    path = lab.table("shares", ["share", "method", "lines", "bytes shuffled", "rows filtered out", "ms", "lowest", "highest"],
                     shares, f"A semi join of {lab.rows:,} rows with 40-byte values, over the share of rows that match.")
    plot_shares(lab, path)
    users = users_of(lab, known, SHARE)
    fewer_visits = visits_of(lab, lab.rows // 5)
    types, same = over_types(lab, fewer_visits, users)
    lab.table("types", ["type", "method", "lines", "bytes shuffled", "rows filtered out"], types,
              f"All types; 1 % of {lab.rows // 5:,} rows match. With broadcast, full and right joins shuffle bitmaps of the keys that matched.")
    filters = over_probabilities(lab, visits, users)
    lab.table("filters", ["p", "filter bytes", "rows without a match", "passed the filter", "rate", "from bits",
                          "bytes shuffled"], filters, "Filters sized for p; 1 % of the rows match.")
    chained, kept = steps(lab, fewer_visits, users)
    at = {row[1]: row for row in shares if row[0] == SHARE}
    fewer, faster = at["shuffle"][3] / at["bloom"][3], at["shuffle"][5] / at["bloom"][5]
    last = {row[1]: row for row in shares if row[0] == SHARES[-1]}
    lab.measured(f"""If 1 % of the rows match, the filter removes {at["bloom"][4]:,} of {lab.rows:,} rows before the shuffle: the
        join shuffles {fewer:.0f}x fewer bytes and is {faster:.1f}x faster. If all rows match, the filter removes none, and the join
        takes {last["bloom"][5] / last["shuffle"][5]:.2f} times as long as without a filter. In the chain of three steps, {kept:,} of {lab.rows // 5:,} rows pass the filter.""")
    lab.read("""With the filter, the job reads the small side two more times and does one look-up per row of the large side; it does
        not sort or shuffle rows without a match. Left, right, full and anti joins write the rejected rows directly to the
        output. broadcast shuffles no rows, but needs the small side in the memory of every process and fails if it does not
        fit. A look-up in its large table is slower than in a filter.""")
    lab.claim("s4", "preface", "a filter makes other data processing techniques, such as joins, more efficient",
              f"if 1 % of the rows match, a join with a filter shuffles {fewer:.0f} times fewer bytes", fewer >= 5,
              "" if fewer >= 5 else "see the table")
    found = all(row[4] == 0 for row in shares if row[0] == 1 and row[1] == "bloom")
    lab.claim("s4", "what does a Bloom filter do", "a filter has no false negatives", f"all {lab.rows:,} rows match; the filter "
              f"rejects {'none' if found else 'some'}", found, "" if found else "see the table")
    lab.check(chained, "the chain of steps gives the same lines as one join")
    lab.check(same, "all methods give the same lines, on local[1] and local[2]")
    lab.check(fewer >= 5, "if 1 % of the rows match, the join with a filter shuffles at least 5 times fewer bytes")
    lab.check(all(abs(row[4] - row[5]) <= 4 * math.sqrt(row[5] * (1 - row[5]) / row[2]) for row in filters),
              "the number of rows without a match that pass the filter is within 4 standard errors of the prediction from its bits")
    lab.check(found, "if all rows match, the filter rejects none")
