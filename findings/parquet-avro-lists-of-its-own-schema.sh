#!/usr/bin/env bash
# Version: Maven parquet-avro 1.18.1, avro 1.12.2, hadoop-client 3.5.0, Java 17; PyPI pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30;
# https://github.com/apache/parquet-java/blob/master/parquet-avro/README.md (lists: parquet.avro.add-list-element-records).
# Guess: the schema that a reader gives for a file can be the requested projection and the reader's schema for the same file, and gives the same rows.
# Behaviour: every list is null then, without an error: its Avro schema has a record with a field `element`, which becomes another, older, form of list in
# Parquet, which no part of the file matches. Without a projection the lists are there; maps and structs are in both. (A list that is the first
# column is an error instead.)
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pyarrow==26.0.1
env/bin/python - <<'END'
import pyarrow as pa, pyarrow.parquet as pq

pq.write_table(pa.table({"struct": [{"x": 1}, {"x": 2}], "list": pa.array([[1], [2, 3]], pa.list_(pa.int32())),
                         "map": pa.array([[("a", 1)], [("b", 2)]], pa.map_(pa.string(), pa.int32()))}), "a.parquet")
END
cat >pom.xml <<'END'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>finding</groupId><artifactId>finding</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.parquet</groupId><artifactId>parquet-avro</artifactId><version>1.18.1</version></dependency>
    <dependency><groupId>org.apache.avro</groupId><artifactId>avro</artifactId><version>1.12.2</version></dependency>
    <dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-client-api</artifactId><version>3.5.0</version></dependency>
    <dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-client-runtime</artifactId><version>3.5.0</version></dependency>
  </dependencies>
</project>
END
mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib >messages 2>&1
cat >Finding.java <<'END'
import java.util.*;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericRecord;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.avro.*;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.util.HadoopInputFile;

public class Finding {
    static Schema schema;

    static List<String> read(Configuration conf) throws Exception {
        List<String> rows = new ArrayList<>();
        try (ParquetReader<GenericRecord> reader = AvroParquetReader.<GenericRecord>builder(HadoopInputFile.fromPath(new Path("a.parquet"), conf))
                .withConf(conf).build()) {
            for (GenericRecord row = reader.read(); row != null; row = reader.read()) {
                schema = row.getSchema();
                rows.add(row.toString());
            }
        }
        return rows;
    }

    public static void main(String[] arguments) throws Exception {
        List<String> all = read(new Configuration());
        Configuration conf = new Configuration();
        AvroReadSupport.setRequestedProjection(conf, schema);
        AvroReadSupport.setAvroReadSchema(conf, schema);
        List<String> projected = read(conf);
        System.out.println("without a projection " + all + "\nwith the same schema " + projected);
        assert all.get(1).equals("{\"struct\": {\"x\": 2}, \"list\": [{\"element\": 2}, {\"element\": 3}], \"map\": {\"b\": 2}}");
        assert projected.get(1).equals("{\"struct\": {\"x\": 2}, \"list\": null, \"map\": {\"b\": 2}}");
    }
}
END
javac -cp 'lib/*' Finding.java
java -ea -cp '.:lib/*' Finding 2>errors || { cat errors; exit 1; }
