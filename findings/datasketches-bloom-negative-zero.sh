#!/usr/bin/env bash
# Version: Maven datasketches-java 6.2.0 with datasketches-memory 3.0.2; Go github.com/apache/datasketches-go v0.1.0. Source: run on
# 2026-12-01; each reads the other's file, and integers, texts and other doubles are found.
# Guess: a double that one language has added is found by the other, and 0.0 and -0.0 are one value in both, as in the other sketches.
# Behaviour: Java's Bloom filter hashes -0.0 by its own bits, so that 0.0 is not found after -0.0; Go makes 0.0 of it before it adds or
# asks. So a -0.0 that Java has added is in the file, but Go finds neither -0.0 nor 0.0: a filter with a false negative.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
maven=https://repo1.maven.org/maven2/org/apache/datasketches
for jar in datasketches-java/6.2.0/datasketches-java-6.2.0 datasketches-memory/3.0.2/datasketches-memory-3.0.2; do
    curl -fsS -O "$maven/$jar.jar"
done
cat >Finding.java <<'END'
import java.nio.file.*;
import org.apache.datasketches.filters.bloomfilter.*;

public class Finding {
    public static void main(String[] arguments) throws Exception {
        BloomFilter filter = BloomFilterBuilder.createByAccuracy(1000, 1e-6, 1);
        for (double added : new double[] {-0.0, 1.5, Double.NaN}) filter.update(added);
        System.out.printf("Java has added -0.0: -0.0 %b, 0.0 %b%n", filter.query(-0.0), filter.query(0.0));
        if (!filter.query(-0.0) || filter.query(0.0)) throw new AssertionError();
        Files.write(Path.of("filter"), filter.toByteArray());
    }
}
END
java -cp "datasketches-java-6.2.0.jar:datasketches-memory-3.0.2.jar" Finding.java
go mod init finding 2>/dev/null
cat >main.go <<'END'
package main

import (
	"fmt"
	"math"
	"os"

	"github.com/apache/datasketches-go/filters"
)

func main() {
	bytes, err := os.ReadFile("filter")
	if err != nil {
		panic(err)
	}
	read, err := filters.NewBloomFilterFromSlice(bytes)
	if err != nil {
		panic(err)
	}
	negative := math.Copysign(0, -1)
	fmt.Println("Go reads it: 1.5", read.QueryFloat64(1.5), "NaN", read.QueryFloat64(math.NaN()), "-0.0",
		read.QueryFloat64(negative), "0.0", read.QueryFloat64(0))
	own, _ := filters.NewBloomFilterByAccuracy(1000, 1e-6, filters.WithSeed(1))
	own.UpdateFloat64(negative)
	fmt.Println("Go has added -0.0: -0.0", own.QueryFloat64(negative), "0.0", own.QueryFloat64(0))
	if !read.QueryFloat64(1.5) || !read.QueryFloat64(math.NaN()) || read.QueryFloat64(negative) || read.QueryFloat64(0) ||
		!own.QueryFloat64(0) {
		os.Exit(1)
	}
}
END
go get github.com/apache/datasketches-go/filters@v0.1.0 2>/dev/null
go run .
