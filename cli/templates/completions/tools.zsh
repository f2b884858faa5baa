
# The names of tools, after `pmcp call FILE` and `pmcp test FILE call`.
_pmcp_with_tools() {
    if [[ -e $words[3] && $words[CURRENT] != -* ]] && {
        [[ $words[2] == call && $CURRENT -eq 4 ]] || [[ $words[2] == test && $CURRENT -eq 5 && $words[4] == call ]]
    }; then
        local -a tools
        tools=(${(f)"$($words[1] list $words[3] --quiet --timeout 10s 2>/dev/null |
            sed -n 's/^\([A-Za-z0-9_.-]\{1,\}\)(.*/\1/p')"})
        compadd -a tools
    else
        _pmcp "$@"
    fi
}

compdef _pmcp_with_tools pmcp
