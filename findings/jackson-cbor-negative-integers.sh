#!/usr/bin/env bash
# Version: Maven com.fasterxml.jackson.dataformat:jackson-dataformat-cbor 2.19.0, Java 17; PyPI cbor2 6.3.0 (Python 3.11). Source: run on 2026-11-30;
# https://www.rfc-editor.org/rfc/rfc8949#section-3.4.3 (tag 2 is an integer without a sign, tag 3 is -1 - n of the bytes).
# Guess: a BigInteger is in CBOR the number that it is, and one of another writer is read as its number.
# Behaviour: a negative one is written as its absolute value, without the -1: cbor2 reads -1 as -2 and -2^64 as -2^64 - 1, one less each, and Jackson reads what cbor2
# wrote one more; its own it reads right, so that no test of Jackson alone sees it. A positive one whose first bit is set is read as negative: tag 2 with ffffffffffffffff,
# 2^64 - 1, is -1. Without tags, below 2^64, all are right.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
base=https://repo1.maven.org/maven2/com/fasterxml/jackson
for name in core/jackson-core core/jackson-databind core/jackson-annotations dataformat/jackson-dataformat-cbor; do
    curl -fsS -O "$base/$name/2.19.0/${name##*/}-2.19.0.jar"
done
python3 -m venv env
env/bin/pip -q install cbor2==6.3.0
cat >Finding.java <<'JAVA'
import com.fasterxml.jackson.dataformat.cbor.databind.CBORMapper;
import java.math.BigInteger;
import java.util.HexFormat;

public class Finding {
    public static void main(String[] arguments) throws Exception {
        CBORMapper mapper = new CBORMapper();
        for (String text : arguments)
            if (text.startsWith("c2") || text.startsWith("c3") || text.startsWith("3b"))
                System.out.println(mapper.readTree(HexFormat.of().parseHex(text)).bigIntegerValue());
            else
                System.out.println(HexFormat.of().formatHex(mapper.writeValueAsBytes(new BigInteger(text))));
    }
}
JAVA
java -cp '*' Finding.java -1 -18446744073709551616 18446744073709551616 >written
java -cp '*' Finding.java c349010000000000000000 c248ffffffffffffffff 3bffffffffffffffff >read
env/bin/python - <<'PY'
import cbor2

theirs = [cbor2.loads(bytes.fromhex(line)) for line in open("written")]
read = [int(line) for line in open("read")]
wrote = [cbor2.loads(bytes.fromhex(text)) for text in ("c349010000000000000000", "c248ffffffffffffffff", "3bffffffffffffffff")]
print("Jackson wrote -1, -2^64, 2^64; cbor2 reads", theirs)
print("cbor2 reads", wrote, "Jackson", read)
assert theirs == [-2, -2 ** 64 - 1, 2 ** 64]
assert wrote == [-2 ** 64 - 1, 2 ** 64 - 1, -2 ** 64] and read == [-2 ** 64, -1, -2 ** 64]
PY
