#!/usr/bin/env bash
# Version: PyPI h5py 3.16.0, tables 3.11.1, zarr 3.1.6, numpy 2.4.6 (Python 3.11). Source: run on 2026-11-30;
# https://docs.h5py.org/en/stable/high/dataset.html (astype: "HDF5 handles conversion").
# Guess: integers that do not fit wrap as in numpy, or are an error, for a list as for an array, in reading as in writing.
# Behaviour: an array 300, -1, 2^40 written to int8 is 127, -1, 127 by h5py, to uint8 255, 0, 255; PyTables, which uses HDF5, too, and Zarr have 44, -1, 0. The
# list [300] is an OverflowError of h5py. astype("i1") of a dataset reads 127 where astype of its array is 44; infinity and 1e300 as int32 are 2^31 - 1 there,
# and -2^31 by numpy; NaN is 0 as int8 and -2^31 as int32. Nothing tells.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install h5py==3.16.0 tables==3.11.1 zarr==3.1.6 numpy==2.4.6
env/bin/python - <<'PY'
import warnings

import h5py
import numpy as np
import tables
import zarr

warnings.simplefilter("ignore")
wide, floats = np.array([300, -1, 2 ** 40]), np.array([1.9, np.nan, np.inf, 1e300])
with h5py.File("a.h5", "w") as file:
    def written(dtype, values):
        return file.create_dataset(f"{dtype}{len(values)}", shape=(len(values),), dtype=dtype), values

    got = {}
    for dtype, values in ("i1", wide), ("u1", wide), ("i4", floats), ("i1", floats):
        column, _ = written(dtype, values)
        column[:] = values
        got[f"h5py {dtype} {len(values)}"] = column[:].tolist()
    try:
        file["i13"][0:1] = [300]
    except OverflowError as error:
        got["list"] = str(error)
    read = file.create_dataset("wide", data=wide)
    got["astype"] = [read.astype("i1")[:].tolist(), read[:].astype("i1").tolist()]
with tables.open_file("b.h5", "w") as file:
    array = file.create_array("/", "x", atom=tables.Int8Atom(), shape=(3,))
    array[:] = wide
    got["tables"] = array[:].tolist()
array = zarr.create_array("z", shape=(3,), dtype="i1")
array[:] = wide
got["zarr"] = array[:].tolist()
for name, value in got.items():
    print(name, value)
assert got["h5py i1 3"] == [127, -1, 127] and got["h5py u1 3"] == [255, 0, 255]
assert got["h5py i4 4"] == [1, -2 ** 31, 2 ** 31 - 1, 2 ** 31 - 1] and got["h5py i1 4"] == [1, 0, 127, 127]
assert "out of bounds" in got["list"] and got["astype"] == [[127, -1, 127], [44, -1, 0]]
assert got["tables"] == got["zarr"] == [44, -1, 0]
PY
