#!/usr/bin/env bash
# Version: Maven org.roaringbitmap:RoaringBitmap 1.6.29, Java 17; PyPI pyroaring 1.2.0 (CRoaring; Python 3.11). Source: run on 2026-11-30;
# https://github.com/RoaringBitmap/RoaringFormatSpec (extension for 64-bit implementations: high halves in unsigned order).
# Guess: serialize() of Java's 64-bit bitmaps writes the format that C, Python and Go read, as it does with 32 bits; at least serializePortable() does.
# Behaviour: serialize() of Roaring64Bitmap and of Roaring64NavigableMap are two other formats, which CRoaring refuses. serializePortable() of a map
# is read, but not if the map was made with signed order and has a negative number: then the high halves are not in the order of the format.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
curl -fsS -O https://repo1.maven.org/maven2/org/roaringbitmap/RoaringBitmap/1.6.29/RoaringBitmap-1.6.29.jar
cat >Finding.java <<'END'
import java.io.*;
import org.roaringbitmap.RoaringBitmap;
import org.roaringbitmap.longlong.*;

public class Finding {
    static DataOutputStream file(String name) throws IOException { return new DataOutputStream(new FileOutputStream(name)); }

    public static void main(String[] arguments) throws IOException {
        RoaringBitmap narrow = RoaringBitmap.bitmapOf(1, 2, 1 << 20);
        Roaring64Bitmap tree = new Roaring64Bitmap();
        Roaring64NavigableMap map = new Roaring64NavigableMap(), signed = new Roaring64NavigableMap(true);
        for (long id : new long[] {1, 2, 1L << 40, -1}) {
            tree.addLong(id);
            map.addLong(id);
            signed.addLong(id);
        }
        narrow.serialize(file("narrow"));
        tree.serialize(file("tree"));
        map.serialize(file("map"));
        map.serializePortable(file("portable"));
        signed.serializePortable(file("signed"));
    }
}
END
java -cp RoaringBitmap-1.6.29.jar Finding.java
python3 -m venv env
env/bin/pip -q install pyroaring==1.2.0
env/bin/python - <<'END'
from pyroaring import BitMap, BitMap64

print("32 bits", list(BitMap.deserialize(open("narrow", "rb").read())))
readable = []
for name in ("tree", "map", "portable", "signed"):
    try:
        ids = list(BitMap64.deserialize(open(name, "rb").read()))
        assert ids == [1, 2, 1 << 40, 2 ** 64 - 1]
        readable.append(name)
    except ValueError as error:
        print(name, error)
print("read:", readable)
assert readable == ["portable"]
END
