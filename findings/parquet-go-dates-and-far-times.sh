#!/usr/bin/env bash
# Version: Go module parquet-go/parquet-go v0.32.0 (Go 1.26); PyPI pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30;
# https://pkg.go.dev/github.com/parquet-go/parquet-go#SchemaOf (tags: date for time.Time, time for time.Duration, timestamp with a unit).
# Guess: a struct's time.Time with the tag date is its day in the file, a time.Duration with time(millisecond) its milliseconds, and a time of the
# year 2300 in a column of milliseconds is read back, as 64 bits of milliseconds reach far beyond it.
# Behaviour: the date is the low 32 bits of the nanoseconds: 1970-01-02 is the day -1,857,093,632, read back as such; one hour as time(millisecond)
# is 817,405,952. The year 2300 is right in the file, and parquet-go reads 1715, 584 years less; the year 1600 is 2184.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"time"

	"github.com/parquet-go/parquet-go"
)

type row struct {
	Time time.Time     `parquet:"time,timestamp(millisecond)"`
	Day  time.Time     `parquet:"day,date"`
	Hour time.Duration `parquet:"hour,time(millisecond)"`
}

func main() {
	var rows []row
	for _, year := range []int{1970, 2020, 2300, 1600} {
		day := time.Date(year, 1, 2, 0, 0, 0, 0, time.UTC)
		rows = append(rows, row{day, day, time.Hour})
	}
	if err := parquet.WriteFile("a.parquet", rows); err != nil {
		panic(err)
	}
	again, err := parquet.ReadFile[row]("a.parquet")
	if err != nil {
		panic(err)
	}
	for i, year := range []int{1970, 2020, 1715, 2184} {
		fmt.Println("written", rows[i].Time.Format(time.DateOnly), "read as time", again[i].Time, "as date", again[i].Day, "hour", again[i].Hour)
		if again[i].Time.Year() != year || again[i].Day.Equal(rows[i].Day) || again[i].Hour == time.Hour {
			panic("changed")
		}
	}
}
END
go mod init finding 2>/dev/null
go get github.com/parquet-go/parquet-go@v0.32.0 2>/dev/null
go run .
python3 -m venv env
env/bin/pip -q install pyarrow==26.0.1
env/bin/python - <<'END'
import pyarrow as pa, pyarrow.parquet as pq

table = pq.read_table("a.parquet")
years = [time.year for time in table["time"].to_pylist()]
days, hours = (table[name].cast(pa.int32()).to_pylist() for name in ("day", "hour"))
print("pyarrow: years of the times", years, "days", days, "hours", hours)
assert years == [1970, 2020, 2300, 1600] and days[0] == -1857093632 and set(hours) == {817405952}
END
