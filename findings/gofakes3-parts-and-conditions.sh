#!/usr/bin/env bash
# Version: Go module johannesboyne/gofakes3 v1.2.0, with its memory backend (Go 1.26). Source: run on 2026-12-01; https://docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html (InvalidPartOrder: the list has to
# be in ascending order), API_GetObject.html (If-Match, partNumber), API_ListObjectsV2.html (max-keys).
# Guess: as it checks Content-MD5 and the conditions of PUT, it checks those of GET and of copies, a checksum, and the order of parts; the ETag of an upload is the one that GET gives.
# Behaviour: PUT with If-Match or If-None-Match is refused with 412; GET with If-Match of another ETag gives the object, a copy with x-amz-copy-source-if-match copies it, and a wrong x-amz-checksum-crc32 is stored. Parts 3, 1 are
# put together in this order, the answer's ETag ends in -2, and GET's is the MD5 of the whole. GET of partNumber=2 is the whole object. max-keys=0 lists all. A suffix longer than the object is
# 416, not the object.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

func between(text, from, to string) string {
	_, text, _ = strings.Cut(text, from)
	text, _, _ = strings.Cut(text, to)
	return text
}

func main() {
	server := httptest.NewServer(gofakes3.New(s3mem.New()).Server())
	defer server.Close()
	do := func(method, path, body string, headers ...string) (int, string, string) {
		request, _ := http.NewRequest(method, server.URL+path, strings.NewReader(body))
		for i := 0; i < len(headers); i += 2 {
			request.Header.Set(headers[i], headers[i+1])
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			panic(err)
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return response.StatusCode, response.Header.Get("ETag"), string(text)
	}
	check := func(name string, got, want any) {
		fmt.Println(name, got)
		if got != want {
			panic("changed")
		}
	}
	do("PUT", "/bucket", "")
	do("PUT", "/bucket/a", "hello")
	status, _, _ := do("PUT", "/bucket/a", "new", "If-None-Match", "*")
	check("PUT If-None-Match", status, 412)
	status, _, _ = do("PUT", "/bucket/a", "new", "If-Match", `"x"`)
	check("PUT If-Match", status, 412)
	status, _, _ = do("GET", "/bucket/a", "", "If-Match", `"x"`)
	check("GET If-Match", status, 200)
	status, _, _ = do("PUT", "/bucket/copy", "", "x-amz-copy-source", "/bucket/a", "x-amz-copy-source-if-match", `"x"`)
	check("copy if match", status, 200)
	status, _, _ = do("PUT", "/bucket/md5", "x", "Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA==")
	check("wrong MD5", status, 400)
	status, _, _ = do("PUT", "/bucket/crc", "x", "x-amz-checksum-crc32", "AAAAAA==")
	check("wrong CRC", status, 200)
	status, _, _ = do("GET", "/bucket/a", "", "Range", "bytes=-100")
	check("suffix", status, 416)
	_, _, text := do("GET", "/bucket?list-type=2&max-keys=0", "")
	check("max-keys=0", strings.Count(text, "<Key>"), 3)

	_, _, text = do("POST", "/bucket/m?uploads", "")
	id, parts := between(text, "<UploadId>", "</UploadId>"), map[int]string{}
	for part := 1; part <= 3; part++ {
		_, tag, _ := do("PUT", fmt.Sprintf("/bucket/m?partNumber=%d&uploadId=%s", part, id), fmt.Sprint("part", part))
		parts[part] = fmt.Sprintf("<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>", part, tag)
	}
	status, _, text = do("POST", "/bucket/m?uploadId="+id, "<CompleteMultipartUpload>"+parts[3]+parts[1]+"</CompleteMultipartUpload>")
	check("parts 3, 1", status, 200)
	check("its ETag ends in -2", strings.Contains(between(text, "<ETag>", "</ETag>"), "-2"), true)
	_, tag, text := do("GET", "/bucket/m", "")
	check("object", text, "part3part1")
	check("GET's ETag ends in -2", strings.Contains(tag, "-2"), false)
	_, _, text = do("GET", "/bucket/m?partNumber=2", "")
	check("part 2", text, "part3part1")
}
GO
go mod init finding 2>/dev/null
go get github.com/johannesboyne/gofakes3@v1.2.0 2>/dev/null
go run .
