"""The tables, in Markdown, of whatever raw runs there are.

A sampler is in the table of a group of tasks when it has a run of each of them; how far the others are is said below it."""

import statistics

import numpy as np
import plan
import stats
from simulate import BUDGETS, PLATES, SCALE_TRIALS, shape
from tasks import split


def short(x):
    if x is None:
        return "–"
    return f"{x:.1e}" if 0 < abs(x) < 1e-3 or abs(x) >= 1e4 else f"{x:.3g}"


def row_of(cells):
    return "| " + " | ".join(cells) + " |"


def head(cells):
    return row_of(cells) + "\n" + "|---" * len(cells) + "|"


def budgets_of(protocol):
    batch, _ = shape(protocol)
    return tuple(batch * n for n in range(1, PLATES + 1)) if protocol.startswith("plates") else BUDGETS


def ordered(names, first=()):
    """Ours, uniform, then the rest."""
    return sorted(names, key=lambda n: (not n.startswith("banditd"), n != "uniform", n))


# ---- finite sets -----------------------------------------------------------------------------------------


def groups(side, tasks):
    """Names of groups and their tasks: all, those that have parameters, and the subset of the slow samplers."""
    subset = split.SLOW_FINITE[side]
    yield "all tables", tasks
    yield "grids", [t for t in tasks if t.parameters]
    yield "the subset", [t for t in tasks if t.name in subset]
    yield "grids of the subset", [t for t in tasks if t.name in subset and t.parameters]


def finite(store, side, load, only, out):
    found = store.read()
    for protocol in plan.LISTS:
        for noisy in (False, True):
            tasks = [load(name) for name in split.finite(side) if not only or name in only]
            cells = {t: found.get((t.name, plan.finite_conditions(t.name)[noisy], protocol), {}) for t in tasks}
            tasks = [t for t in tasks if cells[t]]
            shown = set()
            for name, members in groups(side, tasks):
                if members and tuple(members) not in shown:
                    shown.add(tuple(members))
                    finite_table(f"{protocol}, {'with noise' if noisy else 'noiseless'}, {name}",
                                 members, cells, budgets_of(protocol), noisy, out)  # fmt: skip


def finite_table(title, tasks, cells, budgets, noisy, out):
    samplers = ordered({s for t in tasks for s in cells[t]})
    whole = [s for s in samplers if all(s in cells[t] for t in tasks)]
    if not whole:
        return
    out(f"\n**{title}** ({len(tasks)} tasks): mean normalized gap after so many trials [quartiles at the end]; candidates\n"
        "better than the best found, and different ones tried, at the end (medians); the gap of what is recommended; "
        "milliseconds of CPU a trial; seeds.\n")  # fmt: skip
    out(head(["sampler", *map(str, budgets), "rank", "different", *(["recommended"] if noisy else []), "ms", "seeds"]))
    for sampler in whole:
        out(row_of([sampler, *finite_cells(sampler, tasks, cells, budgets, noisy)]))
    for line in verdicts(tasks, cells, budgets, lambda task, value: stats.gap(task, value)):
        out(line)
    partly = [f"{s} ({sum(s in cells[t] for t in tasks)} of {len(tasks)} tasks)" for s in samplers if s not in whole]
    if partly:
        out("\nNot in it: " + ", ".join(partly) + ".")


def finite_cells(sampler, tasks, cells, budgets, noisy):
    gaps = {b: [] for b in budgets}
    ends, ranks, different, recommended, cpu, seeds = [], [], [], [], [], []
    for task in tasks:
        runs = cells[task][sampler]
        seeds.append(len(runs))
        for b in budgets:
            values = [v for v in (stats.best_after(rows, b) for rows in runs.values()) if v is not None]
            if values:
                gaps[b].append(statistics.fmean(stats.gap(task, v) for v in values))
        told = []
        for rows in runs.values():
            end = stats.best_after(rows, len(rows))
            ends.append(stats.gap(task, end))
            ranks.append(stats.rank(task, end))
            different.append(len({row["point"] for row in rows}))
            cpu.append(statistics.fmean(float(row["cpu"]) for row in rows))
            last = [row["recommended"] for row in rows if row["recommended"] != ""]
            told += [stats.gap(task, float(last[-1]))] if last else []
        recommended += [statistics.fmean(told)] if told else []
    shown = [short(statistics.fmean(gaps[b])) + few(len(gaps[b]), len(tasks)) if gaps[b] else "–" for b in budgets]
    low, _, high = stats.quartiles(ends)
    shown[-1] += f" [{short(low)}, {short(high)}]"
    shown += [f"{statistics.median(ranks):.0f}", f"{statistics.median(different):.0f}"]
    if noisy:
        shown.append(short(statistics.fmean(recommended)) if recommended else "–")
    return [*shown, f"{1e3 * statistics.fmean(cpu):.1f}", f"{min(seeds)}–{max(seeds)}" if min(seeds) < max(seeds) else str(seeds[0])]


def few(n, of):
    return f" ({n})" if n < of else ""


def verdicts(tasks, cells, budgets, measure):
    """Sentences on ours: on how many tasks lowest or tied, last, significantly above chance."""
    ours = ordered(s for s in {s for t in tasks for s in cells[t]} if s.startswith("banditd"))
    lines = []
    for name in ours:
        words = []
        for b in budgets:
            shown = good = last = worse = 0
            for task in tasks:
                values = seeds_of(cells[task], b, lambda v, task=task: measure(task, v))
                # Variants of ours do not compete with each other.
                values = {s: v for s, v in values.items() if s == name or not s.startswith("banditd")}
                if name not in values or len(values) < 2:
                    continue
                shown += 1
                _, tied, is_last = stats.verdict(values)[name]
                good, last = good + tied, last + is_last
                if "uniform" in values:
                    worse += stats.above(values[name], values["uniform"]) < stats.LEVEL
            if shown:
                words.append(f"{b}: {good} of {shown}, last {last}, above uniform {worse}")
        if words:
            lines.append(f"- {name}, lowest or tied after " + "; ".join(words) + ".")
    return ["", *lines] if lines else []


def seeds_of(cell, budget, measure):
    """{sampler: [measure of a seed]} of those that came so far."""
    found = {}
    for sampler, runs in cell.items():
        values = [v for v in (stats.best_after(rows, budget) for rows in runs.values()) if v is not None]
        if values:
            found[sampler] = [measure(v) for v in values]
    return found


# ---- spaces ----------------------------------------------------------------------------------------------


def spaces(store, cells, load, out, title, full):
    """cells: (task, condition, protocol)."""
    found = store.read()
    table = {cell: found[cell] for cell in cells if cell in found}
    if not table:
        return
    samplers = ordered({s for runs in table.values() for s in runs})
    optimum = {cell: optimum_of(load(cell[0]), [found[c] for c in found if c[0] == cell[0]]) for cell in table}
    protocol = next(iter(table))[2]
    out(f"\n**{title}** ({len(table)} tasks). Mean rank among those that did a task, by the median regret; tasks on which it is lowest or "
        "tied, and last; median CPU milliseconds a trial; seeds.\n")  # fmt: skip
    budgets = budgets_of(protocol)
    out(head(["sampler", "tasks", *(f"{b}: rank, lowest or tied, last" for b in budgets), "ms", "seeds"]))
    standing = {b: [standing_of(runs, b, optimum[cell]) for cell, runs in table.items()] for b in budgets}
    for sampler in samplers:
        cells_shown = []
        for b in budgets:
            mine = [each[sampler] for each in standing[b] if sampler in each]
            cells_shown.append(f"{np.mean([m[0] for m in mine]):.2f}, {sum(m[1] for m in mine)} of {len(mine)}, {sum(m[2] for m in mine)}"
                               if mine else "–")  # fmt: skip
        runs = [rows for each in table.values() for rows in each.get(sampler, {}).values()]
        count = [len(each[sampler]) for each in table.values() if sampler in each]
        cpu = statistics.median(statistics.fmean(float(r["cpu"]) for r in rows) for rows in runs)
        out(row_of([sampler, str(len(count)), *cells_shown, f"{1e3 * cpu:.1f}", f"{min(count)}–{max(count)}"]))
    if full:
        space_table(table, optimum, samplers, budgets, out)


def standing_of(runs, budget, optimum):
    """{sampler: (rank by the median, lowest or tied, last)} on one task; of ours only the first in order competes with the others."""
    values = seeds_of(runs, budget, lambda v: max(v - optimum, 0.0))
    result = {}
    for name in values:
        others = {s: v for s, v in values.items() if s == name or not s.startswith("banditd")}
        if len(others) < 2:
            continue
        medians = sorted(np.median(v) for v in others.values())
        _, tied, last = stats.verdict(others)[name]
        mine = np.median(others[name])
        result[name] = (float(np.mean([i + 1 for i, m in enumerate(medians) if m == mine])), tied, last)
    return result


def optimum_of(task, cells):
    if task.optimum is not None:
        return task.optimum
    return min(float(r["value"]) for runs in cells for seeds in runs.values() for rows in seeds.values() for r in rows)


def space_table(table, optimum, samplers, budgets, out):
    out("\nMedian regret [quartiles] after " + " / ".join(map(str, budgets)) + " trials.\n")
    out(head(["task", *samplers]))
    for cell, runs in table.items():
        cells = []
        for sampler in samplers:
            parts = []
            for b in budgets:
                values = seeds_of({sampler: runs.get(sampler, {})}, b, lambda v: max(v - optimum[cell], 0.0)).get(sampler)
                if values:
                    low, middle, high = stats.quartiles(values)
                    parts.append(f"{short(middle)} [{short(low)}, {short(high)}]" if b == budgets[-1] else short(middle))
            cells.append(" / ".join(parts) or "–")
        out(row_of([cell[0] + ("" if cell[1] == "clean" else f", {cell[1]}"), *cells]))


def faults(store, load, out):
    found = store.read()
    ours = ordered({s for runs in found.values() for s in runs if s.startswith("banditd")})
    for sampler in ours:
        lines = []
        for name in plan.FAULTY:
            cells = []
            for condition in ("clean", *plan.FAULTS):
                runs = found.get((name, condition, "sequential"), {}).get(sampler)
                values = [stats.best_after(rows, len(rows)) - load(name).optimum for rows in runs.values()] if runs else []
                cells.append(short(statistics.median(values)) if values else "–")
            if any(c != "–" for c in cells[1:]):
                lines.append(row_of([name, *cells]))
        if lines:
            out(f"\n**Wrong values** ({sampler}): median regret after the last trial.\n")
            out(head(["task", "clean", "2 % of the values times 1000", "10 % of the trials fail", "10 % are infeasible"]))
            for line in lines:
                out(line)


def seconds_in_all(rows):
    """CPU seconds that SCALE_TRIALS trials take. What is missing is extrapolated by the power of the number of trials that the second half
    of the run followed, 1 to 3; with fewer than a thousand trials there is no telling, and it is by the pace so far: at least that."""
    spent = [float(row["cpu"]) for row in rows]
    total, half = sum(spent), sum(spent[: len(spent) // 2])
    if len(spent) >= SCALE_TRIALS:
        return total
    power = np.log(total / half) / np.log(len(spent) / (len(spent) // 2))
    power = min(max(power, 1.0), 3.0) if len(spent) >= 1000 else 1.0
    return total * (SCALE_TRIALS / len(spent)) ** power


def scale(store, out):
    for sampler, runs in store.read().get(plan.SCALE, {}).items():
        if sampler != "uniform":
            for rows in runs.values():
                made = "" if len(rows) >= SCALE_TRIALS else f", extrapolated from {len(rows)}"
                out(f"\n{sampler}: {seconds_in_all(rows):.0f} s of CPU for {SCALE_TRIALS} trials of {plan.SCALE[0]} in batches of 100{made}.")


def everything(store, sides, load, full=False, only=None, out=print):
    """only: names of tasks, or None for all."""
    for sampler, facts in store.versions().items():
        out(f"- {sampler}: " + ", ".join(f"{key} {value}" for key, value in facts.items()))
    for side in sides:
        out(f"\n## {'Published' if side else 'For choosing'}")
        finite(store, side, load, only, out)
        coco = [c for c in plan.cells("coco", side, True) if not only or c[0] in only]
        for dimension in (5, 10, 20):
            for suite in ("bbob", "mixint"):
                some = [c for c in coco if c[0].startswith(suite) and f"-d{dimension}-" in c[0] and c[1] == "clean"]
                spaces(store, some, load, out, f"{suite}, {dimension} dimensions", full)
        spaces(store, [c for c in coco if c[1] != "clean"], load, out, "bbob, 5 dimensions, with noise", full)
        own = [c for c in plan.cells("textbook", side, True) if not only or c[0] in only]
        spaces(store, own, load, out, "the textbook's own tasks", full)
        for protocol in ("sequential", "batches10"):
            some = [c for c in plan.cells("sixteen", side, True) if c[2] == protocol and (not only or c[0] in only)]
            spaces(store, some, load, out, f"the sixteen, {protocol}", True)
        if side:
            faults(store, load, out)
            scale(store, out)
