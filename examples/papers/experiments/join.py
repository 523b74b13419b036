"""The book chapter's joins: reduce-side, replicated, and reduce-side behind a filter."""
import math
import re

NAME, TITLE, ORDER = "join", "three ways to join, and a chain of steps", 110
METHODS = ("shuffle", "bloom", "broadcast")
TYPES = ("inner", "left", "right", "full", "semi", "anti")
SHARES = (0.001, 0.01, 0.1, 1)  # of the large side's rows that match
SHARE = 0.01
PROBABILITIES = (0.3, 0.1, 0.01, 0.001)
ROWS_PROBED, ROWS_FILTERED = "rows probed", "rows filtered out"


def visits_of(lab, rows):
    """The large side: USER TAB 40 letters."""
    path = lab.path(f"visits-{rows}")
    lab.run("generate", "visits", "--rows", rows, path)
    return path


def users_in(visits):
    with open(visits, encoding="ascii") as rows:
        return sorted({row[:8] for row in rows})


def users_of(lab, users, share):
    """The small side: a share of the users that the visits have, and some that they have not."""
    path = lab.path(f"users-{share}")
    with open(path, "w", encoding="ascii") as out:
        out.writelines(f"{user}\tname of {user}\n" for user in users
                       if int(user[1:]) % 1000 < share * 1000)
        out.writelines(f"u{user:08}\tnobody\n" for user in range(100))
    return path


def join(lab, method, kind, visits, users, *options):
    return lab.submit("join", "--method", method, "--type", kind, *options, visits, users, lab.path("out"))


def timed(lab, method, kind, visits, users):
    """A job, and the median, the least and the greatest of its times in milliseconds."""
    jobs = [join(lab, method, kind, visits, users) for _ in range(lab.repeats(3))]
    took = sorted(job.wall_s * 1e3 for job in jobs)
    return jobs[0], (took[len(took) // 2], took[0], took[-1])


def over_shares(lab, visits, users):
    """Bytes and times of a semi join over the share of rows that match."""
    rows = []
    for share in SHARES:
        some = users_of(lab, users, share)
        for method in METHODS:
            done, times = timed(lab, method, "semi", visits, some)
            rows.append([share, method, done.counter("rows written"), done.counter("map output bytes"),
                         done.counter(ROWS_FILTERED), *times])
    return rows


def over_types(lab, visits, users):
    """All types by all methods: lines, and whether they are the same ones."""
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
    """Rows that pass the filter and have no match."""
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
    """The same join in three steps of one job, each by what the one before saved: whether it gives the lines of join."""
    outputs = [lab.path(name) for name in ("filter", "kept", "joined")]
    lab.plan("plan", "The chain of join-steps, as `glint explain --format svg` draws it: a filter of the right side is saved, then the left rows that it admits, "
             "then these are joined. Outputs appear when all steps have ended.", "join-steps", visits, users, *outputs)
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
        "A semi join. Both scales are logarithmic. broadcast shuffles nothing.")


def run(lab):
    lab.found("s4", """A Bloom filter is sometimes used for joining data within Hadoop; Hadoop's own class can be a good choice for a semijoin. The page
        has no measurements of joins; its supplement names the parts that join data from different sources, replicate a side with
        DistributedCache, and join in the reducers with filtering in the mappers.""")
    lab.command("glint submit join LEFT RIGHT OUTPUT --type semi --method bloom    # shuffle, broadcast, auto\n"
                "glint explain join LEFT RIGHT OUTPUT                              # what auto would take, and why\n"
                "glint submit join-steps LEFT RIGHT FILTER KEPT OUTPUT")
    visits = visits_of(lab, lab.rows)
    known = users_in(visits)
    shares = over_shares(lab, visits, known)
    path = lab.table("shares", ["share", "method", "lines", "bytes shuffled", "rows saved", "ms", "least", "greatest"],
                     shares, f"A semi join of {lab.rows:,} rows with 40-byte values, over the share that matches.")
    plot_shares(lab, path)
    users = users_of(lab, known, SHARE)
    fewer_visits = visits_of(lab, lab.rows // 5)
    types, same = over_types(lab, fewer_visits, users)
    lab.table("types", ["type", "method", "lines", "bytes shuffled", "rows saved"], types,
              f"All types, {lab.rows // 5:,} rows of which 1 % match. full and right by broadcast shuffle bitmaps of the keys that were met.")
    filters = over_probabilities(lab, visits, users)
    lab.table("filters", ["p", "filter bytes", "rows that meet none", "of them let through", "rate", "from bits",
                          "bytes shuffled"], filters, "The filter, sized for p; 1 % of the rows match.")
    chained, kept = steps(lab, fewer_visits, users)
    at = {row[1]: row for row in shares if row[0] == SHARE}
    fewer, faster = at["shuffle"][3] / at["bloom"][3], at["shuffle"][5] / at["bloom"][5]
    last = {row[1]: row for row in shares if row[0] == SHARES[-1]}
    lab.measured(f"""Where 1 % of the rows match, the filter keeps {at["bloom"][4]:,} of {lab.rows:,} rows out of the
        shuffle: {fewer:.0f}x fewer bytes, {faster:.1f}x faster. Where all match it saves none, and the join takes
        {last["bloom"][5] / last["shuffle"][5]:.2f} times as long as without. The chain of three
        steps keeps {kept:,} of {lab.rows // 5:,} rows for its join.""")
    lab.read("""The filter costs two more readings of the small side and a question per row of the large one; it saves
        sorting and moving rows that have no match. The rows that it rejects are not lost to left, right, full
        and anti joins: they go straight to the output. broadcast moves no rows at all, but needs the small side
        in every process, and refuses where that does not fit; its look-ups in a large table are slower than
        a filter's.""")
    lab.claim("s4", "preface", "a filter makes other data processing techniques more efficient, joining data among them",
              f"with 1 % of the rows matching, a join behind a filter shuffles {fewer:.0f} times fewer bytes", fewer >= 5,
              "" if fewer >= 5 else "see the table")
    found = all(row[4] == 0 for row in shares if row[0] == 1 and row[1] == "bloom")
    lab.claim("s4", "what does a Bloom filter do", "a filter has no false negatives", f"of {lab.rows:,} rows that all match, "
              f"{'none is' if found else 'some are'} rejected", found, "" if found else "see the table")
    lab.check(chained, "the chain of steps gives the lines of one join")
    lab.check(same, "all methods give the same lines, on local[1] and local[2]")
    lab.check(fewer >= 5, "with 1 % of the rows matching, the filter shuffles at least 5 times fewer bytes")
    lab.check(all(abs(row[4] - row[5]) <= 4 * math.sqrt(row[5] * (1 - row[5]) / row[2]) for row in filters),
              "the filter lets through as many non-members as its bits predict, within 4 standard errors")
    lab.check(found, "a row that matches is never rejected")
