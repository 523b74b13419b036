#!/usr/bin/env bash
# Version: Maven org.lz4:lz4-java 1.8.0, at.yawk.lz4:lz4-java 1.10.1, Java 17. Source: run on 2026-11-30;
# https://javadoc.io/doc/org.lz4/lz4-java/latest/net/jpountz/xxhash/StreamingXXHash32.html (asChecksum: "Returns a Checksum view of this instance").
# Guess: getValue() of the view is the XXH32 of the bytes, as that of the instance, so that it can be compared with the hash of another library.
# Behaviour: the view drops the upper four bits: 98c26d64 is 08c26d64. Fifteen of sixteen hashes differ from those of other libraries, and from getValue() of the
# instance that it is a view of. The view of 64 bits is whole. So it is in both artifacts.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
base=https://repo1.maven.org/maven2
for name in org/lz4/lz4-java/1.8.0 \
    at/yawk/lz4/lz4-java/1.10.1; do
    version=${name##*/} path=${name%/*}
    curl -fsS -O "$base/$name/${path##*/}-$version.jar"
done
cat >Finding.java <<'JAVA'
import java.util.*;
import java.util.zip.Checksum;
import net.jpountz.xxhash.*;

public class Finding {
    public static void main(String[] arguments) {
        XXHashFactory factory = XXHashFactory.safeInstance();
        int same = 0, masked = 0, whole = 0, all = 1600;
        for (int i = 0; i < all; i++) {
            byte[] id = ("id-" + i).getBytes();
            StreamingXXHash32 hash = factory.newStreamingHash32(0);
            hash.update(id, 0, id.length);
            long of = hash.getValue() & 0xffffffffL, view = hash.asChecksum().getValue();
            same += of == view ? 1 : 0;
            masked += (of & 0xfffffffL) == view ? 1 : 0;
            Checksum wide = factory.newStreamingHash64(0).asChecksum();
            wide.update(id, 0, id.length);
            whole += wide.getValue() == factory.hash64().hash(id, 0, id.length, 0) ? 1 : 0;
            if (i == 0)
                System.out.printf("%08x is %08x%n", of, view);
        }
        System.out.println("of " + all + " equal " + same + ", equal without the upper four bits " + masked + ", 64 bits equal " + whole);
        if (masked != all || same > all / 8 || whole != all)
            throw new AssertionError("changed");
    }
}
JAVA
for jar in *.jar; do
    java -cp "$jar" Finding.java
done
