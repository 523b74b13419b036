"""The part of a store like S3 that writes, in the server of tests: uploads, objects, faults.

Faults are lines of the file `faults` beside the server's log, read at each request:

    ACTION METHOD PATTERN [FROM [COUNT]]

From the FROM-th request on (1) whose method and path match, COUNT (1) of them get ACTION:

- a status, such as 503, or with a code 400:InvalidPart; `error`: 200 with an error in the body;
- `garbage`; `cut`: the connection closes after the request had its effect;
- `late`: effect and answer come after the next list of uploads, or a second later;
- `hold`: no effect, and no answer before the server ends; `hold-after`: the same after its effect.

A server that holds writes a line to the pipe `held`, if there is one."""
import os
import re
import threading
import urllib.parse
import xml.etree.ElementTree
import zlib
import datetime
from xml.sax.saxutils import escape

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
PART_BYTES_MIN = 5 << 20


def etag(content):
    return f'"{zlib.crc32(content):08x}"'


def error_body(code, message="told by the test"):
    text = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    return ('<?xml version="1.0"?>' + text).encode()


class Faults:
    def __init__(self, log):
        self.directory = os.path.dirname(log) if log else None
        self.file, self.seen = None, {}

    def find(self, method, path):
        """The action for this request; "": none."""
        try:
            stat = os.stat(os.path.join(self.directory or "", "faults"))
        except FileNotFoundError:
            return ""
        if self.file != (stat.st_ino, stat.st_mtime_ns):  # a new file counts from 1
            self.file, self.seen = (stat.st_ino, stat.st_mtime_ns), {}
        found = ""
        with open(os.path.join(self.directory or "", "faults"), encoding="utf-8") as file:
            for line in file:
                action, wanted, pattern, *numbers = line.split()
                if wanted != method or not re.search(pattern, path):
                    continue
                self.seen[line] = self.seen.get(line, 0) + 1
                begin, count = [int(n) for n in numbers + ["1", "1"][len(numbers):]]
                if begin <= self.seen[line] < begin + count:
                    found = found or action
        return found

    def tell(self):
        pipe = os.path.join(self.directory, "held")
        if os.path.exists(pipe):
            with open(pipe, "w", encoding="ascii") as file:
                file.write("held\n")


class Uploads:
    """Of one bucket, whose objects are files of a directory."""
    def __init__(self, directory):
        self.directory, self.uploads, self.number = directory, {}, 0

    def path(self, key):
        return os.path.join(self.directory, key)

    def write(self, key, content):
        os.makedirs(os.path.dirname(self.path(key)), exist_ok=True)
        with open(self.path(key) + "~", "wb") as file:
            file.write(content)
        os.replace(self.path(key) + "~", self.path(key))

    def create(self, key):
        self.number += 1
        name = f"{self.number}/+&\u00e4id"  # as odd as ids may be
        self.uploads[name] = (key, {}, datetime.datetime.now(datetime.timezone.utc))
        return name

    def complete(self, name, body):
        """(status, body)"""
        key, parts, _ = self.uploads[name]
        root = xml.etree.ElementTree.fromstring(body)
        wanted = [(int(part.find(f"{{{NAMESPACE}}}PartNumber").text),
                   part.find(f"{{{NAMESPACE}}}ETag").text)
                  for part in root.iter(f"{{{NAMESPACE}}}Part")]
        if not wanted or [number for number, _ in wanted] != list(range(
                1,
                len(wanted) + 1)) or any(number not in parts or etag(parts[number]) != tag
                                         for number, tag in wanted):
            return 400, error_body("InvalidPart")
        if any(len(parts[number]) < PART_BYTES_MIN for number, _ in wanted[:-1]):
            return 400, error_body("EntityTooSmall")
        content = b"".join(parts[number] for number, _ in wanted)
        self.write(key, content)
        del self.uploads[name]
        return 200, (
            f'  \n<CompleteMultipartUploadResult xmlns="{NAMESPACE}"><Key>{escape(key)}</Key><ETag>'
            f"{escape(etag(content))}</ETag></CompleteMultipartUploadResult>").encode()

    def list(self, query):
        """One upload per page."""
        found = sorted((key, name, time) for name, (key, _, time) in self.uploads.items()
                       if key.startswith(query["prefix"]))
        after = (query.get("key-marker", ""), query.get("upload-id-marker", ""))
        left = [item for item in found if (item[0], item[1]) > after]
        more = len(left) > 1
        text = (f'<ListMultipartUploadsResult xmlns="{NAMESPACE}">'
                f"<IsTruncated>{str(more).lower()}</IsTruncated>")
        for key, name, time in left[:1]:
            if more:
                text += f"<NextKeyMarker>{escape(key)}</NextKeyMarker>"
                text += f"<NextUploadIdMarker>{escape(name)}</NextUploadIdMarker>"
            text += (f"<Upload><Key>{escape(key)}</Key><UploadId>{escape(name)}</UploadId>"
                     f"<Initiated>{time:%Y-%m-%dT%H:%M:%S.000Z}</Initiated></Upload>")
        return 200, (text + "</ListMultipartUploadsResult>").encode()

    def answer(self, method, key, query, body):
        """(status, body, headers) of a request that writes, or lists uploads; None: another one."""
        name = query.get("uploadId")
        if method == "GET" and "uploads" in query:
            return *self.list(query), ()
        if method == "GET":
            return None
        if method == "POST" and "uploads" in query:
            return 200, (
                f'<?xml version="1.0"?><InitiateMultipartUploadResult xmlns="{NAMESPACE}">'
                f"<UploadId>"
                f"{escape(self.create(key))}</UploadId></InitiateMultipartUploadResult>"
            ).encode(), ()
        if name is not None and (name not in self.uploads or self.uploads[name][0] != key):
            return 404, error_body("NoSuchUpload"), ()
        if method == "PUT" and name is not None:
            self.uploads[name][1][int(query["partNumber"])] = body
            return 200, b"", [("ETag", etag(body))]
        if method == "POST" and name is not None:
            return *self.complete(name, body), ()
        if method == "DELETE" and name is not None:
            del self.uploads[name]
            return 204, b"", ()
        if method == "PUT":
            self.write(key, body)
            return 200, b"", [("ETag", etag(body))]
        if method == "DELETE":
            if os.path.exists(self.path(key)):
                os.remove(self.path(key))
            return 204, b"", ()
        return 405, error_body("MethodNotAllowed"), ()


def handle(handler, method):
    """Answers a request to the bucket. Returns False if it only reads objects."""
    server = handler.server
    path, _, query = handler.path.partition("?")
    key = urllib.parse.unquote(path[len("/bucket/"):])
    body = handler.rfile.read(int(handler.headers["Content-Length"] or 0))
    with server.lock:
        fault = server.faults.find(method, handler.path)
    if fault[:3].isdigit():
        status, _, code = fault.partition(":")
        handler.answer(int(status), [("Retry-After", "0")] if status == "503" else (),
                       error_body(code or ("SlowDown" if status == "503" else "Told")))
        return True
    if fault == "error":
        handler.answer(200, (), error_body("InternalError"))
        return True
    if fault == "garbage":
        handler.answer(200, (), b"what?")
        return True
    if fault == "hold":
        server.note({"path": handler.path, "method": method})
        server.faults.tell()
        server.stopped.wait()
        return True
    if fault == "late":
        server.listed.wait(1)
    with server.lock:
        found = server.uploads.answer(method, key,
                                      dict(urllib.parse.parse_qsl(query, keep_blank_values=True)),
                                      body)
    if method == "GET" and "uploads" in query:
        server.listed.set()
        server.listed = threading.Event()
    if found is None:
        return False
    if fault in ("cut", "hold-after"):
        server.note({"path": handler.path, "method": method})
        if fault == "hold-after":
            server.faults.tell()
            server.stopped.wait()
        handler.cut()
        return True
    status, content, headers = found
    handler.answer(status, list(headers), content if status != 204 else b"")
    return True
