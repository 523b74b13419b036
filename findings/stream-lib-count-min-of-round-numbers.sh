#!/usr/bin/env bash
# Version: Maven com.clearspring.analytics:stream 2.9.8, Java 17. Source: run on 2026-11-30; the paper on the count-min sketch (Cormode and
# Muthukrishnan, 2005): an estimate exceeds the count by more than eps of the sum with a probability of at most 1 - confidence.
# Guess: CountMinSketch(0.01, 0.99, seed) estimates at most 1 % of all longs too high by more than 0.01 of the sum, whichever longs they are.
# Behaviour: so of 0, 1, 2 and so on. Of 10,000 multiples of ten, from 0 on, every estimate is beyond the bound, as most are of multiples of 60, 100,
# 1,000 and 86,400: a row is the number times a random factor modulo the width, 200, so that common factors leave few cells. As texts they are within.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
curl -fsS -O https://repo1.maven.org/maven2/com/clearspring/analytics/stream/2.9.8/stream-2.9.8.jar
cat >Finding.java <<'END'
import com.clearspring.analytics.stream.frequency.CountMinSketch;

public class Finding {
    public static void main(String[] arguments) {
        int count = 10000;
        for (long step : new long[] {1, 10, 60, 100, 1000, 86400}) {
            CountMinSketch numbers = new CountMinSketch(0.01, 0.99, 1), texts = new CountMinSketch(0.01, 0.99, 1);
            for (int i = 0; i < count; i++) {
                numbers.add(i * step, 1);
                texts.add(Long.toString(i * step), 1);
            }
            int beyond = 0, textsBeyond = 0;
            for (int i = 0; i < count; i++) {
                if (numbers.estimateCount(i * step) > 1 + 0.01 * count) beyond++;
                if (texts.estimateCount(Long.toString(i * step)) > 1 + 0.01 * count) textsBeyond++;
            }
            System.out.println("multiples of " + step + ": beyond the bound " + beyond + ", as texts " + textsBeyond + " of " + count);
            assert textsBeyond < 100 && (step == 1 ? beyond < 100 : beyond > 8000);
        }
    }
}
END
javac -cp stream-2.9.8.jar Finding.java
java -ea -cp .:stream-2.9.8.jar Finding
