"""Servers that the tests start: each has a deadline for its start, and ends with this process."""
import contextlib
import datetime
import http.server
import ipaddress
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from cluster import DEADLINE_S, free_port, until
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

RUNNING = set()  # the process ids of all servers


class Server:
    """A process in a new directory; `log` has what it prints."""

    def __init__(self, *command, files=(), env=None, **options):
        self.directory = tempfile.mkdtemp(prefix="glint-remote-")
        for name, text in files:
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text.replace("DIRECTORY", self.directory))
        with open(self.path("log"), "wb") as log:
            self.process = subprocess.Popen([word.replace("DIRECTORY", self.directory) for word in command],
                                            cwd=self.directory, env={**os.environ, **(env or {})}, stdout=log,
                                            stderr=subprocess.STDOUT, **{"stdin": subprocess.DEVNULL, **options})
        RUNNING.add(self.process.pid)

    def path(self, name):
        return os.path.join(self.directory, name)

    def read(self, name="log"):
        with open(self.path(name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def ready(self, condition, what):
        def so():
            if self.process.poll() is not None:
                raise AssertionError(f"{what}: it ended with {self.process.returncode}: {self.read()[-2000:]}")
            return condition()

        return until(so, lambda: f"{what}: {self.read()[-2000:]}")

    def stop(self):
        self.process.kill()
        self.process.wait()
        RUNNING.discard(self.process.pid)
        shutil.rmtree(self.directory, ignore_errors=True)


def accepts(port, host="127.0.0.1"):
    with socket.socket() as s:
        return s.connect_ex((host, port)) == 0


# ---- nginx

NGINX = """
daemon off; master_process off; pid DIRECTORY/pid; error_log DIRECTORY/errors;
events {{ worker_connections 256; }}
http {{
    log_format fields '$server_addr $server_port $status $request_method $request_uri auth=$http_authorization '
                      'token=$http_x_amz_security_token range=$http_range';
    access_log DIRECTORY/requests fields;
    client_body_temp_path DIRECTORY/body; proxy_temp_path DIRECTORY/proxy; fastcgi_temp_path DIRECTORY/fastcgi;
    uwsgi_temp_path DIRECTORY/uwsgi; scgi_temp_path DIRECTORY/scgi;
    gzip on; gzip_types *; client_max_body_size 100m;
    {servers}
}}
"""


class Nginx(Server):
    """`servers` are server blocks in which PORT1, PORT2 and so on are ports; PORT1 is the one of url()."""

    def __init__(self, servers, files=()):
        count = max(int(n) for n in re.findall(r"PORT(\d)", servers))
        self.ports = [free_port() for _ in range(count)]
        text = re.sub(r"PORT(\d)", lambda m: str(self.ports[int(m[1]) - 1]), NGINX.format(servers=servers))
        super().__init__("nginx", "-c", "DIRECTORY/nginx.conf", "-e", "DIRECTORY/errors",
                         files=(("nginx.conf", text), *files))
        self.ready(lambda: all(accepts(port) or accepts(port, "127.0.0.2") for port in self.ports), "nginx")

    def url(self, path, scheme="http", port=1, host="127.0.0.1"):
        return f"{scheme}://{host}:{self.ports[port - 1]}/{path}"

    def requests(self, word=""):
        """The lines of the log that contain the word."""
        return [line for line in self.read("requests").splitlines() if word in line]


# ---- Certificates

def write_certificate(directory, name, hosts, days=(-1, 30), issuer=None):
    """Writes NAME.pem and NAME.key. `issuer`: (certificate, key); None: signed by itself. Returns both."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.timezone.utc)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    names = [x509.IPAddress(ipaddress.ip_address(h)) if h[0].isdigit() else x509.DNSName(h) for h in hosts]
    builder = (x509.CertificateBuilder().subject_name(subject).issuer_name(issuer[0].subject if issuer else subject)
               .public_key(key.public_key()).serial_number(x509.random_serial_number())
               .not_valid_before(now + datetime.timedelta(days=days[0]))
               .not_valid_after(now + datetime.timedelta(days=days[1]))
               .add_extension(x509.BasicConstraints(ca=not names, path_length=None), critical=True))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    certificate = builder.sign(issuer[1] if issuer else key, hashes.SHA256())
    with open(os.path.join(directory, f"{name}.pem"), "wb") as file:
        file.write(certificate.public_bytes(serialization.Encoding.PEM))
    with open(os.path.join(directory, f"{name}.key"), "wb") as file:
        file.write(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                     serialization.NoEncryption()))
    return certificate, key


# ---- What servers do wrong

class Faults(http.server.BaseHTTPRequestHandler):
    """Behind nginx: /FAULT/NAME is the file NAME of a directory. Faults hit the second to fourth request of a path:
    the first one says what the file is."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, headers, body=b""):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def do_GET(self):
        fault, name = self.path.lstrip("/").split("/")
        with open(os.path.join(self.server.directory, name), "rb") as file:
            content = file.read()
        with self.server.lock:
            number = self.server.counts[self.path] = self.server.counts.get(self.path, 0) + 1
        begin, end = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"]).groups())
        body, total = content[begin:end + 1], len(content)
        if 2 <= number <= 4 or fault in self.server.always:
            if fault == "busy":
                return self.refuse()
            if fault == "late":
                return self.answer(503, {"Retry-After": "3600", "Content-Length": "0"})
            if fault == "grows":
                total += number
        headers = {"ETag": '"1"', "Content-Range": f"bytes {begin}-{begin + len(body) - 1}/{total}",
                   "Content-Length": str(len(body))}
        if not (2 <= number <= 4 or (fault in self.server.always and number > 1)):
            return self.answer(206, headers, body)
        half = body[:len(body) // 2 if number <= 4 else 0]
        if fault == "stall":
            self.answer(206, headers, half)
            self.server.stopped.wait()
        elif fault == "cut":
            self.answer(206, headers, half)
        elif fault == "long":  # than it is
            self.answer(206, {**headers, "Content-Length": str(len(body) + 7)}, body)
        elif fault == "short":  # than the range
            return self.answer(206, {**headers, "Content-Length": str(len(half))}, half)
        elif fault == "more":  # than it says
            self.answer(206, headers, body + b"tt1\t99\t1\n")
        elif fault == "other":  # bytes than those asked for
            begin += -1 if begin > 0 else 1
            return self.answer(206, {**headers, "Content-Range": f"bytes {begin}-{begin + len(body) - 1}/{total}"}, body)
        else:
            return self.answer(206, headers, body)
        self.close_connection = True
        return None

    def refuse(self):
        """Counts requests that come before the pause is over."""
        with self.server.lock:
            now, key = time.monotonic(), self.headers["Range"]
            self.server.early += now < self.server.not_before.get(key, 0)
            self.server.refused += 1
            self.answer(503, {"Retry-After": "1", "Content-Length": "0"})
            self.server.not_before[key] = now + 1


class FaultyServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, directory):
        super().__init__(("127.0.0.1", 0), Faults)
        self.directory, self.lock, self.stopped = directory, threading.Lock(), threading.Event()
        self.reset()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def reset(self, *always):
        with self.lock:
            self.counts, self.not_before, self.early, self.refused, self.always = {}, {}, 0, 0, always

    def handle_error(self, request, client_address):
        """Clients close connections in the middle."""

    def stop(self):
        self.stopped.set()
        self.shutdown()
        self.server_close()


class HeldServer:
    """Reads requests, and refuses all of them once it is told to."""

    def __init__(self):
        self.requests, self.released = [], threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Held", (Held,), {"held": self}))
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def release(self):
        self.released.set()

    def stop(self):
        self.release()
        self.server.shutdown()
        self.server.server_close()


class Held(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.held.requests.append(f"{self.requestline}\n{self.headers}")
        self.held.released.wait(DEADLINE_S)
        self.send_error(403)


# ---- Stores

class Moto(Server):
    """A store like S3, and the services that make credentials for it."""

    def __init__(self):
        self.port = free_port()
        super().__init__(os.path.join(os.path.dirname(sys.executable), "moto_server"), "-H", "127.0.0.1", "-p",
                         str(self.port), env={"AWS_ACCESS_KEY_ID": "setup", "AWS_SECRET_ACCESS_KEY": "setup"})
        self.ready(lambda: accepts(self.port), "moto")

    def check_signatures(self):
        """From now on."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/moto-api/reset-auth", b"0",
                                         {"Content-Type": "text/plain"}, method="POST")
        urllib.request.urlopen(request, timeout=DEADLINE_S).close()


class S3Proxy(Server):
    """Another store like S3, for the key AKID; its objects are files."""

    def __init__(self):
        self.port = free_port()
        properties = {"s3proxy.authorization": "aws-v2-or-v4",
                      "s3proxy.endpoint": f"http://127.0.0.1:{self.port}",
                      "s3proxy.identity": "AKID", "s3proxy.credential": "se+cret/key",
                      "jclouds.provider": "transient", "jclouds.identity": "x",
                      "jclouds.credential": "x"}
        text = "".join(f"{name}={value}\n" for name, value in properties.items())
        super().__init__("java", "-Xmx400m", "-cp", os.environ["GLINT_S3PROXY"] + "/*",
                         "org.gaul.s3proxy.Main", "--properties", "DIRECTORY/properties",
                         files=[("properties", text)])
        self.ready(lambda: accepts(self.port), "S3Proxy")


class Hdfs(Server):
    """A name node and two data nodes."""

    def __init__(self):
        jars = os.environ["GLINT_HADOOP"]
        super().__init__("java", "-Xmx400m", "--add-opens=java.base/java.lang=ALL-UNNAMED", "-cp", f"{jars}:{jars}/*",
                         "MiniHdfs", "DIRECTORY/hdfs", stdin=subprocess.PIPE)
        self.port = int(self.ready(lambda: re.search(r"^ready (\d+)", self.read(), re.MULTILINE), "HDFS")[1])

    def put(self, path, content=None, user="me", **query):
        """Creates a file, or changes one by another operation."""
        query = urllib.parse.urlencode({"op": "CREATE", "user.name": user, **query})
        url = f"http://127.0.0.1:{self.port}/webhdfs/v1{urllib.parse.quote(path)}?{query}"
        try:
            urllib.request.urlopen(urllib.request.Request(url, method="PUT"), timeout=DEADLINE_S).close()
        except urllib.error.HTTPError as redirect:
            if redirect.code != 307:
                raise AssertionError(f"{url}: {redirect.code} {redirect.read().decode()}") from redirect
            url = redirect.headers["Location"]  # a data node
            headers = {"Content-Type": "application/octet-stream"}
            urllib.request.urlopen(urllib.request.Request(url, content, headers, method="PUT"),
                                   timeout=DEADLINE_S).close()


def stop_all():
    """For what a test class could not stop."""
    for pid in list(RUNNING):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
