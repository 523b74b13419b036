// Reads glint's filters without glint (docs/filter-format.md): the schemes spark and xxh64, keys of
// text and integers. read(Uint8Array of a file) is a Map of filters by key: string, BigInt, or null
// for none. contains(id) takes a Uint8Array, or a string as UTF-8. No checksum is verified.
const P1 = 0x9e3779b185ebca87n, P2 = 0xc2b2ae3d27d4eb4fn, P3 = 0x165667b19e3779f9n, P4 = 0x85ebca77c2b2ae63n;
const SALTS = 0x47b6137b44974d918824ad5ba2b7289d705495c72df1424b9efc49475c6bfb31n, { imul } = Math;
const UNITS = { "classic spark": 1n, "block512 xxh64": 512n, "split-block xxh64": 256n };
const P5 = 0x27d4eb2f165667c5n, u64 = (x) => BigInt.asUintN(64, x), rot = (x, r) => u64(x << r | u64(x) >> (64n - r)), round = (x) => rot(x * P2, 31n) * P1;
function xxh64(d) {
  const get = (at, n) => n > 0 ? get(at + 1, n - 1) << 8n | BigInt(d[at]) : 0n; // little-endian
  let at = 0, h = P5, v = [P1 + P2, P2, 0n, -P1];
  for (; d.length - at >= 32; at += 32) v = v.map((x, i) => rot(x + get(at + 8 * i, 8) * P2, 31n) * P1);
  if (at > 0) h = v.reduce((x, y) => (x ^ round(y)) * P1 + P4, [1n, 7n, 12n, 18n].reduce((x, r, i) => x + rot(v[i], r), 0n));
  for (h += BigInt(d.length); d.length - at >= 8; at += 8) h = rot(h ^ round(get(at, 8)), 27n) * P1 + P4;
  for (; d.length - at >= 4; at += 4) h = rot(h ^ get(at, 4) * P1, 23n) * P2 + P3;
  for (; at < d.length; at++) h = rot(h ^ get(at, 1) * P5, 11n) * P1;
  return [[33n, P2], [29n, P3], [32n, 1n]].reduce((x, [r, p]) => u64((x ^ x >> r) * p), u64(h));
}
function murmur3(d, h) { // signed; bytes beyond the end are undefined, and count as 0
  for (let at = 0; at < d.length; at += 4) {
    const k = imul(d[at] | d[at + 1] << 8 | d[at + 2] << 16 | d[at + 3] << 24, 0xcc9e2d51);
    h ^= imul(k << 15 | k >>> 17, 0x1b873593);
    if (d.length - at >= 4) h = imul(h << 13 | h >>> 19, 5) + 0xe6546b64 | 0;
  }
  return [[16, 0x85ebca6b], [13, 0xc2b2ae35], [16, 1]].reduce((x, [r, p]) => imul(x ^ x >>> r, p), h ^ d.length);
}
function value(f) { // the next one of msgpack
  const t = f.d[f.at++], size = t < 0xc0 ? 0 : 1 << (t < 0xd4 ? t - 0xc4 & 3 : t - 0xd9);
  if (t < 0x80 || t >= 0xe0) return BigInt(t << 24 >> 24);
  if (t >> 4 === 9) return Array.from({ length: t & 15 }, () => value(f));
  const n = f.d.slice(f.at, f.at += size).reduce((x, byte) => x << 8n | BigInt(byte), 0n);
  if (t > 0xcb && t < 0xd9) return t < 0xd0 ? n : BigInt.asIntN(8 * size, n);
  const data = f.d.subarray(f.at, f.at += size > 0 ? Number(n) : t & 31);
  if (!(t > 0x9f && t < 0xc0) && !(t > 0xc3 && t < 0xc7) && t < 0xd9) throw Error("not supported");
  return t > 0xc0 && t < 0xc7 ? data : new TextDecoder().decode(data);
}
function filter(f) {
  if (f.length === 8) f.splice(3, 0, "classic");
  const [magic, version, scheme, layout, n, m, k, seeds, type] = f, bits = f.at(-1);
  const unit = UNITS[`${layout} ${scheme}`] ?? 0n, typed = version === 4n;
  if (magic !== "glint.bloom" || ![1n, 2n, 4n].includes(version) || (typed && seeds.length) || !unit || m < 1n || m % unit
    || BigInt(bits.length) !== (m + 7n) / 8n || k < 1n || k > 255n || (unit === 256n && k !== 8n))
    throw Error(`not supported, or damaged: ${f.slice(0, 7)}`);
  return { scheme, layout, n, m, k, idType: typed ? type : "text", contains(id) {
    const d = typeof id === "string" ? new TextEncoder().encode(id) : id;
    const h = unit > 1n ? xxh64(d) : 0n, first = ((h >> 32n) * (m / unit) >> 32n) * unit;
    const at = (i) => unit === 1n ? (BigInt(murmur3(d, Number(i))) % m + m) % m
      : unit === 512n ? first + (BigInt.asUintN(32, h * 0x9e3779b9n ** i) >> 23n)
        : first + 32n * i + (BigInt.asUintN(32, h * (SALTS >> 224n - 32n * i)) >> 27n);
    const isSet = (bit) => bits[Number(bit >> 3n)] >> Number(bit & 7n) & 1;
    return Array.from({ length: Number(k) }, (_, i) => at(BigInt(i))).every(isSet);
  } };
}
export function read(d) {
  const found = new Map(), f = { d, at: 0 };
  while (f.at < d.length) {
    const item = value(f), [key, fields] = item.length === 2 ? item : [null, item];
    found.set(key, filter(fields));
  }
  return found;
}
