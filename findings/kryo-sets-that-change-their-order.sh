#!/usr/bin/env bash
# Version: Maven com.esotericsoftware:kryo 5.6.2, Java 17. Source: run on 2026-11-30; https://github.com/EsotericSoftware/kryo#default-serializers (TreeSet, TreeMap,
# PriorityQueue, Collection, Map).
# Guess: a sorted set, a queue with a comparator and a map that is ordered by access keep their order, or cannot be written: a TreeMap whose comparator has
# no constructor without arguments is refused.
# Behaviour: only TreeSet, TreeMap, PriorityQueue and ConcurrentSkipListMap write their comparator. A ConcurrentSkipListSet of 3, 2, 1 in reverse order is 1, 2, 3, and
# a PriorityBlockingQueue in reverse order gives 1 first instead of 3, without an error; first(), headSet() and poll() are others then. A LinkedHashMap by
# access is one by insertion.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
base=https://repo1.maven.org/maven2
for name in com/esotericsoftware/kryo/5.6.2 \
    com/esotericsoftware/reflectasm/1.11.9 \
    com/esotericsoftware/minlog/1.3.1 \
    org/objenesis/objenesis/3.4; do
    version=${name##*/} path=${name%/*}
    curl -fsS -O "$base/$name/${path##*/}-$version.jar"
done
cat >Finding.java <<'JAVA'
import com.esotericsoftware.kryo.*;
import com.esotericsoftware.kryo.io.*;
import java.util.*;
import java.util.concurrent.*;

public class Finding {
    @SuppressWarnings("unchecked")
    static <T> T trip(T value) {
        Kryo kryo = new Kryo();
        kryo.setRegistrationRequired(false);
        Output bytes = new Output(64, -1);
        kryo.writeClassAndObject(bytes, value);
        return (T) kryo.readClassAndObject(new Input(bytes.toBytes()));
    }

    public static void main(String[] arguments) {
        Comparator<Integer> reverse = Collections.reverseOrder();
        List<Integer> numbers = List.of(1, 2, 3);
        ConcurrentSkipListSet<Integer> set = new ConcurrentSkipListSet<>(reverse);
        set.addAll(numbers);
        PriorityBlockingQueue<Integer> queue = new PriorityBlockingQueue<>(5, reverse);
        queue.addAll(numbers);
        LinkedHashMap<Integer, Integer> used = new LinkedHashMap<>(16, 0.75f, true);
        numbers.forEach(number -> used.put(number, number));
        TreeSet<Integer> tree = new TreeSet<>(reverse);
        tree.addAll(numbers);
        String refused = "";
        try {
            trip(tree);
        } catch (KryoException error) {
            refused = error.getMessage().split("\\R")[0];
        }
        LinkedHashMap<Integer, Integer> back = trip(used);
        used.get(1);
        back.get(1);
        String got = set + " " + trip(set) + ", " + queue.peek() + " " + trip(queue).peek() + ", " + used.keySet() + " " + back.keySet();
        System.out.println(got + "; TreeSet: " + refused);
        if (!got.equals("[3, 2, 1] [1, 2, 3], 3 1, [2, 3, 1] [1, 2, 3]") || !refused.contains("ReverseComparator"))
            throw new AssertionError("changed");
    }
}
JAVA
java -cp '*' Finding.java
