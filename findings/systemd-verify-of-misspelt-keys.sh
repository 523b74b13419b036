#!/usr/bin/env bash
# Version: Debian 12's systemd 252.38-1~deb12u1. Source: run on 2026-11-30; systemd-analyze(1): verify "will load unit files and
# print warnings if any errors are detected", and exits with 0 "on success, a non-zero failure code otherwise".
# Guess: a test that runs it on a unit sees a setting that systemd does not take.
# Behaviour: a misspelt key, an unknown value of a sandbox and a limit that is no number are printed as ignored, with exit
# status 0: the service would run without its sandbox. A program that does not exist is status 1.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
systemd-analyze --version | grep -q '^systemd 252 '
check() { # NAME STATUS LINE
    local status=0
    printf '[Service]\nExecStart=/bin/%s\n%s\n' "$([[ $1 == program ]] && echo none || echo true)" "$3" >"$1.service"
    systemd-analyze --no-pager verify "./$1.service" >messages 2>&1 || status=$?
    echo "$3: exit status $status, $(tr '\n' ' ' <messages)"
    [[ $status == "$2" && -s messages ]]
}
check key 0 'ProtectSytem=strict'
check value 0 'ProtectSystem=stric'
check limit 0 'MemoryMax=1Q'
check program 1 ''
