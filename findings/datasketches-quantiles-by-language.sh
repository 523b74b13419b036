#!/usr/bin/env bash
# Version: PyPI datasketches 5.2.0 (Python 3.11); Maven datasketches-java 6.2.0 with datasketches-memory 3.0.2. Source:
# run on 2026-11-29; sketches of both can be read by both.
# Guess: a sketch answers the same in both languages, and a number is one id, as integer and as float.
# Behaviour: the median of 1, 2, 3, 4 by a KLL sketch is 3 in Python and 2 in Java, the rank of 1 is 0 and 0.25: by
# default Python leaves the value itself out, Java does not. In an HLL sketch 1 and 1.0 are two ids, but 0 and 0.0 are
# one, whose bits are the same.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install datasketches==5.2.0
venv/bin/python - <<'PY'
import datasketches

kll = datasketches.kll_doubles_sketch(200)
for i in (1, 2, 3, 4):
    kll.update(i)
hll = {}
for ids in ((1, 1.0), (0, 0.0)):
    sketch = datasketches.hll_sketch(12)
    for id in ids:
        sketch.update(id)
    hll[ids] = round(sketch.get_estimate())
print("Python: median", kll.get_quantile(0.5), "rank of 1:", kll.get_rank(1), "| inclusive:", kll.get_quantile(0.5, True),
      "| ids:", hll)
assert (kll.get_quantile(0.5), kll.get_rank(1), kll.get_quantile(0.5, True)) == (3, 0, 2)
assert list(hll.values()) == [2, 1]
open("kll.bin", "wb").write(kll.serialize())
PY
maven=https://repo1.maven.org/maven2/org/apache/datasketches
for jar in datasketches-java/6.2.0/datasketches-java-6.2.0 datasketches-memory/3.0.2/datasketches-memory-3.0.2; do
    curl -fsS -O "$maven/$jar.jar"
done
cat >Finding.java <<'END'
import java.nio.file.*;
import org.apache.datasketches.hll.HllSketch;
import org.apache.datasketches.kll.KllDoublesSketch;
import org.apache.datasketches.memory.Memory;

public class Finding {
    public static void main(String[] arguments) throws Exception {
        byte[] bytes = Files.readAllBytes(Path.of("kll.bin"));
        KllDoublesSketch sketch = KllDoublesSketch.heapify(Memory.wrap(bytes));
        HllSketch one = new HllSketch(12), zero = new HllSketch(12);
        one.update(1L);
        one.update(1.0);
        zero.update(0L);
        zero.update(0.0);
        long ones = Math.round(one.getEstimate()), zeros = Math.round(zero.getEstimate());
        System.out.println("Java, of Python's sketch: median " + sketch.getQuantile(0.5) + " rank of 1: " + sketch.getRank(1) +
                           " | ids: " + ones + ", " + zeros);
        if (sketch.getQuantile(0.5) != 2 || sketch.getRank(1) != 0.25 || ones != 2 || zeros != 1) throw new AssertionError();
    }
}
END
java -cp "datasketches-java-6.2.0.jar:datasketches-memory-3.0.2.jar" Finding.java
