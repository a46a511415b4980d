"""Heartbeats for the trials that run in this process."""

from __future__ import annotations

import contextlib
import threading
from typing import Optional

from . import _calls
from ._calls import Trial
from ._errors import BanditdError, Conflict, NotFound
from .client import Study


class LeaseKeeper:
    """Renews the leases of trials in a thread, which runs as long as there are trials."""

    def __init__(self, lease_seconds: float) -> None:
        self.lease_seconds = lease_seconds
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._running: dict[int, tuple[Study, Trial]] = {}
        self._thread: Optional[threading.Thread] = None

    def add(self, study: Study, trial: Trial) -> None:
        with self._lock:
            self._running[trial.id] = (study, trial)
            if self._thread is None:
                self._changed.clear()
                self._thread = threading.Thread(target=self._keep, daemon=True)
                self._thread.start()

    def remove(self, number: int) -> None:
        with self._lock:
            self._running.pop(number, None)
            if not self._running:
                self._changed.set()

    def _keep(self) -> None:
        while True:
            self._changed.wait(self.lease_seconds / 3)
            with self._lock:
                self._changed.clear()
                running = list(self._running.values())
                if not running:
                    self._thread = None
                    return
            for study, trial in running:
                self._renew(study, trial)

    def _renew(self, study: Study, trial: Trial) -> None:
        call = _calls.heartbeat(study.id, trial, self.lease_seconds)
        call.seconds = 10
        try:
            with contextlib.closing(study._client):  # of this thread
                study._client._run(call, retry_seconds=0)
        except (Conflict, NotFound):  # the trial has ended, or another attempt of it runs
            self.remove(trial.id)
        except BanditdError:
            pass  # the next heartbeat renews the lease
