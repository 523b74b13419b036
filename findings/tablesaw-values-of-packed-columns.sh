#!/usr/bin/env bash
# Version: Maven tech.tablesaw:tablesaw-core 0.44.4, Java 17. Source: run on 2026-11-30; https://jtablesaw.github.io/tablesaw/userguide/tables (columns of LocalDate, LocalDateTime,
# Instant, LocalTime, long).
# Guess: a column of LocalDateTime, Instant or LocalTime has the values that were appended, and one of longs finds a long by its value.
# Behaviour: times keep milliseconds: .123456789 s is .123, without an error, so that two events of one millisecond are equal. A date keeps 16 bits of its year: 40000-01-01 is
# -25536-01-01. isEqualTo(2^53) of longs finds 2^53 + 1, too, and isGreaterThan(2^53) does not, as longs are compared as doubles; max() is 2^53. Missing keys
# meet in a join.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
base=https://repo1.maven.org/maven2
for name in tech/tablesaw/tablesaw-core/0.44.4 \
    it/unimi/dsi/fastutil/8.5.15 \
    org/roaringbitmap/RoaringBitmap/1.3.0 \
    com/univocity/univocity-parsers/2.9.1 \
    io/github/classgraph/classgraph/4.8.179 \
    org/apache/commons/commons-math3/3.6.1 \
    com/google/guava/guava/33.4.8-jre \
    com/google/guava/failureaccess/1.0.3 \
    com/ibm/icu/icu4j/77.1 \
    org/slf4j/slf4j-api/2.0.17; do
    version=${name##*/} path=${name%/*}
    curl -fsS -O "$base/$name/${path##*/}-$version.jar"
done
cat >Finding.java <<'JAVA'
import java.time.*;
import java.util.*;
import tech.tablesaw.api.*;

public class Finding {
    public static void main(String[] arguments) {
        DateTimeColumn times = DateTimeColumn.create("t");
        times.append(LocalDateTime.of(2020, 1, 1, 0, 0, 0, 123456789));
        InstantColumn instants = InstantColumn.create("i");
        instants.append(Instant.ofEpochSecond(1, 123456789));
        TimeColumn clocks = TimeColumn.create("c");
        clocks.append(LocalTime.of(1, 2, 3, 123456789));
        DateColumn dates = DateColumn.create("d");
        dates.append(LocalDate.of(40000, 1, 1));
        LongColumn longs = LongColumn.create("l", new long[] {(1L << 53) + 1, 1L << 53});
        Table left = Table.create("left", IntColumn.create("k", new Integer[] {1, null}), IntColumn.create("n", 1, 2));
        Table right = Table.create("right", IntColumn.create("k", new Integer[] {1, null}), IntColumn.create("m", 1, 2));
        String got = times.asList() + " " + instants.asList() + " " + clocks.asList() + " " + dates.asList() + " equal "
            + longs.isEqualTo(1L << 53).size() + " greater " + longs.isGreaterThan((double) (1L << 53)).size() + " joined " + left.joinOn("k").inner(right).rowCount();
        System.out.println(got);
        if (!got.equals("[2020-01-01T00:00:00.123] [1970-01-01T00:00:01.123Z] [01:02:03.123] [-25536-01-01] equal 2 greater 0 joined 2"))
            throw new AssertionError("changed");
    }
}
JAVA
java -cp '*' Finding.java
