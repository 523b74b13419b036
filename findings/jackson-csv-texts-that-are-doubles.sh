#!/usr/bin/env bash
# Version: Maven com.fasterxml.jackson.dataformat:jackson-dataformat-csv, core and databind 2.19.2, Java 17. Source: run on 2026-11-30;
# https://github.com/FasterXML/jackson-dataformats-text/tree/2.19/csv and https://docs.oracle.com/javase/17/docs/api/java.base/java/lang/Double.html (valueOf
# takes a type suffix and hexadecimal floats).
# Guess: a text that is no decimal number is refused for a double as for an int; a number that the type cannot hold is refused, too.
# Behaviour: for a double 1d, 2f, 0x1p3 and INF are 1.0, 2.0, 8.0 and infinity, so that some hexadecimal ids are numbers, and 1a is an
# error; for an int all are errors. 1e400 is infinity. 200 as a byte is -56, where 40000 as a short and 300 as a byte are errors. As nodes of a tree the
# texts "4294967301" and "9223372036854775808" are 0 by asInt() and asLong(), and "5.9" is 5.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
base=https://repo1.maven.org/maven2/com/fasterxml/jackson
for name in core/jackson-core core/jackson-databind core/jackson-annotations dataformat/jackson-dataformat-csv; do
    curl -fsS -O "$base/$name/2.19.2/${name#*/}-2.19.2.jar"
done
cat >Finding.java <<'JAVA'
import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.dataformat.csv.*;
import java.util.*;

public class Finding {
    public static class Row {
        public double d;
        public int i;
        public short s;
        public byte b;
    }

    static String read(String column, String... texts) throws Exception {
        List<Object> answers = new ArrayList<>();
        for (String text : texts) {
            try {
                CsvSchema schema = CsvSchema.emptySchema().withHeader();
                MappingIterator<Row> rows = new CsvMapper().readerFor(Row.class).with(schema).readValues(column + "\n" + text + "\n");
                answers.add(Row.class.getField(column).get(rows.next()));
            } catch (RuntimeJsonMappingException error) {
                answers.add("error");
            }
        }
        return answers + "";
    }

    public static void main(String[] arguments) throws Exception {
        String doubles = read("d", "1d", "2f", "0x1p3", "INF", "1e400", "1a"), ints = read("i", "1d", "2f", "0x1p3", "INF");
        String narrow = read("b", "200", "300") + read("s", "40000");
        ObjectMapper json = new ObjectMapper();
        String nodes = json.readTree("\"4294967301\"").asInt() + " " + json.readTree("\"9223372036854775808\"").asLong() + " "
            + json.readTree("\"5.9\"").asInt();
        System.out.println(doubles + " " + ints + " " + narrow + " " + nodes);
        if (!doubles.equals("[1.0, 2.0, 8.0, Infinity, Infinity, error]") || !ints.equals("[error, error, error, error]")
                || !narrow.equals("[-56, error][error]") || !nodes.equals("0 0 5"))
            throw new AssertionError("changed");
    }
}
JAVA
java -cp '*' Finding.java
