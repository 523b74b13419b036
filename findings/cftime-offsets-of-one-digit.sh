#!/usr/bin/env bash
# Version: PyPI cftime 1.6.6.1, xarray 2026.9.0 (Python 3.11). Source: run on 2026-11-30; https://cfconventions.org/cf-conventions/cf-conventions.html
# (time coordinate; its example of units is "seconds since 1992-10-8 15:15:42.5 -6:00").
# Guess: cftime applies each offset from UTC that the conventions allow, and xarray gives the same times by pandas and by cftime.
# Behaviour: cftime ignores an offset whose hour has one digit, -6:00 as -6 and +2, without an error, and takes +530 for 53 hours; -06:00 and +0530 are
# right. xarray applies -6:00 where it decodes by pandas, and drops it with use_cftime, so that a file with one far date moves by six hours. After a
# date without a time of day both ignore +2.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install cftime==1.6.6.1 xarray==2026.9.0 numpy==2.4.6
env/bin/python -W ignore - <<'PY'
import cftime
import numpy as np
import xarray as xr


def hour(units, far=None):
    """The first time that cftime reads, xarray by pandas, and xarray by cftime."""
    data = xr.Dataset({"t": ("t", np.array([0]), {"units": units})})
    coders = [xr.coders.CFDatetimeCoder(use_cftime=use) for use in (None, True)]
    decoded = [xr.decode_cf(data, decode_times=coder)["t"].values[0] for coder in coders]
    return [str(time).replace("T", " ")[8:13] for time in (cftime.num2date(0, units), *decoded)]


got = {offset: hour("hours since 2000-01-10 00:00:00 " + offset) for offset in ("-06:00", "-6:00", "-6", "+0530", "+530")}
got["date +2"] = hour("hours since 2000-01-10 +2")
print(got)
assert got["-06:00"] == ["10 06"] * 3 and got["+0530"] == ["09 18"] * 3
assert got["-6:00"] == got["-6"] == ["10 00", "10 06", "10 00"]
assert got["+530"] == ["07 19"] * 3 and got["date +2"] == ["10 00"] * 3
PY
