#!/usr/bin/env bash
# Version: Maven guava 33.8.0-jre (with failureaccess 1.0.3), commons-codec 1.19.0, Java 17; PyPI mmh3 5.3.1 (Python 3.11). Source: run on 2026-11-30;
# the reference, https://github.com/aappleby/smhasher (MurmurHash3_x64_128), takes the seed as 32 bits without a sign.
# Guess: murmur3_128(seed) of Guava is MurmurHash3_x64_128 of the reference with the same 32 bits of seed, for all seeds.
# Behaviour: so for 0 to 2^31 - 1. A negative seed, which is every second one of a random int, is widened with its sign, and all hashes are others than
# those of mmh3 and of commons-codec's hash128x64; its deprecated hash128 does as Guava. With 32 bits, murmur3_32_fixed, all agree.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
maven=https://repo1.maven.org/maven2
for jar in com/google/guava/guava/33.8.0-jre/guava-33.8.0-jre com/google/guava/failureaccess/1.0.3/failureaccess-1.0.3 \
    commons-codec/commons-codec/1.19.0/commons-codec-1.19.0; do
    curl -fsS -O "$maven/$jar.jar"
done
python3 -m venv env
env/bin/pip -q install mmh3==5.3.1
cat >Finding.java <<'END'
import com.google.common.hash.Hashing;
import org.apache.commons.codec.digest.MurmurHash3;

public class Finding {
    @SuppressWarnings("deprecation")
    public static void main(String[] arguments) {
        byte[] id = "id-1".getBytes();
        for (int seed : new int[] {0, 42, Integer.MAX_VALUE, -1, -42, Integer.MIN_VALUE})
            System.out.println(seed + " " + Hashing.murmur3_128(seed).hashBytes(id).asLong() + " " + MurmurHash3.hash128x64(id, 0, id.length, seed)[0]
                               + " " + MurmurHash3.hash128(id, 0, id.length, seed)[0] + " " + Hashing.murmur3_32_fixed(seed).hashBytes(id).asInt());
    }
}
END
java -cp 'guava-33.8.0-jre.jar:failureaccess-1.0.3.jar:commons-codec-1.19.0.jar' Finding.java 2>/dev/null >hashes
env/bin/python - <<'END'
import mmh3

for line in open("hashes"):
    seed, guava, codec, old, narrow = map(int, line.split())
    reference = mmh3.hash64("id-1", seed & 0xffffffff)[0]
    print("seed", seed, "reference", reference, "Guava", guava, "commons-codec", codec, "its hash128", old)
    assert codec == reference and old == guava and narrow == mmh3.hash("id-1", seed & 0xffffffff)
    assert (guava == reference) == (seed >= 0)
END
