"""Writes definitions, with the words of their parameters beside them, as multipart/form-data."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Union

from ._calls import Call, plain

# A CSV file, or the features of each word.
Words = Union[bytes, Mapping[str, Sequence[float]]]


def _part(boundary: str, name: str, kind: str, content: bytes) -> bytes:
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{quoted}"\r\nContent-Type: {kind}\r\n\r\n'
    return head.encode() + content + b"\r\n"


def _table(words: Words) -> tuple[str, bytes]:
    if isinstance(words, bytes):
        return "text/csv", words
    rows = [json.dumps({"key": word, "point": plain(features)}, allow_nan=False) for word, features in words.items()]
    return "application/x-ndjson", "\n".join(rows).encode()


def create_study(definition: Mapping[str, Any], words: Mapping[str, Words]) -> Call:
    boundary = uuid.uuid4().hex
    body = [_part(boundary, "study", "application/json", json.dumps(plain(definition), allow_nan=False).encode())]
    body += [_part(boundary, name, *_table(table)) for name, table in words.items()]
    body.append(f"--{boundary}--\r\n".encode())
    kind = f"multipart/form-data; boundary={boundary}"
    return Call("POST", "/v1/studies", b"".join(body), content_type=kind, seconds=3600)
