#!/usr/bin/env bash
# Version: PyPI static-frame 5.1.1, numpy 2.4.6 (Python 3.11). Source: run on 2026-11-30; https://static-frame.readthedocs.io/en/latest/api_detail/series.html.
# Guess: a Series takes NaN as equal to NaN in all methods that look for equal values, or in none; None is missing, for methods on texts too.
# Behaviour: of NaN and NaN unique() gives both, isin([nan]) finds none and a join has no pair; duplicated() has both as duplicates, drop_duplicated() leaves none and iter_group has one group. Of None via_str.len()
# is 4, via_str.startswith("N") and via_re("N") are true, isna() too. all() of NaN is true and any() of it false. count() leaves out None and NaN, and with skipfalsy=True the zero and the empty text too. Sorted
# descending, NaN is first.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install static-frame==5.1.1 numpy==2.4.6
env/bin/python - <<'PY'
import math

import static_frame as sf

nan, two = math.nan, sf.Series([math.nan, math.nan, 1.0])
got = {"unique": len(two.unique()), "isin": two.isin([nan]).sum(), "duplicated": two.duplicated().sum(),
       "drop_duplicated": two.drop_duplicated().values.tolist()}
frame, other = sf.Frame.from_dict({"k": [nan, nan, 1.0], "v": [1, 2, 3]}), sf.Frame.from_dict({"k": [nan, 1.0]})
got["groups"] = len(list(frame.iter_group("k")))
got["join"] = len(frame.join_inner(other, left_columns="k", right_columns="k", right_template="other_{}"))
print(got)
assert got == {"unique": 3, "isin": 0, "duplicated": 2, "drop_duplicated": [1.0], "groups": 2, "join": 1}
texts = sf.Series(["a", None])
got = texts.via_str.len().values.tolist(), texts.via_str.startswith("N").values.tolist(), texts.via_re("N").search().values.tolist(), texts.isna().values.tolist()
print("None", got)
assert got == ([1, 4], [False, True], [False, True], [False, True])
only = sf.Series([nan])
assert only.all() and not only.any() and bool(nan)
assert sf.Series([1, nan, None, "", 0]).count() == 3 and sf.Series([1, nan, None, "", 0]).count(skipfalsy=True) == 1
assert math.isnan(sf.Series([3, nan, 1]).sort_values(ascending=False).values[0])
PY
