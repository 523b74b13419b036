#!/usr/bin/env bash
# Version: PyPI csvkit 2.2.0, agate 1.14.2, parsedatetime 2.6 (Python 3.11). Source: run on 2026-11-30;
# https://agate.readthedocs.io/en/latest/api/data_types.html (Number: currency signs and "%" are left out; Date: parsed by parsedatetime).
# Guess: a column of weekdays, of months or of ids such as 1-5 stays text, as in other tools; a number with two signs is no number; 5% is 0.05 or text.
# Behaviour: all three columns are dates, for csvjson and for csvsql's CREATE TABLE: monday is 0001-01-08, may 0001-05-01, 1-5 2001-01-05; the words are
# lost. --5 is 5 (one sign is read, the others are stripped), 5% is 5, and 1.000,5 is 1.0005. With --no-inference all stay texts.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install csvkit==2.2.0 agate==1.14.2 parsedatetime==2.6
printf 'day,month,id,signs,rate,comma\nmonday,may,1-5,--5,5%%,"1.000,5"\ntuesday,june,2-6,3,7%%,2\n' >words.csv
env/bin/csvjson words.csv >typed.json
env/bin/csvjson --no-inference words.csv >texts.json
env/bin/csvsql words.csv | tee table.sql
env/bin/python - <<'PY'
import json

typed, texts = (json.load(open(name + ".json"))[0] for name in ("typed", "texts"))
print(typed, texts)
assert list(typed.values()) == ["0001-01-08", "0001-05-01", "2001-01-05", 5, 5, 1.0005]
assert list(texts.values()) == ["monday", "may", "1-5", "--5", "5%", "1.000,5"]
assert open("table.sql").read().count(" DATE ") == 3
PY
