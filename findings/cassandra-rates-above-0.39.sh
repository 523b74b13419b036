#!/usr/bin/env bash
# Version: Maven cassandra-all 5.0.9. Source: run on 2026-12-01.
# Guess: a filter for a higher rate has fewer bits, and about the rate that was asked for: 0.4 takes 2 bits for each key and admits
# 40 % of the others.
# Behaviour: from 0.393 on a filter has 1 bit and 2 hashes for each key, in place of 2 bits and 1 hash, and admits 75 % of the others,
# whether 0.4 or 0.7 was asked for (bloom_filter_fp_chance of a table): more than twice of what 0.39, with 1 hash, admits.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
maven=https://repo1.maven.org/maven2
for jar in org/apache/cassandra/cassandra-all/5.0.9/cassandra-all-5.0.9 com/google/guava/guava/33.4.8-jre/guava-33.4.8-jre \
    com/boundary/high-scale-lib/1.0.6/high-scale-lib-1.0.6 net/java/dev/jna/jna/5.13.0/jna-5.13.0 \
    io/netty/netty-common/4.1.130.Final/netty-common-4.1.130.Final com/vdurmont/semver4j/3.1.0/semver4j-3.1.0 \
    org/slf4j/slf4j-api/1.7.36/slf4j-api-1.7.36; do
    curl -fsS -O "$maven/$jar.jar"
done
cat >Finding.java <<'END'
import java.nio.ByteBuffer;
import org.apache.cassandra.utils.*;

public class Finding {
    record Key(ByteBuffer bytes) implements IFilter.FilterKey {
        public void filterHash(long[] to) { MurmurHash.hash3_x64_128(bytes, 0, bytes.remaining(), 0, to); }

        static Key of(long number) { return new Key(ByteBuffer.allocate(8).putLong(0, number)); }
    }

    static double rate(double asked) {
        int keys = 100_000, hits = 0;
        BloomFilter filter = (BloomFilter) FilterFactory.getFilter(keys, asked);
        for (long i = 0; i < keys; i++) filter.add(Key.of(i));
        for (long i = keys; i < 2 * keys; i++) hits += filter.isPresent(Key.of(i)) ? 1 : 0;
        double rate = (double) hits / keys;
        System.out.printf("asked for %.2f: %.2f bits for each key, %d hashes, admits %.3f%n", asked,
                          (double) filter.bitset.capacity() / keys, filter.hashCount, rate);
        return rate;
    }

    public static void main(String[] arguments) {
        if (rate(0.3) > 0.31 || rate(0.39) > 0.4) throw new AssertionError();
        if (rate(0.4) < 0.74 || rate(0.7) < 0.74) throw new AssertionError();
    }
}
END
java -cp "$(echo ./*.jar | tr ' ' ':')" Finding.java
