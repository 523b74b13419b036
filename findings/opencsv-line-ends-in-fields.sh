#!/usr/bin/env bash
# Version: Maven opencsv 5.12.0 (with commons-lang3 3.18.0), commons-csv 1.14.1 (with commons-io 2.20.0, commons-codec 1.19.0), Java 17. Source: run on
# 2026-11-30; https://www.rfc-editor.org/rfc/rfc4180 (fields with line breaks are enclosed in quotes).
# Guess: a quoted field with CR LF in it is read as it is, at least by RFC4180Parser, and what CSVWriter wrote is read back.
# Behaviour: the CR is dropped, by both of opencsv's parsers, so that a field is one byte shorter and its hash another one, and a CR alone becomes LF.
# With CSVReaderBuilder.withKeepCarriageReturn(true) the fields are right, as they are in commons-csv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
maven=https://repo1.maven.org/maven2
for jar in com/opencsv/opencsv/5.12.0/opencsv-5.12.0 org/apache/commons/commons-lang3/3.18.0/commons-lang3-3.18.0 \
    org/apache/commons/commons-csv/1.14.1/commons-csv-1.14.1 commons-io/commons-io/2.20.0/commons-io-2.20.0 \
    commons-codec/commons-codec/1.19.0/commons-codec-1.19.0; do
    curl -fsS -O "$maven/$jar.jar"
done
cat >Finding.java <<'END'
import com.opencsv.*;
import java.io.*;
import java.util.*;
import org.apache.commons.csv.*;

public class Finding {
    static String show(String[] fields) { return Arrays.toString(fields).replace("\r", "\\r").replace("\n", "\\n"); }

    public static void main(String[] arguments) throws Exception {
        String text = "\"a\r\nb\",\"c\rd\",e\r\n";
        String plain = show(new CSVReader(new StringReader(text)).readNext());
        String strict = show(new CSVReaderBuilder(new StringReader(text)).withCSVParser(new RFC4180Parser()).build().readNext());
        String keep = show(new CSVReaderBuilder(new StringReader(text)).withCSVParser(new RFC4180Parser()).withKeepCarriageReturn(true).build().readNext());
        String commons = show(CSVFormat.RFC4180.parse(new StringReader(text)).iterator().next().values());
        System.out.println("opencsv " + plain + " RFC4180Parser " + strict + " keeping CR " + keep + " commons-csv " + commons);
        assert commons.equals("[a\\r\\nb, c\\rd, e]");
        assert plain.equals("[a\\nb, c\\nd, e]") && strict.equals(plain) && keep.equals("[a\\r\\nb, c\\rd, e]");
        StringWriter written = new StringWriter();
        try (CSVWriter writer = new CSVWriter(written)) {
            writer.writeNext(new String[] {"a\r\nb"});
        }
        assert new CSVReader(new StringReader(written.toString())).readNext()[0].equals("a\nb");
    }
}
END
javac -cp '*' Finding.java
java -ea -cp '.:*' Finding
