"""What clients did, what they were told, and what was found afterwards; and whether it all fits together. This knows
nothing of the server but its contract: what was acknowledged is there, what was refused is not, and what was not
answered (a broken connection, a 503) has happened whole or not at all."""

DONE, UNKNOWN, REFUSED, LOOK = "done", "unknown", "refused", "look"


class Entry:
    """One request, or one look. An object is written by one client alone, one request after another, or its operations
    can be swapped: so the order of the journal is the order in which they happened."""

    def __init__(self, who, thing, op, arg=None, outcome=DONE):
        self.who, self.thing, self.op, self.arg, self.outcome = who, thing, op, arg, outcome

    def __repr__(self):
        return f"{self.who:>8} {'/'.join(map(str, self.thing))}: {self.op} {self.arg!r} -> {self.outcome}"


class Problem:
    def __init__(self, entry, possible):
        self.entry, self.possible = entry, possible

    def __str__(self):
        could = " or ".join(sorted(map(repr, self.possible)))
        return f"{'/'.join(map(str, self.entry.thing))}: found {self.entry.arg!r}, could be {could}"


# ---- the objects: what they are at first, and what each operation makes of them ----------------------------


def _study(state, op, arg):
    """None, or (display name, state, number of candidates)"""
    if op == "create":
        return arg
    if state is None or op == "delete":
        return None
    name, active, candidates = state
    return {
        "rename": lambda: (arg, active, candidates),
        "state": lambda: (name, arg, candidates),
        "upload": lambda: (name, "active", arg),
        "add": lambda: (name, active, candidates + arg),
    }[op]()


def _trial(state, op, arg):
    """None, or (state, worker, value); "loose": queued again, so that its worker may have it again"""
    if op == "issue":
        return ("pending", arg, None)
    if state is None:
        return None
    worker = state[1]
    return {
        "tell": lambda: (arg[0], worker, arg[1]),
        "amend": lambda: ("completed", worker, arg) if state[0] in ("completed", "failed") else state,
        "release": lambda: ("loose", worker, None),
        "renew": lambda: state,
    }[op]()


def _number(state, op, arg):
    return state + arg


def _flag(_state, op, _arg):
    return op == "create"


def _curve(state, op, arg):
    """((step, value), …)"""
    if op == "clear":
        return ()
    return tuple(sorted({**dict(state), arg[0]: arg[1]}.items()))


def _answer(_state, _op, arg):
    return arg


KINDS = {
    "study": (None, _study),
    "trial": (None, _trial),
    "imports": (0, _number),
    "proposals": (0, _number),
    "retired": (False, _flag),
    "token": (False, _flag),
    "curve": ((), _curve),
    "key": (None, _answer),
}


def _fits(thing, state, found):
    if thing[0] == "trial" and state is None:
        # Nobody was told of it: planned, or handed out in an answer that did not arrive. It has no result. It may have been
        # closed because its candidate failed too often.
        return found is None or found[0] in ("queued", "pending") or found == ("stopped", None, None)
    if thing[0] == "trial" and state[0] == "loose" and found is not None:
        # While it was queued, it may have been closed because its candidate failed too often (integration/test_barred.py).
        return found[0] == "queued" or found in (("pending", state[1], None), ("stopped", state[1], None))
    return state == found


class Checker:
    """Takes the entries as they come; knows what each object can be after them."""

    def __init__(self):
        self._possible = {}

    def feed(self, entries):
        """-> the problems: looks that found what cannot be"""
        problems = []
        for entry in entries:
            first, apply = KINDS[entry.thing[0]]
            before = self._possible.get(entry.thing, {first})
            if entry.outcome == LOOK:
                after = {state for state in before if _fits(entry.thing, state, entry.arg)}
                if not after:
                    problems.append(Problem(entry, before))
                    after = {entry.arg}
            elif entry.outcome == REFUSED:
                after = before
            else:
                after = {apply(state, entry.op, entry.arg) for state in before}
                if entry.outcome == UNKNOWN:
                    after |= before
            self._possible[entry.thing] = after
        return problems


def check(entries):
    return Checker().feed(entries)


def shrink(entries, problem):
    """The entries without those without which the same look finds the same problem."""
    short = [entry for entry in entries if entry.thing == problem.entry.thing]
    short = short[: short.index(problem.entry) + 1]
    for entry in list(short[:-1]):
        less = [other for other in short if other is not entry]
        if any(found.entry is problem.entry for found in check(less)):
            short = less
    return short


# ---- violations that must be found -------------------------------------------------------------------------


def planted():
    """-> (name, a history that must be refused), … and one that must not"""

    def trial(*steps):
        return [Entry("w", ("trial", "s", 1), *step) for step in steps]

    issue, told = ("issue", "w"), ("tell", ("completed", 1.0))
    good = trial(
        issue, (*told, UNKNOWN), ("", ("pending", "w", None), LOOK), told, ("tell", ("completed", 2.0), REFUSED),
        ("", ("completed", "w", 1.0), LOOK), ("amend", 3.0, UNKNOWN), ("", ("completed", "w", 3.0), LOOK),
    )  # fmt: skip
    yield "nothing", good, False
    for name, steps in {
        "a lost result": (issue, told, ("", ("pending", "w", None), LOOK)),
        "a changed value": (issue, told, ("", ("completed", "w", 2.0), LOOK)),
        "a refused result that is there": (issue, told, ("tell", ("completed", 2.0), REFUSED), ("", ("completed", "w", 2.0), LOOK)),
        "a trial with another worker": (issue, ("", ("pending", "v", None), LOOK)),
        "a lost trial": (issue, ("", None, LOOK)),
        "a result of nobody": (("", ("completed", "w", 1.0), LOOK),),
        "what was not there and comes later": (issue, (*told, UNKNOWN), ("", ("pending", "w", None), LOOK), ("", ("completed", "w", 1.0), LOOK)),
    }.items():
        yield name, trial(*steps), True
    yield "half an import", [Entry("w", ("imports", "s"), "add", 5, UNKNOWN), Entry("", ("imports", "s"), "", 3, LOOK)], True
    yield "a request done twice", [Entry("w", ("proposals", "s"), "add", 1), Entry("", ("proposals", "s"), "", 2, LOOK)], True
    study, made = ("study", "s"), ("n", "active", 9)
    yield "a lost study", [Entry("w", study, "create", made), Entry("", study, "", None, LOOK)], True
    yield "a study that is back", [Entry("w", study, "create", made), Entry("w", study, "delete"), Entry("", study, "", made, LOOK)], True
    yield "another answer under a key", [Entry("w", ("key", "k"), "answer", "a"), Entry("w", ("key", "k"), "", "b", LOOK)], True
    yield "a lost token", [Entry("w", ("token", "t"), "create"), Entry("", ("token", "t"), "", False, LOOK)], True
    yield "a lost measurement", [Entry("w", ("curve", "s", 1), "measure", (1, 0.5)), Entry("", ("curve", "s", 1), "", (), LOOK)], True
