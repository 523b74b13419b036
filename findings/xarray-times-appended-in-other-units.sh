#!/usr/bin/env bash
# Version: PyPI xarray 2026.9.0, zarr 3.1.6, cftime 1.6.6.1, numpy 2.4.6 (Python 3.11). Source: run on 2026-11-30;
# https://docs.xarray.dev/en/stable/user-guide/io.html#modifying-existing-zarr-stores (append_dim; variables are encoded as those that are there).
# Guess: times appended to a store are the times that they were, or the append is refused, as a text that is too long is.
# Behaviour: a store of whole days has the units "days since"; noon of 2020-01-03, which needs a smaller unit, is written as a number of hours and the
# units stay: its 60 hours are read as 60 days, 2020-03-01, and 2020-01-04T18:30:15, in seconds, as 2912-01-20. There is a warning, which says that other units are
# taken "instead". Whole days are right.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install xarray==2026.9.0 zarr==3.1.6 cftime==1.6.6.1 numpy==2.4.6
env/bin/python - <<'PY'
import warnings

import numpy as np
import xarray

warnings.simplefilter("ignore")


def appended(name, *times):
    for place, time in enumerate(("2020-01-01", "2020-01-02") + times):
        rows = xarray.Dataset({"v": ("time", [place])}, coords={"time": np.array([time], "M8[ns]")})
        if place == 0:
            rows.to_zarr(name, zarr_format=2)
        else:
            rows.to_zarr(name, append_dim="time")
    with xarray.open_zarr(name) as store:
        read = [str(time)[:19].replace("T", " ") for time in store.time.values]
    print(times, "->", read[2:], xarray.open_zarr(name, decode_times=False).time.attrs["units"])
    return read[2:]


assert appended("days", "2020-01-03", "2020-01-04") == ["2020-01-03 00:00:00", "2020-01-04 00:00:00"]
hours, seconds = appended("hours", "2020-01-03T12:00"), appended("seconds", "2020-01-04T18:30:15")
assert hours == ["2020-03-01 00:00:00"] and seconds[0] > "2100"
PY
