#!/usr/bin/env bash
# Version: Go module hamba/avro/v2 v2.31.0 (Go 1.26). Source: run on 2026-11-30; https://avro.apache.org/docs/1.12.0/specification/ (Decimal: for
# schema resolution two decimals match if their scales and precisions do).
# Guess: a reader's schema with another unit or scale gets the same value in that unit, as parquet readers do, or the schemas are not compatible.
# Behaviour: Resolve accepts them, and the number is taken as it is: 1.5 seconds in milliseconds are 1.5 milliseconds for a reader with
# microseconds, the decimal 2.50 is 0.250 in scale 3, the date 1970-01-04 is 3 ms after 1970 as a timestamp. (Python's fastavro and avro keep the writer's unit.)
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"math/big"
	"time"

	"github.com/hamba/avro/v2"
)

func read(writer, reader string, value any) string {
	written := avro.MustParse(writer)
	bytes, err := avro.Marshal(written, value)
	if err != nil {
		panic(err)
	}
	resolved, err := avro.NewSchemaCompatibility().Resolve(avro.MustParse(reader), written)
	if err != nil {
		panic(err)
	}
	var result any
	if err := avro.Unmarshal(resolved, bytes, &result); err != nil {
		panic(err)
	}
	if decimal, ok := result.(*big.Rat); ok {
		return decimal.FloatString(3)
	}
	return result.(time.Time).Format(time.RFC3339Nano)
}

func main() {
	millis, micros := `{"type": "long", "logicalType": "timestamp-millis"}`, `{"type": "long", "logicalType": "timestamp-micros"}`
	two := `{"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}`
	three := `{"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3}`
	day := `{"type": "int", "logicalType": "date"}`
	got := []string{read(millis, micros, time.UnixMilli(1500).UTC()), read(micros, millis, time.UnixMilli(1500).UTC()),
		read(two, three, big.NewRat(5, 2)), read(day, millis, time.Unix(3*86400, 0).UTC())}
	fmt.Println("1.5 s in ms, read as us:", got[0], "| in us, read as ms:", got[1], "| 2.50, read with scale 3:", got[2], "| date, read as ms:", got[3])
	want := []string{"1970-01-01T00:00:00.0015Z", "1970-01-01T00:25:00Z", "0.250", "1970-01-01T00:00:00.003Z"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		panic("changed")
	}
}
END
go mod init finding 2>/dev/null
go get github.com/hamba/avro/v2@v2.31.0 2>/dev/null
go run .
