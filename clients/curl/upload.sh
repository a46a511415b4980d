#!/bin/sh
# upload.sh STUDY FILE.csv: uploads the candidates of a study and prints their number.
set -eu
curl -sS --fail-with-body ${BANDITD_TOKEN:+-H "Authorization: Bearer $BANDITD_TOKEN"} \
    -X PUT -H 'Content-Type: text/csv' -T "$2" \
    "${BANDITD_URL:-http://127.0.0.1:8080}/v1/studies/$1/candidates" | jq '.count // error(tojson)'
