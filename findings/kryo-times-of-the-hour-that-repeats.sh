#!/usr/bin/env bash
# Version: Maven com.esotericsoftware:kryo 5.6.2, Java 17. Source: run on 2026-11-30; https://github.com/EsotericSoftware/kryo#default-serializers (serializers for
# java.time, Date and its subclasses, Locale) and https://docs.oracle.com/javase/8/docs/api/java/time/ZonedDateTime.html (ofLocal takes the earlier offset).
# Guess: what Kryo has a default serializer for comes back equal, or it refuses it.
# Behaviour: a ZonedDateTime in the second 02:30 of the night in which clocks go back is an hour earlier: the offset is not written, and the earlier one is taken.
# A java.sql.Timestamp loses what is below milliseconds, 1.123456789 s is 1.123 s, and a Locale its script, zh-Hant-TW is zh-TW. Instants and OffsetDateTimes
# are right.
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
import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.io.*;
import java.time.*;
import java.util.*;

public class Finding {
    @SuppressWarnings("unchecked")
    static <T> T trip(T value) {
        Kryo kryo = new Kryo();
        kryo.setRegistrationRequired(false);
        Output bytes = new Output(64, -1);
        kryo.writeClassAndObject(bytes, value);
        T back = (T) kryo.readClassAndObject(new Input(bytes.toBytes()));
        System.out.println(value + " -> " + back);
        return back;
    }

    public static void main(String[] arguments) {
        ZonedDateTime late = ZonedDateTime.of(2020, 10, 25, 2, 30, 0, 0, ZoneId.of("Europe/Rome")).withLaterOffsetAtOverlap();
        java.sql.Timestamp time = new java.sql.Timestamp(1500);
        time.setNanos(123456789);
        Locale locale = Locale.forLanguageTag("zh-Hant-TW");
        Instant instant = Instant.ofEpochSecond(-1, 999999999);
        boolean same = Duration.between(trip(late), late).equals(Duration.ofHours(1));
        same &= trip(time).getNanos() == 123000000 && trip(locale).toLanguageTag().equals("zh-TW");
        same &= trip(instant).equals(instant) && trip(late.toOffsetDateTime()).equals(late.toOffsetDateTime());
        if (!same)
            throw new AssertionError("changed");
    }
}
JAVA
java -cp '*' Finding.java
