"""The peer of a connection: frames and their payloads, valid or corrupted on purpose.

The only place where Python tests build bytes of the protocol. Written from docs/protocol.md, not from the
code; test_protocol.py compares PAYLOADS with that page, and passes a whole job through it."""
import ctypes
import hashlib
import hmac
import os
import socket
import struct
import subprocess
import tempfile
import threading

from cluster import until

XXHASH = ctypes.CDLL("libxxhash.so.0")
XXHASH.XXH3_64bits.restype = ctypes.c_uint64
XXHASH.XXH3_64bits.argtypes = (ctypes.c_char_p, ctypes.c_size_t)

FRAMES = ("HELLO", "REJECT", "PING", "MESSAGE", "REGISTER", "EXECUTOR_ADDED", "REQUEST_EXECUTOR", "QUEUED",
          "EXECUTOR_STARTED", "EXECUTOR_EXITED", "STATUS", "STATUS_REPLY", "CANCEL", "CANCELLED", "DRAIN", "GET",
          "DATA", "FETCH_ERROR", "BLOCK_REQUEST", "BLOCK_ASSIGN", "PROGRESS", "JOB_KEY", "PROGRAM_REQUEST", "PROGRAM")
(HELLO, REJECT, PING, MESSAGE, REGISTER, EXECUTOR_ADDED, REQUEST_EXECUTOR, QUEUED, EXECUTOR_STARTED, EXECUTOR_EXITED,
 STATUS, STATUS_REPLY, CANCEL, CANCELLED, DRAIN, GET, DATA, FETCH_ERROR, BLOCK_REQUEST, BLOCK_ASSIGN, PROGRESS,
 JOB_KEY, PROGRAM_REQUEST, PROGRAM) = range(1, len(FRAMES) + 1)
MESSAGES = ("JOB", "STAGE", "MAP_OUTPUTS", "BROADCAST", "TASK", "KILL", "CANCEL", "RELEASE", "DONE", "FAILED", "FREE")
(MSG_JOB, MSG_STAGE, MSG_MAP_OUTPUTS, MSG_BROADCAST, MSG_TASK, MSG_KILL, MSG_CANCEL, MSG_RELEASE, MSG_DONE, MSG_FAILED,
 MSG_FREE) = range(1, len(MESSAGES) + 1)
DRIVER, EXECUTOR, DAEMON, CLIENT = range(1, 5)
CONTROL_CHANNEL, DATA_CHANNEL = 1, 2
HEADER_BYTES = 32
PROGRAM_CHUNK_BYTES = 256 << 10  # of a GET PROGRAM
BYTES_MAX = {"HELLO": 1 << 10, "REJECT": 1 << 10, "MESSAGE": 16 << 20, "GET": 2 << 20, "DATA": 8 << 20, "QUEUED": 0,
             "STATUS": 0, "EXECUTOR_STARTED": 0, "DRAIN": 0, "PROGRAM_REQUEST": 0}  # of a payload; 32 KiB for all others

# The fields of each payload, in order, with a valid value; 0 where any number is valid.
PAYLOADS = {
    "HELLO": {"protocol_min": 1, "protocol_max": 1, "role": CLIENT, "channel": CONTROL_CHANNEL, "cluster": "test",
              "node": "peer", "incarnation": bytes(16), "expected_incarnation": bytes(16), "build": ""},
    "REJECT": {"code": -904, "cause": "", "hint": ""},
    "PING": {"sent_ns": 0, "memory_bytes": 0, "tasks_running": 0},
    "REGISTER": {"port": 1, "slots": 1, "memory_bytes": 1 << 30},
    "EXECUTOR_ADDED": {"executor": 0, "node": "e1", "host": "127.0.0.1", "port": 1, "incarnation": bytes(16)},
    "REQUEST_EXECUTOR": {"job": 1, "name": "", "driver_host": "127.0.0.1", "driver_port": 1,
                         "incarnation": bytes([1] * 16), "key": bytes(32)},
    "PROGRAM": {"size": 1, "sha256": bytes(32)},
    "CANCEL": {"job": 1, "name": ""},
    "CANCELLED job": {"job": 1, "name": ""},
    "PROGRESS": {"stages": 0, "tasks": 0, "retries": 0, "stage_name": "", "stage": 0, "stage_tasks": 0,
                 "stage_done": 0, "tasks_running": 0, "cached_rdds": 0, "cached_blocks": 0, "cached_memory_bytes": 0,
                 "cached_disk_bytes": 0},
    "EXECUTOR_EXITED": {"wait_status": 0, "out_of_memory": 0, "log": "", "code": 0, "cause": "", "hint": ""},
    "STATUS_REPLY": {"node": "e1", "build": "", "slots": 1, "drivers_max": 1, "memory_bytes": 1 << 30, "uptime_ns": 0,
                  "draining": 0, "jobs": []},
    "STATUS_REPLY job": {"job": 1, "name": "", "progress": [0, 0, 0, "", 0, 0, 0, 0, 0, 0, 0, 0], "running": 0, "age_ns": 0,
                         "heartbeat_age_ns": 0, "memory_bytes": 0},
    "JOB_KEY": {"key": bytes(32)},
    "GET INDEX": {"kind": 1, "shuffle": 0, "partition": 0, "inline_bytes_max": 0, "outputs": [0, 0]},
    "GET MAP_OUTPUT": {"kind": 2, "shuffle": 0, "map": 0, "attempt": 0, "offset": 0, "size": 1},
    "GET BROADCAST_BLOCK": {"kind": 3, "broadcast": 1, "block": 0},
    "GET RESULT": {"kind": 4, "result": 1, "offset": 0, "size": 1},
    "GET PROGRAM": {"kind": 5, "program": 0, "offset": 0, "size": 1},
    "GET CACHED_BLOCK": {"kind": 6, "rdd": 0, "partition": 0, "offset": 0, "size": 1},
    "BLOCK_REQUEST": {"broadcast": 1, "blocks_max": 1, "received": [], "failed": []},
    "BLOCK_ASSIGN": {"broadcast": 1, "blocks": []},
    "ERROR": {"code": -603, "cause": "", "effect": "", "hint": ""},
    "MESSAGE": {"type": MSG_CANCEL, "stage": 0, "task": 0, "attempt": 0, "partition": 0, "slot": 0, "id": 0, "size": 0,
                "start": 0, "run": 0, "body": b"", "counters": b"", "blocks": b"", "error": []},
    "JOB": {"line_bytes_max": 1 << 24, "result_bytes_max": 1 << 28, "skip_bad_rows": 0, "bad_rows_max": 0,
            "no_sync": 0, "directory": ""},
    "counter": {"name": "", "value": 0},
    "FAULT": {"shuffle": 0, "map": 0, "executor": 0, "attempt": 0, "unreachable": 0},
}


def pack(value):
    """msgpack, in encodings that are wide enough for all uses here."""
    if value is None:
        return b"\xc0"
    if isinstance(value, int):
        return b"\xcf" + struct.pack(">Q", value) if value >= 0 else b"\xd3" + struct.pack(">q", value)
    if isinstance(value, str):
        return b"\xda" + struct.pack(">H", len(value.encode())) + value.encode()
    if isinstance(value, bytes):
        return b"\xc6" + struct.pack(">I", len(value)) + value
    return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(pack, value))


def encode(name, /, **values):
    """The bytes of a payload, with these fields and the others as in PAYLOADS."""
    fields = PAYLOADS[name]
    unknown = set(values) - set(fields)
    assert not unknown, f"{name} has no field {unknown}"
    return pack([values.get(field, value) for field, value in fields.items()])


def decode(name, data, /):
    """The fields of a payload by name. Their number must match."""
    values, end = unpack(data)
    assert end == len(data) and len(values) == len(PAYLOADS[name]), f"{name} has {len(PAYLOADS[name])} fields: {values}"
    return dict(zip(PAYLOADS[name], values))


def message(kind, /, **values):
    """A MESSAGE frame."""
    return frame(MESSAGE, encode("MESSAGE", type=kind, **values))


def unpack(data, at=0):
    """(value, start of the next one); only what a glint process sends."""
    first = data[at]
    sizes = {0xcc: ">B", 0xcd: ">H", 0xce: ">I", 0xcf: ">Q", 0xd0: ">b", 0xd1: ">h", 0xd2: ">i", 0xd3: ">q"}
    lengths = {0xc4: ">B", 0xc5: ">H", 0xc6: ">I", 0xd9: ">B", 0xda: ">H", 0xdb: ">I", 0xdc: ">H", 0xdd: ">I"}
    if first < 0x80 or first >= 0xe0:
        return first - (256 if first >= 0xe0 else 0), at + 1
    if first == 0xc0:
        return None, at + 1
    if first in sizes:
        return struct.unpack_from(sizes[first], data, at + 1)[0], at + 1 + struct.calcsize(sizes[first])
    if first in lengths:
        length, at = struct.unpack_from(lengths[first], data, at + 1)[0], at + 1 + struct.calcsize(lengths[first])
    else:
        length, at = (first & 15 if first < 0xa0 else first & 31), at + 1
    if first in (0xdc, 0xdd) or 0x90 <= first < 0xa0:
        values = []
        for _ in range(length):
            value, at = unpack(data, at)
            values.append(value)
        return values, at
    value = data[at:at + length]
    return (value if 0xc4 <= first <= 0xc6 else value.decode()), at + length


def frame(kind, payload=b"", request=0, length=None, head=None, version=1, flags=0, damage=0):
    """The bytes of a frame; length, head and damage (xor of the checksum) make it invalid."""
    length = len(payload) if length is None else length
    head = length if head is None else head
    header = b"GLNT" + struct.pack("<BBHIIQ", version, kind, flags, length, head, request)
    covered = header + payload[:head]
    return header + struct.pack("<Q", XXHASH.XXH3_64bits(covered, len(covered)) ^ damage) + payload


def data(payload, request):
    """A DATA frame: the response to a GET."""
    return frame(DATA, payload, request, head=0)


def program_chunk(program, chunk):
    """The response to the GET of a chunk."""
    return program[chunk * PROGRAM_CHUNK_BYTES:(chunk + 1) * PROGRAM_CHUNK_BYTES]


def hello(build, protocols=(1, 1), **values):
    values.setdefault("incarnation", os.urandom(16))
    return frame(HELLO, encode("HELLO", build=build, protocol_min=protocols[0], protocol_max=protocols[1], **values))


def derive(secret, info):
    """HKDF-SHA256, of one block."""
    extracted = hmac.new(bytes(32), secret, hashlib.sha256).digest()
    return hmac.new(extracted, info + b"\x01", hashlib.sha256).digest()


class Plain:
    """A plain connection."""

    def __init__(self, connected, timeout):
        """`connected`: a socket, or the port to connect to."""
        if isinstance(connected, int):
            connected = socket.create_connection(("127.0.0.1", connected), timeout)
        connected.settimeout(timeout)
        self.socket, self.rest, self.request = connected, b"", 0

    def send(self, data):
        """False: the peer has closed it."""
        try:
            self.socket.sendall(data)
            return True
        except OSError:
            return False

    def receive(self):
        """b"" is the end."""
        try:
            return self.socket.recv(65536)
        except ConnectionError:
            return b""

    def receive_frame(self):
        """(type, payload), and its request id in `request`; None is the end."""
        while True:
            if len(self.rest) >= HEADER_BYTES:
                kind, (length, _, self.request) = self.rest[5], struct.unpack_from("<IIQ", self.rest, 8)
                if len(self.rest) >= HEADER_BYTES + length:
                    payload = self.rest[HEADER_BYTES:HEADER_BYTES + length]
                    self.rest = self.rest[HEADER_BYTES + length:]
                    return kind, payload
            more = self.receive()
            if not more:
                return None
            self.rest += more

    def wait_frame(self, *kinds):
        """The first of these kinds, or None."""
        while True:
            found = self.receive_frame()
            if found is None or found[0] in kinds:
                return found

    def until_closed(self):
        while self.receive():
            pass

    def shutdown(self):
        """Ends both directions; a reader in another thread sees the end."""
        end_both(self.socket)

    def close(self):
        self.socket.close()


def psk(secret, kind):
    """The arguments of openssl for a secret of the cluster, the client secret derived from it, or the key of a job."""
    if kind == "client":
        secret = derive(secret, b"glint client 1 secret")
    label = f"glint {kind} 1"
    key, fingerprint = derive(secret, label.encode()), derive(secret, f"{label} fingerprint".encode())[:8]
    return ["-tls1_3", "-quiet", "-ciphersuites", "TLS_AES_128_GCM_SHA256", "-psk_identity",
            f"{label} {fingerprint.hex()}", "-psk", key.hex()]


class Secured(Plain):
    """The same with TLS and a secret: runs openssl, because the standard library has no such client.

    `kind`: see psk."""

    def __init__(self, port, timeout, secret, kind="peer"):
        ours, theirs = socket.socketpair()
        self.openssl = subprocess.Popen(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *psk(secret, kind)],
                                        stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL)
        theirs.close()
        super().__init__(ours, timeout)

    def close(self):
        super().close()
        self.openssl.kill()
        self.openssl.wait()


class Listener:
    """A port for connections, plain or with TLS and a secret or the key of a job (see psk).

    openssl has no server for a connected socket: each connection is forwarded to one on a Unix socket."""

    def __init__(self, timeout, key=None, kind="job", port=0):
        self.timeout, self.key, self.kind = timeout, key, kind
        self.socket = socket.create_server(("127.0.0.1", port))
        self.socket.settimeout(timeout)
        self.port = self.socket.getsockname()[1]
        self.closing = []

    def accept(self):
        connected, _ = self.socket.accept()
        peer = Plain(connected if self.key is None else self.decrypt(connected), self.timeout)
        self.closing.append(peer.close)
        return peer

    def accept_executor(self, build, **fields):
        """Responds to an executor process as its driver. Returns its control connection, data connection and hello."""
        found, me = {}, os.urandom(16)
        for _ in range(2):
            peer = self.accept()
            theirs = decode("HELLO", peer.wait_frame(HELLO)[1])
            found[theirs["channel"]] = peer
            ours = {"role": DRIVER, "node": "driver", "channel": theirs["channel"], "incarnation": me, **fields}
            peer.send(hello(build, **ours))
        return found[CONTROL_CHANNEL], found[DATA_CHANNEL], theirs

    def decrypt(self, connected):
        connected.settimeout(None)
        directory = tempfile.TemporaryDirectory(prefix="tls-", dir="/tmp")  # openssl allows 31 bytes
        path = os.path.join(directory.name, "socket")
        ours, theirs = socket.socketpair()
        openssl = subprocess.Popen(["openssl", "s_server", "-unix", path, "-nocert", "-naccept", "1",
                                    *psk(self.key, self.kind)], stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL)
        theirs.close()
        inside = socket.socket(socket.AF_UNIX)
        until(lambda: inside.connect_ex(path) == 0 or openssl.poll() is not None, "openssl s_server listens")
        threads = [threading.Thread(target=forward, args=pair)
                   for pair in ((connected, inside), (inside, connected))]
        for thread in threads:
            thread.start()

        def close():
            openssl.kill()
            openssl.wait()
            for s in (connected, inside):
                end_both(s)
            for thread in threads:
                thread.join()
            for s in (connected, inside):
                s.close()
            directory.cleanup()

        self.closing.append(close)
        return ours

    def close(self):
        self.socket.close()
        for close in self.closing:
            close()


def end_both(s):
    """Ends both directions; a reader in another thread sees the end."""
    try:
        s.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def forward(source, target):
    """Forwards all bytes until one of them is closed."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    end_both(source)
    end_both(target)
