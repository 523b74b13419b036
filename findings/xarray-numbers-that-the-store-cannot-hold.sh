#!/usr/bin/env bash
# Version: PyPI xarray 2026.9.0, zarr 3.1.6, netCDF4 1.7.5.1.post1, numpy 2.4.6 (Python 3.11). Source: run on 2026-11-30;
# https://docs.xarray.dev/en/stable/user-guide/io.html (append_dim; encoding: dtype, scale_factor, _FillValue).
# Guess: a number that the type of the store cannot hold is refused, as texts that are too long are, or at least no value becomes a missing one.
# Behaviour: appended to integers 1.5 is 2, rounded, and 300 to int8 44. With dtype int16 and scale_factor 0.01 a value of 1000 is -310.72, and NaN without
# _FillValue is 0.0; with _FillValue -9999 the value -99.99 is missing. NaN as int32 is -2147483648. There is no error. A longer text is "Mismatched dtypes".
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install xarray==2026.9.0 zarr==3.1.6 netCDF4==1.7.5.1.post1 numpy==2.4.6
env/bin/python - <<'PY'
import warnings

import numpy as np
import xarray

warnings.simplefilter("ignore")


def appended(name, first, second):
    xarray.Dataset({"v": ("x", np.array(first))}).to_zarr(name, zarr_format=2)
    xarray.Dataset({"v": ("x", np.array(second))}).to_zarr(name, append_dim="x")
    return xarray.open_zarr(name).v.values.tolist()


def packed(values, **encoding):
    xarray.Dataset({"v": ("x", np.array(values))}).to_netcdf("a.nc", encoding={"v": encoding})
    with xarray.open_dataset("a.nc") as file:
        return [round(value, 2) for value in file.v.values.tolist()]


got = [appended("a.zarr", [1, 2], [1.5]), appended("b.zarr", np.array([1], "i1"), [300])]
got += [packed([1.0, 1000.0], dtype="int16", scale_factor=0.01), packed([1.0, np.nan], dtype="int16", scale_factor=0.01),
        packed([1.0, -99.99], dtype="int16", scale_factor=0.01, _FillValue=-9999), packed([1.0, np.nan], dtype="int32")]
print(got)
assert str(got) == "[[1, 2, 2], [1, 44], [1.0, -310.72], [1.0, 0.0], [1.0, nan], [1, -2147483648]]"
try:
    appended("c.zarr", ["a"], ["longer"])
    raise SystemExit("taken")
except ValueError as error:
    print(str(error)[:80])
PY
