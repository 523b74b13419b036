#!/usr/bin/env bash
# Version: Debian 12's miller 6.6.0-2+b3. Source: run on 2026-11-30; https://miller.readthedocs.io/en/6.6.0/ (count, stats1, count-distinct, head, join: "-g {a,b,c}
# optional group-by-field names"; -j: fields that have to be equal).
# Guess: rows with the keys ("x,y", "z") and ("x", "y,z") are two groups, and do not join.
# Behaviour: they are one: a key is the text of its fields with commas between. count, stats1, count-distinct, uniq and head -n 1 -g give one row for both, with the fields of the
# first, and a sum of both. join meets the one with the other, and writes the fields of the wrong one: the row x / y,z comes out as x,y / z. With one field, or
# without commas in the fields, all are right.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
chmod 755 .
apt-get -qq download miller=6.6.0-2+b3 2>/dev/null
for package in *.deb; do dpkg-deb -x "$package" root; done
export PATH=$dir/root/usr/bin:$PATH
cat >rows.csv <<'END'
a,b,n
"x,y",z,1
x,"y,z",2
END
cat >other.csv <<'END'
a,b,m
"x,y",z,9
END
{
    mlr --icsv --ojsonl stats1 -a count,sum -f n -g a,b rows.csv
    mlr --icsv --ojsonl count-distinct -f a,b rows.csv
    mlr --icsv --ojsonl head -n 1 -g a,b rows.csv
    mlr --icsv --ojsonl join -j a,b -f other.csv rows.csv
} | tee got
cat >want <<'END'
{"a": "x,y", "b": "z", "n_count": 2, "n_sum": 3}
{"a": "x,y", "b": "z", "count": 2}
{"a": "x,y", "b": "z", "n": 1}
{"a": "x,y", "b": "z", "m": 9, "n": 1}
{"a": "x,y", "b": "z", "m": 9, "n": 2}
END
diff want got
[ "$(mlr --icsv --ojsonl count-distinct -f a rows.csv | wc -l)" = 2 ]
