# fish completion for glint. A program with jobs of its own: complete -c wordcount -w glint
# The words are the program's own: glint help --words.
function __glint_words
    set -l before (commandline -opc)
    set -l program $before[1]
    set -e before[1]
    set -l current (commandline -ct)
    set -l option
    set -l prefix ''
    if string match -q -- '--*=*' $current
        set option (string split -m 1 = -- $current)[1]
        set prefix "$option="
    else if string match -q -- '--*' "$before[-1]"
        set option $before[-1]
        set -e before[-1] # it may still lack its value
    end
    set -l lines ($program help --words $before 2>/dev/null)
    for line in $lines
        set -l value (string split -m 1 \t -- $line)[1]
        if test -n "$option"; and string match -q -- "$option=*" $value
            # Values, if the placeholder lists them; else files.
            string match -q -- '*|*' $value; or return
            for choice in (string split '|' -- (string split -m 1 = -- $value)[2])
                echo -- $prefix$choice
            end
            return
        end
    end
    test -z "$prefix"; or return
    if string match -q -- '-*' $current
        string replace -rf -- '^(--[^=\t]*=?)[^\t]*' '$1' $lines
    else
        string match -v -- '--*' $lines
    end
end
complete -c glint -n 'set -g __glint_found (__glint_words); test -n "$__glint_found"' -f -a '$__glint_found'
