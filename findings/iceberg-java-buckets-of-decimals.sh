#!/usr/bin/env bash
# Version: Maven org.apache.iceberg:iceberg-api 1.10.0, Java 17. Source: run on 2026-11-30; https://iceberg.apache.org/spec/#bucket-transform-details
# (decimals are hashed as their unscaled value; every value of a column has the scale of the column).
# Guess: a filter's literal gets the scale of the column when it is bound, so that n = 14.2 looks into the bucket where 14.20 is.
# Behaviour: of decimal(9, 2) and 1,000 buckets the value 14.20 is in 59; equal("n", "14.2") and a BigDecimal 14.2 ask for 515, 14.200 for 329, so that the
# file is skipped. The number 14.2 as a double, and the text 14.20, ask for 59. Compared with a row, "14.2" equals 14.20: only where the table is
# partitioned by buckets the row is lost.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
base=https://repo1.maven.org/maven2/org
for name in apache/iceberg/iceberg-api/1.10.0 apache/iceberg/iceberg-common/1.10.0 apache/iceberg/iceberg-bundled-guava/1.10.0 slf4j/slf4j-api/2.0.17; do
    version=${name##*/} path=${name%/*}
    curl -fsS -O "$base/$name/${path##*/}-$version.jar"
done
cat >Finding.java <<'JAVA'
import java.math.BigDecimal;
import java.util.*;
import org.apache.iceberg.*;
import org.apache.iceberg.expressions.*;
import org.apache.iceberg.types.Types.*;

public class Finding {
    record Row(Object value) implements StructLike {
        public int size() { return 1; }
        public <T> T get(int place, Class<T> type) { return type.cast(value); }
        public <T> void set(int place, T value) { throw new UnsupportedOperationException(); }
    }

    public static void main(String[] arguments) {
        Schema schema = new Schema(NestedField.optional(1, "n", DecimalType.of(9, 2)));
        PartitionSpec buckets = PartitionSpec.builderFor(schema).bucket("n", 1000).build();
        List<Object> asked = new ArrayList<>(), equal = new ArrayList<>();
        for (Object value : new Object[] {"14.20", "14.2", new BigDecimal("14.2"), new BigDecimal("14.200"), 14.2}) {
            Expression filter = Expressions.equal("n", value);
            asked.add(((UnboundPredicate<?>) Projections.inclusive(buckets).project(filter)).literal().value());
            equal.add(new Evaluator(schema.asStruct(), filter).eval(new Row(new BigDecimal("14.20"))));
        }
        System.out.println("buckets " + asked + " equal " + equal);
        if (!asked.equals(List.of(59, 515, 515, 329, 59)) || equal.contains(false))
            throw new AssertionError("changed");
    }
}
JAVA
java -cp '*' Finding.java
