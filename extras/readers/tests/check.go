package main

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"check/glintfilters"
)

func main() {
	data, _ := os.ReadFile(os.Args[1])
	lines, _ := os.ReadFile(os.Args[2])
	filters, err := glintfilters.Read(data)
	if err != nil {
		fmt.Println("error")
		return
	}
	for key, filter := range filters {
		hits := ""
		for _, line := range strings.Split(strings.TrimSuffix(string(lines), "\n"), "\n") {
			id, _ := hex.DecodeString(line)
			if filter.Contains(id) {
				hits += "1"
			} else {
				hits += "0"
			}
		}
		if key == nil {
			key = "-"
		}
		fmt.Printf("%v\t%s\t%s\n", key, hits, filter.IDType)
	}
}
