#!/usr/bin/env bash
# Version: Maven commons-compress 1.28.0, xz 1.10, zstd-jni 1.5.7-4, io.airlift:aircompressor 2.0.2 (Java 17); Debian 12's gzip, bzip2, xz, lz4 and zstd. Source: run on 2026-12-01; RFC 1952, RFC 8878 (members follow one another; frames may be skippable).
# Guess: one library has one rule for files of several members; the JDK's GZIPInputStream reads all of them; a zstd decompressor in Java reads what `zstd --ultra -22` and pzstd write, or needs an option.
# Behaviour: by default Commons Compress reads the first member of gz, bz2, xz and lz4, and all of zstd; if the first is empty, the file is, without an error. GZIPInputStream reads all if its source says available() > 0, else the first alone.
# aircompressor refuses the skippable frames of pzstd and windows of more than 8 MiB, as of --ultra -22, which zstd-jni reads.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
maven=https://repo1.maven.org/maven2
for path in org/apache/commons/commons-compress/1.28.0/commons-compress-1.28.0 commons-io/commons-io/2.20.0/commons-io-2.20.0 org/apache/commons/commons-lang3/3.18.0/commons-lang3-3.18.0 \
    commons-codec/commons-codec/1.19.0/commons-codec-1.19.0 org/tukaani/xz/1.10/xz-1.10 com/github/luben/zstd-jni/1.5.7-4/zstd-jni-1.5.7-4 io/airlift/aircompressor/2.0.2/aircompressor-2.0.2; do
    curl -fsS -O "$maven/$path.jar"
done
for tool in gzip bzip2 xz lz4 zstd; do
    (echo one | $tool -c; echo two | $tool -c) >"two.$tool"
    ($tool -c </dev/null; echo two | $tool -c) >"empty.$tool"
done
(printf '\x50\x2a\x4d\x18\x04\0\0\0\0\0\0\0'; echo one | zstd -c) >skippable.zstd
head -c 300000 /dev/zero | zstd --ultra -22 -c >ultra.zstd
cat >Finding.java <<'JAVA'
import java.io.*;
import java.nio.file.*;
import java.util.zip.GZIPInputStream;
import org.apache.commons.compress.compressors.CompressorStreamFactory;

public class Finding {
    interface Opener { InputStream open(InputStream source) throws Exception; }

    static String read(String name, Opener opener) throws Exception {
        try (InputStream stream = opener.open(new ByteArrayInputStream(Files.readAllBytes(Path.of(name))))) {
            byte[] bytes = stream.readAllBytes();
            return bytes.length > 100 ? bytes.length + " bytes" : new String(bytes).trim().replace("\n", " ");
        } catch (RuntimeException error) {
            return error.getMessage().replaceAll("[:(].*", "");
        }
    }

    static void check(String what, String found, String expected) {
        System.out.println(what + ": " + found);
        assert found.equals(expected) : expected;
    }

    public static void main(String[] arguments) throws Exception {
        String[][] names = {{"gzip", "gz"}, {"bzip2", "bzip2"}, {"xz", "xz"}, {"lz4", "lz4-framed"}, {"zstd", "zstd"}};
        for (String[] name : names) {
            Opener commons = source -> new CompressorStreamFactory().createCompressorInputStream(name[1], source);
            check("Commons Compress " + name[0], read("two." + name[0], commons), name[0].equals("zstd") ? "one two" : "one");
            check("behind an empty member", read("empty." + name[0], commons), name[0].equals("zstd") ? "two" : "");
        }
        check("GZIPInputStream", read("two.gzip", GZIPInputStream::new), "one two");
        Opener unavailable = source -> new GZIPInputStream(new FilterInputStream(source) {
            @Override public int available() { return 0; }
            @Override public int read(byte[] bytes, int offset, int length) throws IOException { return super.read(bytes, offset, Math.min(length, 24)); }
        });
        check("GZIPInputStream of a source without available()", read("two.gzip", unavailable), "one");
        Opener jni = com.github.luben.zstd.ZstdInputStream::new, airlift = io.airlift.compress.zstd.ZstdInputStream::new;
        check("zstd-jni", read("skippable.zstd", jni) + ", " + read("ultra.zstd", jni), "one, 300000 bytes");
        check("aircompressor", read("skippable.zstd", airlift) + ", " + read("ultra.zstd", airlift), "Invalid magic prefix, Window size too large ");
    }
}
JAVA
java -ea -cp '*' Finding.java 2>messages || { cat messages; exit 1; }
