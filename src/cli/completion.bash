# Completion of millrace in bash. Needs no package, and runs no word of the command line.
_millrace() {
  local line value directive=4
  local -a values=() shown=()
  while IFS= read -r line; do
    case $line in
      :[0-9]*) directive=${line#:} ;;
      ?*)
        value=${line%%$'\t'*}
        values+=("$value")
        shown+=("$value  (${line#*$'\t'})")
        ;;
    esac
  done < <(millrace complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  [[ $directive == 0 ]] || compopt +o default 2>/dev/null
  # Of several, bash inserts what they have in common and lists the rest.
  if [[ ${#values[@]} -gt 1 ]]; then COMPREPLY=("${shown[@]}"); else COMPREPLY=("${values[@]}"); fi
}
complete -o default -o nosort -F _millrace millrace 2>/dev/null || complete -o default -F _millrace millrace
