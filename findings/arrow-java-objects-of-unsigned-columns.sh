#!/usr/bin/env bash
# Version: Maven org.apache.arrow:arrow-vector 19.0.0, Java 17. Source: run on 2026-11-30; https://arrow.apache.org/java/current/vector.html (getObject: the value at an index) and the
# types UInt1 to UInt8, Float2 and Interval of https://arrow.apache.org/docs/format/Columnar.html.
# Guess: getObject() has the number that toString() of the vector prints, or a larger type; an int that a narrow vector cannot hold is refused, as a decimal is.
# Behaviour: of UInt1 200 is -56, of UInt4 2^32 - 1 and of UInt8 2^64 - 1 are -1, of UInt2 65 is the Character A, and of Float2 0.1 is its bits, 11878; toString() prints
# 200, 4294967295 and so on. setSafe() of 300 is 44 in UInt1 and TinyInt, and 70000 is 4464 in SmallInt. The text of an interval of 1 s and 1 ms is
# "1.1", as of 100 ms: its milliseconds have no zeros. A BigDecimal of another scale is an error.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
base=https://repo1.maven.org/maven2
for name in org/apache/arrow/arrow-vector/19.0.0 \
    org/apache/arrow/arrow-memory-core/19.0.0 \
    org/apache/arrow/arrow-memory-unsafe/19.0.0 \
    org/apache/arrow/arrow-format/19.0.0 \
    com/google/flatbuffers/flatbuffers-java/25.2.10 \
    com/fasterxml/jackson/core/jackson-core/2.19.0 \
    com/fasterxml/jackson/core/jackson-databind/2.19.0 \
    com/fasterxml/jackson/core/jackson-annotations/2.19.0 \
    com/fasterxml/jackson/datatype/jackson-datatype-jsr310/2.19.0 \
    org/slf4j/slf4j-api/2.0.17 \
    commons-codec/commons-codec/1.18.0; do
    version=${name##*/} path=${name%/*}
    curl -fsS -O "$base/$name/${path##*/}-$version.jar"
done
cat >Finding.java <<'JAVA'
import java.math.BigDecimal;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.*;

public class Finding {
    static final RootAllocator ALLOCATOR = new RootAllocator();

    static String show(BaseFixedWidthVector vector) {
        vector.setValueCount(1);
        Object value = vector.getObject(0);
        String got = value + " " + value.getClass().getSimpleName() + " " + vector;
        System.out.println(vector.getMinorType() + " " + got);
        return got;
    }

    public static void main(String[] arguments) {
        UInt1Vector one = new UInt1Vector("x", ALLOCATOR);
        one.setSafe(0, 200);
        UInt2Vector two = new UInt2Vector("x", ALLOCATOR);
        two.setSafe(0, 65);
        UInt4Vector four = new UInt4Vector("x", ALLOCATOR);
        four.setSafe(0, -1);
        UInt8Vector eight = new UInt8Vector("x", ALLOCATOR);
        eight.setSafe(0, -1L);
        Float2Vector half = new Float2Vector("x", ALLOCATOR);
        half.setSafeWithPossibleTruncate(0, 0.1f);
        TinyIntVector tiny = new TinyIntVector("x", ALLOCATOR);
        tiny.setSafe(0, 300);
        SmallIntVector small = new SmallIntVector("x", ALLOCATOR);
        small.setSafe(0, 70000);
        IntervalDayVector interval = new IntervalDayVector("x", ALLOCATOR);
        interval.setSafe(0, 0, 1001);
        interval.setValueCount(1);
        boolean same = show(one).equals("-56 Byte [200]") & show(two).equals("A Character [65]") & show(four).equals("-1 Integer [4294967295]")
            & show(eight).equals("-1 Long [18446744073709551615]") & show(half).startsWith("11878 Short") & show(tiny).startsWith("44 Byte")
            & show(small).startsWith("4464 Short") & interval.getAsStringBuilder(0).toString().endsWith(" 0:0:1.1");
        DecimalVector decimal = new DecimalVector("x", ALLOCATOR, 9, 2);
        try {
            decimal.setSafe(0, new BigDecimal("1.5"));
            same = false;
        } catch (UnsupportedOperationException error) {
            System.out.println(error.getMessage());
        }
        if (!same)
            throw new AssertionError("changed");
    }
}
JAVA
java --add-opens=java.base/java.nio=ALL-UNNAMED -cp '*' Finding.java
