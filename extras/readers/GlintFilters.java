import java.nio.*; import java.nio.charset.StandardCharsets; import java.util.*; import static java.lang.Long.rotateLeft;
public final class GlintFilters { // without glint: schemes spark and xxh64, keys String, Long, null; no checksum is verified
    static final long P1 = 0x9e3779b185ebca87L, P2 = 0xc2b2ae3d27d4eb4fL, P3 = 0x165667b19e3779f9L, P4 = 0x85ebca77c2b2ae63L;
    static final long P5 = 0x27d4eb2f165667c5L; static long round(long h, long x) { return rotateLeft(h + x * P2, 31) * P1; }
    static final int[] SALTS = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};
    static final Map<String, Integer> UNITS = Map.of("classic spark", 1, "block512 xxh64", 512, "split-block xxh64", 256);
    static long xxh64(byte[] id) {
        ByteBuffer d = ByteBuffer.wrap(id).order(ByteOrder.LITTLE_ENDIAN); long h = P5, v[] = {P1 + P2, P2, 0, -P1};
        while (d.remaining() >= 32) for (int i = 0; i < 4; i++) v[i] = round(v[i], d.getLong());
        if (id.length >= 32) h = rotateLeft(v[0], 1) + rotateLeft(v[1], 7) + rotateLeft(v[2], 12) + rotateLeft(v[3], 18);
        for (long x : v) if (id.length >= 32) h = (h ^ round(0, x)) * P1 + P4;
        for (h += id.length; d.remaining() >= 8;) h = rotateLeft(h ^ round(0, d.getLong()), 27) * P1 + P4;
        while (d.remaining() >= 4) h = rotateLeft(h ^ (d.getInt() & 0xffffffffL) * P1, 23) * P2 + P3;
        while (d.hasRemaining()) h = rotateLeft(h ^ (d.get() & 255) * P5, 11) * P1;
        h = (h ^ h >>> 33) * P2; h = (h ^ h >>> 29) * P3; return h ^ h >>> 32;
    }
    static int murmur3(byte[] d, int h) {
        for (int at = 0; at < d.length; at += 4) {
            int k = Integer.reverseBytes(ByteBuffer.wrap(Arrays.copyOfRange(d, at, at + 4)).getInt()) * 0xcc9e2d51;
            h ^= Integer.rotateLeft(k, 15) * 0x1b873593; if (d.length - at >= 4) h = Integer.rotateLeft(h, 13) * 5 + 0xe6546b64;
        }
        h ^= d.length; h = (h ^ h >>> 16) * 0x85ebca6b; h = (h ^ h >>> 13) * 0xc2b2ae35; return h ^ h >>> 16;
    }
    static byte[] bytes(ByteBuffer d, long n) { byte[] out = new byte[(int) Math.min(n, d.remaining() + 1L)]; d.get(out); return out; }
    static Object value(ByteBuffer d) { // the next one of msgpack
        int t = d.get() & 255, size = 8 << (t < 0xd4 ? t & 3 : t - 0xd9); // bits of the number after it
        if (t < 0x80 || t >= 0xe0) return (long) (byte) t;
        if (t >> 4 == 9) { Object[] list = new Object[t & 15]; Arrays.setAll(list, i -> value(d)); return list; }
        if (t >> 5 == 5) return new String(bytes(d, t & 31), StandardCharsets.UTF_8);
        if (t < 0xc4 || (t > 0xc6 && t < 0xcc) || (t > 0xd3 && t < 0xd9)) throw new IllegalArgumentException("not supported");
        long n = 0; for (int i = 0; i < size; i += 8) n = n << 8 | d.get() & 255;
        if (t >= 0xcc && t < 0xd4) return t < 0xd0 ? n : n << (64 - size) >> (64 - size);
        return t < 0xc7 ? bytes(d, n) : new String(bytes(d, n), StandardCharsets.UTF_8);
    }
    public record Filter(String scheme, String layout, String idType, long n, long m, long k, long unit, byte[] bits) {
        public boolean contains(byte[] id) { // ids with a type are the bytes of the value
            long h = xxh64(id), first = ((h >>> 32) * (m / unit) >>> 32) * unit;
            for (int i = 0, x = (int) h; i < k; i++, x *= 0x9e3779b9) {
                long at = unit == 512 ? first + (x >>> 23) : unit == 1 ? Math.floorMod((long) murmur3(id, i), m)
                    : first + 32 * i + ((int) h * SALTS[i] >>> 27);
                if ((bits[(int) (at / 8)] >> at % 8 & 1) == 0) return false;
            }
            return true;
        } }
    static Filter filter(List<Object> f) {
        if (f.size() == 8) f.add(3, "classic"); if (f.size() == 9) f.addAll(7, List.of(new byte[0], "text"));
        long m = (long) f.get(5), k = (long) f.get(6), unit = UNITS.getOrDefault(f.get(3) + " " + f.get(2), 0);
        byte[] bits = (byte[]) f.get(10);
        if (!"glint.bloom".equals(f.get(0)) || !List.of(1L, 2L, 4L).contains(f.get(1)) || ((byte[]) f.get(7)).length > 0 || unit == 0 || m < 1
            || m % unit != 0 || bits.length != (m + 7) / 8 || k < 1 || k > 255 || (unit == 256 && k != 8)) throw new IllegalArgumentException("not supported, or damaged");
        return new Filter((String) f.get(2), (String) f.get(3), (String) f.get(8), (long) f.get(4), m, k, unit, bits);
    }
    public static Map<Object, Filter> read(byte[] file) {
        Map<Object, Filter> found = new HashMap<>();
        for (ByteBuffer d = ByteBuffer.wrap(file); d.hasRemaining();) {
            Object[] f = (Object[]) value(d);
            found.put(f.length == 2 ? f[0] : null, filter(new ArrayList<>(Arrays.asList(f.length == 2 ? (Object[]) f[1] : f))));
        }
        return found;
    } }
