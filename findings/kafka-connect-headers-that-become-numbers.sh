#!/usr/bin/env bash
# Version: Maven org.apache.kafka:connect-api 4.1.0, Java 17. Source: run on 2026-11-30; https://kafka.apache.org/documentation/#connectconfigs_header.converter (by
# default SimpleHeaderConverter: header values to strings, and back by inferring the schemas).
# Guess: a header that is a text comes out as that text, or as a number if the text is the whole of a number; a time of day is a text or a Time.
# Behaviour: "12:00:00" is the number 12 and "1:2" is 1, what follows is dropped; "007" is 7, "1.0" the integer 1, "1e5" 100000, "-0" 0, " 5 " 5. "0.1" is a float of 32 bits,
# 0.10000000149 as a double, and "16777217.0" the integer 16777217. So an id or a time goes out of a sink as another text. "2020-01-01" is a Date, "NaN" a text.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
base=https://repo1.maven.org/maven2
for name in org/apache/kafka/connect-api/4.1.0 \
    org/apache/kafka/kafka-clients/4.1.0 \
    org/slf4j/slf4j-api/2.0.17; do
    version=${name##*/} path=${name%/*}
    curl -fsS -O "$base/$name/${path##*/}-$version.jar"
done
cat >Finding.java <<'JAVA'
import java.util.*;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;

public class Finding {
    public static void main(String[] arguments) {
        SimpleHeaderConverter converter = new SimpleHeaderConverter();
        String[][] cases = {
            {"12:00:00", "12 INT8 12"}, {"1:2", "1 INT8 1"}, {"007", "7 INT8 7"}, {"1.0", "1 INT8 1"}, {"1e5", "100000 INT32 100000"}, {"-0", "0 INT8 0"},
            {" 5 ", "5 INT8 5"}, {"16777217.0", "16777217 INT32 16777217"}, {"0.1", "0.1 FLOAT32 0.1"}, {"NaN", "NaN STRING NaN"}, {"0x1f", "0x1f STRING 0x1f"}};
        boolean same = true;
        for (String[] row : cases) {
            SchemaAndValue header = converter.toConnectHeader("topic", "name", row[0].getBytes());
            String out = new String(converter.fromConnectHeader("topic", "name", header.schema(), header.value()));
            String got = header.value() + " " + header.schema().type() + " " + out;
            System.out.println("\"" + row[0] + "\" is " + got);
            same &= got.equals(row[1]);
        }
        if (!same)
            throw new AssertionError("changed");
    }
}
JAVA
java -cp '*' Finding.java
