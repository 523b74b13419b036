#!/usr/bin/env bash
# Version: Maven org.apache.iceberg:iceberg-api 1.10.0, Java 17. Source: run on 2026-11-30; https://iceberg.apache.org/spec/#truncate-transform-details
# (truncate is v - v mod W with a remainder that is not negative) and https://iceberg.apache.org/spec/#partition-transforms (hour: hours from 1970, an int).
# Guess: the transform keeps the order of values, so i > -2^31, which all other integers fulfil, asks for nearly all partitions.
# Behaviour: the least eight ints have no multiple of 10 below them, and wrap: truncate[10] of -2^31 is 2147483646. i > -2147483648 asks for partitions from
# 2147483646 on, where only those eight are, so that a table loses its rows; i <= -2147483641 asks for all. It is so for longs, too. The hour of the
# last timestamp wraps to a negative one, a year before 1970; its day does not.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
base=https://repo1.maven.org/maven2/org
for name in apache/iceberg/iceberg-api/1.10.0 apache/iceberg/iceberg-common/1.10.0 apache/iceberg/iceberg-bundled-guava/1.10.0 slf4j/slf4j-api/2.0.17; do
    version=${name##*/} path=${name%/*}
    curl -fsS -O "$base/$name/${path##*/}-$version.jar"
done
cat >Finding.java <<'JAVA'
import org.apache.iceberg.*;
import org.apache.iceberg.expressions.*;
import org.apache.iceberg.transforms.*;
import org.apache.iceberg.types.Types.*;

public class Finding {
    public static void main(String[] arguments) {
        Schema schema = new Schema(NestedField.optional(1, "i", IntegerType.get()));
        PartitionSpec tens = PartitionSpec.builderFor(schema).truncate("i", 10).build();
        Object least = Transforms.<Integer>truncate(10).bind(IntegerType.get()).apply(Integer.MIN_VALUE);
        Object wide = Transforms.<Long>truncate(10).bind(LongType.get()).apply(Long.MIN_VALUE);
        Object hour = Transforms.<Long>hour().bind(TimestampType.withoutZone()).apply(Long.MAX_VALUE);
        Object day = Transforms.<Long>day().bind(TimestampType.withoutZone()).apply(Long.MAX_VALUE);
        String more = "" + Projections.inclusive(tens).project(Expressions.greaterThan("i", Integer.MIN_VALUE));
        String less = "" + Projections.inclusive(tens).project(Expressions.lessThanOrEqual("i", Integer.MIN_VALUE + 7));
        String next = "" + Projections.inclusive(tens).project(Expressions.greaterThan("i", Integer.MIN_VALUE + 8));
        System.out.println(least + " " + wide + " hour " + hour + " day " + day + "\n" + more + "\n" + less + "\n" + next);
        if (!least.equals(2147483646) || !wide.equals(9223372036854775806L) || !hour.equals(-1732919508) || !day.equals(106751991)
                || !more.endsWith(">= 2147483646") || !less.endsWith("<= 2147483646") || !next.endsWith(">= -2147483640"))
            throw new AssertionError("changed");
    }
}
JAVA
java -cp '*' Finding.java
