"""The page: report.html, whole in itself. Plots are inlined; nothing is loaded from anywhere."""
import html
import os
import platform
import re
import subprocess
import time

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; background: #fff }
h1 { font-size: 1.7rem } h2 { font-size: 1.3rem; margin-top: 3rem; border-top: 1px solid #ccc; padding-top: 1rem }
h3 { font-size: 1rem; margin: 1.2rem 0 0.2rem } p { margin: 0.3rem 0 0.8rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; font-size: 0.85rem; margin: 0.5rem 0 }
th, td { padding: 0.15rem 0.6rem; text-align: right; border-bottom: 1px solid #eee; white-space: nowrap }
th { border-bottom: 1px solid #999 } td.word, th.word { text-align: left }
figure { margin: 1rem 0 } figure svg { width: 100%; height: auto }
figcaption, .small { font-size: 0.85rem; color: #555 }
pre { background: #f4f4f4; padding: 0.5rem 0.8rem; overflow-x: auto; font-size: 0.85rem }
.good::before { content: "holds: "; color: #27762a; font-weight: bold }
.bad::before { content: "does not hold: "; color: #b3261e; font-weight: bold }
"""


def shown(value):
    """A number as a reader wants it."""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def paragraphs(text):
    """Blank lines part them; `code` is code."""
    out = []
    for part in re.split(r"\n\s*\n", text.strip()):
        plain = html.escape(" ".join(part.split()), quote=False)
        out.append("<p>" + re.sub(r"`([^`]+)`", r"<code>\1</code>", plain) + "</p>")
    return "\n".join(out)


def table(columns, rows, count, caption, path):
    words = [any(isinstance(row[i], str) for row in rows) for i in range(len(columns))]

    def cells(tag, row):
        return "".join(f"<{tag}{' class=word' if word else ''}>{html.escape(shown(cell))}</{tag}>"
                       for word, cell in zip(words, row))
    lines = ["<div class=scroll><table>", f"<tr>{cells('th', columns)}</tr>",
             *(f"<tr>{cells('td', row)}</tr>" for row in rows), "</table></div>"]
    more = "" if len(rows) == count else f", the first {len(rows)} rows of {count}"
    lines.append(f"<p class=small>{html.escape(caption)} <code>{html.escape(path)}</code>{more}</p>")
    return "\n".join(lines)


def figure(path, caption):
    """The SVG without its XML head; gnuplot names its symbols alike in each, a page needs them apart."""
    with open(path, encoding="utf-8") as file:
        svg = file.read()
    own = os.path.relpath(path, os.path.dirname(os.path.dirname(path))).replace("/", "-")[:-len("svg")]
    svg = re.sub(r"""(\bid=['"]|href=['"]#|url\(#)""", rf"\1{own}", svg[svg.index("<svg"):])
    return f"<figure>\n{svg}\n<figcaption>{html.escape(caption)}</figcaption>\n</figure>"


def item(kind, *what):
    if kind == "text":
        return f"<h3>{html.escape(what[0])}</h3>\n{paragraphs(what[1])}"
    if kind == "table":
        return table(*what)
    if kind == "plot":
        return figure(*what)
    if kind == "command":
        return f"<pre>{html.escape(what[0].strip())}</pre>"
    assert kind == "check"
    return f"<p class={'good' if what[0] else 'bad'}>{html.escape(what[1])}</p>"


def machine():
    model = platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            found = re.search(r"^model name\s*:\s*(.+)$", file.read(), re.MULTILINE)
        model = found.group(1) if found else model
    except OSError:
        pass
    return f"{len(os.sched_getaffinity(0))} processors, {model}"


def write(lab):
    """Writes report.html; its path."""
    version = subprocess.run(["glint", "version"], capture_output=True, text=True, check=False)
    data = (f"{lab.rows:,} made-up ratings" if lab.made_up else f"the ratings in {lab.ratings}")
    good, bad = lab.checked()
    head = [f"<p class=small>{html.escape(version.stdout.splitlines()[0] if version.stdout else '')}"
            f"; {html.escape(machine())}; {html.escape(data)}"
            f"{'; --quick: the numbers are rough' if lab.quick else ''}"
            f"; {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}. "
            f"{good} claims hold, {bad} do not.</p>", "<ul>",
            *(f"<li><a href='#{s.name}'>{s.name}</a>: {html.escape(s.title)}</li>"
              for s in lab.sections), "</ul>"]
    body = []
    for section in lab.sections:
        body.append(f"<h2 id='{section.name}'>{section.name}: {html.escape(section.title)}</h2>")
        body += [item(*what) for what in section.items]
    path = os.path.join(lab.out, "report.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write("<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n"
                   "<meta name=viewport content='width=device-width'>\n"
                   f"<title>glint: what the papers measured</title>\n<style>{STYLE}</style>\n"
                   "<h1>What the papers measured, measured again</h1>\n"
                   + "\n".join(head + body) + "\n</html>\n")
    return path
