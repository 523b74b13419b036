#!/usr/bin/env bash
# Version: Maven org.apache.calcite:calcite-core 1.41.0, Java 17. Source: run on 2026-11-30; https://calcite.apache.org/docs/reference.html (AVG, SUM, STDDEV of
# numeric; CAST).
# Guess: AVG of the integers 1 and 2 is 1.5 or 1.5 rounded in a decimal; a sum that its type cannot hold is an error, as a cast to it is.
# Behaviour: AVG is an INTEGER, 1, also as a window; STDDEV of 1, 2 and 4 is 1, VAR_POP 1, and AVG of 0.01 and 0.02 is 0.01: all have the type of the column. SUM
# of the INTEGERs 2147483647 and 1 is -2147483648, and of BIGINTs -2^63, without an error, as x + 1 wraps; of TINYINTs SUM and AVG of 100 and 100 are "Value 200 out
# of range", as is CAST(3000000000 AS INTEGER).
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
base=https://repo1.maven.org/maven2
for name in org/apache/calcite/calcite-core/1.41.0 \
    org/apache/calcite/calcite-linq4j/1.41.0 \
    org/apache/calcite/avatica/avatica-core/1.26.0 \
    org/apache/calcite/avatica/avatica-metrics/1.26.0 \
    com/google/guava/guava/33.4.8-jre \
    com/google/guava/failureaccess/1.0.3 \
    org/slf4j/slf4j-api/2.0.17 \
    org/apache/commons/commons-lang3/3.18.0 \
    org/codehaus/janino/janino/3.1.12 \
    org/codehaus/janino/commons-compiler/3.1.12 \
    org/immutables/value-annotations/2.8.8 \
    com/fasterxml/jackson/core/jackson-core/2.19.0 \
    com/fasterxml/jackson/core/jackson-databind/2.19.0 \
    com/fasterxml/jackson/core/jackson-annotations/2.19.0 \
    com/jayway/jsonpath/json-path/2.9.0 \
    org/locationtech/jts/jts-core/1.20.0 \
    org/locationtech/jts/io/jts-io-common/1.20.0 \
    org/locationtech/proj4j/proj4j/1.2.2 \
    com/google/uzaygezen/uzaygezen-core/0.2 \
    com/yahoo/datasketches/sketches-core/0.9.0 \
    net/hydromatic/aggdesigner-algorithm/6.0 \
    commons-io/commons-io/2.18.0 \
    org/apache/commons/commons-math3/3.6.1 \
    commons-codec/commons-codec/1.18.0 \
    org/apiguardian/apiguardian-api/1.1.2 \
    com/google/protobuf/protobuf-java/3.25.5 \
    joda-time/joda-time/2.13.0 \
    org/apache/commons/commons-text/1.13.0 \
    org/apache/httpcomponents/core5/httpcore5/5.3.1 \
    org/apache/httpcomponents/client5/httpclient5/5.4.1 \
    org/apache/httpcomponents/core5/httpcore5-h2/5.3.1 \
    org/jooq/joou-java-6/0.9.4; do
    version=${name##*/} path=${name%/*}
    curl -fsS -O "$base/$name/${path##*/}-$version.jar"
done
cat >Finding.java <<'JAVA'
import java.sql.*;
import java.util.*;

public class Finding {
    static String run(Statement statement, String what, String values) {
        try (ResultSet rows = statement.executeQuery("select " + what + " from (values " + values + ") as t(x)")) {
            rows.next();
            return rows.getObject(1) + " " + rows.getMetaData().getColumnTypeName(1);
        } catch (Throwable error) {
            while (error.getCause() != null)
                error = error.getCause();
            return error.getMessage();
        }
    }

    public static void main(String[] arguments) throws Exception {
        String[][] queries = {
            {"avg(x)", "(1), (2)", "1 INTEGER"}, {"avg(x) over ()", "(1), (2)", "1 INTEGER"}, {"stddev(x)", "(1), (2), (4)", "1 INTEGER"},
            {"var_pop(x)", "(1), (2), (4)", "1 INTEGER"}, {"avg(x)", "(0.01), (0.02)", "0.01 DECIMAL"}, {"avg(x)", "(1e0), (2e0)", "1.5 DOUBLE"},
            {"sum(x)", "(2147483647), (1)", "-2147483648 INTEGER"}, {"x + 1", "(2147483647)", "-2147483648 INTEGER"},
            {"sum(x)", "(9223372036854775807), (1)", "-9223372036854775808 BIGINT"},
            {"sum(cast(x as tinyint))", "(100), (100)", "Value 200 out of range"}, {"avg(cast(x as tinyint))", "(100), (100)", "Value 200 out of range"},
            {"cast(x as integer)", "(3000000000)", "Value 3000000000 out of range"}};
        boolean same = true;
        try (Connection calcite = DriverManager.getConnection("jdbc:calcite:"); Statement statement = calcite.createStatement()) {
            for (String[] query : queries) {
                String got = run(statement, query[0], query[1]);
                System.out.println(query[0] + " of " + query[1] + ": " + got);
                same &= got.equals(query[2]);
            }
        }
        if (!same)
            throw new AssertionError("changed");
    }
}
JAVA
java -cp '*' Finding.java
