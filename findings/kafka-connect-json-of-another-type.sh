#!/usr/bin/env bash
# Version: Maven org.apache.kafka:connect-json 4.1.0, Java 17. Source: run on 2026-11-30; https://kafka.apache.org/documentation/#connect_content (JsonConverter with
# schemas.enable: the message has its schema beside its payload).
# Guess: a payload that is not of the type of its schema is a DataException, as a null for a required field is; without a schema an integer that no long holds
# is a larger type or an error.
# Behaviour: numbers wrap, 300 as int8 is 44, 3000000000 as int32 -1294967296, 1e300 as int64 0, and 1.9 is 1. Of another type the value is replaced: "5" as int8 and "NaN" as
# double are 0, 1 and "true" as boolean are false, 1 as string is null. Without a schema 9223372036854775808 is -9223372036854775808 and 18446744073709551615 is -1.
# Nothing tells, and no dead letter queue sees the message.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
base=https://repo1.maven.org/maven2
for name in org/apache/kafka/connect-json/4.1.0 \
    org/apache/kafka/connect-api/4.1.0 \
    org/apache/kafka/kafka-clients/4.1.0 \
    com/fasterxml/jackson/core/jackson-core/2.19.0 \
    com/fasterxml/jackson/core/jackson-databind/2.19.0 \
    com/fasterxml/jackson/core/jackson-annotations/2.19.0 \
    com/fasterxml/jackson/datatype/jackson-datatype-jdk8/2.19.0 \
    com/fasterxml/jackson/module/jackson-module-blackbird/2.19.0 \
    org/slf4j/slf4j-api/2.0.17; do
    version=${name##*/} path=${name%/*}
    curl -fsS -O "$base/$name/${path##*/}-$version.jar"
done
cat >Finding.java <<'JAVA'
import java.util.*;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.json.JsonConverter;

public class Finding {
    static JsonConverter converter(String schemas) {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", schemas), false);
        return converter;
    }

    public static void main(String[] arguments) {
        JsonConverter typed = converter("true"), plain = converter("false");
        String[][] cases = {
            {"int8", "300", "44"}, {"int8", "1.9", "1"}, {"int8", "\"5\"", "0"}, {"int32", "3000000000", "-1294967296"}, {"int64", "1e300", "0"},
            {"int64", "9223372036854775808", "-9223372036854775808"}, {"float", "1e300", "Infinity"}, {"double", "\"NaN\"", "0.0"},
            {"boolean", "1", "false"}, {"boolean", "\"true\"", "false"}, {"string", "1", "null"}};
        boolean same = true;
        for (String[] row : cases) {
            String text = "{\"schema\": {\"type\": \"" + row[0] + "\"}, \"payload\": " + row[1] + "}";
            String got = String.valueOf(typed.toConnectData("topic", text.getBytes()).value());
            System.out.println(row[0] + " " + row[1] + " is " + got);
            same &= got.equals(row[2]);
        }
        for (String[] row : new String[][] {{"9223372036854775808", "-9223372036854775808"}, {"18446744073709551615", "-1"}}) {
            Object got = plain.toConnectData("topic", row[0].getBytes()).value();
            System.out.println(row[0] + " without a schema is " + got);
            same &= got.equals(Long.valueOf(row[1]));
        }
        try {
            typed.toConnectData("topic", "{\"schema\": {\"type\": \"int8\"}, \"payload\": null}".getBytes());
            same = false;
        } catch (DataException error) {
            System.out.println(error.getMessage());
        }
        if (!same)
            throw new AssertionError("changed");
    }
}
JAVA
java -cp '*' Finding.java
