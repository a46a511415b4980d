"""The stream of a study's events."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterable, Iterator
from typing import Optional

from . import _calls
from ._calls import Event
from ._errors import refusal
from .client import Client

SILENCE = 60.0  # the server sends a comment every few seconds


def events(client: Client, study: str, after: Optional[int]) -> Iterator[Event]:
    pauses = _calls.Pauses()
    while True:
        connection = client._connect(SILENCE)
        try:
            headers = _calls.Call("GET", "").headers(client._token())
            if after is not None:
                headers["Last-Event-ID"] = str(after)
            connection.request("GET", client._address.prefix + _calls.study_path(study, "/events"), headers=headers)
            response = connection.getresponse()
            if response.status != 200:
                body = response.read()
                if not _calls.is_transient(response.status):
                    raise refusal(response.status, body)
            else:
                for event in _parse(response):
                    pauses = _calls.Pauses()
                    after = after if event.id is None else event.id
                    if event.type == "start":
                        continue
                    yield event
                    if is_last(event):
                        return
        except (OSError, http.client.HTTPException):
            pass  # connect again, with the events since the last one
        finally:
            connection.close()
        time.sleep(pauses.next())


class Parser:
    """Makes events from the lines of a stream. An id without an event becomes an event of the type "start"."""

    def __init__(self) -> None:
        self._kind, self._data = "", ""
        self._number: Optional[int] = None

    def take(self, line: bytes) -> Optional[Event]:
        """The event that the line ends, or None."""
        name, _, value = line.decode().rstrip("\r\n").partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "event":
            self._kind = value
        elif name == "data":
            self._data += value
        elif name == "id" and value.isdigit():
            self._number = int(value)
        if name or value:
            return None
        kind, data, number = self._kind, self._data, self._number
        self._kind, self._data, self._number = "", "", None
        if kind:
            return Event(kind, json.loads(data) if data else {}, number)
        return None if number is None else Event("start", {}, number)


def _parse(lines: Iterable[bytes]) -> Iterator[Event]:
    parser = Parser()
    for line in lines:
        event = parser.take(line)
        if event:
            yield event


def is_last(event: Event) -> bool:
    return event.type == "state" and event.data.get("state") == "deleted"
