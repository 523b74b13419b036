# What the examples have in common; each sources it. They work on a fresh clone: what is missing is
# installed and built, and the second time nothing is. All they write is in build/.

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

build() {
    local log=$root/build/example-build.log
    if [[ ! -e build/release/build.ninja ]]; then
        cmake -S . -B build/release -G Ninja -DCMAKE_BUILD_TYPE=Release
    fi >"$log" 2>&1 &&
        cmake --build build/release --target glint >>"$log" 2>&1 ||
        { tail -20 "$log" >&2; exit 1; }
}

# Puts glint at the head of $PATH. With GLINT=FILE in the environment it is that program, and nothing
# is installed or built.
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
