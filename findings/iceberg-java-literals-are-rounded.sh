#!/usr/bin/env bash
# Version: Maven org.apache.iceberg:iceberg-api 1.10.0, Java 17. Source: run on 2026-11-30;
# https://github.com/apache/iceberg/blob/main/api/src/main/java/org/apache/iceberg/expressions/Literals.java.
# Guess: a double that the column's decimal cannot hold is refused, as 2.0 for a long is, or compared exactly; a time's digits beyond microseconds are cut
# down, so that its day stays.
# Behaviour: 2.675 for decimal(9, 2) is 2.68: n = 2.675 finds 2.68, n > 2.675 does not find it. As a BigDecimal or a text it stays 2.675. A text time is cut
# towards 1970: of 1969-12-31T23:59:59.9999999 the day is 0, 1970-01-01; by way of timestamp_ns it is the last microsecond of 1969. The long 2^53 + 1 for
# a double, and the int 2^24 + 1 for a float, are rounded, too.
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
import java.math.BigDecimal;
import java.util.*;
import org.apache.iceberg.expressions.*;
import org.apache.iceberg.types.Types.*;

public class Finding {
    static Object bound(Literal<?> literal, org.apache.iceberg.types.Type type) {
        Literal<?> to = literal.to(type);
        return to == null ? "refused" : to.value();
    }

    public static void main(String[] arguments) {
        DecimalType price = DecimalType.of(9, 2);
        Literal<?> late = Literal.of("1969-12-31T23:59:59.9999999");
        Literal<?> micro = late.to(TimestampType.withoutZone());
        Literal<?> nano = late.to(TimestampNanoType.withoutZone());
        List<Object> numbers = List.of(bound(Literal.of(2.675), price), bound(Literal.of("2.675"), price),
            bound(Literal.of(new BigDecimal("2.675")), price), bound(Literal.of(2.0), LongType.get()),
            bound(Literal.of(9007199254740993L), DoubleType.get()), bound(Literal.of(16777217), FloatType.get()));
        List<Object> times = List.of(micro.value(), bound(micro, DateType.get()), bound(nano, TimestampType.withoutZone()), bound(nano, DateType.get()));
        System.out.println(numbers + " " + times);
        if (!numbers.toString().equals("[2.68, 2.675, 2.675, refused, 9.007199254740992E15, 1.6777216E7]") || !times.toString().equals("[0, 0, -1, -1]"))
            throw new AssertionError("changed");
    }
}
JAVA
java -cp '*' Finding.java
