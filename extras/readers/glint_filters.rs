//! Reads glint's filters without glint: schemes spark and xxh64, keys text or integers; no checksum is verified.
const P: [u64; 5] = [0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9, 0x85ebca77c2b2ae63, 0x27d4eb2f165667c5];
const SALTS: [u32; 8] = [0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31];
fn le(d: &[u8]) -> u64 { d.iter().rev().fold(0, |x, byte| x << 8 | *byte as u64) }
fn mix(h: u64, r: u32, i: usize, add: u64) -> u64 { h.rotate_left(r).wrapping_mul(P[i]).wrapping_add(add) }
fn round(h: u64, x: u64) -> u64 { mix(h.wrapping_add(x.wrapping_mul(P[1])), 31, 0, 0) }
fn xxh64(id: &[u8]) -> u64 {
    let (mut d, mut h, mut v) = (id, P[4], [P[0].wrapping_add(P[1]), P[1], 0, P[0].wrapping_neg()]);
    while d.len() >= 32 { for i in 0..4 { v[i] = round(v[i], le(&d[8 * i..8 * i + 8])) } d = &d[32..] }
    if id.len() >= 32 { h = v.iter().zip([1, 7, 12, 18]).fold(0, |h: u64, (x, r)| h.wrapping_add(x.rotate_left(r))); h = v.iter().fold(h, |h, x| mix(h ^ round(0, *x), 0, 0, P[3])) }
    h = h.wrapping_add(id.len() as u64);
    while d.len() >= 8 { h = mix(h ^ round(0, le(&d[..8])), 27, 0, P[3]); d = &d[8..] }
    if d.len() >= 4 { h = mix(h ^ le(&d[..4]).wrapping_mul(P[0]), 23, 1, P[2]); d = &d[4..] }
    for x in d { h = mix(h ^ P[4].wrapping_mul(*x as u64), 11, 0, 0) }
    h = [(33, 1), (29, 2)].iter().fold(h, |h, (r, i)| mix(h ^ h >> r, 0, *i, 0)); h ^ h >> 32
}
fn murmur3(id: &[u8], mut h: u32) -> i64 {
    for part in id.chunks(4) {
        h ^= (le(part) as u32).wrapping_mul(0xcc9e2d51).rotate_left(15).wrapping_mul(0x1b873593); if part.len() == 4 { h = h.rotate_left(13).wrapping_mul(5).wrapping_add(0xe6546b64) }
    }
    h = [(16, 0x85ebca6b), (13, 0xc2b2ae35), (16, 1)].iter().fold(h ^ id.len() as u32, |h, (r, p)| (h ^ h >> r).wrapping_mul(*p)); h as i32 as i64
}
#[derive(Clone, Debug, PartialEq)] pub enum Value { Nothing, Int(i64), Text(String), Bytes(Vec<u8>), List(Vec<Value>) } use self::Value::*;
fn take<'a>(d: &mut &'a [u8], n: usize) -> Option<&'a [u8]> { let x = d.get(..n)?; *d = &d[n..]; Some(x) }
fn number(d: &mut &[u8], log2: u8) -> Option<usize> { Some(take(d, 1 << log2)?.iter().fold(0, |x, y| x << 8 | *y as usize)) }
fn text(x: &[u8]) -> Value { Text(String::from_utf8_lossy(x).into_owned()) }
fn value(d: &mut &[u8]) -> Option<Value> { // the next one of msgpack
    let t = take(d, 1)?[0]; Some(match t {
        0..=0x7f | 0xe0.. => Int(t as i8 as i64),
        0x90..=0x9f => List((0..t & 15).map(|_| value(d)).collect::<Option<_>>()?),
        0xc4..=0xc6 => { let n = number(d, t - 0xc4)?; Bytes(take(d, n)?.to_vec()) }
        0xcc..=0xcf => Int(number(d, t - 0xcc)? as i64),
        0xd0..=0xd3 => { let s = 64 - (8 << (t - 0xd0)); Int((number(d, t - 0xd0)? << s) as i64 >> s) }
        0xa0..=0xbf => text(take(d, t as usize & 31)?),
        0xd9..=0xdb => { let n = number(d, t - 0xd9)?; text(take(d, n)?) }
        _ => return None,
    })
}
pub struct Filter { pub id_type: String, pub n: i64, pub m: i64, pub k: i64, unit: i64, bits: Vec<u8> }
impl Filter { pub fn contains(&self, id: &[u8]) -> bool { // ids with a type (id_type) are the bytes of the value
    let (h, Filter { m, unit, .. }) = (xxh64(id), self);
    let first = ((h >> 32) * (m / unit) as u64 >> 32) as i64 * unit;
    (0..self.k as u32).all(|i| {
        let x = (h as u32).wrapping_mul(if *unit == 256 { SALTS[i as usize] } else { 0x9e3779b9u32.wrapping_pow(i) });
        let at = match unit { 1 => murmur3(id, i).rem_euclid(*m), 512 => first + (x >> 23) as i64, _ => first + (32 * i + (x >> 27)) as i64 };
        self.bits[(at / 8) as usize] >> (at % 8) & 1 == 1
    })
} }
pub fn read(mut d: &[u8]) -> Option<Vec<(Value, Filter)>> { // the bytes of a file; None: not supported, or damaged
    let mut found = Vec::new();
    while !d.is_empty() {
        let List(mut f) = value(&mut d)? else { return None };
        let key = if f.len() == 2 { f.swap_remove(0) } else { Nothing }; if let [List(inner)] = &f[..] { f = inner.clone() }
        if f.len() == 8 { f.insert(3, Text("classic".into())) } if f.len() == 9 { f.splice(7..7, [Bytes(vec![]), Text("text".into())]); }
        let [Text(magic), Int(1 | 2 | 4), Text(scheme), Text(layout), Int(n), Int(m), Int(k), Bytes(seeds), Text(id_type), Int(_), Bytes(bits)] = &f[..] else { return None };
        let unit = match (&layout[..], &scheme[..]) { ("classic", "spark") => 1, ("block512", "xxh64") => 512, ("split-block", "xxh64") => 256, _ => return None };
        if !( magic == "glint.bloom" && seeds.is_empty() && *m > 0 && m % unit == 0 && bits.len() as i64 == (m + 7) / 8 && *k > 0 && *k < 256 && (unit != 256 || *k == 8)) { return None }
        found.push((key, Filter { id_type: id_type.clone(), n: *n, m: *m, k: *k, unit, bits: bits.clone() }));
    } Some(found)
}
