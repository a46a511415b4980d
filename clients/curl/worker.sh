#!/bin/sh
# worker.sh STUDY COMMAND…: asks for a trial, runs the command with its features as further words, tells the number in
# the last line that it prints, and so on until the study is done. WORKER names this worker, and must be its alone.
set -eu
study=${BANDITD_URL:-http://127.0.0.1:8080}/v1/studies/$1
worker=${WORKER:-$(hostname)-$$}
shift
post() { # PATH BODY: tried again while the server is away; a refusal passes through, and ends the script in jq
    curl -sS --retry 20 --retry-connrefused ${BANDITD_TOKEN:+-H "Authorization: Bearer $BANDITD_TOKEN"} \
        --json "$2" "$study/$1"
}
while :; do
    asked=$(post ask "$(jq -n --arg worker "$worker" '{$worker, wait_seconds: 5}')")
    trial=$(printf %s "$asked" | jq '(.trials // error(tojson))[0].id // empty')
    if [ -z "$trial" ]; then
        case $(printf %s "$asked" | jq -r .reason) in finished | horizon_reached) exit 0 ;; esac
        sleep 1
        continue
    fi
    # Quoted for the shell by jq, so that each is one word of the command.
    features=$(printf %s "$asked" | jq -r '.trials[0] | (.point // [.parameters[]]) | map(tostring) | @sh')
    result=$(output=$(eval '"$@"' "$features") && value=$(printf '%s\n' "$output" | tail -n 1) &&
        jq -n --argjson trial "$trial" --arg value "$value" '{$trial, value: ($value | tonumber)}') ||
        result=$(jq -n --argjson trial "$trial" '{$trial, state: "failed"}')
    post tell "$(jq -n --argjson result "$result" '{results: [$result]}')" | jq -e '.accepted // error(tojson)' >/dev/null
done
