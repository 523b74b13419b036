"""`glint filter serve`: replies, byte for byte, faults of clients, and exchanges under load."""
import contextlib
import http.client
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import threading
import unittest

from cluster import DEADLINE_S, ClusterTest, until

# What RedisBloom 2.8.2 in Valkey 9.1.2 replied on 2026-11-29: request, version 2, version 3 where it differs.
REPLIES = (
    ("BF.EXISTS 5 in", b":1\r\n", b"#t\r\n"),
    ("bf.exists 5 out", b":0\r\n", b"#f\r\n"),
    ("BF.EXISTS none in", b":0\r\n", b"#f\r\n"),
    ("BF.MEXISTS 5 in out", b"*2\r\n:1\r\n:0\r\n", b"*2\r\n#t\r\n#f\r\n"),
    ("BF.MEXISTS none in out", b"*2\r\n:0\r\n:0\r\n", b"*2\r\n#f\r\n#f\r\n"),
    ("BF.INFO none", b"-ERR not found\r\n"),
    ("BF.INFO 5 ITEMS", b"*1\r\n:1\r\n", b"%1\r\n+Number of items inserted\r\n:1\r\n"),
    ("BF.CARD 5", b":1\r\n"),
    ("BF.CARD none", b":0\r\n"),
    ("PING", b"+PONG\r\n"),
    ("PING x", b"$1\r\nx\r\n"),
    ("ECHO hi", b"$2\r\nhi\r\n"),
    ("SELECT 0", b"+OK\r\n"),
    ("CLIENT SETNAME n", b"+OK\r\n"),
    ("CLIENT GETNAME", b"$1\r\nn\r\n"),
    ("CLIENT SETINFO lib-name x", b"+OK\r\n"),
    ("COMMAND DOCS nothing", b"*0\r\n", b"%0\r\n"),
    ("COMMAND INFO none", b"*1\r\n$-1\r\n", b"*1\r\n_\r\n"),
)
# The same code, in other words.
ERRORS = (("BF.EXISTS 5", b"-ERR "), ("BF.EXISTS 5 a b", b"-ERR "), ("PING a b", b"-ERR "), ("SELECT 99", b"-ERR "),
          ("CLIENT what", b"-ERR "), ("what", b"-ERR "), ("HELLO 4", b"-NOPROTO "), ("AUTH x", b"-ERR "),
          ("BF.INFO 5 what", b"-ERR "), ("BF.ADD 5 x", b"-READONLY "))
INVALID = ((b"*1\r\n:4\r\n", b"expected '$'"), (b"*1\r\n$-1\r\n", b"invalid bulk length"),
           (b"*abc\r\n", b"invalid multibulk length"), (b"*1\r\n$600000000\r\n", b"too big request"),
           (b"*2000000\r\n", b"invalid multibulk length"), (b'BF.EXISTS 5 "in"\r\n', b"quotes"),
           (b"x" * 70000, b"too big request"), (b"*1\r\n$1\r\nxyz", b"CRLF"))


PASSWORD = "open.sesame-0123456789"


def request(*words):
    data = [w if isinstance(w, bytes) else w.encode() for w in words]
    return b"*%d\r\n" % len(data) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in data)


class FilterServer(ClusterTest):
    executors = {}

    def setUp(self):
        super().setUp()
        self.socket = os.path.join(self.directory, "s")
        self.build("filters", "in")

    def build(self, name, *ids):
        with open(os.path.join(self.directory, "rows.tsv"), "w", encoding="utf-8") as file:
            file.writelines(f"{i}\t5\n" for i in ids)
        for words in (("count-keys", "rows.tsv", "counts"), ("bloom-build", "0.0001", "rows.tsv", "counts", name)):
            code, _, err = self.run_glint("submit", "-q", "--overwrite", *words)
            self.assertEqual(code, 0, err)

    def serve(self, *options, path="filters", name="server"):
        if not options:
            options = ("--socket", self.socket)
        server = self.start(name, "filter", "serve", path, *options)
        server.until_says("ready")
        return server

    def connect(self):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(DEADLINE_S)
        client.connect(self.socket)
        self.peers.append(client)
        return client

    def ask(self, client, *words, size=None):
        client.sendall(request(*words))
        return self.receive(client, size) if size else client.recv(65536)

    def receive(self, client, size):
        got = b""
        while len(got) < size:
            piece = client.recv(min(size - len(got), 1 << 20))
            self.assertNotEqual(piece, b"", got[:100])
            got += piece
        return got

    def receive_all(self, client):
        got = b""
        while piece := client.recv(65536):
            got += piece
        return got

    def test_replies_are_those_of_redisbloom(self):
        server = self.serve()
        for version in (2, 3):
            client = self.connect()
            hello = self.ask(client, "HELLO", str(version))
            self.assertEqual(hello[:4], b"*14\r" if version == 2 else b"%7\r\n")
            for words, *replies in REPLIES:
                with self.subTest(words, version=version):
                    self.assertEqual(self.ask(client, *words.split()), replies[-1 if version == 3 else 0])
            for words, begin in ERRORS:
                with self.subTest(words, version=version):
                    self.assertEqual(self.ask(client, *words.split())[:len(begin)], begin)
            info = self.ask(client, "BF.INFO", "5")
            self.assertIn(b"+Number of items inserted\r\n:1\r\n+Expansion rate\r\n", info)
            self.assertIn(b"\r\nfilters:1\r\n", self.ask(client, "INFO"))
            self.assertEqual(self.ask(client, "QUIT"), b"+OK\r\n")
            self.assertEqual(client.recv(1), b"")
        self.stop(server)
        self.assertFalse(os.path.exists(self.socket))

    def test_requests_in_pieces_and_pipelines(self):
        server = self.serve()
        begin = [(words, replies) for words, *replies in REPLIES]
        data = b"".join(request(*words.split()) for words, _ in begin) + b"PING\r\n\r\n*0\r\nECHO x\r\n"
        expected = b"".join(replies[0] for _, replies in begin) + b"+PONG\r\n$1\r\nx\r\n"
        for piece in (1, 7, len(data)):
            client = self.connect()
            for at in range(0, len(data), piece):
                client.sendall(data[at:at + piece])
            self.assertEqual(self.receive(client, len(expected)), expected)
        self.stop(server)

    def test_requests_that_are_none_end_the_connection(self):
        server = self.serve()
        for data, words in INVALID:
            client = self.connect()
            client.sendall(request("PING") + data)
            got = self.receive_all(client)
            self.assertEqual(got[:28], b"+PONG\r\n-ERR Protocol error: ", data)
            self.assertIn(words, got, data)
        self.assertEqual(self.ask(self.connect(), "PING"), b"+PONG\r\n")
        self.stop(server)

    def test_client_that_reads_late_loses_nothing(self):
        """The server stops reading, and answers all when the client reads."""
        server = self.serve()
        client = self.connect()
        many = request("BF.MEXISTS", "5", *["in", "out"] * 5000)
        reply = b"*10000\r\n" + b":1\r\n:0\r\n" * 5000
        count = 200  # 8 MB of replies
        sender = threading.Thread(target=lambda: [client.sendall(many) for _ in range(count)])
        sender.start()
        other = self.connect()
        for _ in range(100):
            self.assertEqual(self.ask(other, "BF.EXISTS", "5", "in"), b":1\r\n")
        for _ in range(count):
            self.assertEqual(self.receive(client, len(reply)), reply)
        sender.join()
        self.stop(server)

    def test_client_that_sends_all_before_it_reads(self):
        """As redis-py sends a pipeline. One that sends no more gets all replies, too."""
        server = self.serve()
        many, reply = request("BF.MEXISTS", "5", *["in", "out"] * 5000), b"*10000\r\n" + b":1\r\n:0\r\n" * 5000
        client = self.connect()
        client.sendall(many * 200)  # 17 MB
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(self.receive_all(client), reply * 200)
        client = self.connect()
        client.sendall(many * 200 + many[:99])
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(self.receive_all(client), reply * 200)
        # Beyond 64 MiB the server waits until the client reads.
        client = self.connect()
        sender = threading.Thread(target=lambda: client.sendall(many * 1000))
        client.sendall(many * 600)
        sender.start()
        for _ in range(1600):
            self.assertEqual(self.receive(client, len(reply)), reply)
        sender.join()
        self.assertEqual(self.ask(self.connect(), "PING"), b"+PONG\r\n")
        self.stop(server)

    def test_ids_of_any_bytes_and_sizes(self):
        ids = ["x" * n for n in (1, 2, 3, 9, 10, 15, 16, 17, 63, 64, 65, 98, 99, 100, 101, 1000, 4000)] + ["ä€😀", " a b "]
        self.build("many", *ids)
        server = self.serve(path="many")
        client = self.connect()
        others = [i + "!" for i in ids]
        expected = b"*%d\r\n" % (2 * len(ids)) + b":1\r\n" * len(ids) + b":0\r\n" * len(ids)
        self.assertEqual(self.ask(client, "BF.MEXISTS", "5", *ids, *others, size=len(expected)), expected)
        for i, reply in [(i, b":1\r\n") for i in ids] + [(i, b":0\r\n") for i in [*others, "", b"\0\xff\r\n"]]:
            self.assertEqual(self.ask(client, "BF.EXISTS", "5", i), reply, i)
        self.stop(server)

    def test_ids_with_a_type(self):
        with open(os.path.join(self.directory, "rows.tsv"), "w", encoding="ascii") as file:
            file.writelines(f"{i}\t5\n" for i in range(-3, 400))
        for words in (("count-keys", "rows.tsv", "counts"),
                      ("bloom-build", "--id-type", "i64", "--format", "guava", "0.0001", "rows.tsv", "counts", "numbers")):
            code, _, err = self.run_glint("submit", "-q", "--overwrite", *words)
            self.assertEqual(code, 0, err)
        server = self.serve(path="numbers")
        client = self.connect()
        expected = b"*301\r\n" + b":1\r\n" * 300 + b":0\r\n"
        many = [str(i) for i in range(300)]
        self.assertEqual(self.ask(client, "BF.MEXISTS", "5", *many, "1000", size=len(expected)), expected)
        for words, reply in ((("BF.EXISTS", "5", "-3"), b":1\r\n"), (("BF.EXISTS", "5", "-4"), b":0\r\n"),
                             (("BF.EXISTS", "5", "x"), b"-ERR the id 'x' is no i64: "),
                             (("BF.MEXISTS", "5", *many, "x"), b"-ERR the id 'x' is no i64: "), (("PING",), b"+PONG\r\n")):
            self.assertEqual(self.ask(client, *words)[:len(reply)], reply, words[-1])
        self.stop(server)

    def test_filters_in_segments(self):
        code, _, err = self.run_glint("generate", "ratings", "--no-header", "--rows", "20000", "--overwrite", "rows.tsv")
        self.assertEqual(code, 0, err)
        for words in (("count-keys", "rows.tsv", "counts"),
                      ("bloom-build", "--strategy", "segments", "--segment-size", "1024", "0.01", "rows.tsv", "counts", "parts")):
            code, _, err = self.run_glint("submit", "-q", "--overwrite", *words)
            self.assertEqual(code, 0, err)
        server = self.serve(path="parts")
        client = self.connect()
        with open(os.path.join(self.directory, "rows.tsv"), encoding="ascii") as file:
            rows = [line.rstrip("\n").split("\t")[:2] for line in file][:500]
        for row in rows:
            self.assertEqual(self.ask(client, "BF.EXISTS", str(int(float(row[1]) + 0.5)), row[0]), b":1\r\n", row)
        self.stop(server)

    def test_exchange_under_load(self):
        """Each request is answered from one of the two builds, never from half of each."""
        self.build("a", "x")
        self.build("b", "y")
        os.symlink("a", os.path.join(self.directory, "now"))
        server = self.serve(path="now")
        ended, wrong, asked = threading.Event(), [], [0, 0]

        def load():
            client = self.connect()
            while not ended.is_set():
                reply = self.ask(client, "BF.MEXISTS", "5", "x", "y")
                if reply not in (b"*2\r\n:1\r\n:0\r\n", b"*2\r\n:0\r\n:1\r\n"):
                    wrong.append(reply)
                    return
                asked[reply == b"*2\r\n:0\r\n:1\r\n"] += 1
        threads = [threading.Thread(target=load) for _ in range(3)]
        for thread in threads:
            thread.start()
        client = self.connect()
        for swap in range(1, 101):
            os.symlink("ab"[swap % 2], os.path.join(self.directory, "next"))
            os.rename(os.path.join(self.directory, "next"), os.path.join(self.directory, "now"))
            server.signal(signal.SIGHUP)
            until(lambda n=swap: b"\r\nswaps:%d\r\n" % n in self.ask(client, "INFO"), f"swap {swap}")
        ended.set()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertTrue(all(asked), asked)
        self.stop(server)

    def test_files_that_cannot_be_loaded(self):
        server = self.serve()
        os.rename(os.path.join(self.directory, "filters"), os.path.join(self.directory, "away"))
        server.signal(signal.SIGHUP)
        server.until_says("E0201(.|\n)*the filters that were loaded before are served")
        client = self.connect()
        self.assertEqual(self.ask(client, "BF.EXISTS", "5", "in"), b":1\r\n")
        self.assertIn(b"\r\nfailed_swaps:1\r\n", self.ask(client, "INFO"))
        self.stop(server)
        code, _, err = self.run_glint("filter", "serve", "filters", "--socket", self.socket)
        self.assertEqual(code, 66, err)
        self.assertFalse(os.path.exists(self.socket))

    def test_directories_without_filters(self):
        """They do not replace those that are served: each answer would be that there is no such id."""
        server = self.serve()
        old = os.path.join(self.directory, "filters")
        os.rename(old, old + ".old")
        os.mkdir(old)
        server.signal(signal.SIGHUP)
        server.until_says("E0803(.|\n)*the filters that were loaded before are served")
        client = self.connect()
        self.assertEqual(self.ask(client, "BF.EXISTS", "5", "in"), b":1\r\n")
        os.rmdir(old)
        os.rename(old + ".old", old)
        os.remove(os.path.join(old, "_SUCCESS"))
        server.signal(signal.SIGHUP)
        server.until_says("has no _SUCCESS: filters may be missing")
        self.stop(server)

    def test_two_filters_of_one_key(self):
        os.mkdir(os.path.join(self.directory, "twice"))
        for name in ("a", "b"):
            shutil.copy(os.path.join(self.directory, "filters", "part-00000"),
                        os.path.join(self.directory, "twice", name))
        code, _, err = self.run_glint("filter", "serve", "twice", "--socket", self.socket)
        self.assertEqual(code, 65, err)
        self.assertIn("error[E0804]", err)
        self.assertIn("cause: two filters have the key 5\n", err)
        self.assertIn("unite builds: glint filter merge", err)

    def test_socket(self):
        server = self.serve()
        self.assertEqual(stat.S_IMODE(os.stat(self.socket).st_mode), 0o600)
        code, _, err = self.run_glint("filter", "serve", "filters", "--socket", self.socket)
        self.assertEqual(code, 78, err)
        self.assertIn("address already in use", err)
        server.signal(signal.SIGKILL)
        server.wait()
        self.assertTrue(os.path.exists(self.socket))
        again = self.serve(name="again")
        self.assertEqual(self.ask(self.connect(), "PING"), b"+PONG\r\n")
        self.stop(again)

    def test_socket_of_a_busy_server(self):
        """It accepts no connection now, but it listens: its socket stays."""
        with contextlib.ExitStack() as stack:
            busy = stack.enter_context(socket.socket(socket.AF_UNIX))
            busy.bind(self.socket)
            busy.listen(0)
            with self.assertRaises(BlockingIOError):
                while True:
                    client = stack.enter_context(socket.socket(socket.AF_UNIX))
                    client.setblocking(False)
                    client.connect(self.socket)
            inode = os.stat(self.socket).st_ino
            code, _, err = self.run_glint("filter", "serve", "filters", "--socket", self.socket)
            self.assertEqual(code, 78, err)
            self.assertIn("address already in use", err)
            self.assertEqual(os.stat(self.socket).st_ino, inode)

    def test_password(self):
        secret = os.path.join(self.directory, "password")
        with open(secret, "w", encoding="ascii") as file:
            file.write("sesame\n")
        code, _, err = self.run_glint("filter", "serve", "filters", "--socket", self.socket, "--password-file", secret)
        self.assertEqual(code, 78, err)  # others can read it
        os.chmod(secret, 0o600)
        server = self.serve("--socket", self.socket, "--password-file", secret)
        client = self.connect()
        for words, begin in (("PING", b"-NOAUTH "), ("BF.EXISTS 5 in", b"-NOAUTH "), ("HELLO 3", b"-NOAUTH "),
                             ("AUTH sesam", b"-WRONGPASS "), ("AUTH sesame!", b"-WRONGPASS "),
                             ("AUTH other sesame", b"-WRONGPASS "), ("HELLO 3 AUTH default no", b"-WRONGPASS "),
                             ("BF.EXISTS 5 in", b"-NOAUTH "), ("AUTH default sesame", b"+OK"),
                             ("BF.EXISTS 5 in", b":1"), ("RESET", b"+RESET"), ("PING", b"-NOAUTH "),
                             ("HELLO 3 AUTH default sesame SETNAME me", b"%7"), ("BF.EXISTS 5 in", b"#t")):
            self.assertEqual(self.ask(client, *words.split())[:len(begin)], begin, words)
        self.assertEqual(self.ask(client, "RESET"), b"+RESET\r\n")
        self.assertEqual(client.recv(1), b"", "closed 10 seconds after, without the password")
        client = self.connect()
        client.sendall(b"*2\r\n$4\r\nAUTH\r\n$5000\r\n")
        self.assertIn(b"too big request", self.receive_all(client))
        self.stop(server)

    def test_address(self):
        secret = os.path.join(self.directory, "password")
        with open(secret, "w", encoding="ascii") as file:
            file.write("sesame")
        os.chmod(secret, 0o600)
        server = self.serve("--listen", "127.0.0.1:0", "--password-file", secret)
        port = int(server.until_says(r"port (\d+) of 127.0.0.1")[1])
        with socket.create_connection(("127.0.0.1", port), DEADLINE_S) as client:
            self.assertEqual(self.ask(client, "AUTH", "sesame"), b"+OK\r\n")
            self.assertEqual(self.ask(client, "BF.EXISTS", "5", "in"), b":1\r\n")
        self.stop(server)

    def test_wrong_options(self):
        for words, code, cause in (((), 64, "needs --socket PATH or --listen"),
                                   (("--listen", "127.0.0.1:1"), 64, "every user of this machine"),
                                   (("--listen", "0.0.0.0:1"), 78, "not an address of this machine only, and needs TLS"),
                                   (("--http", "0.0.0.0:1"), 78, "not an address of this machine only, and needs TLS"),
                                   (("--http", "127.0.0.1:1"), 64, "every user of this machine"),
                                   (("--http", "x:y"), 64, "--http=x:y: it must be HOST:PORT, as in 127.0.0.1:8080"),
                                   (("--socket", "s", "--tls-key-file", "k"), 64, "belong together"),
                                   (("--socket", "s", "--tls-cert-file", "c", "--tls-key-file", "k"), 64,
                                    "no effect on a Unix socket"),
                                   (("--listen", "127.0.0.1:x"), 64, "it must be HOST:PORT"),
                                   (("--socket", "s", "--clients", "0"), 64, "it must be 1 to 1000000"),
                                   (("--socket", "s" * 200), 78, "name too long")):
            with self.subTest(words):
                status, _, err = self.run_glint("filter", "serve", "filters", *words)
                self.assertEqual((status, cause in err), (code, True), err)

    def write_password(self):
        secret = os.path.join(self.directory, "password")
        with open(secret, "w", encoding="ascii") as file:
            file.write(PASSWORD + "\n")
        os.chmod(secret, 0o600)
        return secret

    def make_certificate(self, name, *options):
        """Returns the options of a server with it."""
        cert, key = (os.path.join(self.directory, f"{name}.{kind}") for kind in ("cert", "key"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-days", "2",
                        "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert,
                        *(options or ["-nodes"])], check=True, capture_output=True, timeout=DEADLINE_S)
        os.chmod(key, 0o600)
        return "--tls-cert-file", cert, "--tls-key-file", key

    def connect_tls(self, port, certificate, version=ssl.TLSVersion.TLSv1_3):
        context = ssl.create_default_context(cafile=certificate)
        context.minimum_version = context.maximum_version = version
        client = context.wrap_socket(socket.create_connection(("127.0.0.1", port), DEADLINE_S), server_hostname="127.0.0.1")
        self.peers.append(client)
        return client

    def exchange(self, client, data, size):
        """Sends the data, and reads when no more can be sent; a session of TLS is for one thread."""
        got, at = bytearray(), 0
        client.setblocking(False)
        while True:
            with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
                while at < len(data):
                    at += client.send(data[at:at + (1 << 20)])
            with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
                while piece := client.recv(1 << 20):
                    got += piece
                self.fail(f"the connection ended after {len(got)} bytes")
            if len(got) >= size:
                break
            select.select([client], [client] if at < len(data) else [], [], DEADLINE_S)
        client.settimeout(DEADLINE_S)
        return got

    def serve_tls(self, *options, name="server"):
        """At all addresses, as other hosts need it."""
        server = self.serve("--listen", "0.0.0.0:0", "--password-file", self.write_password(), *options, name=name)
        return server, int(server.until_says(r"port (\d+) of 0.0.0.0")[1])

    def test_tls(self):
        options = self.make_certificate("first")
        server, port = self.serve_tls(*options)
        data = b"".join(request(*words.split()) for words, *_ in REPLIES)
        expected = b"+OK\r\n" + b"".join(replies[0] for _, *replies in REPLIES)
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            for piece in (1, 1000, 1 << 20):
                client = self.connect_tls(port, options[1], version)
                whole = request("AUTH", PASSWORD) + data
                for at in range(0, len(whole), piece):
                    client.sendall(whole[at:at + piece])
                self.assertEqual(self.receive(client, len(expected)), expected)
                self.assertEqual(self.ask(client, "QUIT"), b"+OK\r\n")
                self.assertEqual(client.recv(1), b"", "the server says that TLS ends")
        # A request of several records, and replies that its client reads late.
        client = self.connect_tls(port, options[1])
        self.assertEqual(self.ask(client, "AUTH", PASSWORD), b"+OK\r\n")
        many, reply = request("BF.MEXISTS", "5", *["in", "out"] * 20000), b"*40000\r\n" + b":1\r\n:0\r\n" * 20000
        self.assertEqual(self.exchange(client, many * 40, 40 * len(reply)), reply * 40)
        client.sendall(many * 40)
        self.assertEqual(self.receive(client, 40 * len(reply)), reply * 40)
        with socket.create_connection(("127.0.0.1", port), DEADLINE_S) as plain:
            plain.sendall(request("PING"))
            self.receive_all(plain)  # an alert, no reply
        server.until_says("E0606 a TLS handshake failed")
        self.assertIn(b"\r\nfailed_tls_handshakes:1\r\n", self.ask(client, "INFO"))
        self.renew_certificate(server, port, options, client)
        self.stop(server)

    def renew_certificate(self, server, port, options, client):
        """SIGHUP reads the files again; with wrong ones the old certificate is used."""
        others = self.make_certificate("second")
        shutil.copy(others[1], options[1])
        server.signal(signal.SIGHUP)  # the key is not that of the certificate
        server.until_says("cannot be used for TLS(.|\n)*the certificate that was loaded before is used")
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.connect_tls(port, others[1])
        shutil.copy(others[3], options[3])
        server.signal(signal.SIGHUP)
        until(lambda: b"\r\nswaps:2\r\n" in self.ask(client, "INFO"), "both are loaded")
        new = self.connect_tls(port, others[1])
        self.assertEqual(self.ask(new, "AUTH", PASSWORD), b"+OK\r\n")
        self.assertEqual(self.ask(client, "PING"), b"+PONG\r\n")

    def test_redis_cli_with_tls(self):
        if shutil.which("redis-cli") is None:
            self.skipTest("redis-cli is not installed")
        options = self.make_certificate("localhost")
        server, port = self.serve_tls(*options)
        done = subprocess.run(["redis-cli", "-h", "127.0.0.1", "-p", str(port), "--tls", "--cacert", options[1],
                               "BF.MEXISTS", "5", "in", "out"], env={**os.environ, "REDISCLI_AUTH": PASSWORD},
                              capture_output=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.stdout, b"1\n0\n", done.stderr)
        self.stop(server)

    def test_certificates_that_cannot_be_used(self):
        good, other = self.make_certificate("good"), self.make_certificate("other")
        locked = self.make_certificate("locked", "-passout", "pass:word")
        exposed = self.make_certificate("exposed")
        os.chmod(exposed[3], 0o644)
        words = ("--listen", "127.0.0.1:0", "--password-file", self.write_password())
        for cert, key, cause in ((good[1], other[3], "key values mismatch"), (locked[1], locked[3], "without a password"),
                                 (exposed[1], exposed[3], "may have read it, get a certificate for a new key"), (good[3], good[3], "cannot be used for TLS"),
                                 ("absent", good[3], "No such file"), (good[1], "absent", "No such file")):
            with self.subTest(cause):
                code, _, err = self.run_glint("filter", "serve", "filters", *words, "--tls-cert-file", cert, "--tls-key-file", key)
                self.assertEqual((code, "E0902" in err, cause in err), (78, True, True), err)
        server, port = self.serve_tls(*good)
        self.assertEqual(self.ask(self.connect_tls(port, good[1]), "AUTH", PASSWORD), b"+OK\r\n")
        self.stop(server)

    def post(self, connection, body, key="5", kind="text/plain", token=PASSWORD, path=None):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
        connection.request("POST", path or f"/api/v1/contains?key={key}", body, headers)
        response = connection.getresponse()
        return response.status, response.read()

    def get(self, connection, path):
        connection.request("GET", path, headers={"Authorization": f"Bearer {PASSWORD}"})
        response = connection.getresponse()
        return response.status, response.read()

    def serve_http(self, *options, **more):
        server = self.serve("--http", "127.0.0.1:0", "--password-file", self.write_password(), *options, **more)
        return server, int(server.until_says(r"answers HTTP at https?://127.0.0.1:(\d+)/")[1])

    def test_http(self):
        ids = ["in", "ä€😀", "", "x" * 4000, 'a"\\\n', "x\0yz"]
        self.build("many", *[i for i in ids if "\n" not in i and "\0" not in i])
        server, port = self.serve_http("--socket", self.socket, path="many")
        h = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)
        lines = "\n".join([*ids[:4], "out"]).encode()
        for body, hits in ((lines, b"1\n1\n1\n1\n0\n"), (lines + b"\n", b"1\n1\n1\n1\n0\n"), (b"in\r\nout\r\n", b"1\n0\n"),
                           (b"\n\n", b"1\n1\n"), (b"", b""), (b"in\r", b"0\n")):
            self.assertEqual(self.post(h, body), (200, hits), body[:50])
        for asked, hits in (([*ids, "out"], [True, True, True, True, False, False, False]), ([], []),
                            (["in", "out"] * 5000, [True, False] * 5000)):
            for text in (json.dumps(asked), json.dumps(asked, ensure_ascii=False, indent=1)):
                status, body = self.post(h, text.encode(), kind="application/json; charset=utf-8")
                self.assertEqual((status, json.loads(body)), (200, hits), text[:50])
        self.assertEqual(self.post(h, b"in\nout\n" * 500000)[1], b"1\n0\n" * 500000)
        self.assertEqual(self.post(h, b"in", path="/api/v1/contains"), (200, b"1\n"), "there is only one filter")
        listed = json.loads(self.get(h, "/api/v1/filters")[1])
        self.assertEqual([f["key"] for f in listed], ["5"])
        self.assertEqual(json.loads(self.get(h, "/api/v1/filter?key=5")[1]), listed[0])
        metrics = self.get(h, "/metrics")[1]
        self.assertIn(b"\nglint_filter_filters 1\n", metrics)
        self.assertTrue(metrics.endswith(b"# EOF\n"))
        client = self.connect()
        self.assertEqual(self.ask(client, "AUTH", PASSWORD), b"+OK\r\n")
        self.assertIn(b"\r\nhits:%d\r\n" % int(re.search(rb"hits_total (\d+)", metrics)[1]), self.ask(client, "INFO"))
        self.assertEqual(self.get(h, "/healthz"), (200, b"ok\n"))
        self.stop(server)

    def test_http_errors(self):
        server, port = self.serve_http()
        h = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)
        js = "application/json"
        for body, kind, key, status, text in (
                (b"in", js, "5", 400, "at byte 0: the body is no array"), (b"[1]", js, "5", 400, "at byte 1: an id is a string"),
                (b'["in" "x"]', js, "5", 400, "at byte 6: there is no comma"), (b'["in"', js, "5", 400, "does not end"),
                (b'["in"] x', js, "5", 400, "at byte 7: something follows"), (b'["in",]', js, "5", 400, "an id is a string"),
                (b'["\xff"]', js, "5", 400, "UTF-8"), (b'["\\ud800"]', js, "5", 400, "surrogate"),
                (b"in", "text/csv", "5", 415, "text/plain"), (b"in", "", "5", 415, "text/plain"),
                (b"in", "text/plain", "6", 404, "no filter of this key"), (b"in", "text/plain", "5%00", 404, "no filter"),
                (b"\n" * ((1 << 20) + 1), "text/plain", "5", 413, "at most 1048576 ids"),
                (b"x" * ((16 << 20) + 1), "text/plain", "5", 413, "at most 16777216 bytes")):
            with self.subTest(text, body=body[:20]):
                got, answer = self.post(h, body, key, kind)
                error = json.loads(answer)["error"]
                self.assertEqual((got, error["code"], text in error["text"]), (status, status, True), error)
                h.close()
        chunks = (b"x" * (1 << 20) for _ in range(18))
        self.assertEqual(self.post(h, chunks)[0], 413)
        self.assertEqual(self.post(h, b"in", token="wrong" + PASSWORD)[0], 401)
        self.assertEqual(self.post(h, b"in", path="/api/v1/filters")[0], 405)
        self.assertEqual(self.get(h, "/api/v1/contains?key=5")[0], 405)
        self.assertEqual(self.get(h, "/api/v1/what")[0], 404)
        h.request("PUT", "/api/v1/contains?key=5", b"in", {"Authorization": f"Bearer {PASSWORD}"})
        self.assertEqual(h.getresponse().status, 405)
        h.close()
        h.request("GET", "/healthz", headers={"Authorization": f"Bearer {PASSWORD}", "Host": "evil.example"})
        self.assertEqual(h.getresponse().status, 421)
        h.close()
        # Bodies that wait hold at most 64 MiB.
        with contextlib.ExitStack() as stack:
            head = (f"POST /api/v1/contains?key=5 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {PASSWORD}\r\n"
                    "Content-Type: text/plain\r\nContent-Length: 16777216\r\n\r\n").encode()
            waiting = [stack.enter_context(socket.create_connection(("127.0.0.1", port), DEADLINE_S)) for _ in range(8)]
            for s in waiting:
                s.sendall(head + b"x" * 16777215)
            self.assertEqual(self.post(h, b"in\n"), (200, b"1\n"))
            for s in waiting:
                s.sendall(b"x")
            statuses = [re.match(rb"HTTP/1.1 (\d+) ", s.recv(65536))[1] for s in waiting]
        self.assertIn(b"503", statuses)
        self.assertEqual(self.post(h, b"in\n"), (200, b"1\n"))
        self.stop(server)
        with open(os.path.join(self.directory, "password"), "w", encoding="ascii") as file:
            file.write("sesame")
        code, _, err = self.run_glint("filter", "serve", "filters", "--http", "127.0.0.1:0", "--password-file", "password")
        self.assertEqual((code, "for HTTP a password has 16 to 255 letters" in err), (78, True), err)

    def test_http_with_tls(self):
        options = self.make_certificate("first")
        server, port = self.serve_http(*options)
        h = http.client.HTTPSConnection("127.0.0.1", port, timeout=DEADLINE_S,
                                        context=ssl.create_default_context(cafile=options[1]))
        self.assertEqual(self.post(h, b"in\nout\n" * 100000), (200, b"1\n0\n" * 100000))
        self.assertEqual(self.post(h, b'["in"]', kind="application/json"), (200, b"[true]"))
        h.close()
        self.stop(server)

    def test_http_ids_with_a_type(self):
        with open(os.path.join(self.directory, "rows.tsv"), "w", encoding="ascii") as file:
            file.writelines(f"{i}\t5\n{i}\t6\n" for i in range(-3, 400))
        for words in (("count-keys", "rows.tsv", "counts"),
                      ("bloom-build", "--id-type", "i64", "--format", "guava", "0.0001", "rows.tsv", "counts", "numbers")):
            code, _, err = self.run_glint("submit", "-q", "--overwrite", *words)
            self.assertEqual(code, 0, err)
        server, port = self.serve_http(path="numbers")
        h = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)
        body = "".join(f"{i}\n" for i in range(-4, 400)).encode()
        self.assertEqual(self.post(h, body), (200, b"0\n" + b"1\n" * 403))
        status, answer = self.post(h, b'["1", "1.5"]', kind="application/json")
        self.assertEqual((status, json.loads(answer)["error"]["text"][:16]), (400, "id 2 is no i64: "))
        self.assertEqual(self.post(h, b"1", path="/api/v1/contains")[0], 400, "there are two filters")
        h.close()
        self.stop(server)

    def test_many_clients(self):
        """Each costs at most 4 KiB, beside the files and 16 MiB; those over the limit are told."""
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit[1], limit[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limit)
        count = min(10000, limit[1] - 1000)
        self.assertGreaterEqual(count, 1000, "raise the limit on open files: ulimit -n")
        server = self.serve("--socket", self.socket, "--clients", str(count))
        first = self.connect()
        self.assertEqual(self.ask(first, "PING"), b"+PONG\r\n")
        before = self.resident_kib(server.pid)
        clients = [first] + [self.connect() for _ in range(count - 1)]
        for client in clients:
            self.assertEqual(self.ask(client, "BF.EXISTS", "5", "in"), b":1\r\n")
        if "GLINT_SANITIZED" not in os.environ:
            self.assertLess(self.resident_kib(server.pid) - before, 4 * count)
            self.assertLess(self.resident_kib(server.pid), 16 * 1024 + 4 * count)
        over = self.connect()
        self.assertEqual(self.receive_all(over), b"-ERR max number of clients reached\r\n")
        first.close()
        until(lambda: self.ask(self.connect(), "PING") == b"+PONG\r\n", "there is room")
        self.stop(server)

    def resident_kib(self, pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


if __name__ == "__main__":
    unittest.main()
