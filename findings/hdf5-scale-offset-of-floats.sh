#!/usr/bin/env bash
# Version: PyPI h5py 3.16.0 (its HDF5 library), numpy 2.4.6 (Python 3.11). Source: run on 2026-11-30;
# https://docs.h5py.org/en/stable/high/dataset.html#scale-offset-filter (floats: the number of digits after the decimal point to retain).
# Guess: scaleoffset=2 keeps 0.29, which has two digits, up to the rounding of a double, and NaN stays NaN.
# Behaviour: values are in steps of 0.01 from the least one of the chunk: beside -2.675 0.29 is 0.295, beside 0.29 alone it is right, so that what a
# value becomes depends on its neighbours. NaN becomes another number of the chunk, without an error, and -0.0 is 0.0. Integers are right.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install h5py==3.16.0 numpy==2.4.6
cat >finding.py <<'END'
import h5py
import numpy

def through(name, values, digits):
    with h5py.File(f"{name}.h5", "w") as file:
        file.create_dataset("x", data=values, chunks=values.shape, scaleoffset=digits)
    with h5py.File(f"{name}.h5") as file:
        return file["x"][...].tolist()

print("h5py", h5py.__version__, "HDF5", h5py.version.hdf5_version)
beside = through("beside", numpy.array([0.29, -2.675]), 2)
alone = through("alone", numpy.array([0.29, 0.5]), 2)
missing = through("missing", numpy.array([0.25, 7.0, numpy.nan, -0.0]), 2)
integers = through("integers", numpy.array([-2 ** 31, 2 ** 31 - 1, 5], "i4"), 0)
print("0.29 beside -2.675:", beside[0], "beside 0.5:", alone[0], "| 0.25, 7, NaN, -0.0:", missing, "| integers:", integers)
assert abs(beside[0] - 0.295) < 1e-9 and abs(alone[0] - 0.29) < 1e-12
assert missing[2] in (0, 0.25, 7) and str(missing[3]) == "0.0" and integers == [-2 ** 31, 2 ** 31 - 1, 5]
END
env/bin/python finding.py
