#!/usr/bin/env bash
# Version: Maven avro 1.12.2, Java 17. Source: run on 2026-11-30; https://avro.apache.org/docs/1.12.0/specification/#sort-order (bytes and fixed are
# compared by unsigned values, strings as their UTF-8).
# Guess: GenericData.compare and BinaryData.compare, which compares encoded values, give one order, that of the specification.
# Behaviour: for bytes GenericData compares with a sign: 80 comes before 01, and behind it in encoded form and as fixed. A String is compared by its
# UTF-16: U+FF61 is greater than U+10000, less as a Utf8, which is what a reader gives, and encoded. So a sorted file is not sorted for the other.
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
import java.nio.ByteBuffer;
import org.apache.avro.Schema;
import org.apache.avro.generic.*;
import org.apache.avro.io.*;
import org.apache.avro.util.Utf8;

public class Finding {
    static byte[] encode(Schema schema, Object value) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(bytes, null);
        new GenericDatumWriter<Object>(schema).write(value, encoder);
        encoder.flush();
        return bytes.toByteArray();
    }

    static String order(String name, Schema schema, Object a, Object b) throws Exception {
        int memory = Integer.signum(GenericData.get().compare(a, b, schema));
        int encoded = Integer.signum(BinaryData.compare(encode(schema, a), 0, encode(schema, b), 0, schema));
        System.out.println(name + ": in memory " + memory + " encoded " + encoded);
        return memory + " " + encoded;
    }

    public static void main(String[] arguments) throws Exception {
        Schema bytes = Schema.create(Schema.Type.BYTES), string = Schema.create(Schema.Type.STRING), fixed = Schema.createFixed("F", null, null, 1);
        byte[] high = {(byte) 0x80}, low = {1};
        assert order("bytes 80 and 01", bytes, ByteBuffer.wrap(high), ByteBuffer.wrap(low)).equals("-1 1");
        assert order("fixed 80 and 01", fixed, new GenericData.Fixed(fixed, high), new GenericData.Fixed(fixed, low)).equals("1 1");
        String a = "\uff61", b = "\ud800\udc00";
        assert order("String U+FF61 and U+10000", string, a, b).equals("1 -1");
        assert order("Utf8 U+FF61 and U+10000", string, new Utf8(a), new Utf8(b)).equals("-1 -1");
    }
}
END
javac -cp 'lib/*' Finding.java
java -ea -cp '.:lib/*' Finding 2>errors || { cat errors; exit 1; }
