#!/usr/bin/env bash
# Version: Debian 12's datamash 1.7-2. Source: run on 2026-11-30; https://www.gnu.org/software/datamash/manual/ (bin: numeric values into buckets; min, max, mode, median: values of the group).
# Guess: the bins are those of floor, so that -1 is in bin -1 of size 1 and -20 in bin -20 of size 10; the least and the greatest value of a group are values of it.
# Behaviour: a negative number that begins a bin is in the one below: -1, -2, -3 are in -2, -3, -4, and no number at all is in -1; -20 is in -30 but -19 in -20, while 20 is in 20. min,
# max, mode and median print 14 digits, so that the greatest of 100000000000001 and 100000000000002 is 1e+14, as is the least, and their range is 1; first, last
# and unique keep the text.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
chmod 755 .
apt-get -qq download datamash=1.7-2 2>/dev/null
for package in *.deb; do dpkg-deb -x "$package" root; done
export PATH=$dir/root/usr/bin:$PATH
{
    printf '%s\n' -3 -2 -1 0 1 2 3 | datamash bin:1 1 | xargs
    printf '%s\n' -20 -19 -11 -10 0 10 19 20 | datamash bin:10 1 | xargs
    printf '%s\n' 100000000000001 100000000000002 | datamash -t ' ' min 1 max 1 mode 1 median 1 range 1 first 1 last 1
} | tee got
cat >want <<'END'
-4 -3 -2 0 1 2 3
-30 -20 -20 -20 0 10 10 20
1e+14 1e+14 1e+14 1e+14 1 100000000000001 100000000000002
END
diff want got
