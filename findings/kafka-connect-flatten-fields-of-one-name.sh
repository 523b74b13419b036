#!/usr/bin/env bash
# Version: Maven org.apache.kafka:connect-transforms 4.1.0, Java 17. Source: run on 2026-11-30; https://kafka.apache.org/documentation/#connect_transforms (Flatten: names of nested fields are joined
# by a delimiter, by default a point; ReplaceField: renames).
# Guess: two fields that get one name are an error, with a schema and without, or the result does not depend on the order of the fields.
# Behaviour: with a schema they are an error, without one a value is gone in silence, and the order of the fields decides which: {"a.b": 1, "a": {"b": 2}} is {"a.b": 2}, and turned
# around {"a.b": 1}. So does a rename of a to b beside a field b. An empty object has no trace, while a null stays a null; objects in a list are not flattened.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
for name in connect-api connect-transforms kafka-clients; do
    curl -fsS -O "https://repo1.maven.org/maven2/org/apache/kafka/$name/4.1.0/$name-4.1.0.jar"
done
curl -fsS -O https://repo1.maven.org/maven2/org/slf4j/slf4j-api/2.0.17/slf4j-api-2.0.17.jar
cat >Finding.java <<'JAVA'
import java.util.*;
import org.apache.kafka.connect.data.*;
import org.apache.kafka.connect.errors.SchemaBuilderException;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.*;

public class Finding {
    static boolean same = true;

    static void check(Transformation<SourceRecord> transformation, Map<String, String> options, Schema schema, Object value, String want) {
        transformation.configure(options);
        String got;
        try {
            got = String.valueOf(transformation.apply(new SourceRecord(null, null, "topic", schema, value)).value());
        } catch (SchemaBuilderException error) {
            got = "error";
        }
        System.out.println(value + " is " + got);
        same &= got.equals(want);
    }

    static Map<String, Object> map(Object... pairs) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2)
            map.put((String) pairs[i], pairs[i + 1]);
        return map;
    }

    public static void main(String[] arguments) {
        Schema inner = SchemaBuilder.struct().field("b", Schema.INT32_SCHEMA).build();
        Schema outer = SchemaBuilder.struct().field("a.b", Schema.INT32_SCHEMA).field("a", inner).build();
        Struct row = new Struct(outer).put("a.b", 1).put("a", new Struct(inner).put("b", 2));
        Schema flat = SchemaBuilder.struct().field("a", Schema.INT32_SCHEMA).field("b", Schema.INT32_SCHEMA).build();
        check(new Flatten.Value<>(), Map.of(), outer, row, "error");
        check(new Flatten.Value<>(), Map.of(), null, map("a.b", 1, "a", map("b", 2)), "{a.b=2}");
        check(new Flatten.Value<>(), Map.of(), null, map("a", map("b", 2), "a.b", 1), "{a.b=1}");
        check(new Flatten.Value<>(), Map.of(), null, map("list", List.of(map("b", 2)), "empty", map(), "null", null), "{list=[{b=2}], null=null}");
        check(new ReplaceField.Value<>(), Map.of("renames", "a:b"), flat, new Struct(flat).put("a", 1).put("b", 2), "error");
        check(new ReplaceField.Value<>(), Map.of("renames", "a:b"), null, map("a", 1, "b", 2), "{b=2}");
        check(new ReplaceField.Value<>(), Map.of("renames", "a:b"), null, map("b", 2, "a", 1), "{b=1}");
        if (!same)
            throw new AssertionError("changed");
    }
}
JAVA
java -cp '*' Finding.java 2>&1 | grep -v SLF4J
