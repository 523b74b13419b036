#!/usr/bin/env bash
# Version: Maven com.univocity:univocity-parsers 2.9.1, commons-csv 1.14.1, de.siegmar:fastcsv 4.1.0 (Java 17). Source: run on 2026-12-01; RFC 4180 (blanks are part of a field; there are no comments).
# Guess: with default settings the three parsers of CSV give the same rows for a file that is quoted correctly.
# Behaviour: univocity drops rows that begin with #, so that an id #7 is gone, makes "" and an empty field null, and cuts blanks off at both ends of fields without quotes, all without
# an error. commons-csv and fastcsv keep all of these. A CR alone ends a row in those two, and is part of a field in univocity.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
maven=https://repo1.maven.org/maven2
for path in com/univocity/univocity-parsers/2.9.1/univocity-parsers-2.9.1 org/apache/commons/commons-csv/1.14.1/commons-csv-1.14.1 commons-io/commons-io/2.20.0/commons-io-2.20.0 \
    commons-codec/commons-codec/1.19.0/commons-codec-1.19.0 de/siegmar/fastcsv/4.1.0/fastcsv-4.1.0; do
    curl -fsS -O "$maven/$path.jar"
done
cat >Finding.java <<'JAVA'
import com.univocity.parsers.csv.*;
import de.siegmar.fastcsv.reader.*;
import java.io.*;
import java.util.*;
import org.apache.commons.csv.*;

public class Finding {
    interface Parser { void parse(String text, List<String> rows) throws Exception; }

    static String run(Parser parser, String text) {
        List<String> rows = new ArrayList<>();
        try {
            parser.parse(text, rows);
        } catch (Exception error) {
            return "error";
        }
        return rows.toString().replace("\n", "\\n").replace("\r", "\\r");
    }

    public static void main(String[] arguments) {
        Parser univocity = (text, rows) -> { for (String[] row : new CsvParser(new CsvParserSettings()).parseAll(new StringReader(text))) rows.add(Arrays.toString(row)); };
        Parser commons = (text, rows) -> { for (CSVRecord row : CSVFormat.DEFAULT.parse(new StringReader(text))) rows.add(Arrays.toString(row.values())); };
        Parser fast = (text, rows) -> { for (CsvRecord row : CsvReader.builder().ofCsvRecord(text)) rows.add(row.getFields().toString()); };
        String[][] cases = {
            {"a,b\n#7,2\n3,4\n", "[[a, b], [3, 4]]", "[[a, b], [#7, 2], [3, 4]]"}, {"a,b\n\"\",\n", "[[a, b], [null, null]]", "[[a, b], [, ]]"},
            {"a,b\n x , y\n", "[[a, b], [x, y]]", "[[a, b], [ x ,  y]]"}, {"a,b\n1,2\n3,4\r5,6\n", "[[a, b], [1, 2], [3, 4\\r5, 6]]", "[[a, b], [1, 2], [3, 4], [5, 6]]"},
        };
        for (String[] row : cases) {
            String first = run(univocity, row[0]), second = run(commons, row[0]), third = run(fast, row[0]);
            System.out.println(row[0].replace("\n", "\\n").replace("\r", "\\r") + " univocity " + first + " commons-csv " + second + " fastcsv " + third);
            assert first.equals(row[1]) && second.equals(row[2]) && third.equals(row[2]);
        }
    }
}
JAVA
java -ea -cp '*' Finding.java 2>messages || { cat messages; exit 1; }
