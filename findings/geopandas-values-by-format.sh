#!/usr/bin/env bash
# Version: PyPI geopandas 1.2.0, pyogrio 0.13.0 (GDAL 3.12.4), pandas 3.1.1 (Python 3.11). Source: run on 2026-11-30;
# https://geopandas.org/en/stable/docs/user_guide/io.html (to_file with a driver) and https://gdal.org/en/stable/drivers/vector/gpkg.html (GeoPackage has BLOB fields).
# Guess: a missing number stays missing or is refused; bytes are bytes in GeoPackage, which has them, and refused by formats that do not; infinity is
# infinity or an error.
# Behaviour: bytes are written as the text of Python's literal: b"\xff" is the seven characters b'\xff', in GeoPackage, SQLite, GML and GeoJSON. In MapInfo NaN is 0.0,
# a missing integer 0, a missing boolean False. In GeoJSON infinity is missing. In GeoPackage -0.0 is 0.0. An integer of 64 bits beside a missing one is rounded
# by all but MapInfo, 2^53 + 1 is 2^53. There is no error.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install geopandas==1.2.0 pyogrio==0.13.0 pandas==3.1.1
env/bin/python - <<'PY'
import math
import warnings

import geopandas
import pandas
from shapely.geometry import Point

warnings.simplefilter("ignore")
columns = {"f": [0.5, math.nan, -0.0], "i": pandas.array([2 ** 53 + 1, None, 2], "Int64"), "b": pandas.array([True, None, False], "boolean"),
           "inf": [math.inf, -math.inf, 1.0], "by": [b"\xff", b"", None]}
drivers = {"GPKG": "gpkg", "SQLite": "sqlite", "GML": "gml", "GeoJSON": "geojson", "MapInfo File": "tab"}


def trip(driver, name):
    frame = geopandas.GeoDataFrame({name: columns[name]}, geometry=[Point(0, 0)] * 3, crs="EPSG:4326")
    frame.to_file(f"{name}.{drivers[driver]}", driver=driver)
    return geopandas.read_file(f"{name}.{drivers[driver]}")[name].tolist()


got = {driver: {name: trip(driver, name) for name in columns} for driver in drivers}
for driver, values in got.items():
    print(driver, values)
    assert values["by"][:2] == ["b'\\xff'", "b''"]
    if driver != "MapInfo File":
        assert values["i"][0] == 2 ** 53 and math.isnan(values["i"][1]) and math.isnan(values["f"][1])
assert str(got["MapInfo File"]["f"]) == "[0.5, 0.0, -0.0]" and got["MapInfo File"]["i"] == [2 ** 53 + 1, 0, 2]
assert got["MapInfo File"]["b"] == [True, False, False]
assert math.isnan(got["GeoJSON"]["inf"][0]) and math.isnan(got["GeoJSON"]["inf"][1])
assert str(got["GPKG"]["f"]) == "[0.5, nan, 0.0]"
PY
