# Functions for the steps of cases. Sourced by tests/cases/run; $CASE is the case's scratch directory.

# no_trace OUT...: fails if an output, complete or partial, exists under that name or hidden next to it,
# or if the work directory is not empty.
no_trace() {
    local out left
    for out in "$@"; do
        if [[ -e $out || -L $out ]]; then
            echo "no_trace: $out exists" >&2
            return 1
        fi
        left=$(find "$(dirname "$out")" -maxdepth 1 -name '[._]*' ! -name . ! -name .. | sort)
        if [[ -n $left ]]; then
            echo "no_trace: hidden entries next to $out:" $left >&2
            return 1
        fi
    done
    left=$(ls -A "$TMPDIR")
    if [[ -n $left ]]; then
        echo "no_trace: entries in \$TMPDIR:" $left >&2
        return 1
    fi
}

# parts OUT: prints all parts of a complete output, in order.
parts() {
    if [[ ! -e $1/_SUCCESS ]]; then
        echo "parts: $1 has no _SUCCESS" >&2
        return 1
    fi
    (shopt -s nullglob; set -- "$1"/part-*; (($# == 0)) || cat "$@")
}

# same A B: ends the step, which fails, unless two outputs have the same parts with the same bytes.
same() {
    diff -r "$1" "$2" >&2 || exit
}

# without_privileges COMMAND...: runs it without root's capabilities, so that file modes apply; as other users
# unchanged.
without_privileges() {
    if ((EUID == 0)); then
        setpriv --bounding-set=-all -- "$@"
    else
        "$@"
    fi
}

# signal_when_running SIGNAL OUT COMMAND...: sends one signal once the hidden directory next to OUT exists
# and its lock names the owner (attempts/ is created after that); returns the command's exit status. Uses
# job control and default signals: a shell's background commands ignore SIGINT, and the shell that runs
# the tests may ignore it, too.
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

# on_small_disk SIZE COMMAND: runs a bash command in the directory of a new file system of that size, which is
# not visible to later steps. `needs: mounts`.
on_small_disk() {
    mkdir -p "$CASE/disk"
    unshare -Urm bash -c '
        set -e
        mount -t tmpfs -o "size=$1" tmpfs "$CASE/disk"
        cd "$CASE/disk"
        . "$2"
        eval "$3"' bash "$1" "${BASH_SOURCE[0]}" "$2"
}

# ratings ROWS [SEED]: prints random ratings, without the header line.
ratings() {
    glint generate ratings --rows "$1" --seed "${2:-1}" | tail -n +2
}

# event_log NAME: prints an event log of the fuzzer's seeds, for glint history.
event_log() {
    cat "$(dirname "${BASH_SOURCE[0]}")/../fuzz/corpus/event_log/$1"
}

# serve DIRECTORY: starts tests/support/http_server.py until the step ends; sets $URL, logs requests to ../requests.
serve() {
    rm -f "$CASE/port" "$CASE/requests"
    mkfifo "$CASE/port"
    "$(dirname "${BASH_SOURCE[0]}")/../support/http_server.py" "$1" "$CASE/port" "$CASE/requests" &
    trap "kill $!" EXIT
    export no_proxy='*' GLINT_HTTP_TIMEOUT=30 AWS_EC2_METADATA_DISABLED=true
    URL=http://127.0.0.1:$(<"$CASE/port")
}

# store: serve, with credentials for s3://bucket/, which is the directory d; forgets the faults of earlier steps.
store() {
    mkdir -p d
    rm -rf d/* "$CASE/faults" "$CASE/held"
    serve d
    export AWS_ENDPOINT_URL=$URL HOME=$PWD AWS_ACCESS_KEY_ID=AKID AWS_SECRET_ACCESS_KEY=se+cret/key
    unset AWS_PROFILE
}

# kill_when_held ACTION METHOD PATTERN COMMAND...: kills the command once the store holds such a request of it
# (tests/support/s3_uploads.py).
kill_when_held() {
    local pid line
    [[ -p $CASE/held ]] || mkfifo "$CASE/held"
    echo "$1 $2 $3" >"$CASE/faults"
    shift 3
    "$@" &
    pid=$!
    read -r line <"$CASE/held"
    kill -KILL $pid
    wait $pid 2>/dev/null
    rm -r "$CASE/faults" "$TMPDIR"/glint-* # the next process would remove the work directory
}
