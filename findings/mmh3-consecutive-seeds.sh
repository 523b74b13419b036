#!/usr/bin/env bash
# Version: mmh3 5.3.1 (Python 3.11). Source: run on 2026-11-28; Bloom filters of many programs take the seeds 0 to k - 1
# of MurmurHash3_x86_32 for k hash functions.
# Guess: other seeds give independent hashes, so that two ids share all bits with probability (fill)^k.
# Behaviour: a seed is mixed in as a word of the key is, so that (1) some pairs of different ids have equal hashes
# under all seeds at once, and (2) an id of two bytes and the same id with a NUL at its end have the same set of
# hashes over seeds 0 to k - 1 for every even k: no filter of any size tells them apart.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" -q install mmh3==5.3.1
"$dir/venv/bin/python" - <<'PY'
import mmh3

equal = [mmh3.hash("tt0513825", seed) == mmh3.hash("tt0933245", seed) for seed in range(8)]
print("equal hashes of tt0513825 and tt0933245 under seeds 0 to 7:", equal)
assert all(equal)

def hashes(key, k):
    return {mmh3.hash(key, seed) for seed in range(k)}

same = {k: hashes(b"k6", k) == hashes(b"k6\0", k) for k in range(1, 9)}
print("k6 and k6 with a NUL have the same set of hashes, by k:", same)
assert same == {k: k % 2 == 0 for k in range(1, 9)}
PY
