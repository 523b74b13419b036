#!/usr/bin/env bash
# Version: S3Proxy 2.7.0 (back end transient) with boto3 1.44.8, Java 17. Source: run on 2026-11-29; Amazon's references of
# multipart uploads (parts are no objects, and not listed, until the upload is completed) and of CompleteMultipartUpload.
# Guess: a listing does not show uploads in progress; completing an upload that was completed is NoSuchUpload, as aborting one
# that was aborted is, or a success; a default client of boto3 can upload a part.
# Behaviour: a listing of the bucket shows three objects for an upload with one part, among them one whose name is only the
# upload's id; completing a second time, or after an abort, is 400 InvalidPart, which says that parts are wrong; and
# boto3's default checksums are 501 NotImplemented. (A writer whose connection ended before the answer cannot take
# InvalidPart for a failure: it has to look for the object.)
set -euo pipefail
dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install --disable-pip-version-check boto3==1.44.8 botocore==1.44.8
cat >pom.xml <<'END'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
  <groupId>x</groupId><artifactId>x</artifactId><version>1</version>
  <dependencies><dependency><groupId>org.gaul</groupId><artifactId>s3proxy</artifactId><version>2.7.0</version></dependency></dependencies>
</project>
END
mvn -q -B dependency:copy-dependencies -DoutputDirectory=jars >/dev/null
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
printf '%s\n' s3proxy.authorization=none s3proxy.endpoint=http://127.0.0.1:$port jclouds.provider=transient \
    jclouds.identity=x jclouds.credential=x >properties
java -cp 'jars/*' org.gaul.s3proxy.Main --properties properties >log 2>&1 &
for _ in {1..300}; do (: <>/dev/tcp/127.0.0.1/$port) 2>/dev/null && break; sleep 0.1; done
cat >probe.py <<'END'
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError


def client(**options):
    return boto3.client("s3", endpoint_url=f"http://127.0.0.1:{sys.argv[1]}", region_name="us-east-1", aws_access_key_id="x",
                        aws_secret_access_key="x", config=Config(s3={"addressing_style": "path"}, **options))


def answer(call, **arguments):
    try:
        return call(**arguments)["ResponseMetadata"]["HTTPStatusCode"], ""
    except ClientError as error:
        return error.response["ResponseMetadata"]["HTTPStatusCode"], error.response["Error"]["Code"]


s3 = client(request_checksum_calculation="when_required")
s3.create_bucket(Bucket="rows")
upload = {"Bucket": "rows", "Key": "out/part", "UploadId": s3.create_multipart_upload(Bucket="rows", Key="out/part")["UploadId"]}
checksums = answer(client(retries={"max_attempts": 0}).upload_part, PartNumber=1, Body=b"rows", **upload)
print(f"a part with boto3's default checksums: {checksums}")
etag = s3.upload_part(PartNumber=1, Body=b"rows", **upload)["ETag"]
names = [found["Key"] for found in s3.list_objects_v2(Bucket="rows")["Contents"]]
print(f"listed during the upload: {names}")
parts = {"Parts": [{"PartNumber": 1, "ETag": etag}]}
answers = [answer(s3.complete_multipart_upload, MultipartUpload=parts, **upload) for _ in range(2)]
print(f"complete, twice: {answers}")
other = {"Bucket": "rows", "Key": "b", "UploadId": s3.create_multipart_upload(Bucket="rows", Key="b")["UploadId"]}
aborts = [answer(s3.abort_multipart_upload, **other) for _ in range(2)]
print(f"abort, twice: {aborts}")
assert checksums == (501, "NotImplemented")
assert len(names) == 3 and upload["UploadId"] in names
assert answers == [(200, ""), (400, "InvalidPart")]
assert aborts == [(204, ""), (404, "NoSuchUpload")]
END
env/bin/python probe.py "$port"
