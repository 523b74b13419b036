#!/usr/bin/env bash
# Version: Maven tech.tablesaw:tablesaw-core 0.44.4, Java 17. Source: run on 2026-11-30; https://jtablesaw.github.io/tablesaw/userguide/importing_data (types of columns are guessed
# from the values; missing values such as N/A).
# Guess: a quoted "1,5" is a text, or one and a half; 5% is a text; 1f is a text, too, in a column of numbers.
# Behaviour: "1,5" is the integer 15 and "1,2,3" is 123, as commas are left out wherever they are, so that prices with a decimal comma are ten times and more what
# they were. 5% is 0.05, 1f and 2d are 1.0 and 2.0, and a "*" is missing. 9007199254740993 beside 1.5 is ...992. Nothing tells; the column is one of numbers.
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
import java.util.*;
import tech.tablesaw.api.*;
import tech.tablesaw.columns.Column;
import tech.tablesaw.io.csv.CsvReadOptions;

public class Finding {
    static String read(String... rows) {
        Column<?> column = Table.read().usingOptions(CsvReadOptions.builderFromString("x,y\n" + String.join(",0\n", rows) + ",0\n")).column("x");
        String got = column.type() + " " + column.asList();
        System.out.println(Arrays.toString(rows) + " " + got);
        return got;
    }

    public static void main(String[] arguments) {
        boolean same = read("\"1,5\"", "\"1,2,3\"").equals("INTEGER [15, 123]") & read("1f", "2d").equals("DOUBLE [1.0, 2.0]");
        same &= read("5%", "6%").equals("DOUBLE [0.05, 0.06]");
        same &= read("9007199254740993", "1.5").equals("DOUBLE [9.007199254740992E15, 1.5]") & read("9007199254740993", "1").equals("LONG [9007199254740993, 1]");
        same &= read("1", "*", "NaN").equals("INTEGER [1, null, null]");
        if (!same)
            throw new AssertionError("changed");
    }
}
JAVA
java -cp '*' Finding.java
