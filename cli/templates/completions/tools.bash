
# The names of tools, after `pmcp call FILE` and `pmcp test FILE call`.
_pmcp_with_tools() {
    local cur="${COMP_WORDS[COMP_CWORD]}" verb="${COMP_WORDS[1]}" file="${COMP_WORDS[2]}"
    if [[ ${cur} != -* && -e ${file} ]] && {
        [[ ${verb} == call && ${COMP_CWORD} -eq 3 ]] ||
        [[ ${verb} == test && ${COMP_CWORD} -eq 4 && ${COMP_WORDS[3]} == call ]]
    }; then
        local tool
        COMPREPLY=()
        # Other names would need quotes, and could be code.
        while IFS= read -r tool; do
            [[ ${tool} == "${cur}"* ]] && COMPREPLY+=("${tool}")
        done < <("${COMP_WORDS[0]}" list "${file}" --quiet --timeout 10s 2>/dev/null |
            sed -n 's/^\([A-Za-z0-9_.-]\{1,\}\)(.*/\1/p')
        return 0
    fi
    _pmcp "$@"
}

complete -F _pmcp_with_tools -o bashdefault -o default pmcp
