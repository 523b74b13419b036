#!/usr/bin/env bash
# Version: PyPI s3fs 2026.9.0, fsspec 2026.9.0, moto 5.2.5 as the store (Python 3.11). Source: run on 2026-11-30;
# https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html (keys are flat: "day" and "day/1" are two objects).
# Guess: an object is read as its bytes, also after a listing; a listing has the object, or a directory, or both, and reading is right or fails.
# Behaviour: until its parent is listed, "day" is a file and a directory, and open() reads its bytes. After ls() it is no file any more, its size is 0, and
# open().read() is empty, without an error: the entry of the directory hides that of the object. cat_file() of the same name gives the bytes, and find()
# and ls() go on to name it, so that a job that lists first and opens then reads an empty file.
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
store.pipe({"bucket/a/day": b"old", "bucket/a/day/1": b"new"})
store.invalidate_cache()


def seen():
    with store.open("bucket/a/day", "rb") as file:
        text = file.read()
    return text, *(ask("bucket/a/day") for ask in (store.size, store.isfile, store.isdir, store.cat_file))


before = seen()
listing = [(entry["name"], entry["type"]) for entry in store.ls("bucket/a", detail=True)]
after = seen()
found = store.find("bucket/a")
server.stop()
print("before:", before, "listing:", listing, "after:", after, "found:", found)
assert before == (b"old", 3, True, True, b"old") and after == (b"", 0, False, True, b"old")
assert listing == [("bucket/a/day", "file"), ("bucket/a/day", "directory")] and found == ["bucket/a/day", "bucket/a/day/1"]
END
env/bin/python -W ignore finding.py
