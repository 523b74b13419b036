#!/usr/bin/env bash
# Version: PyPI tiledb 0.36.1, numpy 2.4.6 (Python 3.11). Source: run on 2026-11-30; https://docs.tiledb.com/main/how-to/arrays/reading-arrays (aggregates and conditions are
# pushed down).
# Guess: a sum that does not fit wraps or is an error, of doubles it is infinite; a mean is between the least and the greatest value.
# Behaviour: a sum stops at the greatest number of its type, of doubles too, and the mean is that over the count: of four times 2^62 the mean is 2^61, of four times 1e308 4.49e307, while the minimum is 1e308. A
# condition with a fraction on integers has it cut: x == 2.5 finds 2 and x < 2.5 does not. `x not in [0.0]` finds -0.0, `x != 0.0` does not. In a dense array count has all cells, sum and
# min those of the condition.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install tiledb==0.36.1 numpy==2.4.6
env/bin/python - <<'PY'
import numpy as np
import tiledb


def array(name, values, sparse):
    domain = tiledb.Domain(tiledb.Dim("i", domain=(0, len(values) - 1), tile=len(values), dtype="int64"))
    tiledb.Array.create(name, tiledb.ArraySchema(domain=domain, sparse=sparse, attrs=[tiledb.Attr("x", dtype=values.dtype)]))
    with tiledb.open(name, "w") as writer:
        writer[np.arange(len(values)) if sparse else slice(None)] = {"x": values} if sparse else values
    return tiledb.open(name)


def aggregates(name, values):
    got = array(name, values, True).query().agg({"x": ["sum", "mean", "min"]})[:]
    got = got.get("x", got)
    print(name, got)
    return got


def found(name, values, condition):
    got = array(name, values, True).query(cond=condition)[:]["i"].tolist()
    print(condition, got)
    return got


got = aggregates("integers", np.full(4, 2**62))
assert got["sum"] == 2**63 - 1 and got["mean"] == 2.0**61 and got["min"] == 2**62
got = aggregates("unsigned", np.full(4, 2**63, "uint64"))
assert got["sum"] == 2**64 - 1 and got["mean"] == 2.0**62
got = aggregates("doubles", np.full(4, 1e308))
assert got["sum"] == np.finfo(float).max and got["mean"] < 4.5e307 and got["min"] == 1e308
numbers, zeros = np.array([1, 2, 3, 4]), np.array([0.0, -0.0, 1.0])
assert found("a", numbers, "x == 2.5") == [1] and found("b", numbers, "x < 2.5") == [0] and found("c", numbers, "x >= 2.5") == [1, 2, 3]
assert found("d", zeros, "x not in [0.0]") == [1, 2] and found("e", zeros, "x != 0.0") == [2] and found("f", zeros, "x == 0.0") == [0, 1]
got = array("dense", numbers, False).query(cond="x > 2").agg({"x": ["sum", "min", "count"]})[:]
print("dense", got)
assert got["sum"] == 7 and got["min"] == 3 and got["count"] == 4
PY
