# Shared by the examples, which source it. They work on a fresh clone: missing packages are installed and
# the release is built on the first run. They write only to build/.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

step() { # NAME COMMAND...: runs it and shows its time
    local name=$1 begin=$EPOCHREALTIME
    shift
    "$@"
    show_time "$name" "$begin"
}

show_time() { # NAME BEGIN
    printf '  %-34s %8.3f s\n' "$1" "$(((${EPOCHREALTIME/./} - ${2/./}) / 1000))e-3"
}

# Copies the output of cmake to the log, and shows how far it is: on a terminal all the time, else once.
show_progress() { # LOG
    local line
    [[ -t 1 || -e build/release/glint ]] ||
        echo "  building build/release, which takes minutes (log: ${1#"$root"/})"
    while IFS= read -r line; do
        echo "$line" >>"$1"
        if [[ -t 1 && $line =~ ^\[[\ 0-9]+[/%]\ ?[0-9]*\] ]]; then printf '\r  building %s ' "${BASH_REMATCH[0]}"; fi
    done
    [[ ! -t 1 ]] || printf '\r\033[K'
}

# A tree that is configured already keeps its generator.
build() {
    local log=$root/build/example-build.log
    if [[ ! -e build/release/CMakeCache.txt ]]; then
        cmake -S . -B build/release -G Ninja -DCMAKE_BUILD_TYPE=Release
    fi >"$log" 2>&1 &&
        cmake --build build/release --target glint --parallel "$(nproc)" 2>&1 | show_progress "$log" ||
        { tail -20 "$log" >&2; exit 1; }
}

# Builds glint and prepends it to $PATH. With GLINT=FILE in the environment uses that program, and installs
# and builds nothing.
set_up() {
    if [[ -n ${GLINT:-} ]]; then
        PATH=$(cd "$(dirname "$GLINT")" && pwd):$PATH
        echo "steps, with $GLINT:"
        return
    fi
    mkdir -p "$root/build"
    .ci/install build
    echo "steps:"
    step "build (build/release)" build
    PATH=$root/build/release:$PATH
}
