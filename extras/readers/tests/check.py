"""check FILE IDS: a line for each filter of FILE, its key (- for none), 1 or 0 for each id of IDS,
lines of hexadecimal digits, and the type of ids; "error" if the reader rejects FILE. All check.* do
the same."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import glint_filters

try:
    filters = glint_filters.read(pathlib.Path(sys.argv[1]).read_bytes())
    ids = [bytes.fromhex(line) for line in pathlib.Path(sys.argv[2]).read_text().splitlines()]
    for key, each in filters.items():
        hits = "".join("01"[each.contains(id)] for id in ids)
        print("-" if key is None else key, hits, each.id_type, sep="\t")
except Exception:
    print("error")
