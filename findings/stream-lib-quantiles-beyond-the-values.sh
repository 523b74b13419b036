#!/usr/bin/env bash
# Version: Maven com.clearspring.analytics:stream 2.9.8, fastutil 6.5.7, Java 17. Source: run on 2026-11-30.
# Guess: of few values, which a t-digest keeps one by one, quantiles rise from the least to the greatest value, and a CDF is from 0 to 1.
# Behaviour: of 1, 2, 3, 4 the quantiles 0, 0.5, 0.9 and 1 are 2, 1, 4.4 and 4: they fall, and one is greater than all values. The
# median of 1, 5, 5, 5 is 1. If the least value is there twice, the CDF of every lesser number is -Infinity; of 5, 5, 5, 9 the CDF
# of 6 is 0.44. Of 1,000 values quantile 0 is still 2.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
maven=https://repo1.maven.org/maven2
for jar in com/clearspring/analytics/stream/2.9.8/stream-2.9.8 it/unimi/dsi/fastutil/6.5.7/fastutil-6.5.7; do
    curl -fsS -O "$maven/$jar.jar"
done
cat >Finding.java <<'END'
import com.clearspring.analytics.stream.quantile.TDigest;

public class Finding {
    static TDigest of(double... values) {
        TDigest digest = new TDigest(100);
        for (double value : values) digest.add(value);
        return digest;
    }

    static void check(String what, double is, double want) {
        System.out.println(what + " " + is);
        assert Math.abs(is - want) < 1e-9 || is == want : want;
    }

    public static void main(String[] arguments) {
        TDigest four = of(1, 2, 3, 4);
        double[][] quantiles = {{0, 2}, {0.5, 1}, {0.9, 4.4}, {1, 4}};
        for (double[] pair : quantiles) check("1, 2, 3, 4: quantile " + pair[0], four.quantile(pair[0]), pair[1]);
        check("1, 5, 5, 5: quantile 0.5", of(1, 5, 5, 5).quantile(0.5), 1);
        check("5, 5, 5, 9: CDF of 4", of(5, 5, 5, 9).cdf(4), Double.NEGATIVE_INFINITY);
        check("5, 5, 5, 9: CDF of 6", of(5, 5, 5, 9).cdf(6), 0.4375);
        double[] many = new double[1000];
        for (int i = 0; i < many.length; i++) many[i] = i + 1;
        check("1 to 1000: quantile 0", of(many).quantile(0), 2);
    }
}
END
javac -cp stream-2.9.8.jar:fastutil-6.5.7.jar Finding.java
java -ea -cp .:stream-2.9.8.jar:fastutil-6.5.7.jar Finding
