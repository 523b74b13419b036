#!/usr/bin/env bash
# Version: Debian 12's lz4 1.9.4-1, gzip 1.12-1, zstd 1.5.4+dfsg2-5, xz-utils 5.4.1-1+deb12u2, bzip2 1.0.8-5+b1. Source: run
# on 2026-11-29; the frame format's description has no frame of 0 bytes: each begins with a magic number.
# Guess: an empty file, such as one that a failed copy left, is no compressed file: exit status 1.
# Behaviour: gzip, zstd, xz and bzip2 fail; `lz4 -dc` and `lz4 -t` succeed, and decode 0 bytes.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
chmod 755 .
apt-get -qq download lz4=1.9.4-1 liblz4-1=1.9.4-1 gzip=1.12-1 zstd=1.5.4+dfsg2-5 xz-utils=5.4.1-1+deb12u2 \
    bzip2=1.0.8-5+b1 2>/dev/null
for package in *.deb; do dpkg-deb -x "$package" root; done
export LD_LIBRARY_PATH=$dir/root/usr/lib/x86_64-linux-gnu PATH=$dir/root/bin:$dir/root/usr/bin:$PATH
: >empty
for tool in gzip zstd xz bzip2 lz4; do
    status=0
    "$tool" -dc <empty >out 2>/dev/null || status=$?
    echo "$tool -dc: exit status $status, $(wc -c <out) bytes"
    if [[ $tool == lz4 ]]; then ((status == 0)); else ((status > 0)); fi
done
lz4 -t empty 2>&1 | tr '\r' '\n' | grep decoded
