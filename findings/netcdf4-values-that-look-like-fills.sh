#!/usr/bin/env bash
# Version: PyPI netCDF4 1.7.5.1.post1, xarray 2026.9.0 (Python 3.11). Source: run on 2026-11-30;
# https://docs.unidata.ucar.edu/netcdf-c/current/attribute_conventions.html (_FillValue, valid_range) and netCDF4's createVariable (fill_value=False: the
# variable is not filled).
# Guess: without _FillValue a written value is a value; at least with fill_value=False, with a valid_min that allows it, and for bytes of 0 to 255.
# Behaviour: netCDF4 masks the library's fill value of the type wherever it is: 255 of uint8, -127 of int8, -32767 of int16, 65535 of uint16. With
# fill_value=False 255 of uint8 is a value, and 65535 of uint16 is masked. For xarray all of them are values, and it ignores valid_range, which masks 200
# of a valid 0 to 100 for netCDF4: counts and means of one file are two.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install netCDF4==1.7.5.1.post1 xarray==2026.9.0 numpy==2.4.6
env/bin/python -W ignore - <<'PY'
import netCDF4
import numpy as np
import xarray as xr

columns = {"u1": ("u1", 255, None), "i1": ("i1", -127, None), "i2": ("i2", -32767, None), "u2": ("u2", 65535, None),
           "u1_unfilled": ("u1", 255, False), "u2_unfilled": ("u2", 65535, False), "i2_range": ("i2", 200, None)}
with netCDF4.Dataset("f.nc", "w") as data:
    data.createDimension("x", 2)
    for name, (kind, value, fill) in columns.items():
        data.createVariable(name, kind, ("x",), fill_value=fill)[:] = [1, value]
    data["i2_range"].valid_range = np.array([0, 100], dtype="i2")
    data["i2"].valid_min = np.int16(-32768)
with netCDF4.Dataset("f.nc") as data:
    masked = [name for name in columns if data[name][:].count() == 1]
with xr.open_dataset("f.nc") as data:
    values = [name for name in columns if data[name].values.tolist() == [1, columns[name][1]]]
print("masked by netCDF4:", masked, "values of xarray:", values)
assert masked == ["u1", "i1", "i2", "u2", "u2_unfilled", "i2_range"] and values == list(columns)
PY
