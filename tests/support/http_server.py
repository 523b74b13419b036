#!/usr/bin/env python3
"""A server of HTTP for tests, whose faults are part of the path: /FAULT/FILE is the file FILE of a directory.

    tests/support/http_server.py DIRECTORY PIPE LOG

Writes its port to the pipe, and logs each request as a line of JSON. In tests of Python: HttpServer(directory)."""
import base64
import hashlib
import hmac
import http.server
import json
import os
import re
import sys
import threading
import urllib.parse
import xml.sax.saxutils
import zlib

import aws_services
import s3_uploads

# What the server does wrong: always, or with a number the first so many requests of a path.
BUSY = 2
USER = base64.b64encode(b"me:secret").decode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def answer(self, status, headers=(), body=b""):
        self.server.note({"path": self.path, "status": status, "host": self.headers["Host"],
                          **({"method": self.command} if self.command != "GET" else {}),
                          **{name: self.headers[name] for name in ("Range", "Authorization", "If-Match", "X-Amz-Date",
                                                                   "X-Amz-Security-Token") if self.headers[name]}})
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name in ("Content-Length", "Transfer-Encoding") for name, _ in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def cut(self):
        """Closes the connection, in the middle of a response."""
        self.wfile.flush()
        self.close_connection = True

    # ---- S3: /bucket/KEY; every request must be signed by the secret key "se+cret/key" of "AKID"

    def signature(self):
        """Of the request, by the rules of AWS Signature Version 4; None: it has none."""
        found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=AKID/(\d+)/([\w-]+)/s3/aws4_request, ?"
                             r"SignedHeaders=([\w;-]+), ?Signature=(\w+)", self.headers["Authorization"] or "")
        if found is None or {"host", "x-amz-date"} - set(found[3].split(";")):
            return None
        path, _, query = self.path.partition("?")
        names = found[3].split(";")
        request = "\n".join([self.command, path, "&".join(sorted(query.split("&"))) if query else "",
                             *(f"{name}:{self.headers[name].strip()}" for name in names), "", found[3],
                             self.headers["x-amz-content-sha256"]])
        scope = f"{found[1]}/{found[2]}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", self.headers["x-amz-date"], scope,
                          hashlib.sha256(request.encode()).hexdigest()])
        key = b"AWS4se+cret/key"
        for part in (found[1], found[2], "s3", "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        return hmac.digest(key, text.encode(), "sha256").hex() == found[4]

    def get_s3(self):
        if not self.signature():
            return self.answer(403)
        if s3_uploads.handle(self, self.command):
            return None
        path, _, query = self.path.partition("?")
        key = urllib.parse.unquote(path[len("/bucket/"):])
        if query:
            return self.list_s3(dict(urllib.parse.parse_qsl(query)))
        # Keys are no paths: . and .. in them are names, here those of directories @. and @..
        names = ("@" + name if name in (".", "..") else name for name in key.split("/"))
        if "/8-at-once/" in path:
            self.server.eight.wait()
        try:
            with open(os.path.join(self.server.directory, *names), "rb") as file:
                return self.send_content("plain", file.read(), 1)
        except OSError:
            return self.answer(404)

    def list_s3(self, query):
        """Two names per page."""
        names, prefix, items = [], query["prefix"], []
        for at, _, files in os.walk(self.server.directory):
            names += [os.path.relpath(os.path.join(at, name), self.server.directory) for name in files]
        for name in sorted(name for name in names if name.startswith(prefix)):
            cut = name.find("/", len(prefix)) if "delimiter" in query else -1
            item = ("CommonPrefixes", "Prefix", name[:cut + 1]) if cut >= 0 else ("Contents", "Key", name)
            if item not in items:
                items.append(item)
        begin = int(query.get("continuation-token", "0").rstrip("=+/"))
        more = begin + 2 < len(items)
        body = "".join(f"<{outer}><{inner}>{xml.sax.saxutils.escape(name)}</{inner}>{self.describe(outer, name)}</{outer}>"
                       for outer, inner, name in items[begin:begin + 2])
        token = f"<NextContinuationToken>{begin + 2}+/=</NextContinuationToken>" if more else ""
        return self.answer(200, [("Content-Type", "application/xml")], (
            f'<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Prefix>x</Prefix>'
            f"<IsTruncated>{str(more).lower()}</IsTruncated>{body}{token}</ListBucketResult>").encode())

    def describe(self, outer, name):
        if outer != "Contents":
            return ""
        with open(os.path.join(self.server.directory, name), "rb") as file:
            content = file.read()
        return f"<Size>{len(content)}</Size><ETag>&quot;{zlib.crc32(content):08x}&quot;</ETag>"

    # ---- WebHDFS: the name node answers, and redirects reads to a data node (here 127.0.0.2)

    def get_webhdfs(self):
        path, _, query = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query))
        place = os.path.join(self.server.directory, urllib.parse.unquote(path[len("/webhdfs/v1/"):]))
        if not os.path.exists(place):
            return self.answer(404)

        def status(at, suffix):
            kind = "DIRECTORY" if os.path.isdir(at) else "FILE"
            return {"pathSuffix": suffix, "type": kind, "length": os.path.getsize(at) if kind == "FILE" else 0,
                    "modificationTime": int(os.stat(at).st_mtime * 1000)}

        if query["op"] == "GETFILESTATUS":
            return self.answer(200, body=json.dumps({"FileStatus": status(place, "")}).encode())
        if query["op"] == "LISTSTATUS":
            # A file system has no names of 5,000 bytes, HDFS may.
            found = [status(os.path.join(place, name), "n" * 5000 if name == "LONG" else name)
                     for name in os.listdir(place)]
            return self.answer(200, body=json.dumps({"FileStatuses": {"FileStatus": found}}).encode())
        if self.headers["Host"].startswith("127.0.0.1"):
            return self.answer(307, [("Location", f"http://127.0.0.2:{self.server.server_port}{self.path}")])
        begin = int(query["offset"])
        with open(place, "rb") as file:
            return self.answer(200, body=file.read()[begin:begin + int(query["length"])])

    def get_list_without_end(self):
        """Of a bucket whose every page names another one: /endless/, or itself: /repeated/."""
        number = self.server.count("a page")
        token = number if self.path.startswith("/endless/") else "same"
        return self.answer(200, [("Content-Type", "application/xml")], (
            f"<ListBucketResult><IsTruncated>true</IsTruncated><Contents><Key>d/{number}</Key></Contents>"
            f"<NextContinuationToken>{token}</NextContinuationToken></ListBucketResult>").encode())

    def do_write(self):
        if aws_services.handle(self):
            return None
        return self.get_s3() if self.path.startswith("/bucket/") else self.answer(405)

    do_PUT = do_POST = do_DELETE = do_write

    def do_GET(self):
        if aws_services.handle(self):
            return None
        if self.path.startswith(("/endless/", "/repeated/")):
            return self.get_list_without_end()
        if self.path.startswith("/bucket/"):
            return self.get_s3()
        if self.path.startswith("/webhdfs/v1/"):
            return self.get_webhdfs()
        fault, _, name = self.path.split("?")[0].lstrip("/").partition("/")
        number = self.server.count(self.path)
        here = f"http://{self.headers['Host'].split(':')[0]}:{self.server.server_port}"
        moved = {"to-plain": f"{here}/plain/{name}", "to-host": f"http://127.0.0.2:{self.server.server_port}/plain/{name}",
                 "to-file": "file:///etc/passwd", "to-ftp": "ftp://127.0.0.1/x", "loop": self.path}
        if fault.endswith("-once"):  # the first answer to each range
            fault = fault[:-len("-once")] if self.server.count(self.path + (self.headers["Range"] or "")) == 1 else "plain"
        if fault == "hang":
            self.server.note({"path": self.path})
            self.server.stopped.wait()
            return self.cut()
        if fault in moved:
            return self.answer(302, [("Location", moved[fault])])
        try:
            with open(os.path.join(self.server.directory, name), "rb") as file:
                content = file.read()
        except OSError:
            return self.answer(404)
        if fault == "down" or (fault == "busy" and number <= BUSY):
            return self.answer(503, [("Retry-After", "0")])
        if fault == "login" and self.headers["Authorization"] != "Basic " + USER:
            return self.answer(401, [("WWW-Authenticate", 'Basic realm="x"')])
        return self.send_content(fault, content, number)

    def send_content(self, fault, content, number):
        etag = '"%08x"' % zlib.crc32(content)
        if fault == "changing":
            etag = f'"{number}"'
        if fault == "weak":
            etag = "W/" + etag
        version = [("Last-Modified", "Thu, 26 Nov 2026 02:00:00 GMT")] if fault == "dated" else [("ETag", etag)]
        condition = self.headers["If-Match"]
        if condition and condition != etag:
            return self.answer(412)
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"] or "")
        if asked is None or fault in ("whole", "unsized"):
            return self.send_whole(fault, content, version)
        begin, end = int(asked[1]), min(int(asked[2]) + 1, len(content))
        if begin >= len(content):
            return self.answer(416, [("Content-Range", f"bytes */{len(content)}")])
        body, total = content[begin:end], len(content)
        if fault == "growing":
            total += number
        if fault == "no-http":
            self.wfile.write(b"what?\n")
            return self.cut()
        if fault == "half-header":
            self.wfile.write(b"HTTP/1.1 20")
            return self.cut()
        if fault == "no-range":
            return self.answer(206, version + [("Content-Range", f"bytes */{len(content)}")])
        if fault == "elsewhere" and begin > 0:
            begin += 1
            end += 1
        headers = version + [("Content-Range", f"bytes {begin}-{end - 1}/{total}")]
        if fault == "contradiction":
            headers = version + [("Content-Range", f"bytes 9-{end - 1}/8")]
        if fault in ("cut", "stall", "always-cut") and number > 1 and (fault == "always-cut" or number < 8):
            self.answer(206, headers + [("Content-Length", str(len(body)))], body[:len(body) // 2])
            if fault == "stall":
                self.server.stopped.wait()
            return self.cut()
        if fault == "drip" and number > 1:
            self.answer(206, headers + [("Content-Length", str(len(body)))], b"")
            for at in range(len(body)):
                self.wfile.write(body[at:at + 1])
                if self.server.stopped.wait(0.05):
                    break
            return self.cut()
        if fault == "long" and number > 1:
            self.answer(206, headers + [("Content-Length", str(len(body) + 5))], body)
            return self.cut()
        return self.answer(206, headers, body)

    def send_whole(self, fault, content, version):
        if fault != "unsized":
            return self.answer(200, version, content)
        self.answer(200, version + [("Transfer-Encoding", "chunked")])
        self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(content), content))
        return None


class HttpServer(http.server.ThreadingHTTPServer):
    """Serves at once, in threads of its own; `requests` are those so far."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, directory, log=None):
        super().__init__(("0.0.0.0", 0), Handler)
        self.directory, self.log = directory, log
        self.faults, self.uploads = s3_uploads.Faults(log), s3_uploads.Uploads(directory)
        self.lock, self.counts, self.requests = threading.Lock(), {}, []
        self.stopped, self.listed = threading.Event(), threading.Event()
        self.eight = threading.Barrier(8)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """Clients close connections in the middle."""

    def count(self, path):
        with self.lock:
            self.counts[path] = self.counts.get(path, 0) + 1
            return self.counts[path]

    def note(self, request):
        with self.lock:
            self.requests.append(request)
            if self.log:
                with open(self.log, "a", encoding="utf-8") as log:
                    log.write(json.dumps(request) + "\n")

    def url(self, path):
        return f"http://127.0.0.1:{self.server_port}/{path}"

    def stop(self):
        self.stopped.set()
        self.eight.abort()
        self.shutdown()
        self.server_close()


def main():
    directory, port_file, log = sys.argv[1:]
    server = HttpServer(directory, log)
    with open(port_file, "w", encoding="utf-8") as file:
        file.write(str(server.server_port))
    server.stopped.wait()


if __name__ == "__main__":
    main()
