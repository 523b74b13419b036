#!/usr/bin/env bash
# Version: Maven avro 1.12.2, Java 17. Source: run on 2026-11-30;
# https://avro.apache.org/docs/1.12.0/specification/#schema-resolution (decimals match if scale and precision do).
# Guess: GenericDatumWriter refuses a Double or a Long for an int, as it refuses a String, or at least a value that is no int; a reader whose schema has
# another unit or scale gets the value in it, or an error.
# Behaviour: a number is cast as Java casts: 5.7 is 5, 2^31 is -2^31, 1e300 is 2^31 - 1, NaN is 0, and 1e300 as float is infinity. With conversions of
# logical types 1.5 s in milliseconds are 1.5 ms for a reader of microseconds, and the decimal 2.50 is 0.250 for one of scale 3.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >pom.xml <<'END'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>finding</groupId><artifactId>finding</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.avro</groupId><artifactId>avro</artifactId><version>1.12.2</version></dependency>
  </dependencies>
</project>
END
mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib >messages 2>&1
cat >Finding.java <<'END'
import java.io.ByteArrayOutputStream;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.*;
import org.apache.avro.*;
import org.apache.avro.data.TimeConversions;
import org.apache.avro.generic.*;
import org.apache.avro.io.*;

public class Finding {
    static final GenericData model = new GenericData();

    static String through(String writer, String reader, Object value) throws Exception {
        Schema written = new Schema.Parser().parse(writer), read = new Schema.Parser().parse(reader);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(bytes, null);
        try {
            new GenericDatumWriter<Object>(written, model).write(value, encoder);
        } catch (ClassCastException error) {
            return "error";
        }
        encoder.flush();
        Decoder decoder = DecoderFactory.get().binaryDecoder(bytes.toByteArray(), null);
        return new GenericDatumReader<Object>(written, read, model).read(null, decoder).toString();
    }

    public static void main(String[] arguments) throws Exception {
        model.addLogicalTypeConversion(new TimeConversions.TimestampMillisConversion());
        model.addLogicalTypeConversion(new TimeConversions.TimestampMicrosConversion());
        model.addLogicalTypeConversion(new Conversions.DecimalConversion());
        List<String> ints = new ArrayList<>();
        for (Object value : new Object[] {5.7, 1L << 31, 1e300, Double.NaN, "5"}) ints.add(through("\"int\"", "\"int\"", value));
        String wide = through("\"float\"", "\"float\"", 1e300);
        String millis = "{\"type\": \"long\", \"logicalType\": \"timestamp-millis\"}", micros = millis.replace("millis", "micros");
        String two = "{\"type\": \"bytes\", \"logicalType\": \"decimal\", \"precision\": 9, \"scale\": 2}", three = two.replace("2}", "3}");
        String time = through(millis, micros, Instant.ofEpochMilli(1500)), decimal = through(two, three, new BigDecimal("2.50"));
        System.out.println("ints " + ints + " float " + wide + " | 1.5 s " + time + " 2.50 " + decimal);
        assert ints.equals(List.of("5", "-2147483648", "2147483647", "0", "error")) && wide.equals("Infinity");
        assert time.equals("1970-01-01T00:00:00.001500Z") && decimal.equals("0.250");
    }
}
END
javac -cp 'lib/*' Finding.java
java -ea -cp '.:lib/*' Finding 2>errors || { cat errors; exit 1; }
