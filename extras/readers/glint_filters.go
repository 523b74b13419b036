// Package glintfilters reads glint's filters without glint: schemes spark and xxh64, keys string, int64, nil; no checksum.
package glintfilters
import ("encoding/binary"; "fmt"; "math/bits")
const p1, p2, p3, p4, p5 uint64 = 0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9, 0x85ebca77c2b2ae63, 0x27d4eb2f165667c5
var salts = [8]uint32{0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31}
var units = map[string]int64{"classic spark": 1, "block512 xxh64": 512, "split-block xxh64": 256}
var le, rot, rot32 = binary.LittleEndian, bits.RotateLeft64, bits.RotateLeft32
func round(h, x uint64) uint64 { return rot(h+x*p2, 31) * p1 }
func xxh64(d []byte) uint64 {
	h, size, v := p5, uint64(len(d)), [4]uint64{0x60ea27eeadc0b5d6, p2, 0, 0x61c8864e7a143579} // p1 + p2, p2, 0, -p1
	for ; len(d) >= 32; d = d[32:] { for i := range v { v[i] = round(v[i], le.Uint64(d[8*i:])) } }
	if size >= 32 { h = rot(v[0], 1) + rot(v[1], 7) + rot(v[2], 12) + rot(v[3], 18); for _, x := range v { h = (h^round(0, x))*p1 + p4 } }
	for h += size; len(d) >= 8; d = d[8:] { h = rot(h^round(0, le.Uint64(d)), 27)*p1 + p4 }
	for ; len(d) >= 4; d = d[4:] { h = rot(h^uint64(le.Uint32(d))*p1, 23)*p2 + p3 }
	for _, x := range d { h = rot(h^uint64(x)*p5, 11) * p1 }
	h = (h ^ h>>33) * p2; h = (h ^ h>>29) * p3; return h ^ h>>32
}
func murmur3(d []byte, h uint32) int64 {
	for at := 0; at < len(d); at += 4 {
		word := [4]byte{}; copy(word[:], d[at:]); h ^= rot32(le.Uint32(word[:])*0xcc9e2d51, 15) * 0x1b873593
		if len(d)-at >= 4 { h = rot32(h, 13)*5 + 0xe6546b64 }
	}
	h ^= uint32(len(d)); h = (h ^ h>>16) * 0x85ebca6b; h = (h ^ h>>13) * 0xc2b2ae35; return int64(int32(h ^ h>>16))
}
type Filter struct { Scheme, Layout, IDType string; N, M, K, unit int64; bits []byte }
func (f *Filter) Contains(id []byte) bool { // ids with a type (IDType) are the bytes of the value
	h := xxh64(id)
	first, x := int64((h>>32)*uint64(f.M/f.unit)>>32)*f.unit, uint32(h)
	for i := int64(0); i < f.K; i, x = i+1, x*0x9e3779b9 {
		at := first + int64(x>>23)
		if f.unit == 256 { at = first + 32*i + int64(uint32(h)*salts[i]>>27) } else if f.unit == 1 { at = (murmur3(id, uint32(i))%f.M + f.M) % f.M }
		if f.bits[at/8]>>(at%8)&1 == 0 { return false }
	}
	return true
}
func take(d *[]byte, n uint64) []byte { x := (*d)[:n]; *d = (*d)[n:]; return x }
func number(d *[]byte, size int) (x uint64) { for _, b := range take(d, 1<<size) { x = x<<8 | uint64(b) }; return x }
func value(d *[]byte) any { // the next one of msgpack
	t := int(number(d, 0)); if t < 0x80 || t >= 0xe0 { return int64(int8(t)) }
	if t>>4 == 9 { list := make([]any, t&15); for i := range list { list[i] = value(d) }; return list }
	if t >= 0xc4 && t <= 0xc6 { return take(d, number(d, t-0xc4)) }
	if t >= 0xcc && t < 0xd0 { return int64(number(d, t-0xcc)) }
	if t >= 0xd0 && t < 0xd4 { s := 64 - 8<<(t-0xd0); return int64(number(d, t-0xd0)<<s) >> s }
	if t>>5 == 5 { return string(take(d, uint64(t&31))) }
	return string(take(d, number(d, t-0xd9))) // others panic: a shift by a negative number, or too few bytes
}
func Read(d []byte) (found map[any]*Filter, err error) { // the bytes of a file
	defer func() { if r := recover(); r != nil { err = fmt.Errorf("not supported, or damaged: %v", r) } }()
	for found = map[any]*Filter{}; len(d) > 0; {
		key, f := any(nil), value(&d).([]any)
		if len(f) == 2 { key, f = f[0], f[1].([]any) }
		if len(f) == 8 { f = append([]any{f[0], f[1], f[2], "classic"}, f[3:]...) }
		if len(f) == 9 { f = append(f[:7:7], []byte{}, "text", f[7], f[8]) }
		unit, m, k, bits := units[f[3].(string)+" "+f[2].(string)], f[5].(int64), f[6].(int64), f[10].([]byte)
		if f[0] != "glint.bloom" || !map[any]bool{int64(1): true, int64(2): true, int64(4): true}[f[1]] || len(f[7].([]byte)) > 0 || unit == 0 || m < 1 || m%unit != 0 ||
			int64(len(bits)) != (m+7)/8 || k < 1 || k > 255 || (unit == 256 && k != 8) { panic(fmt.Sprint(f[:7])) }
		found[key] = &Filter{f[2].(string), f[3].(string), f[8].(string), f[4].(int64), m, k, unit, bits}
	}
	return found, nil
}
