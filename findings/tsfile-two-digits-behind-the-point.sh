#!/usr/bin/env bash
# Version: Maven org.apache.tsfile:tsfile 2.1.1, Java 17. Source: run on 2026-11-30; https://tsfile.apache.org/UserGuide/latest/ (Apache TsFile, the columnar file
# format of Apache IoTDB; encodings of FLOAT and DOUBLE).
# Guess: an encoding of a column, RLE or the deltas of TS_2DIFF, gives back the numbers that were written, as encodings of Parquet and ORC do.
# Behaviour: of floats and doubles both keep two digits behind the point, without an error: 3.14159 is 3.14, 0.001 is 0, 123456789.125 is 123456789.13, and -0.0 is 0.0;
# 2.675 is 2.67 as FLOAT and 2.68 as DOUBLE. Numbers too large for that, and NaN, are whole. PLAIN and GORILLA keep every number, so that how a
# column is stored decides what its sum is.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
base=https://repo1.maven.org/maven2
for name in org/apache/tsfile/tsfile/2.1.1 \
    org/apache/tsfile/common/2.1.1 \
    org/slf4j/slf4j-api/2.0.17 \
    org/antlr/antlr4-runtime/4.9.3 \
    com/github/luben/zstd-jni/1.5.6-3 \
    org/xerial/snappy/snappy-java/1.1.10.7 \
    org/lz4/lz4-java/1.8.0 \
    org/apache/commons/commons-lang3/3.18.0; do
    version=${name##*/} path=${name%/*}
    curl -fsS -O "$base/$name/${path##*/}-$version.jar"
done
cat >Finding.java <<'JAVA'
import java.io.File;
import java.util.*;
import org.apache.tsfile.enums.TSDataType;
import org.apache.tsfile.file.metadata.enums.TSEncoding;
import org.apache.tsfile.read.*;
import org.apache.tsfile.read.common.Path;
import org.apache.tsfile.read.expression.QueryExpression;
import org.apache.tsfile.read.query.dataset.QueryDataSet;
import org.apache.tsfile.write.TsFileWriter;
import org.apache.tsfile.write.record.TSRecord;
import org.apache.tsfile.write.record.datapoint.*;
import org.apache.tsfile.write.schema.MeasurementSchema;

public class Finding {
    static final double[] VALUES = {0.29, 3.14159, -0.0, 1e10, 123456789.125, 2.675, 0.001, Double.NaN};

    static String trip(TSEncoding encoding, TSDataType type) throws Exception {
        File file = new File(encoding + "-" + type + ".tsfile");
        try (TsFileWriter writer = new TsFileWriter(file)) {
            writer.registerTimeseries("d", new MeasurementSchema("m", type, encoding));
            for (int time = 0; time < VALUES.length; time++) {
                TSRecord row = new TSRecord("d", time);
                row.addTuple(type == TSDataType.FLOAT ? new FloatDataPoint("m", (float) VALUES[time]) : new DoubleDataPoint("m", VALUES[time]));
                writer.writeRecord(row);
            }
        }
        List<String> read = new ArrayList<>();
        try (TsFileReader reader = new TsFileReader(new TsFileSequenceReader(file.getPath()))) {
            QueryDataSet rows = reader.query(QueryExpression.create(List.of(new Path("d", "m", true)), null));
            while (rows.hasNext())
                read.add(rows.next().getFields().get(0).toString());
        }
        System.out.println(encoding + " " + type + " " + read);
        return String.join(" ", read);
    }

    public static void main(String[] arguments) throws Exception {
        boolean same = true;
        for (TSEncoding encoding : List.of(TSEncoding.RLE, TSEncoding.TS_2DIFF)) {
            same &= trip(encoding, TSDataType.DOUBLE).equals("0.29 3.14 0.0 1.0E10 1.2345678913E8 2.68 0.0 NaN");
            same &= trip(encoding, TSDataType.FLOAT).equals("0.29 3.14 0.0 1.0E10 1.23456792E8 2.67 0.0 NaN");
        }
        for (TSEncoding encoding : List.of(TSEncoding.PLAIN, TSEncoding.GORILLA))
            same &= trip(encoding, TSDataType.DOUBLE).equals("0.29 3.14159 -0.0 1.0E10 1.23456789125E8 2.675 0.001 NaN");
        if (!same)
            throw new AssertionError("changed");
    }
}
JAVA
java -cp '*' Finding.java
