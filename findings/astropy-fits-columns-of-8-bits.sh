#!/usr/bin/env bash
# Version: PyPI astropy 8.0.2, numpy 2.4.6 (Python 3.11). Source: run on 2026-11-30; https://docs.astropy.org/en/stable/io/unified_table_fits.html (masked columns: TNULL)
# and https://fits.gsfc.nasa.gov/fits_standard.html (a signed byte is B with TZERO -128, a logical is L).
# Guess: what Table.write puts into a FITS file Table.read gets back: signed bytes as such, or wider, and a masked value is masked, the others are not.
# Behaviour: int8 is written as logical: 1, -5 and 0 are True, True and False, without an error, masked or not. A masked value is written as the fill value,
# 999999, cut to the type, and so a row that has that number is masked, too: 63 in uint8, 16959 in int16 and uint16, 999999 in wider ones. A masked False is
# True. Other numbers are right.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install astropy==8.0.2 numpy==2.4.6
env/bin/python - <<'PY'
import numpy as np
from astropy.table import MaskedColumn, Table


def trip(column):
    Table({"x": column}).write("a.fits", overwrite=True)
    return Table.read("a.fits")["x"].tolist()


signed = trip(np.array([1, -5, 0], "i1"))
print("int8", signed)
assert signed == [True, True, False]
for dtype, value in ("u1", 63), ("i2", 16959), ("u2", 16959), ("i4", 999999), ("i8", 999999):
    same = trip(MaskedColumn(np.array([1, value, 3], dtype), mask=[True, False, False]))
    other = trip(MaskedColumn(np.array([1, value + 1, 3], dtype), mask=[True, False, False]))
    print(dtype, value, same, other)
    assert same == [None, None, 3] and other == [None, value + 1, 3]
assert trip(MaskedColumn([False, False, True], mask=[True, False, False])) == [True, False, True]
PY
