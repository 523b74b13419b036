# bash completion for glint. A program with jobs of its own: complete -F _glint ./wordcount
# The words are the program's own: glint help --words.
_glint() {
    local IFS=$'\n' previous=${COMP_WORDS[COMP_CWORD - 1]} current=${COMP_WORDS[COMP_CWORD]}
    local before=("${COMP_WORDS[@]:1:COMP_CWORD-1}") lines words
    # --name=value is three words here.
    if [[ $current == "=" ]]; then
        current=
        before=("${before[@]::${#before[@]}-1}")
    elif [[ $previous == "=" ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
        before=("${before[@]::${#before[@]}-2}")
    elif [[ $previous == --* ]]; then
        before=("${before[@]::${#before[@]}-1}") # it may still lack its value
    fi
    lines=$("${COMP_WORDS[0]}" help --words "${before[@]}" 2>/dev/null)
    words=$(sed -n "s/^$previous=\([^	]*\).*/\1/p" <<<"$lines")
    if [[ -n $words ]]; then # values, if the placeholder lists them
        [[ $words == *"|"* ]] && words=${words//|/$'\n'} || words=
    elif [[ $current == -* ]]; then
        words=$(sed -n 's/^\(--[^=	]*=\{0,1\}\).*/\1/p' <<<"$lines")
        compopt -o nospace
    else
        words=$(sed -n 's/^\([^-	][^	]*\).*/\1/p' <<<"$lines")
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    [[ ${#COMPREPLY[@]} -gt 1 || ${COMPREPLY[0]-} == *= ]] || compopt +o nospace
    if [[ -z $words ]]; then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}
complete -F _glint glint
