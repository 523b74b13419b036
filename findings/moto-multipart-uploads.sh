#!/usr/bin/env bash
# Version: moto 5.2.5 with boto3 1.44.8. Source: run on 2026-11-29 against its server; Amazon's reference of
# ListMultipartUploads ("Initiated: date and time at which the multipart upload was initiated", "max-uploads") and of
# CompleteMultipartUpload (UploadId and key together name the upload; NoSuchUpload).
# Guess: an upload that has just been created is listed with the time of now, MaxUploads cuts the list, and completing it
# a second time is NoSuchUpload.
# Behaviour: every upload is listed as of 2010-11-10T20:48:33Z, so a job that aborts uploads older than a day aborts
# those of all jobs that run; MaxUploads is ignored; completing a second time is 200, with the ETag of the first time.
set -euo pipefail
dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$dir"' EXIT
python3 -m venv "$dir/env"
"$dir/env/bin/pip" -q install --disable-pip-version-check 'moto[server,s3]==5.2.5' boto3==1.44.8 botocore==1.44.8
cd "$dir"
cat >probe.py <<'END'
import datetime
import threading

import boto3
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

import logging

logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
s3 = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{server.server_port}", region_name="us-east-1",
                  aws_access_key_id="x", aws_secret_access_key="x")
s3.create_bucket(Bucket="rows")
uploads = [s3.create_multipart_upload(Bucket="rows", Key=f"key-{i}")["UploadId"] for i in range(3)]
listed = s3.list_multipart_uploads(Bucket="rows", MaxUploads=2)["Uploads"]
times = {str(upload["Initiated"].astimezone(datetime.timezone.utc)) for upload in listed}
print(f"MaxUploads=2: {len(listed)} uploads, initiated at {times}")
etag = s3.upload_part(Bucket="rows", Key="key-0", UploadId=uploads[0], PartNumber=1, Body=b"rows")["ETag"]
answers = [s3.complete_multipart_upload(Bucket="rows", Key="key-0", UploadId=uploads[0], MultipartUpload={
    "Parts": [{"PartNumber": 1, "ETag": etag}]}) for _ in range(2)]
for answer in answers:
    print(f"complete: {answer['ResponseMetadata']['HTTPStatusCode']}, ETag {answer['ETag']}")
assert len(listed) == 3 and times == {"2010-11-10 20:48:33+00:00"}
assert answers[0]["ETag"] == answers[1]["ETag"]
server.shutdown()
END
"$dir/env/bin/python" probe.py
