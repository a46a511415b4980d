#!/bin/sh
# worker.sh STUDY COMMAND…: evaluates trials until the study is finished. For each trial it runs the command with the
# trial's features as further arguments, and reports the number in the last line that the command prints. WORKER is
# the name of this worker; no two workers may share a name.
set -eu
study=${BANDITD_URL:-http://127.0.0.1:8080}/v1/studies/$1
worker=${WORKER:-$(hostname)-$$}
shift
post() { # PATH BODY: repeats the request while the server does not answer; on a refusal, jq ends the script
    curl -sS --retry 20 --retry-connrefused ${BANDITD_TOKEN:+-H "Authorization: Bearer $BANDITD_TOKEN"} \
        --json "$2" "$study/$1"
}
while :; do
    asked=$(post ask "$(jq -n --arg worker "$worker" '{$worker, wait_seconds: 5}')")
    trial=$(printf %s "$asked" | jq '(.trials // error(tojson))[0].id // empty')
    if [ -z "$trial" ]; then
        case $(printf %s "$asked" | jq -r .reason) in finished | horizon_reached | exhausted) exit 0 ;; esac
        sleep 1
        continue
    fi
    # jq quotes the features for the shell, so that each is one argument of the command.
    features=$(printf %s "$asked" | jq -r '.trials[0] | (.point // [.parameters[]]) | map(tostring) | @sh')
    result=$(output=$(eval '"$@"' "$features") && value=$(printf '%s\n' "$output" | tail -n 1) &&
        jq -n --argjson trial "$trial" --arg value "$value" '{$trial, value: ($value | tonumber)}') ||
        result=$(jq -n --argjson trial "$trial" '{$trial, state: "failed"}')
    post tell "$(jq -n --argjson result "$result" '{results: [$result]}')" | jq -e '.accepted // error(tojson)' >/dev/null
done
