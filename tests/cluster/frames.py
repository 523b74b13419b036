"""The other side of a connection, in plain sight: frames, hellos and msgpack, right or wrong on purpose.

Written from docs/protocol.md, not from the code; only the checksum is a library's.
"""
import ctypes
import hashlib
import hmac
import os
import socket
import struct
import subprocess

XXHASH = ctypes.CDLL("libxxhash.so.0")
XXHASH.XXH3_64bits.restype = ctypes.c_uint64
XXHASH.XXH3_64bits.argtypes = (ctypes.c_char_p, ctypes.c_size_t)

HELLO, REFUSE, PING, MESSAGE, READY, PEER, ADMIT, QUEUED, ADMITTED, ENDED, STATUS, STATUS_IS, CANCEL = range(1, 14)
GET, DATA = 16, 17
DRIVER, EXECUTOR, DAEMON, CLIENT = range(1, 5)
CONTROL_CHANNEL, DATA_CHANNEL = 1, 2
HEADER_BYTES = 32


def pack(value):
    """msgpack, of what is small."""
    if value is None:
        return b"\xc0"
    if isinstance(value, int):
        return b"\xcf" + struct.pack(">Q", value) if value >= 0 else b"\xd3" + struct.pack(">q", value)
    if isinstance(value, str):
        return b"\xd9" + struct.pack(">B", len(value.encode())) + value.encode()
    if isinstance(value, bytes):
        return b"\xc5" + struct.pack(">H", len(value)) + value
    return b"\xdc" + struct.pack(">H", len(value)) + b"".join(map(pack, value))


def unpack(data, at=0):
    """(value, where the next one begins); what a glint process sends, no more."""
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
    """The bytes of a frame; length, head and damage (xor of the checksum) can be made wrong."""
    length = len(payload) if length is None else length
    head = length if head is None else head
    header = b"GLNT" + struct.pack("<BBHIIQ", version, kind, flags, length, head, request)
    covered = header + payload[:head]
    return header + struct.pack("<Q", XXHASH.XXH3_64bits(covered, len(covered)) ^ damage) + payload


def hello(build, role=CLIENT, channel=CONTROL_CHANNEL, cluster="test", node="stranger", protocols=(1, 1),
          wanted=bytes(16), incarnation=None):
    return frame(HELLO, pack([*protocols, role, channel, cluster, node, incarnation or os.urandom(16), wanted,
                              build]))


def derive(secret, info):
    """HKDF-SHA256, of one block."""
    extracted = hmac.new(bytes(32), secret, hashlib.sha256).digest()
    return hmac.new(extracted, info + b"\x01", hashlib.sha256).digest()


class Plain:
    """A connection as it is."""

    def __init__(self, port, timeout):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.rest = b""

    def send(self, data):
        """False: the other side has closed."""
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
        """(type, payload); None is the end."""
        while True:
            if len(self.rest) >= HEADER_BYTES:
                kind, length = self.rest[5], struct.unpack_from("<I", self.rest, 8)[0]
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

    def close(self):
        self.socket.close()


class Secured(Plain):
    """The same inside TLS, with the secret: openssl is the client that the standard library is not."""

    def __init__(self, port, timeout, secret):
        key, print_ = derive(secret, b"glint peer 1"), derive(secret, b"glint peer 1 fingerprint")[:8]
        ours, theirs = socket.socketpair()
        self.openssl = subprocess.Popen(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-tls1_3", "-quiet", "-ciphersuites",
             "TLS_AES_128_GCM_SHA256", "-psk_identity", f"glint peer 1 {print_.hex()}", "-psk", key.hex()],
            stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL)
        theirs.close()
        ours.settimeout(timeout)
        self.socket, self.rest = ours, b""

    def close(self):
        super().close()
        self.openssl.kill()
        self.openssl.wait()
