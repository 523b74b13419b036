"""Reads glint's filters without glint (docs/filter-format.md): the schemes spark and xxh64.
read(bytes of a file) is {key: Filter}; a filter without a key has None. contains(id) takes bytes:
of ids with a type (id_type) those of the value. The checksum is not verified."""
import functools, io, struct
P1, P2, P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P4, P5, M64, M32 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5, (1 << 64) - 1, (1 << 32) - 1
SALTS = 0x47B6137B44974D918824AD5BA2B7289D705495C72DF1424B9EFC49475C6BFB31
HEADS = dict(zip(bytes.fromhex("c4c5c6cacbcccdcecfd0d1d2d3d9dadb"), "BHIfdBHIQbhiqBHI"))
rot = lambda x, r, w=64: (x % (1 << w) << r | x % (1 << w) >> w - r) % (1 << w)
def xxh64(d):
    at, v, le = 0, [P1 + P2, P2, 0, -P1], lambda n, o=0: int.from_bytes(d[at + o:][:n], "little")
    while len(d) - at >= 32:
        v, at = [rot(x + le(8, 8 * i) * P2, 31) * P1 for i, x in enumerate(v)], at + 32
    h = functools.reduce(lambda h, x: (h ^ rot(x * P2, 31) * P1) * P1 + P4, v,
                         sum(map(rot, v, (1, 7, 12, 18)))) if at else P5
    h += len(d)
    for n, p, r, q, c in (8, P2, 27, P1, P4), (4, P1, 23, P2, P3), (1, P5, 11, P1, 0):
        while len(d) - at >= n:
            h, at = rot(h ^ (rot(le(8) * p, 31) * P1 if n == 8 else le(n) * p), r) * q + c, at + n
    h = (h & M64 ^ (h & M64) >> 33) * P2 & M64
    return (h := (h ^ h >> 29) * P3 & M64) ^ h >> 32
def murmur3(d, h):
    for at in range(0, len(d), 4):
        h ^= rot(int.from_bytes(d[at:at + 4], "little") * 0xCC9E2D51, 15, 32) * 0x1B873593 & M32
        h = rot(h, 13, 32) * 5 + 0xE6546B64 & M32 if len(d) - at >= 4 else h
    h = ((h ^ len(d)) ^ (h ^ len(d)) >> 16) * 0x85EBCA6B & M32
    return (h := (h ^ h >> 13) * 0xC2B2AE35 & M32) ^ h >> 16
def value(f):  # the next one of msgpack
    t = f.read(1)[0]
    if t < 0xA0 or t >= 0xE0:
        return [value(f) for _ in range(t & 15)] if t >> 4 == 9 else t - (t >> 7 << 8)
    head = ">" + ("" if t < 0xC0 else HEADS[t])
    n = sum(struct.unpack(head, f.read(struct.calcsize(head)))) if head[1:] else t & 31
    data = n if 0xC6 < t < 0xD9 else f.read(n)
    return data if 0xC0 < t < 0xD9 else data.decode(errors="surrogateescape")
class Filter:
    def __init__(self, f):
        f[3:3] = ["classic"] * (len(f) == 8)  # magic, version, scheme, layout, n, m, k, ..., bits
        self.scheme, self.layout, self.n, self.m, self.k = f[2:7]
        units = {("classic", "spark"): 1, ("block512", "xxh64"): 512, ("split-block", "xxh64"): 256}
        self.unit = units.get((self.layout, self.scheme), 0)
        seeds, self.id_type, self.bits = (*f[7:9], f[-1]) if f[1] == 4 else (b"", "text", f[-1])
        sizes = self.unit and len(self.bits) == (self.m + 7) // 8 > 0 == self.m % self.unit
        if (f[0], f[1] in (1, 2, 4), seeds) != ("glint.bloom", True, b"") or not sizes or not (
                0 < self.k < 256 if self.unit != 256 else self.k == 8):
            raise ValueError(f"not supported, or damaged: {f[:7]}")
    def contains(self, id):
        if self.unit == 1:
            at = (((murmur3(id, i) ^ 1 << 31) - (1 << 31)) % self.m for i in range(self.k))
        else:
            h, split, unit = xxh64(id), self.unit == 256, self.unit
            salts = [SALTS >> 224 - 32 * i if split else 0x9E3779B9 ** i for i in range(self.k)]
            at = (((h >> 32) * (self.m // unit) >> 32) * unit + split * 32 * i +
                  (h * salt % (1 << 32) >> (27 if split else 23)) for i, salt in enumerate(salts))
        return all(self.bits[i // 8] >> i % 8 & 1 for i in at)
def read(data):
    f, items = io.BytesIO(data), []
    while f.tell() < len(data):
        items.append(value(f))
    return {i[0] if len(i) == 2 else None: Filter(i[-1] if len(i) == 2 else i) for i in items}
