"""`glint filter serve`: replies, byte for byte, faults of clients, and exchanges under load."""
import os
import resource
import signal
import socket
import stat
import threading
import unittest

from cluster import DEADLINE_S, SLOWDOWN, ClusterTest, until

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

    def test_ids_of_any_bytes_and_sizes(self):
        ids = ["x" * n for n in (1, 2, 3, 15, 16, 17, 63, 64, 65, 1000, 4000)] + ["ä€😀", " a b "]
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
                                   (("--listen", "0.0.0.0:1"), 78, "not an address of this machine only"),
                                   (("--listen", "127.0.0.1:x"), 64, "it must be HOST:PORT"),
                                   (("--socket", "s", "--clients", "0"), 64, "it must be 1 to 1000000"),
                                   (("--socket", "s" * 200), 78, "name too long")):
            with self.subTest(words):
                status, _, err = self.run_glint("filter", "serve", "filters", *words)
                self.assertEqual((status, cause in err), (code, True), err)

    def test_many_clients(self):
        """Each costs at most 4 KiB; those over the limit are told."""
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit[1], limit[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limit)
        count = 1000
        server = self.serve("--socket", self.socket, "--clients", str(count))
        first = self.connect()
        self.assertEqual(self.ask(first, "PING"), b"+PONG\r\n")
        before = self.resident_kib(server.pid)
        clients = [first] + [self.connect() for _ in range(count - 1)]
        for client in clients:
            self.assertEqual(self.ask(client, "BF.EXISTS", "5", "in"), b":1\r\n")
        if "GLINT_SANITIZED" not in os.environ:
            self.assertLess(self.resident_kib(server.pid) - before, 4 * count)
        over = self.connect()
        self.assertEqual(self.receive_all(over), b"-ERR max number of clients reached\r\n")
        first.close()
        until(lambda: self.ask(self.connect(), "PING") == b"+PONG\r\n", "there is room", DEADLINE_S * SLOWDOWN)
        self.stop(server)

    def resident_kib(self, pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


if __name__ == "__main__":
    unittest.main()
