"""Study.optimize: threads that evaluate trials, and a thread that renews their leases."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from typing import Callable, Optional

from . import _calls
from ._calls import Trial, Value
from ._errors import BanditdError, Infeasible
from .client import Study

ASK_SECONDS = 5  # the longest wait of an ask, and so the longest time until a worker stops


class _Work:
    """The state that the threads share."""

    def __init__(self, study: Study, function: Callable[[Trial], Value], lease_seconds: float, retry: bool, limit: int):
        self.study, self.function = study, function
        self.lease_seconds, self.retry, self.limit = lease_seconds, retry, limit
        self.stop = threading.Event()  # the workers begin no more trials
        self.over = threading.Event()  # the workers have ended
        self.lock = threading.Lock()
        self.running: dict[int, Trial] = {}
        self.completed = 0
        self.failures_in_a_row = 0
        self.error: Optional[BaseException] = None

    def end_with(self, error: BaseException) -> None:
        with self.lock:
            self.error = self.error or error
        self.stop.set()

    def work(self, worker: str) -> None:
        try:
            wait = 0.0
            while not self.stop.is_set():
                asked = self.study.ask_with_reason(worker=worker, wait_seconds=wait, lease_seconds=self.lease_seconds)
                for trial in asked.trials:
                    self.take(trial)
                if asked.trials:
                    wait = 0.0  # to notice the end of the study at once
                    continue
                nothing_new = asked.reason in ("horizon_reached", "exhausted")
                if asked.reason == "finished" or (nothing_new and self.all_told()):
                    self.stop.set()
                # When there is nothing new, only a trial that another worker lost can be handed out.
                wait = 0.0 if nothing_new else ASK_SECONDS
                self.stop.wait(1 if nothing_new or asked.reason == "paused" else 0)
        except BaseException as error:  # raised again by the thread that called optimize
            self.end_with(error)
        finally:
            self.study._client.close()

    def all_told(self) -> bool:
        info = self.study.info()
        return bool(info["trials_queued"] + info["trials_pending"] == 0)

    def take(self, trial: Trial) -> None:
        if self.stop.is_set():
            self.study.release(trial)
            return
        with self.lock:
            self.running[trial.id] = trial
        try:
            try:
                value = self.function(trial)
                result = _calls.measured(trial, value)
            finally:
                with self.lock:
                    del self.running[trial.id]
        except Infeasible as error:
            self.study.infeasible(trial, str(error))
        except Exception as error:
            self.study.fail(trial, f"{type(error).__name__}: {error}", retry=self.retry)
            with self.lock:
                self.failures_in_a_row += 1
                enough = self.failures_in_a_row >= self.limit
            if enough:
                raise
        else:
            self.study.tell_results([result])
            with self.lock:
                self.completed += 1
                self.failures_in_a_row = 0

    def keep_leases(self) -> None:
        """Sends heartbeats for the running trials until all workers have ended. A lost heartbeat does no harm: the
        next one renews the lease."""
        while not self.over.wait(self.lease_seconds / 3):
            with self.lock:
                running = list(self.running.values())
            for trial in running:
                call = _calls.heartbeat(self.study.id, trial, self.lease_seconds)
                call.seconds = 10
                with contextlib.suppress(BanditdError):
                    self.study._client._run(call, retry_seconds=0)
        self.study._client.close()


def optimize(
    study: Study,
    function: Callable[[Trial], Value],
    workers: int,
    name: Optional[str],
    lease_seconds: float,
    retry: bool,
    max_failures: int,
) -> int:
    work = _Work(study, function, lease_seconds, retry, max_failures)
    name = name or f"{socket.gethostname()}-{os.getpid()}"
    study._feature_names()  # once, before the threads
    threads = [threading.Thread(target=work.work, args=(f"{name}-{i + 1}",), daemon=True) for i in range(workers)]
    keeper = threading.Thread(target=work.keep_leases, daemon=True)
    for thread in [*threads, keeper]:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:  # KeyboardInterrupt: running functions may finish, and their values are reported
        work.stop.set()
        for thread in threads:
            thread.join()
        raise
    finally:
        work.over.set()
        keeper.join()
    if work.error:
        raise work.error
    return work.completed
