"""What a study's trials must be, told in the simplest way: lists, and no shortcuts. Written from the API's
description, not from the server."""

GRACE_MS = 30_000
LEASE_RAN_OUT = "the lease ran out"
RETIRED = "the candidate was retired"
INFEASIBLE = "the candidate is infeasible"


class Refused(Exception):
    def __init__(self, status):
        super().__init__(status)
        self.status = status


class Trial:
    def __init__(self, number, own):
        self.id, self.own = number, own
        self.state, self.attempt = "queued", 0
        self.candidate = None  # known when the server has shown it
        self.worker = None
        self.issued_at = self.lease = self.shown_lease = None
        self.value = self.reason = self.told_at = None
        self.returned = None  # how and when it came back: ("released" | "again", when)
        self.attempts, self.late, self.amendments, self.steps = [], [], [], {}

    def shown(self):
        """As a list of trials shows it; without what the server alone decides."""
        out = {"id": self.id, "state": self.state, "attempt": self.attempt}
        if self.worker:
            out["worker"] = self.worker
        if self.issued_at is not None:
            out["issued_at"] = self.issued_at
        if self.state == "pending":
            out["lease_expires_at"] = self.shown_lease
        if self.value is not None:
            out["value"] = self.value
        if self.reason:
            out["reason"] = self.reason
        if self.told_at is not None:
            out["told_at"] = self.told_at
        return out

    def place(self):
        """Where it stands in the queue: released ones first, the last one at the head; then those that are handed out
        again; then users' own; then picks."""
        if self.returned:
            kind, when = self.returned
            return (0, -when, -self.id) if kind == "released" else (1, self.id, 0)
        return (2 if self.own else 3, self.id, 0)


class Model:
    def __init__(self, lease_seconds, max_attempts, horizon=None, look=None):
        self.now = 0
        self.look = look  # number -> state of a trial, where the server alone decides
        self.lease_seconds, self.max_attempts, self.horizon = lease_seconds, max_attempts, horizon
        self.state = "active"
        self.trials = []
        self.retired = set()

    # ---- looking ----

    def trial(self, number):
        if not 1 <= number <= len(self.trials):
            raise Refused(404)
        return self.trials[number - 1]

    def queue(self):
        return sorted((t for t in self.trials if t.state == "queued"), key=Trial.place)

    def pending(self):
        return [t for t in self.trials if t.state == "pending"]

    def is_full(self):
        return self.horizon is not None and len(self.trials) >= self.horizon

    def counters(self):
        states = ("queued", "pending", "completed", "failed", "infeasible", "stopped")
        out = {f"trials_{state}": sum(t.state == state for t in self.trials) for state in states}
        out["observations"] = sum((t.value is not None) + len(t.late) for t in self.trials)
        return out

    # ---- time ----

    def settle(self):
        """What follows by itself."""
        for t in self.trials:
            if t.state == "pending" and t.lease <= self.now:
                if t.attempt >= self.max_attempts:
                    self._close(t, "failed", None, LEASE_RAN_OUT, t.attempt)
                else:
                    t.attempts[-1].update(ended_at=self.now, outcome="expired")
                    self._requeue(t, "again")
        is_open = any(t.state in ("queued", "pending") for t in self.trials)
        if self.state == "active" and self.is_full() and not is_open:
            self.state = "finished"

    def restart(self):
        """Leases that ran out while the server was down get some grace."""
        for t in self.pending():
            if t.shown_lease <= self.now:
                t.lease = self.now + GRACE_MS

    # ---- asking ----

    def _issue(self, t, worker, lease_seconds):
        lease = self.now + 1000 * (lease_seconds or self.lease_seconds)
        if t.state == "pending":
            t.attempts[-1]["lease_expires_at"] = lease
        else:
            t.state, t.worker, t.issued_at = "pending", worker, self.now
            t.attempt += 1
            t.attempts.append({"attempt": t.attempt, "worker": worker, "issued_at": self.now, "lease_expires_at": lease})
        t.lease = t.shown_lease = lease

    def shortage(self):
        if self.state != "active":
            return self.state
        return "horizon_reached" if self.is_full() else "awaiting_feedback"

    def ask(self, worker, count, fresh, lease_seconds, planned):
        """`planned`: the candidates of the trials that the server adds when it has to. -> (trials, reason)"""
        own = [t for t in self.pending() if worker and t.worker == worker and not fresh][:count]
        given = list(own)
        added = 0
        wanted = count - len(own)
        if self.state == "active" and len(self.queue()) < wanted and not self.is_full():
            new = [self._plan(candidate) for candidate in planned()]
            assert self.horizon is None or len(self.trials) <= self.horizon, "more trials than the horizon"
            barred = any(t.state == "stopped" for t in new)
            assert len(self.queue()) >= wanted or self.is_full() or barred, "an ask gets fewer than it wants"
        if self.state == "active":
            given += self.queue()[: count - len(given)]
        for t in given:
            self._issue(t, worker, lease_seconds)
        return given, None if len(given) == count else self.shortage()

    def _plan(self, candidate):
        assert candidate not in self.retired, f"a pick of candidate {candidate}, which was retired"
        t = Trial(len(self.trials) + 1, own=False)
        t.candidate = candidate
        self.trials.append(t)
        self._bar(t)
        return t

    def _bar(self, t):
        """Closes a queued pick of an infeasible candidate. When an amendment that says or denies this counts is the server's
        to decide."""
        if t.own or t.state != "queued":
            return
        same = [other for other in self.trials if other.candidate == t.candidate]
        unsure = any("infeasible" in [state for state, _ in [*o.amendments, (o.state, 0)]] for o in same if o.amendments)
        sure = any(o.state == "infeasible" and not o.amendments for o in same)
        if sure or (unsure and self.look(t.id) == "stopped"):
            self._close(t, "stopped", None, INFEASIBLE, None)

    def _bar_all(self, candidates):
        for t in self.queue():
            if t.candidate in candidates:
                self._bar(t)

    def heartbeat(self, number, attempt, lease_seconds):
        t = self.held(number, attempt)
        self._issue(t, None, lease_seconds)
        return t

    def held(self, number, attempt):
        t = self.trial(number)
        if t.state != "pending" or (attempt is not None and attempt != t.attempt):
            raise Refused(409)
        return t

    def _requeue(self, t, how):
        t.state, t.returned = "queued", (how, self.now)
        if t.candidate in self.retired:
            self._close(t, "stopped", None, RETIRED, None)
        self._bar(t)

    def retire(self, candidates, known):
        """-> how many were not retired before, and how many queued trials that closes"""
        if max(candidates) >= known:
            raise Refused(422)
        new = set(candidates) - self.retired
        self.retired |= new
        cancelled = [t for t in self.queue() if t.candidate in self.retired]
        for t in cancelled:
            self._close(t, "stopped", None, RETIRED, None)
        return {"retired": len(new), "cancelled": len(cancelled)}

    def propose(self, candidate):
        if self.state == "finished" or self.is_full():
            raise Refused(409)
        if candidate in self.retired:
            raise Refused(422)
        self.trials.append(Trial(len(self.trials) + 1, own=True))
        return self.trials[-1]

    # ---- telling ----

    def _close(self, t, state, value, reason, attempt):
        """attempt None: told by none of its attempts"""
        t.state, t.value, t.reason, t.told_at = state, value, reason, self.now
        if attempt is None:
            return
        t.attempt = attempt
        told = [a for a in t.attempts if a["attempt"] == attempt]
        if told:
            told[-1].update(ended_at=self.now, outcome=state)
        for a in t.attempts:
            if "ended_at" not in a:
                a.update(ended_at=self.now, outcome="superseded")

    def _verdict(self, result, earlier):
        state, value = result.get("state", "completed"), result.get("value")
        if not 1 <= result["trial"] <= len(self.trials):
            return 422
        for other in reversed(earlier):
            if other["trial"] == result["trial"]:
                same = (other.get("state", "completed"), other.get("value")) == (state, value)
                return "duplicate" if same else 409
        t = self.trials[result["trial"] - 1]
        attempt = result.get("attempt")
        if t.state in ("queued", "pending") or (t.state == "failed" and t.reason == LEASE_RAN_OUT):
            if attempt is not None and attempt > t.attempt:
                return 422
            if t.state == "queued" and t.attempt == 0:
                return 409
            if state == "released" and not (t.state == "pending" and attempt in (None, t.attempt)):
                return "duplicate"
            return "accept"
        if (state, value) == (t.state, t.value) or (state, value) in t.amendments:
            return "duplicate"
        if attempt in (None, t.attempt):
            return 409
        if attempt > max((a["attempt"] for a in t.attempts), default=0):
            return 422
        if value is None or t.value is None:
            return 409
        if attempt not in dict(t.late):
            return "late"
        return "duplicate" if dict(t.late)[attempt] == value else 409

    def tell(self, results):
        verdicts = [self._verdict(result, results[:i]) for i, result in enumerate(results)]
        refusals = [v for v in verdicts if isinstance(v, int)]
        if refusals:
            raise Refused(max(refusals))
        for verdict, result in zip(verdicts, results):
            if verdict != "duplicate":
                self._apply(verdict, result)
        self._bar_all({self.trials[result["trial"] - 1].candidate for result in results})
        return {
            "accepted": verdicts.count("accept"),
            "duplicates": verdicts.count("duplicate"),
            "late": verdicts.count("late"),
        }

    def _apply(self, verdict, result):
        t = self.trials[result["trial"] - 1]
        state, attempt = result.get("state", "completed"), result.get("attempt", t.attempt)
        if verdict == "late":
            t.late.append((attempt, result["value"]))
        elif state == "released":
            t.attempts[-1].update(ended_at=self.now, outcome="released")
            t.steps = {key: value for key, value in t.steps.items() if key[0] != t.attempt}
            t.attempt -= 1
            self._requeue(t, "released")
        elif state == "failed" and result.get("retry") and t.state == "pending" and t.attempt < self.max_attempts:
            t.attempts[-1].update(ended_at=self.now, outcome="failed")
            self._requeue(t, "again")
        else:
            self._close(t, state, result.get("value"), result.get("reason"), attempt)

    def amend(self, number, value, state, reason):
        t = self.trial(number)
        if t.state in ("queued", "pending"):
            raise Refused(409)
        t.amendments.append((t.state, t.value))
        if value is not None:
            t.state, t.value, t.reason = "stopped" if t.state == "stopped" else "completed", value, None
        else:
            t.state, t.value, t.reason = state, None, reason
        self._bar_all({t.candidate})
        return t

    def measure(self, number, step, value, attempt):
        t = self.held(number, attempt)
        t.steps[t.attempt, step] = value
