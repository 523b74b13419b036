#!/usr/bin/env bash
# Version: Debian 12's pcre2-utils 10.42-1+deb12u2, grep 3.8-5. Source: run on 2026-11-30; pcre2grep(1): exit status 2 is for "too many
# matching errors", which are more than 20.
# Guess: a line that exceeds the match limit, or with -u is no UTF-8, is an error of the run, as in grep -P.
# Behaviour: pcre2grep prints a message and goes on: with -v the line is missing, and the exit status is 0 or 1, so that
# counting with -c and filtering lose up to 20 lines of a file that a script takes as complete. grep -P exits with 2.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
chmod 755 .
apt-get -qq download pcre2-utils=10.42-1+deb12u2 grep=3.8-5 2>/dev/null
for package in *.deb; do dpkg-deb -x "$package" root; done
export PATH=$dir/root/bin:$dir/root/usr/bin:$PATH
{ head -c 40 /dev/zero | tr '\0' a; printf 'c\nb\n'; } >lines
check() { # WANTED COMMAND...
    local want=$1 found=0
    shift
    "$@" lines >out 2>messages || found=$?
    echo "$1 ${*:2}: exit status $found, $(wc -l <out) of 2 lines, $(grep -c . messages) lines of messages"
    [[ "$found $(wc -l <out)" == "$want" && -s messages ]]
}
check "0 1" pcre2grep -v '^(a+)+$'
check "2 0" grep -Pv '^(a+)+$'
printf 'a\xff\nb\n' >lines
check "0 1" pcre2grep -uv 'x'
