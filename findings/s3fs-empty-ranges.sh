#!/usr/bin/env bash
# Version: PyPI s3fs 2026.9.0, fsspec 2026.9.0, moto 5.2.5 as the store (Python 3.11). Source: run on 2026-11-30;
# https://filesystem-spec.readthedocs.io/en/latest/api.html (cat_file, cat_ranges: from start to end) and
# https://www.rfc-editor.org/rfc/rfc9110#section-14.1.1 (a range whose last byte is before its first is invalid, and so ignored).
# Guess: an empty range is empty, as it is for fsspec's memory and local files.
# Behaviour: cat_file(start=5, end=5) is the whole object, as is each empty range of cat_ranges: it asks for "bytes=5-4", which a store has to ignore. So a
# reader of chunks gets everything for a chunk without bytes. From 8 to 20 of ten bytes is two bytes, from 20 to 30 is an error.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install s3fs==2026.9.0 aiobotocore==3.10.0 botocore==1.43.117 boto3==1.43.117 moto==5.2.5 flask flask-cors
cat >finding.py <<'END'
import logging

import fsspec
from moto.server import ThreadedMotoServer

logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
store = fsspec.filesystem("s3", key="k", secret="s", endpoint_url="http://127.0.0.1:%d" % server.get_host_and_port()[1],
                          client_kwargs={"region_name": "us-east-2"})
store.mkdir("bucket")
memory = fsspec.filesystem("memory")
answers = []
for system, name in ((store, "bucket/ten"), (memory, "/ten")):
    system.pipe_file(name, b"0123456789")
    read = [system.cat_file(name, start=start, end=end) for start, end in ((5, 5), (8, 20), (2, 4))]
    answers.append(read + system.cat_ranges([name] * 2, [0, 5], [3, 5]))
try:
    answers.append(store.cat_file("bucket/ten", start=20, end=30))
except OSError as error:
    answers.append(error.errno)
server.stop()
print("of s3fs, of memory, of s3fs behind the end:", answers)
assert answers[0] == [b"0123456789", b"89", b"23", b"012", b"0123456789"]
assert answers[1] == [b"", b"89", b"23", b"012", b""] and answers[2] == 22
END
env/bin/python -W ignore finding.py
