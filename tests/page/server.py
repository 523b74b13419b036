"""A server of the page and of answers that a test chooses, with the headers that glint sends. It runs in the test's
process, so that a test can change what it answers, and stop and start it on one port."""
import http.server
import json
import os
import queue
import threading
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "engine/web/page")
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
WAIT_S = 60


class Handler(http.server.BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"

    def send(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_json(self, answer):
        if answer is None:
            self.send(404, "application/json", b'{"error":{"text":"not found"}}')
        else:
            self.send(200, "application/json", json.dumps(answer).encode())

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        path, query = url.path, dict(urllib.parse.parse_qsl(url.query))
        parts = path.strip("/").split("/")
        if parts[:3] == ["api", "v1", "applications"]:
            self.send_answer(parts[3:], query)
            return
        name = "index.html" if path == "/" else os.path.basename(path)
        file = os.path.join(PAGE, name)
        if not os.path.isfile(file):
            self.send(404, "text/plain", b"not found\n")
            return
        with open(file, "rb") as content:
            self.send(200, TYPES[os.path.splitext(name)[1]], content.read())

    def send_answer(self, parts, query):
        jobs = self.server.owner.jobs
        if not parts:
            self.send_json([answers.overview() for answers in jobs.values()])
        elif parts[0] not in jobs:
            self.send_json(None)
        elif parts[1:] == ["events"]:
            self.send_events()
        else:
            self.send_json(jobs[parts[0]].get("/".join(parts[1:]), query))

    def send_events(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        events = self.server.owner.subscribe()
        while (event := events.get(timeout=WAIT_S)) is not None:
            self.wfile.write(f"event: {event}\ndata: {{}}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True

    def log_message(self, *arguments):
        pass


class Server:
    """Serves `jobs`: {id: Answers}. A context manager; `url` is its address."""

    def __init__(self, *answers):
        self.jobs = {a.job["id"]: a for a in answers}
        self.subscribers, self.lock = [], threading.Lock()
        self.http, self.port = None, 0

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *why):
        self.stop()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/"

    def start(self):
        """On the port it had before, if it was started before."""
        http.server.ThreadingHTTPServer.allow_reuse_address = True
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.http.owner, self.http.daemon_threads = self, True
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def stop(self):
        self.tell(None)
        self.http.shutdown()
        self.http.server_close()

    def subscribe(self):
        events = queue.Queue()
        with self.lock:
            self.subscribers.append(events)
        events.put("change")
        return events

    def tell(self, event):
        """Sends an event to every page; None ends their streams."""
        with self.lock:
            for events in self.subscribers:
                events.put(event)
            if event is None:
                self.subscribers.clear()

    def set(self, answers, event="change"):
        self.jobs[answers.job["id"]] = answers
        self.tell(event)
