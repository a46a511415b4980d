#!/bin/sh
# import.sh STUDY FILE.csv: imports earlier results into a study, from a file with the header candidate,value.
# Prints the server's response.
set -eu
curl -sS --fail-with-body ${BANDITD_TOKEN:+-H "Authorization: Bearer $BANDITD_TOKEN"} \
    -H 'Content-Type: text/csv' --data-binary "@$2" \
    "${BANDITD_URL:-http://127.0.0.1:8080}/v1/studies/$1/observations"
