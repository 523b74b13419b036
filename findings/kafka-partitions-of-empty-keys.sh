#!/usr/bin/env bash
# Version: PyPI confluent-kafka 2.16.1 (librdkafka, its brokers for tests; Python 3.11); Go modules IBM/sarama v1.61.1, segmentio/kafka-go v0.4.51 (Go 1.26). Source: run on 2026-12-01.
# Guess: an empty key is a key, as in Java's client, with one partition, and only null has none; or it is as null, in all partitioners of one client; partitioners that are compatible agree.
# Behaviour: librdkafka's default consistent_random spreads records of the empty key over all partitions, its murmur2_random and fnv1a_random keep them in one. kafka-go's CRC32Balancer, made for librdkafka's default, spreads
# them, too; sarama's NewConsistentCRCHashPartitioner, which has the same partition for other keys, puts them all into 0.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
)

func main() {
	crc, balancer := sarama.NewConsistentCRCHashPartitioner("t"), kafka.CRC32Balancer{}
	for _, key := range []string{"a", "ab", "id-17", ""} {
		seen, others := map[int32]bool{}, map[int]bool{}
		for i := 0; i < 200; i++ {
			partition, err := crc.Partition(&sarama.ProducerMessage{Key: sarama.StringEncoder(key)}, 4)
			if err != nil {
				panic(err)
			}
			seen[partition] = true
			others[balancer.Balance(kafka.Message{Key: []byte(key)}, 0, 1, 2, 3)] = true
		}
		fmt.Printf("%q sarama %v kafka-go %v\n", key, seen, others)
	}
}
GO
go mod init finding 2>/dev/null
go get github.com/IBM/sarama@v1.61.1 github.com/segmentio/kafka-go@v0.4.51 2>/dev/null
go run . >go.txt
cat go.txt
diff go.txt - <<'EXPECTED'
"a" sarama map[3:true] kafka-go map[3:true]
"ab" sarama map[1:true] kafka-go map[1:true]
"id-17" sarama map[3:true] kafka-go map[3:true]
"" sarama map[0:true] kafka-go map[0:true 1:true 2:true 3:true]
EXPECTED
python3 -m venv env
env/bin/pip -q install confluent-kafka==2.16.1
env/bin/python - 2>messages <<'PY'
from confluent_kafka import Producer

partitions = {}
for partitioner in ("consistent_random", "murmur2_random", "fnv1a_random"):
    producer = Producer({"test.mock.num.brokers": 1, "partitioner": partitioner})
    found = {}
    report = lambda error, message: found.setdefault(message.key(), set()).add(message.partition())
    for _ in range(200):
        for key in ("a", "ab", "id-17", ""):
            producer.produce("t", b"", key=key, callback=report)
    producer.flush(30)
    print(partitioner, {key: sorted(of_key) for key, of_key in found.items()})
    partitions[partitioner] = found
assert {key: of_key for key, of_key in partitions["consistent_random"].items() if key} == {b"a": {3}, b"ab": {1}, b"id-17": {3}}
assert len(partitions["consistent_random"][b""]) > 1
assert all(len(partitions[name][b""]) == 1 for name in ("murmur2_random", "fnv1a_random"))
PY
