"""Writes report.html, a self-contained page: plots are inlined, nothing is loaded from other files."""
import html
import math
import os
import platform
import re
import subprocess
import time

from published import Figure

# One size for all text but headings, also inside the plots (record.TEXT_PX).
STYLE = """
body { font: 15px/1.5 'DejaVu Sans', system-ui, sans-serif; max-width: 1120px; margin: 2rem auto; padding: 0 1rem;
       color: #222; background: #fff; overflow-wrap: break-word }
h1 { font-size: 26px; line-height: 1.2 } h3 { font-size: 15px; margin: 1.2rem 0 0.2rem } p { margin: 0.3rem 0 0.8rem }
h2 { font-size: 20px; margin-top: 3rem; border-top: 1px solid #ccc; padding-top: 1rem }
.scroll { overflow-x: auto; margin: 0.8rem 0 0.3rem } table { border-collapse: separate; border-spacing: 0 }
th, td { padding: 0.2rem 0.7rem; border-bottom: 1px solid #e4e4e4; vertical-align: top; white-space: nowrap;
         text-align: right; font-variant-numeric: tabular-nums }
th { border-bottom: 1px solid #888; vertical-align: bottom } td.word, th.word { text-align: left }
td.published, th.published { background: #f6f2e4 }
.scroll td:first-child, .scroll th:first-child { position: sticky; left: 0; background: #fff; z-index: 1 }
.scroll td.published:first-child, .scroll th.published:first-child { background: #f6f2e4 }
.claims td { white-space: normal; min-width: 9rem } .claims td:first-child { min-width: 3.2rem }
@media (max-width: 640px) { /* stack the cells of a claim, so that its verdict is visible */
  .claims tr, .claims td { display: block } .claims tr:first-child { display: none }
  .claims tr { border-bottom: 1px solid #ccc; padding: 0.4rem 0 } .claims td { border: 0; padding: 0 }
  .claims td:nth-child(3)::before { content: 'measured: ' } }
.panels { display: flex; flex-wrap: wrap; gap: 0.5rem; overflow-x: auto } .panels svg { flex: none }
figure { margin: 1rem 0 } figcaption, .note { color: #555 } summary { cursor: pointer }
code, pre { font-family: 'DejaVu Sans Mono', ui-monospace, monospace; font-size: 13.5px }
pre { background: #f4f4f4; padding: 0.5rem 0.8rem; overflow-x: auto }
.good b { color: #27762a } .bad b { color: #b3261e } .open b { color: #775500 }
"""


def inline(text):
    """Escapes text for HTML, joins its lines, and marks `code` as code."""
    plain = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", plain)


def paragraphs(text):
    """Splits a text into paragraphs at blank lines."""
    return "\n".join(f"<p>{inline(part)}</p>" for part in re.split(r"\n\s*\n", text.strip()))


# ---- Tables: all numbers of a column have the same format and are right-aligned

NUMBER = re.compile(r"-?[\d,]+(?:\.\d+)?[KMG]?")  # also 10K


def decimals_of(values):
    """Returns the number of decimals that gives the largest value four significant digits, or None if the smallest
    value would then be less than 5 units of the last decimal."""
    sizes = [abs(value) for value in values if value != 0 and math.isfinite(value)]
    if not sizes:
        return 0
    decimals = max(0, min(6, 3 - math.floor(math.log10(max(sizes)))))
    return decimals if min(sizes) >= 5 * 10 ** -decimals else None


def plain_number(value):
    """Formats a number with at least three significant digits and no exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    return f"{value:,.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def column_texts(cells):
    """Returns the cells of a column as texts, and whether the column is right-aligned: most cells are numbers."""
    floats = [cell for cell in cells if isinstance(cell, float)]
    decimals = decimals_of(floats)
    fixed = bool(floats) and decimals is not None

    def text(cell):
        if cell is None:
            return ""
        if isinstance(cell, Figure):
            return cell.grouped
        if isinstance(cell, bool) or not isinstance(cell, (int, float)):
            return str(cell)
        if isinstance(cell, int) and not fixed:
            return f"{cell:,}"
        return plain_number(cell) if decimals is None else f"{cell:,.{decimals}f}"

    written = [text(cell) for cell in cells]
    numbers = sum(bool(NUMBER.fullmatch(each)) for each in written)
    return written, 2 * numbers > sum(map(bool, written))


def table(columns, rows, count, caption, path, why, fold):
    texts, numeric = zip(*(column_texts([row[i] for row in rows]) for i in range(len(columns))))
    published = [any(isinstance(row[i], Figure) for row in rows) for i in range(len(columns))]

    def line(tag, cells):
        return "<tr>" + "".join(
            f"<{tag} class='{'' if number else 'word'}{' published' if figure else ''}'>{html.escape(cell)}</{tag}>"
            for cell, number, figure in zip(cells, numeric, published)) + "</tr>"
    more = "" if len(rows) == count else f", the first {len(rows)} rows of {count}"
    lines = ["<div class=scroll><table>", line("th", columns),
             *(line("td", [column[i] for column in texts]) for i in range(len(rows))), "</table></div>"]
    if fold:
        lines = [f"<details><summary>{inline(fold)} ({len(rows)} rows)</summary>", *lines, "</details>"]
    differ = f" Differences from the paper: {inline(why)}." if any(published) else ""
    lines.append(f"<p class=note>{inline(caption)}{differ} <code>{html.escape(path)}</code>{more}</p>")
    return "\n".join(lines)


def figure(paths, caption):
    """Inlines the SVGs without their XML headers. gnuplot uses the same symbol ids in each file, so they get a prefix."""
    svgs = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            svg = file.read()
        prefix = os.path.relpath(path, os.path.dirname(os.path.dirname(path))).replace("/", "-")[:-len("svg")]
        svgs.append(re.sub(r"""(\bid=['"]|href=['"]#|url\(#)""", rf"\1{prefix}", svg[svg.index("<svg"):]))
    return ("<figure>\n<div class=panels>" + "\n".join(svgs)
            + f"</div>\n<figcaption>{inline(caption)}</figcaption>\n</figure>")


# ---- Claims and citations of the papers

def citation(source):
    return f"{source.authors}: {source.title}, {source.institution}, {source.year}"


def found(published, paper, text):
    source = published.sources[paper]
    return (f"<h3>What the paper found</h3>\n{paragraphs(text)}\n"
            f"<p class=note><a href='#{paper}'>{paper}</a>: {html.escape(citation(source))}</p>")


VERDICTS = {True: ("good", "holds"), False: ("bad", "does not hold"), None: ("open", "not comparable")}


def claims(lab):
    """Returns the table at the top of the page: a row for each claim of each paper."""
    rows = []
    for claim in sorted(lab.claims, key=lambda claim: claim.paper):  # stable: keeps the order of the experiments
        kind, verdict = VERDICTS[claim.holds]
        why = f": {inline(claim.why)}" if claim.why else ""
        rows.append(f"<tr><td class=word><a href='#{claim.paper}'>{claim.paper}</a></td>"
                    f"<td class=word>{inline(claim.statement)} ({inline(claim.where)})</td>"
                    f"<td class=word>{inline(claim.measured)}</td>"
                    f"<td class='word {kind}'><b>{verdict}</b>{why}</td>"
                    f"<td class=word><a href='#{claim.section}'>{claim.section}</a></td></tr>")
    return ["<div class=scroll><table class=claims>", "<tr><th class=word>paper</th><th class=word>claim</th>"
            "<th class=word>measured</th><th class=word>verdict</th><th class=word>section</th></tr>",
            *rows, "</table></div>"]


def references(lab):
    lines = ["<h2 id=references>References</h2>", "<p>Authors, titles and years as stated in each document.</p>", "<dl>"]
    for source in lab.published.sources.values():
        count = sum(figure.paper == source.paper for figure in lab.published.shown)
        lines.append(f"<dt id={source.paper}>{source.paper}</dt><dd>{html.escape(citation(source))} "
                     f"({html.escape(source.kind)}); {count} of its figures are on this page.</dd>")
    return [*lines, "</dl>"]


def item(lab, kind, *what):
    if kind == "text":
        return f"<h3>{html.escape(what[0])}</h3>\n{paragraphs(what[1])}"
    if kind == "found":
        return found(lab.published, *what)
    if kind == "table":
        return table(*what)
    if kind == "plot":
        return figure(*what)
    if kind == "command":
        return f"<pre>{html.escape(what[0].strip())}</pre>"
    assert kind == "check"
    name, verdict = ("good", "checked") if what[0] else ("bad", "check fails")
    return f"<p class={name}><b>{verdict}:</b> {inline(what[1])}</p>"


# ---- The page

def machine():
    model = platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            found_model = re.search(r"^model name\s*:\s*(.+)$", file.read(), re.MULTILINE)
        model = found_model.group(1) if found_model else model
    except OSError:
        pass
    return f"{len(os.sched_getaffinity(0))} processors, {model}"


def run_line(lab):
    version = subprocess.run(["glint", "version"], capture_output=True, text=True, check=False)
    data = f"{lab.rows:,} generated ratings" if lab.uses_generated_data else f"the ratings in {lab.ratings}"
    good, bad = lab.checked()
    parts = [version.stdout.splitlines()[0] if version.stdout else "", machine(), data]
    if lab.quick:
        parts.append("--quick: less data and fewer runs, so times are imprecise")
    parts.append(time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()))
    return f"<p class=note>{html.escape('; '.join(parts))}. {good} checks of this report hold, {bad} fail.</p>"


def write(lab):
    """Writes report.html and returns its path."""
    contents = ["<h2 id=experiments>Experiments</h2>", "<ul>",
                *(f"<li><a href='#{s.name}'>{s.name}</a>: {html.escape(s.title)}</li>" for s in lab.sections), "</ul>"]
    body = []
    for section in lab.sections:
        body.append(f"<h2 id='{section.name}'>{section.name}: {html.escape(section.title)}</h2>")
        body += [item(lab, *what) for what in section.items]
    path = os.path.join(lab.out, "report.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write("<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n"
                   "<meta name=viewport content='width=device-width'>\n"
                   f"<title>glint: published and measured results of the papers</title>\n<style>{STYLE}</style>\n"
                   "<h1>Published and measured results of the papers</h1>\n"
                   + "\n".join([*claims(lab), run_line(lab), *contents, *body, *references(lab)]) + "\n</html>\n")
    return path
