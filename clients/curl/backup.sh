#!/bin/sh
# backup.sh FOLDER: exports each study to FOLDER/STUDY.ndjson. POST /v1/studies with the content type
# application/x-ndjson recreates the study from such a file. An existing file is replaced once its new version is
# complete.
set -eu
url=${BANDITD_URL:-http://127.0.0.1:8080}
get() { # PATH OPTION…
    path=$1
    shift
    curl -sS --fail-with-body --retry 20 --retry-connrefused \
        ${BANDITD_TOKEN:+-H "Authorization: Bearer $BANDITD_TOKEN"} "$@" "$url$path"
}
mkdir -p "$1"
next=
while :; do
    page=$(get "/v1/studies?limit=1000${next:+&page_token=$next}")
    for study in $(printf %s "$page" | jq -r '.items[].id'); do
        get "/v1/studies/$study/export?format=ndjson" -o "$1/$study.part"
        mv "$1/$study.part" "$1/$study.ndjson"
    done
    next=$(printf %s "$page" | jq -r '.next_page_token // empty | @uri')
    [ -n "$next" ] || exit 0
done
