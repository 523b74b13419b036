// Reads, builds and queries filters with bits-and-blooms/bloom, for tests/parity/formats: the arguments of
// OtherFilters.java.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/bits-and-blooms/bloom/v3"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func number(text string) uint {
	value, err := strconv.ParseUint(text, 10, 64)
	check(err)
	return uint(value)
}

func lines(path string) [][]byte {
	data, err := os.ReadFile(path)
	check(err)
	return bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
}

func write(path string, data []byte) {
	check(os.WriteFile(path, data, 0o666))
}

func encode(format string, filter *bloom.BloomFilter) []byte {
	data, err := filter.MarshalBinary()
	if format == "go-bloom-json" {
		data, err = json.Marshal(filter)
	}
	check(err)
	return data
}

func decode(format, path string) *bloom.BloomFilter {
	data, err := os.ReadFile(path)
	check(err)
	filter := &bloom.BloomFilter{}
	if format == "go-bloom-json" {
		check(json.Unmarshal(data, filter))
	} else {
		check(filter.UnmarshalBinary(data))
	}
	return filter
}

func sizes(arguments []string) {
	for i := 0; i < len(arguments); i += 2 {
		p, err := strconv.ParseFloat(arguments[i+1], 64)
		check(err)
		m, k := bloom.EstimateParameters(number(arguments[i]), p)
		fmt.Println(m, k)
	}
}

func main() {
	format, out := os.Args[1], os.Args[4]
	if os.Args[2] == "sizes" {
		sizes(os.Args[3:])
		return
	}
	ids := lines(os.Args[2])
	p, err := strconv.ParseFloat(os.Args[5], 64)
	check(err)
	made := bloom.NewWithEstimates(uint(len(ids)), p)
	for _, id := range ids {
		made.Add(id)
	}
	write(filepath.Join(out, "made."+format), encode(format, made))
	for _, path := range os.Args[8:] {
		filter, name := decode(format, path), filepath.Join(out, filepath.Base(path))
		var admitted bytes.Buffer
		for _, id := range lines(os.Args[3]) {
			if filter.Test(id) {
				admitted.Write(append(id[:len(id):len(id)], '\n'))
			}
		}
		write(name+".admitted", admitted.Bytes())
		write(name+".again", encode(format, filter))
	}
}
