#!/usr/bin/env bash
# Version: Maven org.apache.kafka:connect-transforms 4.1.0, Java 17. Source: run on 2026-11-30; https://kafka.apache.org/documentation/#connect_transforms (Cast: "cast fields to a specific type",
# an error for texts that are out of range).
# Guess: a number that the other type cannot hold is an error, as the text of the same number is.
# Behaviour: "300" as int8 is an error, 300 is 44. 3000000000 as int32 is -1294967296, a Decimal of 300.75 as int8 is 44 and a Timestamp as int32 any number; doubles end at the greatest
# long, so that 1e20 is 9223372036854775807, and NaN is 0. 0.5 and the Decimal 0.75 as boolean are false, 1.5 is true. A text "1" or "yes" as boolean is false without an error, while
# "1d" as float64 is 1.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
for name in connect-api connect-transforms kafka-clients; do
    curl -fsS -O "https://repo1.maven.org/maven2/org/apache/kafka/$name/4.1.0/$name-4.1.0.jar"
done
curl -fsS -O https://repo1.maven.org/maven2/org/slf4j/slf4j-api/2.0.17/slf4j-api-2.0.17.jar
cat >Finding.java <<'JAVA'
import java.math.BigDecimal;
import java.util.*;
import org.apache.kafka.connect.data.Decimal;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Timestamp;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Cast;

public class Finding {
    static String cast(Schema schema, Object value, String type) {
        Cast.Value<SourceRecord> cast = new Cast.Value<>();
        cast.configure(Map.of("spec", type));
        try {
            return String.valueOf(cast.apply(new SourceRecord(null, null, "topic", schema, value)).value());
        } catch (DataException error) {
            return "error";
        }
    }

    public static void main(String[] arguments) {
        Schema decimal = Decimal.schema(2);
        Object[][] cases = {
            {null, "300", "int8", "error"}, {null, 300, "int8", "44"}, {null, "3000000000", "int32", "error"}, {null, 3000000000L, "int32", "-1294967296"},
            {decimal, new BigDecimal("300.75"), "int8", "44"}, {Timestamp.SCHEMA, new Date(1425599621678L), "int32", "-329520594"},
            {null, 1e20, "int64", "9223372036854775807"}, {null, Double.NaN, "int32", "0"}, {null, 0.5, "boolean", "false"}, {null, 1.5, "boolean", "true"},
            {decimal, new BigDecimal("0.75"), "boolean", "false"}, {null, "1", "boolean", "false"}, {null, "yes", "boolean", "false"}, {null, "1d", "float64", "1.0"}};
        boolean same = true;
        for (Object[] row : cases) {
            String got = cast((Schema) row[0], row[1], (String) row[2]);
            System.out.println(row[1].getClass().getSimpleName() + " " + row[1] + " as " + row[2] + ": " + got);
            same &= got.equals(row[3]);
        }
        if (!same)
            throw new AssertionError("changed");
    }
}
JAVA
java -cp '*' Finding.java 2>&1 | grep -v SLF4J
