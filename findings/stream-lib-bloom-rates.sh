#!/usr/bin/env bash
# Version: Maven com.clearspring.analytics:stream 2.9.8, fastutil 6.5.7, Java 17. Source: run on 2026-11-30.
# Guess: BloomFilter(10000, p) has about p false positives, for every p, or refuses one that it cannot keep.
# Behaviour: so from 0.1 to 0.001. For 0.0001, 0.00001 and 0.000001 it is the same filter, of 15 bits an id and 8 hashes, with
# 0.00086: 860 times the last. The class has a table of sizes that ends there, and nothing tells.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
maven=https://repo1.maven.org/maven2
for jar in com/clearspring/analytics/stream/2.9.8/stream-2.9.8 it/unimi/dsi/fastutil/6.5.7/fastutil-6.5.7; do
    curl -fsS -O "$maven/$jar.jar"
done
cat >Finding.java <<'END'
import com.clearspring.analytics.stream.membership.BloomFilter;

public class Finding {
    public static void main(String[] arguments) {
        int count = 10000, others = 1000000;
        for (double rate : new double[] {0.01, 0.001, 1e-4, 1e-5, 1e-6}) {
            BloomFilter filter = new BloomFilter(count, rate);
            for (int i = 0; i < count; i++) filter.add("x" + i);
            for (int i = 0; i < count; i++) assert filter.isPresent("x" + i);
            int found = 0;
            for (int i = 0; i < others; i++) if (filter.isPresent("y" + i)) found++;
            System.out.printf("%g: %d bits, %d hashes, %g%n", rate, filter.buckets(), filter.getHashCount(), (double) found / others);
            if (rate >= 0.001) assert found < 1.1 * rate * others;
            else assert filter.buckets() == 150080 && filter.getHashCount() == 8 && found > 800 && found < 920;
        }
    }
}
END
javac -cp stream-2.9.8.jar:fastutil-6.5.7.jar Finding.java
java -ea -cp .:stream-2.9.8.jar:fastutil-6.5.7.jar Finding
