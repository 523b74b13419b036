#!/usr/bin/env bash
# Version: Maven com.tdunning:t-digest 3.3, Java 17; PyPI crick 0.0.8, fastdigest 0.12.0, tdigest 0.5.2.2 (Python 3.11); npm tdigest 0.1.3 (Node 20).
# Source: run on 2026-11-30; the paper on t-digests (Dunning and Ertl, 2019).
# Guess: of four values, which every t-digest keeps one by one, all libraries give the same median and the same CDF, and no quantile is beyond the values.
# Behaviour: of 1, 2, 3, 4 the median is 3 in Java, by the paper's authors, and 2.5 in the others. The CDF of the least value is 0.125, 0, 0, 0.125
# and 0.125, of the greatest 0.875, 1, 1, 0.875 and 0.875. Of 5, 5, 5, 9 the first quartile is 4 in Python's tdigest, less than all values, and the third
# 9, 7, 6, 8 and 8.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
curl -fsS -O https://repo1.maven.org/maven2/com/tdunning/t-digest/3.3/t-digest-3.3.jar
python3 -m venv env
env/bin/pip -q install numpy==2.4.6 crick==0.0.8 fastdigest==0.12.0 tdigest==0.5.2.2
npm install --silent --no-audit --no-fund tdigest@0.1.3
cat >Finding.java <<'END'
import com.tdunning.math.stats.TDigest;

public class Finding {
    static TDigest of(double... values) {
        TDigest digest = TDigest.createMergingDigest(100);
        for (double value : values) digest.add(value);
        return digest;
    }

    public static void main(String[] arguments) {
        TDigest a = of(1, 2, 3, 4), b = of(5, 5, 5, 9);
        System.out.println("java " + a.quantile(0.5) + " " + a.cdf(1) + " " + a.cdf(4) + " " + b.quantile(0.25) + " " + b.quantile(0.75));
    }
}
END
cat >finding.cjs <<'END'
const { TDigest } = require("tdigest");
const of = (values) => {
    const digest = new TDigest();
    values.forEach((value) => digest.push(value));
    digest.compress();
    return digest;
};
const a = of([1, 2, 3, 4]), b = of([5, 5, 5, 9]);
console.log("npm", a.percentile(0.5), a.p_rank(1), a.p_rank(4), b.percentile(0.25), b.percentile(0.75));
END
cat >finding.py <<'END'
import crick
import fastdigest
import tdigest

def crick_of(values):
    digest = crick.TDigest()
    for value in values:
        digest.add(value)
    return digest.quantile, digest.cdf

def fastdigest_of(values):
    digest = fastdigest.TDigest.from_values(values)
    return digest.quantile, digest.cdf

def tdigest_of(values):
    digest = tdigest.TDigest()
    for value in values:
        digest.update(value)
    return lambda q: digest.percentile(100 * q), digest.cdf

for name, of in (("crick", crick_of), ("fastdigest", fastdigest_of), ("tdigest", tdigest_of)):
    quantile, cdf = of([1, 2, 3, 4])
    other, _ = of([5, 5, 5, 9])
    print(name, *(float(x) for x in (quantile(0.5), cdf(1), cdf(4), other(0.25), other(0.75))))
END
java -cp t-digest-3.3.jar Finding.java >results
env/bin/python finding.py >>results
node finding.cjs >>results
cat results
env/bin/python - <<'END'
got = {line.split()[0]: [float(x) for x in line.split()[1:]] for line in open("results")}
assert got == {"java": [3, 0.125, 0.875, 5, 9], "crick": [2.5, 0, 1, 5, 7], "fastdigest": [2.5, 0, 1, 5, 6],
               "tdigest": [2.5, 0.125, 0.875, 4, 8], "npm": [2.5, 0.125, 0.875, 5, 8]}
END
