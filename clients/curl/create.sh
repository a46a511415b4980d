#!/bin/sh
# create.sh FILE: creates a study from its definition (JSON) and prints its id.
set -eu
curl -sS --fail-with-body ${BANDITD_TOKEN:+-H "Authorization: Bearer $BANDITD_TOKEN"} \
    --json "@$1" "${BANDITD_URL:-http://127.0.0.1:8080}/v1/studies" | jq -r '.id // error(tojson)'
