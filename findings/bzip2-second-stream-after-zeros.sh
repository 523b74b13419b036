#!/usr/bin/env bash
# Version: Debian 12's bzip2 1.0.8-5+b1, gzip 1.12-1, xz-utils 5.4.1-1+deb12u2. Source: run on 2026-11-29; all three formats
# allow several streams in a file, and tapes and block devices pad each file with zeros.
# Guess: a stream behind such zeros is read, as by xz, or its loss is an error.
# Behaviour: xz reads both streams; gzip drops the second one, warns, and exits with 2; bzip2 drops it, warns, and
# exits with 0: a script that checks the status loses rows, and with --quiet nothing tells.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
chmod 755 .
apt-get -qq download bzip2=1.0.8-5+b1 gzip=1.12-1 xz-utils=5.4.1-1+deb12u2 2>/dev/null
for package in *.deb; do dpkg-deb -x "$package" root; done
export PATH=$dir/root/bin:$dir/root/usr/bin:$PATH
for want in "xz 0 ab" "gzip 2 a" "bzip2 0 a"; do
    read -r tool status rows <<<"$want"
    { echo a | "$tool"; head -c 64 /dev/zero; echo b | "$tool"; } >both
    found=0
    "$tool" -dc <both >out 2>messages || found=$?
    echo "$tool -dc: exit status $found, rows $(tr -d '\n' <out); $(tr -d '\n' <messages)"
    [[ $found == "$status" && $(tr -d '\n' <out) == "$rows" ]]
done
bzip2 --quiet -dc <both >out 2>messages
[[ $(<out) == a && ! -s messages ]]
