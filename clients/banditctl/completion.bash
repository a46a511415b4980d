# Completion of banditctl for bash. Source this file, or install it as
# /usr/share/bash-completion/completions/banditctl.
# The words come from the program's own tables; the ids of studies come from the server.
_banditctl() {
    local offered
    offered=$("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    mapfile -t COMPREPLY < <(compgen -W "$offered" -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -o default -F _banditctl banditctl
