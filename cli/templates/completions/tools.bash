
# The names of tools, after `pmcp call FILE` and `pmcp test FILE call`.
_pmcp_with_tools() {
    local cur="${COMP_WORDS[COMP_CWORD]}" verb="${COMP_WORDS[1]}" file="${COMP_WORDS[2]}"
    if [[ ${cur} != -* && -e ${file} ]] && {
        [[ ${verb} == call && ${COMP_CWORD} -eq 3 ]] ||
        [[ ${verb} == test && ${COMP_CWORD} -eq 4 && ${COMP_WORDS[3]} == call ]]
    }; then
        local tools
        tools="$("${COMP_WORDS[0]}" list "${file}" --quiet --timeout 10s 2>/dev/null | sed -n 's/(.*//p')"
        COMPREPLY=( $(compgen -W "${tools}" -- "${cur}") )
        return 0
    fi
    _pmcp "$@"
}

complete -F _pmcp_with_tools -o bashdefault -o default pmcp
