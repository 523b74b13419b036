#!/usr/bin/env bash
# Version: Maven org.roaringbitmap:RoaringBitmap 1.6.29, Java 17. Source: run on 2026-11-30;
# https://docs.oracle.com/en/java/javase/17/docs/api/java.base/java/lang/Object.html (hashCode: equal objects have equal hash codes).
# Guess: two bitmaps with the same integers are equal and have the same hash code, however they were filled, so that they can be keys of a map.
# Behaviour: they are equal, and the hash codes differ: add(0, 5000) and runOptimize() make runs, whose hash code is another one than that of an array or
# of bits. A HashMap does not find the one by the other, and distinct() keeps both. Without runs all is right.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
curl -fsS -O https://repo1.maven.org/maven2/org/roaringbitmap/RoaringBitmap/1.6.29/RoaringBitmap-1.6.29.jar
cat >Finding.java <<'END'
import java.util.*;
import java.util.stream.*;
import org.roaringbitmap.RoaringBitmap;

public class Finding {
    public static void main(String[] arguments) {
        for (int size : new int[] {10, 5000}) {
            int[] ids = IntStream.range(0, size).toArray();
            RoaringBitmap one = RoaringBitmap.bitmapOf(ids), range = new RoaringBitmap(), reversed = new RoaringBitmap(), optimized = one.clone();
            range.add(0L, (long) size);
            for (int i = size - 1; i >= 0; i--) reversed.add(i);
            optimized.runOptimize();
            Map<RoaringBitmap, String> map = new HashMap<>(Map.of(one, "found"));
            System.out.println(size + " ids: equal " + one.equals(range) + " hash codes " + one.hashCode() + " " + range.hashCode() + " in the map: "
                               + map.get(range) + " distinct: " + Stream.of(one, range).distinct().count());
            assert one.equals(range) && one.equals(reversed) && one.equals(optimized) && range.equals(one);
            assert one.hashCode() == reversed.hashCode() && map.get(reversed) != null;
            assert one.hashCode() != range.hashCode() && range.hashCode() == optimized.hashCode();
            assert map.get(range) == null && Stream.of(one, range).distinct().count() == 2;
        }
    }
}
END
javac -cp RoaringBitmap-1.6.29.jar Finding.java
java -ea -cp .:RoaringBitmap-1.6.29.jar Finding
