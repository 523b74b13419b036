#!/usr/bin/env bash
# Version: Go module apache/arrow-go/v18 v18.8.0 (Go 1.26); PyPI pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30;
# https://arrow.apache.org/docs/cpp/compute.html (casts: with allow_decimal_truncate digits behind the point are dropped).
# Guess: with options that allow truncation a cast of a decimal cuts, in Go as in C++, to fewer digits and to integers.
# Behaviour: to fewer digits arrow-go cuts, 999.99 is 999.9, to integers it rounds half away from zero: 999.99 is 1000 and -1.50 is -2, where
# pyarrow has 999 and -1. The CSV reader rounds too, 1.005 is the decimal 1.01, without an error, where the C++ reader refuses it.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/csv"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func main() {
	builder := array.NewDecimal128Builder(memory.DefaultAllocator, &arrow.Decimal128Type{Precision: 9, Scale: 2})
	for _, unscaled := range []int64{128, -129, -150, 99999} {
		builder.Append(decimal128.FromI64(unscaled))
	}
	values := builder.NewArray()
	cast := func(to arrow.DataType) string {
		result, err := compute.CastArray(context.Background(), values, compute.UnsafeCastOptions(to))
		if err != nil {
			panic(err)
		}
		return fmt.Sprint(result)
	}
	integers, tenths := cast(arrow.PrimitiveTypes.Int32), cast(&arrow.Decimal128Type{Precision: 9, Scale: 1})
	schema := arrow.NewSchema([]arrow.Field{{Name: "d", Type: &arrow.Decimal128Type{Precision: 9, Scale: 2}}}, nil)
	reader := csv.NewReader(strings.NewReader("1.005\n"), schema)
	reader.Next()
	text := fmt.Sprint(reader.RecordBatch().Column(0))
	fmt.Println(values, "as integers", integers, "with one digit", tenths, "| 1.005 of CSV:", text, reader.Err())
	if integers != "[1 -1 -2 1000]" || tenths != "[1.2 -1.2 -1.5 999.9]" || text != "[1.01]" || reader.Err() != nil {
		panic("changed")
	}
}
END
go mod init finding 2>/dev/null
go get github.com/apache/arrow-go/v18@v18.8.0 2>/dev/null
go mod tidy 2>/dev/null
go run .
python3 -m venv env
env/bin/pip -q install pyarrow==26.0.1
env/bin/python - <<'END'
import decimal, io
import pyarrow as pa, pyarrow.compute as pc, pyarrow.csv as csv

values = pa.array([decimal.Decimal(text) for text in ("1.28", "-1.29", "-1.50", "999.99")], pa.decimal128(9, 2))
integers = pc.cast(values, options=pc.CastOptions.unsafe(pa.int32())).to_pylist()
tenths = [str(x) for x in pc.cast(values, options=pc.CastOptions.unsafe(pa.decimal128(9, 1))).to_pylist()]
print("pyarrow: as integers", integers, "with one digit", tenths)
assert integers == [1, -1, -1, 999] and tenths == ["1.2", "-1.2", "-1.5", "999.9"]
try:
    csv.read_csv(io.BytesIO(b"d\n1.005\n"), convert_options=csv.ConvertOptions(column_types={"d": pa.decimal128(9, 2)}))
except pa.ArrowInvalid as error:
    print("pyarrow:", error)
else:
    raise AssertionError
END
