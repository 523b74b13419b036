#!/usr/bin/env bash
# Version: Maven com.google.code.gson:gson 2.13.1, Java 17. Source: run on 2026-11-30;
# https://github.com/google/gson/blob/main/gson/src/main/java/com/google/gson/internal/bind/TypeAdapters.java (lossy conversions to byte and short throw).
# Guess: an integer that the field cannot hold is an error for every width, as it is for int; two numbers are equal if their values are.
# Behaviour: 2^31 in an int, 65536 in a short and 256 in a byte are errors, but 40000 in a short is -25536, 200 in a byte -56, and 2^63 in a long
# 2^63 - 1. getAsLong() of a parsed 1e20 is 7766279631452241920, of 2^63 -2^63, and getAsInt() of 4294967301 is 5. As elements of a tree 9007199254740993
# equals 9007199254740992, since they are compared as doubles, so that a set of ids has one of the two.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
curl -fsS -O https://repo1.maven.org/maven2/com/google/code/gson/gson/2.13.1/gson-2.13.1.jar
cat >Finding.java <<'JAVA'
import com.google.gson.*;
import java.util.List;

public class Finding {
    static Object read(String text, Class<?> type) {
        try {
            return new Gson().fromJson(text, type);
        } catch (JsonSyntaxException error) {
            return "error";
        }
    }

    static JsonElement tree(String text) { return JsonParser.parseString(text); }

    public static void main(String[] arguments) {
        List<Object> refused = List.of(read("2147483648", int.class), read("65536", short.class), read("256", byte.class));
        List<Object> fields = List.of(read("40000", short.class), read("200", byte.class), read("9223372036854775808", long.class));
        List<Object> trees = List.of(tree("1e20").getAsLong(), tree("9223372036854775808").getAsLong(), tree("4294967301").getAsInt());
        JsonElement id = tree("9007199254740993");
        List<Object> equal = List.of(id.equals(tree("9007199254740992")),
            java.util.Set.copyOf(List.of(id, tree("9007199254740992"))).size() == 1);
        System.out.println(refused + " fields " + fields + " trees " + trees + " equal " + equal);
        if (!(refused + "" + fields + trees + equal).equals("[error, error, error][-25536, -56, 9223372036854775807]"
                + "[7766279631452241920, -9223372036854775808, 5][true, true]"))
            throw new AssertionError("changed");
    }
}
JAVA
java -cp gson-2.13.1.jar Finding.java
