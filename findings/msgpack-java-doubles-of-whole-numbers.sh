#!/usr/bin/env bash
# Version: Maven org.msgpack:msgpack-core 0.9.12, Java 17; npm @msgpack/msgpack 3.1.3, msgpackr 2.1.4 (Node 20). Source: run on 2026-11-30;
# https://github.com/msgpack/msgpack/blob/master/spec.md (a serializer may write a float as an integer that equals it).
# Guess: what JavaScript writes for a column of prices is read in Java by unpackDouble(), and a column of counts by unpackLong(), for every value.
# Behaviour: 5.0 is the integer 5 in all JavaScript, and unpackDouble() refuses it: "Expected Float, but got Integer"; 4294967296 of msgpackr is a float,
# which unpackLong() refuses. Numbers of Value are cast: toInt() of 2^40 is 0, as NaN's is, and 1e300's is 2^31 - 1.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund @msgpack/msgpack@3.1.3 msgpackr@2.1.4
curl -fsS -O https://repo1.maven.org/maven2/org/msgpack/msgpack-core/0.9.12/msgpack-core-0.9.12.jar
node -e '
const hex = (pack) => [4.5, 5.0, 2 ** 32 - 1, 2 ** 32].map((value) => Buffer.from(pack(value)).toString("hex")).join(" ");
console.log(hex(require("@msgpack/msgpack").encode) + "\n" + hex(require("msgpackr").pack));' >packed
cat >Finding.java <<'END'
import java.nio.file.*;
import java.util.*;
import org.msgpack.core.*;
import org.msgpack.value.*;

public class Finding {
    static String read(String hex, boolean whole) throws Exception {
        MessageUnpacker unpacker = MessagePack.newDefaultUnpacker(HexFormat.of().parseHex(hex));
        try {
            return whole ? "" + unpacker.unpackLong() : "" + unpacker.unpackDouble();
        } catch (MessageTypeException error) {
            return "refused";
        }
    }

    public static void main(String[] arguments) throws Exception {
        List<String> got = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of("packed"))) {
            String[] hex = line.split(" ");
            got.add(read(hex[0], false) + " " + read(hex[1], false) + " " + read(hex[2], true) + " " + read(hex[3], true));
        }
        int large = ValueFactory.newInteger(1L << 40).toInt(), nan = ValueFactory.newFloat(Double.NaN).toInt(), huge = ValueFactory.newFloat(1e300).toInt();
        System.out.println("4.5, 5.0 as doubles, 2^32 - 1, 2^32 as longs: " + got + " toInt: " + large + " " + nan + " " + huge);
        assert got.equals(List.of("4.5 refused 4294967295 4294967296", "4.5 refused 4294967295 refused"));
        assert large == 0 && nan == 0 && huge == Integer.MAX_VALUE;
    }
}
END
javac -cp msgpack-core-0.9.12.jar Finding.java
java -ea -cp .:msgpack-core-0.9.12.jar Finding
