#!/usr/bin/env bash
# Version: PyPI zarr 3.1.6, blosc2 4.14.1, h5py 3.16.0, numpy 2.4.6 (Python 3.11). Source: run on 2026-11-30;
# https://zarr.readthedocs.io/en/stable/api/zarr/array (resize: chunks that fall outside of the new shape are deleted; fill_value: the default value for
# uninitialized portions of the array).
# Guess: a part that was cut off by resize() and is there again after another resize() has the fill value, as in HDF5.
# Behaviour: in Zarr, versions 2 and 3, and in Blosc2 it has the old values: of 1 to 10 cut to 5 and grown to 10 again the last five are 6 to 10, in HDF5 0. Only
# whole chunks are deleted, the rest of the last one stays in the file. So it is after append(): 100 appended to the first five and grown is 1 to 5, 100, 7 to 10:
# three values that were deleted.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install zarr==3.1.6 blosc2==4.14.1 h5py==3.16.0 numpy==2.4.6
env/bin/python - <<'PY'
import blosc2
import h5py
import numpy as np
import zarr

rows = np.arange(1, 11)


def regrown(array):
    array.resize((5,))
    array.resize((10,))
    return array[:].tolist()


got = {}
for version in 2, 3:
    array = zarr.create_array(f"z{version}", shape=(10,), chunks=(10,), dtype="i4", fill_value=0, zarr_format=version)
    array[:] = rows
    got[f"zarr {version}"] = regrown(array)
got["blosc2"] = regrown(blosc2.asarray(rows, chunks=(10,), blocks=(10,)))
with h5py.File("a.h5", "w") as file:
    got["hdf5"] = regrown(file.create_dataset("x", data=rows, chunks=(10,), maxshape=(None,)))
array = zarr.create_array("appended", shape=(10,), chunks=(10,), dtype="i4", fill_value=0)
array[:] = rows
array.resize((5,))
array.append(np.array([100], "i4"))
array.resize((10,))
got["zarr appended"] = array[:].tolist()
print(got)
assert got["hdf5"] == [1, 2, 3, 4, 5, 0, 0, 0, 0, 0]
assert got["zarr 2"] == got["zarr 3"] == got["blosc2"] == rows.tolist()
assert got["zarr appended"] == [1, 2, 3, 4, 5, 100, 7, 8, 9, 10]
PY
