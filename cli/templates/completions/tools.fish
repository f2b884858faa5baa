
# The names of tools, after `pmcp call FILE` and `pmcp test FILE call`.
function __fish_pmcp_wants_tool
    set -l words (commandline -opc)
    set -l count (count $words)
    test "$words[2]" = call -a $count -eq 3; or test "$words[2]" = test -a "$words[4]" = call -a $count -eq 4
end

function __fish_pmcp_tools
    set -l words (commandline -opc)
    test -e "$words[3]"; and $words[1] list $words[3] --quiet --timeout 10s 2>/dev/null | sed -n 's/^\([A-Za-z0-9_.-]\{1,\}\)(.*/\1/p'
end

complete -c pmcp -n __fish_pmcp_wants_tool -f -a "(__fish_pmcp_tools)"
