#!/usr/bin/env bash
# Version: cloudpickle 3.1.2 and 3.1.3 (Python 3.11).
# Source: run on 2026-11-29; cloudpickle.py of 3.1.3, _code_reduce.
# Guess: a function that is pickled by value keeps the name of its file, as its line numbers, so that the traceback of
# an exception in another process names the user's file.
# Behaviour: so until 3.1.2. In 3.1.3, a patch release, the file is "<dynamic-code>" in each traceback; lines and names
# of functions are kept, and the text of the line cannot be shown.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat > "$dir/program.py" <<'PY'
import cloudpickle, pickle, traceback

def divide(x):
    return 1 // x

divide = pickle.loads(cloudpickle.dumps(divide))
try:
    divide(0)
except ZeroDivisionError as error:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    print(cloudpickle.__version__, frame.filename.rsplit("/", 1)[-1], frame.lineno, frame.line)
PY
seen=""
for version in 3.1.2 3.1.3; do
    python3 -m venv "$dir/$version"
    "$dir/$version/bin/pip" -q install cloudpickle==$version
    line=$("$dir/$version/bin/python" "$dir/program.py")
    echo "$line"
    seen+="$line;"
done
[[ $seen == "3.1.2 program.py 4 return 1 // x;3.1.3 <dynamic-code> 4 ;" ]]
