# What every step of a case can call. Sourced by tests/cases/run; $CASE is the case's scratch folder.

# no_trace OUT...: no output, whole or partial, under that name or hidden beside it, and nothing in
# the work folder.
no_trace() {
    local out left
    for out in "$@"; do
        if [[ -e $out || -L $out ]]; then
            echo "no_trace: $out exists" >&2
            return 1
        fi
        left=$(find "$(dirname "$out")" -maxdepth 1 -name '[._]*' ! -name . ! -name .. | sort)
        if [[ -n $left ]]; then
            echo "no_trace: left beside $out:" $left >&2
            return 1
        fi
    done
    left=$(ls -A "$TMPDIR")
    if [[ -n $left ]]; then
        echo "no_trace: left in \$TMPDIR:" $left >&2
        return 1
    fi
}

# parts OUT: all parts, in order, of a complete output.
parts() {
    if [[ ! -e $1/_SUCCESS ]]; then
        echo "parts: $1 has no _SUCCESS" >&2
        return 1
    fi
    (shopt -s nullglob; set -- "$1"/part-*; (($# == 0)) || cat "$@")
}

# same A B: two outputs hold the same parts with the same bytes.
same() {
    diff -r "$1" "$2" >&2
}

# without_privileges COMMAND...: root without its powers, so that file modes count; others as they are.
without_privileges() {
    if ((EUID == 0)); then
        setpriv --bounding-set=-all -- "$@"
    else
        "$@"
    fi
}

# signal_when_running SIGNAL OUT COMMAND...: one signal, sent once the hidden folder beside OUT is there
# and its lock names the holder (attempts/ is made after that); then the command's exit status. With job
# control and signals as they are by default: a shell's background commands ignore SIGINT, and so may the
# shell that runs the tests.
signal_when_running() {
    local signal=$1 locked pid
    locked="$(dirname "$2")/.$(basename "$2").glint-*/attempts"
    shift 2
    set -m
    env --default-signal "$@" &
    pid=$!
    until compgen -G "$locked" >/dev/null; do
        kill -0 $pid || return
    done
    kill -"$signal" $pid
    wait $pid
}

# on_small_disk SIZE COMMAND: runs a bash command in a folder of its own file system of that size.
# The command sees the folder as its own, and cannot be looked into afterwards. `needs: mounts`.
on_small_disk() {
    mkdir -p "$CASE/disk"
    unshare -Urm bash -c '
        set -e
        mount -t tmpfs -o "size=$1" tmpfs "$CASE/disk"
        cd "$CASE/disk"
        . "$2"
        eval "$3"' bash "$1" "${BASH_SOURCE[0]}" "$2"
}

# ratings ROWS [SEED]: rows of made-up ratings, without the header line.
ratings() {
    glint generate ratings --rows "$1" --seed "${2:-1}" | tail -n +2
}

# event_log NAME: an event log of the fuzzer's seeds, for glint history.
event_log() {
    cat "$(dirname "${BASH_SOURCE[0]}")/../fuzz/corpus/event_log/$1"
}
