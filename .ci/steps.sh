# Sourced by .ci/run and .ci/full: how a step is done and told, and what steps of both consist of.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export CI=true
export NO_COLOR=1
exec </dev/null

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Set by the one that sources this: whether the first step that fails ends it all; and which steps are done, all if none is named.
stops=yes
wanted=()

rows=()
failed=0
# Seconds of steps that are told apart from the others.
apart_seconds=0

# step NAME COMMAND...: says what it does, does it, and keeps how it ended, its time and the time of processors that it took.
step() {
  local name=$1 start=$SECONDS cpu status verdict=ok
  shift
  is_wanted "$name" || return 0
  count_cpu
  cpu=$cpu_seconds
  printf '\n==> %s: %s\n' "$name" "$*"
  rm -f "$work/note"
  # nothing may stand around the command that would switch off `set -e` within it
  set +e
  (
    set -e
    "$@"
  )
  status=$?
  set -e
  count_cpu
  [ "$status" -eq 0 ] || verdict=FAILED
  row "$verdict" $((SECONDS - start)) $((cpu_seconds - cpu)) "$name" "$status"
  [ "$status" -eq 0 ] && return 0
  failed=$((failed + 1))
  [ "$stops" = no ] || ends_with "$status"
}

# beside STEP...: steps of one command each, such as `lint=npm run lint`, two at a time. What a step
# says is printed when it has ended.
beside() {
  local one running=() names=()
  for one in "$@"; do
    is_wanted "${one%%=*}" || continue
    names+=("${one%%=*}")
    in_background "${one%%=*}" "${one#*=}" &
    running+=($!)
    # the slower one of two holds up no third one
    if [ "${#running[@]}" -ge 2 ]; then
      wait -n "${running[@]}" || true
      local left=() pid
      for pid in "${running[@]}"; do kill -0 "$pid" 2>/dev/null && left+=("$pid"); done
      running=("${left[@]}")
    fi
  done
  [ "${#running[@]}" -eq 0 ] || wait "${running[@]}" || true
  local name status seconds cpu first=0
  for name in "${names[@]}"; do
    read -r status seconds cpu <"$work/$name.end"
    printf '\n==> %s, beside others\n' "$name"
    cat "$work/$name.out"
    local verdict=ok
    [ "$status" -eq 0 ] || verdict=FAILED
    row "$verdict" "$seconds" "$cpu" "$name" "$status"
    [ "$status" -eq 0 ] && continue
    failed=$((failed + 1))
    [ "$first" -ne 0 ] || first=$status
  done
  if [ "$first" -ne 0 ] && [ "$stops" = yes ]; then ends_with "$first"; fi
}

in_background() {
  local name=$1 start=$SECONDS status=0
  # shellcheck disable=SC2086
  set +e
  $2 >"$work/$name.out" 2>&1
  status=$?
  count_cpu_into "$work/$name.times"
  printf '%s %s %s\n' "$status" $((SECONDS - start)) "$cpu_seconds" >"$work/$name.end"
}

# apart NAME COMMAND...: a step whose time does not count: it builds what later runs find in a cache.
apart() {
  local start=$SECONDS
  step "$@"
  apart_seconds=$((apart_seconds + SECONDS - start))
}

is_wanted() {
  [ "${#wanted[@]}" -eq 0 ] && return 0
  local name
  for name in "${wanted[@]}"; do
    [ "$name" = "$1" ] && return 0
  done
  return 1
}

# row VERDICT SECONDS CPU NAME STATUS
row() {
  local about=$4
  [ -e "$work/note" ] && about+=" ($(cat "$work/note"))"
  [ "$5" -eq 0 ] || about+=" (exit $5)"
  rows+=("$(printf '%-7s %5ds %6ds  %s' "$1" "$2" "$3" "$about")")
}

# Of all processes that have been started here and have ended. Not in a subshell, which has none.
count_cpu() { count_cpu_into "$work/times"; }

count_cpu_into() {
  times >"$1"
  cpu_seconds=$(awk 'NR == 2 { gsub("s", ""); split($1 "m" $2, part, "m"); printf "%d", (part[1] + part[3]) * 60 + part[2] + part[4] }' "$1")
}

table() {
  printf '\n%-7s %6s %7s  %s\n' '' time cpu step
  printf '%s\n' "${rows[@]}"
}

ends_with() {
  table
  exit "$1"
}

# note TEXT: stands behind the name of the step in the table.
note() {
  printf '%s' "$1" >"$work/note"
}

last_line() {
  grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$1" | tail -n 1
}

# on_node MAJOR ARGS...: Node of that major version, this one if it is.
on_node() {
  if [[ $(node --version) == "v$1."* ]]; then node "${@:2}"; else npx -y "node@$1" "${@:2}"; fi
}

# script_on_node MAJOR FILE ARGS...: what `npm run` does with a script, on another Node.
script_on_node() {
  on_node "$1" node_modules/tsx/dist/cli.mjs "${@:2}"
}

# The suite. Its last line is kept.
suite() {
  npm test 2>&1 | tee "$work/suite"
}

package() {
  npm run build
  npm run package:lint
  npm run package:try
  npm run size
}

# What holds of the tree by itself: the same in both.
checks() {
  beside 'layers=npm run layers' 'lint=npm run lint' 'types=npm run typecheck' 'dead-code=npm run knip' \
    'acceptance=npm run acceptance' 'docs=npm run docs'
  step package package
  step tests suite
}

demos() {
  step demo npm run demo
  step demo-blocks npm run demo -- --scenario blocks
  step demo-whereabouts npm run demo -- --scenario whereabouts
}

versions() {
  printf 'node %s, npm %s, bash %s\n' "$(node --version)" "$(npm --version)" "$BASH_VERSION"
}
