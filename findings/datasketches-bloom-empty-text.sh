#!/usr/bin/env bash
# Version: Maven datasketches-java 6.2.0 with datasketches-memory 3.0.2. Source: run on 2026-11-29.
# Guess: an id that was added is found, also the empty one.
# Behaviour: update("") is ignored without an error, as update(null) is: the filter stays empty, query("") is false, and
# queryAndUpdate("") says false each time. An empty byte array is added and found.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
maven=https://repo1.maven.org/maven2/org/apache/datasketches
for jar in datasketches-java/6.2.0/datasketches-java-6.2.0 datasketches-memory/3.0.2/datasketches-memory-3.0.2; do
    curl -fsS -O "$maven/$jar.jar"
done
cat >Finding.java <<'END'
import org.apache.datasketches.filters.bloomfilter.*;

public class Finding {
    public static void main(String[] arguments) {
        BloomFilter filter = BloomFilterBuilder.createByAccuracy(1000, 0.01, 1);
        filter.update("");
        boolean there = filter.query(""), before = filter.queryAndUpdate(""), again = filter.queryAndUpdate("");
        System.out.println("after update(\"\"): isEmpty " + filter.isEmpty() + ", query(\"\") " + there +
                           ", queryAndUpdate(\"\") twice " + before + ", " + again);
        BloomFilter bytes = BloomFilterBuilder.createByAccuracy(1000, 0.01, 1);
        bytes.update(new byte[0]);
        System.out.println("after update(new byte[0]): isEmpty " + bytes.isEmpty() + ", query(new byte[0]) " +
                           bytes.query(new byte[0]));
        boolean found = !bytes.isEmpty() && bytes.query(new byte[0]);
        if (!filter.isEmpty() || there || before || again || !found) throw new AssertionError();
    }
}
END
java -cp "datasketches-java-6.2.0.jar:datasketches-memory-3.0.2.jar" Finding.java
