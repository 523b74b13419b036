#!/usr/bin/env bash
# Version: Maven org.hsqldb:hsqldb 2.7.4, org.apache.derby:derby 10.16.1.1, com.h2database:h2 2.4.240 (Java 17). Source: run on 2026-12-01; all three are SQL engines in a JVM that tests use for one another.
# Guess: 1 / 3.0 has some digits in all, and an average of DECIMAL(9, 2) a few more than the column; a decimal with too many digits is rounded on the way in, or refused; a deviation is computed by sums of differences.
# Behaviour: 1 / 3.0 is 0 in HSQLDB, 1.0 / 3 is 0.3, and the average of 1.00, 1.00 and 2.00 is 1.33, of integers 1 and 2 it is 1. In Derby STDDEV_POP of 1e9 + 1, + 2 and + 3 is 0, in the others 0.8. 2.675 becomes 2.67 in
# HSQLDB and Derby, cut, and 2.68 in H2. REAL in HSQLDB has 64 bits, so that 16777217 stays. `= 0` does not find -0.0 in HSQLDB.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
maven=https://repo1.maven.org/maven2
for path in org/hsqldb/hsqldb/2.7.4/hsqldb-2.7.4 com/h2database/h2/2.4.240/h2-2.4.240 org/apache/derby/derby/10.16.1.1/derby-10.16.1.1 org/apache/derby/derbyshared/10.16.1.1/derbyshared-10.16.1.1; do
    curl -fsS -O "$maven/$path.jar"
done
cat >Finding.java <<'JAVA'
import java.sql.*;
import java.util.*;

public class Finding {
    static String ask(Connection database, String query) throws SQLException {
        try (Statement statement = database.createStatement()) {
            if (!statement.execute(query)) return "";
            List<String> values = new ArrayList<>();
            for (ResultSet rows = statement.getResultSet(); rows.next(); )
                for (int column = 1; column <= rows.getMetaData().getColumnCount(); column++) values.add(rows.getString(column));
            return String.join(" ", values);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, String> urls = new LinkedHashMap<>(), expected = new HashMap<>();
        urls.put("HSQLDB", "jdbc:hsqldb:mem:x");
        urls.put("Derby", "jdbc:derby:memory:x;create=true");
        urls.put("H2", "jdbc:h2:mem:");
        expected.put("HSQLDB", "0 0.3 | 1.33 1 | 0.8 | 2.67 | 1.6777217E7 | 1 rows in 2 groups");
        expected.put("Derby", "0.33333333333333333333 0.333333333333333333333333333333 | 1.3333 1 | 0.0 | 2.67 | 1.6777216E7 | 2 rows in 1 groups");
        expected.put("H2", "0.333 0.333333333333333333333 | 1.333333333333 1.5 | 0.8 | 2.68 | 1.6777216E7 | 2 rows in 1 groups");
        for (var url : urls.entrySet()) {
            Connection database = DriverManager.getConnection(url.getValue());
            ask(database, "create table t (i int, d decimal(9, 2), x double, r real)");
            ask(database, "insert into t values (1, 1.00, 1000000001, 16777217), (1, 1.00, 1000000002, 16777217), (2, 2.00, 1000000003, 16777217)");
            ask(database, "create table one (d decimal(9, 2), z double)");
            ask(database, "insert into one values (2.675, 0e0)");
            try (PreparedStatement row = database.prepareStatement("insert into one values (2.675, ?)")) {
                row.setDouble(1, -0.0);
                row.execute();
            }
            String deviation = ask(database, "select stddev_pop(x) from t");
            String found = ask(database, "select 1 / 3.0, 1.0 / 3 from t where i = 2") + " | " + ask(database, "select avg(d) from t") + " "
                + ask(database, "select avg(i) from (select distinct i from t) u") + " | " + deviation.substring(0, 3) + " | " + ask(database, "select min(d) from one")
                + " | " + ask(database, "select min(r) from t") + " | " + ask(database, "select count(*) from one where z = 0") + " rows in "
                + ask(database, "select count(*) from (select z, count(*) as n from one group by z) g") + " groups";
            System.out.println(url.getKey() + ": " + found);
            assert found.equals(expected.get(url.getKey())) : url.getKey();
        }
    }
}
JAVA
java -ea -cp '*' Finding.java 2>messages || { cat messages; exit 1; }
