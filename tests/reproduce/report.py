"""From the answers of the runs to tables, plots and findings; as HTML and as Markdown."""

import dataclasses
import datetime
import html
import io
import math
import pathlib
import platform
import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "banditd", "font.size": 9, "axes.grid": True})
plt.rcParams.update({"grid.alpha": 0.3, "axes.spines.top": False, "axes.spines.right": False})
# Okabe and Ito's palette, which colour-blind people can tell apart.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"]

# Student's t, 97.5 %, by degrees of freedom.
T975 = [0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145]
T975 += [2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064]


@dataclasses.dataclass
class Block:
    """A row of the report."""

    title: str
    source: str
    settings: str
    header: list[str]
    cells: list[list[str]]
    figures: dict[str, str]  # name -> SVG
    findings: list[str]


# ---- figures from runs ---------------------------------------------------------------------------------------


def at(answer, key, t):
    """A curve's value at step t, or None when the run did not come that far."""
    if answer["steps"] < t:
        return None
    index = int(np.searchsorted(answer["t"], t))
    return answer[key][index]


def ratio_at(answer, t):
    regret = at(answer, "regret", t)
    return None if regret is None else regret / (answer["uniform_regret"] * t)


def interval(values, digits=3):
    """Mean and half width of the 95 % interval, as text."""
    values = [v for v in values if v is not None]
    if not values:
        return "–"
    mean = float(np.mean(values))
    if len(values) == 1:
        return f"{mean:.{digits}g}"
    half = T975[min(len(values), 25) - 1] * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return f"{mean:.{digits}g} ± {half:.2g}"


def mean(values):
    values = [v for v in values if v is not None]
    return float(np.mean(values)) if values else None


def reached(answers):
    return min(answer["steps"] for answer in answers)


def size_of(series, answers):
    steps = reached(answers)
    capped = " (capped)" if any(a["capped"] for a in answers) and steps < series.steps else ""
    return f"T = {steps}{capped}, {len(answers)} run{'s' if len(answers) > 1 else ''}"


def curve(answers, key, scale=lambda answer, t, v: v):
    """Steps, mean, and half width of the interval, over the steps that all runs have."""
    steps = [t for t in answers[0]["t"] if all(t <= a["steps"] for a in answers)]
    table = np.array([[scale(a, t, at(a, key, t)) for t in steps] for a in answers])
    half = np.zeros(len(steps))
    if len(answers) > 1:
        half = T975[min(len(answers), 25) - 1] * table.std(0, ddof=1) / math.sqrt(len(answers))
    return np.array(steps), table.mean(0), half


# ---- plots ---------------------------------------------------------------------------------------------------


def svg_of(figure):
    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    text = re.sub(r"<\?xml.*?<svg", "<svg", out.getvalue(), flags=re.S)
    # A tenth of a point is finer than anyone sees.
    return re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d)\d+", r"\1", path[0]), text)


def axes(title, x, y, log_x=False, log_y=False):
    figure, plot = plt.subplots(figsize=(5.4, 3.4))
    plot.set_title(title, fontsize=9, loc="left")
    plot.set_xlabel(x)
    plot.set_ylabel(y)
    if log_x:
        plot.set_xscale("log")
    if log_y:
        plot.set_yscale("log")
    return figure, plot


def plot_curves(title, pairs, key, y, scale=lambda answer, t, v: v, log_x=True, log_y=False, paper=None):
    figure, plot = axes(title, "steps", y, log_x, log_y)
    for i, (series, answers) in enumerate(pairs):
        colour = COLOURS[i % len(COLOURS)]
        steps, average, half = curve(answers, key, scale)
        style = "-" if i < len(COLOURS) else "--"
        plot.plot(steps, average, style, color=colour, label=series.label, linewidth=1.4)
        plot.fill_between(steps, average - half, average + half, color=colour, alpha=0.15, linewidth=0)
        reported = series.paper.get(paper, {}) if paper else {}
        if len(reported) > 2:
            plot.plot([int(t) for t in reported], list(reported.values()), "o", color=colour, markersize=3, fillstyle="none")
    if log_x and key != "seconds":
        plot.set_xlim(left=10)  # before, it is noise
    plot.legend(fontsize=7, frameon=False)
    return svg_of(figure)


def regret_ratio(answer, t, regret):
    return regret / (answer["uniform_regret"] * t)


def plot_batches(title, pairs):
    figure, plot = axes(title, "steps before the batch", "size of the batch", True, True)
    for i, (series, answers) in enumerate(pairs):
        sizes = np.array(answers[0]["batches"])
        if len(sizes) < 3 or sizes.max() <= 1 or series.in_flight or series.label == "uniform":
            continue  # batches of one, or of a size that was given
        before = np.concatenate([[1], 1 + np.cumsum(sizes)[:-1]])
        plot.plot(before, sizes, "." if i < len(COLOURS) else "x", color=COLOURS[i % len(COLOURS)], markersize=3, label=series.label)
    plot.legend(fontsize=7, frameon=False)
    return svg_of(figure)


# ---- rows ----------------------------------------------------------------------------------------------------


def paper_value(series, t):
    reported = series.paper.get("ratio", {}).get(str(t))
    return "–" if reported is None else f"{reported:g}"


def ratio_block(row, pairs):
    horizon = max(series.steps for series, _ in pairs)
    marks = [t for t in (2000, 10000) if t <= horizon]
    header = ["algorithm", "size run", "the paper's size"]
    for t in marks:
        header += [f"ratio at {t}, paper", "ours"]
    header += ["CPU s, first 2000 steps: paper", "ours", "batches"]
    cells = []
    for series, answers in pairs:
        line = [series.label, size_of(series, answers), series.paper_size or "–"]
        for t in marks:
            line += [paper_value(series, t), interval([ratio_at(a, t) for a in answers])]
        seconds = series.paper.get("seconds", {}).get("2000")
        line += [series.paper.get("time", "–") if seconds is None else f"{seconds:g}"]
        line += [interval([at(a, "seconds", 2000) for a in answers]), interval([len(a["batches"]) for a in answers])]
        cells.append(line)
    figures = {
        "regret": plot_curves(
            "regret over uniform's (circles: the paper)", pairs, "regret", "ratio", regret_ratio, paper="ratio"
        ),
        "seconds": plot_curves(
            "CPU seconds (circles: the paper)", pairs, "seconds", "seconds", log_y=True, paper="seconds"
        ),
    }
    if any(len(a["batches"]) < a["steps"] / 2 for _, answers in pairs for a in answers[:1]):
        figures["batches"] = plot_batches("sizes of the batches, first run", pairs)
    return header, cells, figures


def regret_block(row, pairs):
    header = ["algorithm", "size run", "the paper's size", "regret", "divided by uniform's", "CPU s per run"]
    cells = [
        [
            *(series.label, size_of(series, answers), series.paper_size or "–"),
            interval([a["regret"][-1] for a in answers]),
            interval([ratio_at(a, a["steps"]) for a in answers]),
            interval([a["cpu_seconds"] for a in answers]),
        ]
        for series, answers in pairs
    ]
    return header, cells, {"regret": plot_curves("cumulative regret", pairs, "regret", "regret", log_x=False)}


def batches_block(row, pairs):
    header = ["algorithm", "size run", "the paper's size", "ratio", "simple regret", "batches", "largest batch", "CPU s per run"]
    cells = [
        [
            *(series.label, size_of(series, answers), series.paper_size or "–"),
            interval([ratio_at(a, a["steps"]) for a in answers]),
            interval([a["gap"][-1] for a in answers]),
            interval([len(a["batches"]) for a in answers]),
            interval([max(a["batches"]) for a in answers]),
            interval([a["cpu_seconds"] for a in answers]),
        ]
        for series, answers in pairs
    ]
    figures = {
        "regret": plot_curves("regret over uniform's", pairs, "regret", "ratio", regret_ratio),
        "gap": plot_curves("simple regret", pairs, "gap", "gap of the best so far"),
        "batches": plot_batches("sizes of the batches, first run", pairs),
    }
    return header, cells, figures


def bandwidths_block(row, pairs):
    names = list(dict.fromkeys(series.label.split(", ")[0] for series, _ in pairs))
    bandwidths = list(dict.fromkeys(series.label.split(", ")[1] for series, _ in pairs))
    found = {tuple(series.label.split(", ")): (series, answers) for series, answers in pairs}
    header = ["algorithm", "size run", *(f"bandwidth {b}" for b in bandwidths)]
    cells = []
    for name in names:
        series, answers = found[name, bandwidths[0]]
        steps = [500, *([10000] if reached(answers) >= 10000 else [])]
        for t in steps:
            values = [interval([ratio_at(a, t) for a in found[name, b][1]]) for b in bandwidths]
            cells.append([f"{name}, ratio at {t}", size_of(series, answers), *values])
    return header, cells, {}


def uncertainty_block(row, pairs):
    figures, cells = {}, []
    found = {series.label: answers[0] for series, answers in pairs}
    for n in (6, 63, 215):
        sparse, exact = found[f"BKB, {n} rewards"], found[f"exact, {n} rewards"]
        x = np.linspace(0, 1, len(sparse["mean"]))
        ratio = (np.array(sparse["std"]) / np.array(exact["std"])) ** 2
        outside = x > 0.5
        cells.append([str(n), *(f"{v:.7g}" for v in (ratio.min(), ratio.max(), ratio[outside].min(), ratio[outside].max()))])
        figure, plot = axes(f"{n} rewards on [0, 0.5]: mean ± 3 std", "x", "f")
        for label, answer, colour in (("exact", exact, COLOURS[6]), ("BKB", sparse, COLOURS[0])):
            average, std = np.array(answer["mean"]), np.array(answer["std"])
            plot.plot(x, average, color=colour, label=label, linewidth=1.2)
            plot.fill_between(x, average - 3 * std, average + 3 * std, color=colour, alpha=0.15, linewidth=0)
        plot.legend(fontsize=7, frameon=False)
        figures[f"{n}-rewards"] = svg_of(figure)
    header = ["rewards", "σ̃²/σ², minimum", "maximum", "outside [0, 0.5]: minimum", "maximum"]
    return header, cells, figures


def exponent(sizes, seconds):
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def cost_block(row, pairs):
    header = ["method", "size run", "first sample, CPU ms", "each later sample, CPU ms"]
    cells, figures, points = [], {}, {}
    for series, answers in pairs:
        later = [(a["seconds"][-1] - a["seconds"][0]) / (a["steps"] - 1) for a in answers]
        first = [a["seconds"][0] for a in answers]
        cells.append(
            [series.label, size_of(series, answers), interval([1e3 * v for v in first]), interval([1e3 * v for v in later])]
        )
        method, n = series.label.split(", N = ")
        points.setdefault(method, []).append((int(n), mean(first), mean(later)))
    figure, plot = axes("CPU seconds of a sample", "arms N", "seconds", True, True)
    for i, (method, values) in enumerate(points.items()):
        sizes, first, later = zip(*values)
        total = first if "exact" in method else later
        plot.plot(sizes, total, "o-", color=COLOURS[i % len(COLOURS)], label=f"{method}: N^{exponent(sizes, total):.2f}")
    plot.legend(fontsize=7, frameon=False)
    figures["seconds"] = svg_of(figure)
    return header, cells, figures


BLOCKS = {
    "ratio": ratio_block,
    "regret": regret_block,
    "batches": batches_block,
    "bandwidths": bandwidths_block,
    "uncertainty": uncertainty_block,
    "cost": cost_block,
}


# ---- findings ------------------------------------------------------------------------------------------------


def verdict(holds):
    return "holds" if holds else "**does not hold**"


def final_ratio(answers):
    return mean([ratio_at(a, a["steps"]) for a in answers])


def seconds_at(answers, t):
    return mean([at(a, "seconds", t) for a in answers])


def findings(row, found):
    """What must come out of a row, from its figures."""
    out = []
    if row.name == "bbkb-cadata":
        ours = {t: mean([ratio_at(a, t) for a in found["BBKB, global"]]) for t in (2000, 10000)}
        for t, limit in ((2000, 0.197), (10000, 0.128)):
            out.append(f"BBKB's ratio at {t} is at or below the paper's {limit}: {ours[t]:.3f}, {verdict(ours[t] <= limit)}.")
    if row.name in ("bbkb-cadata", "bbkb-abalone"):
        others = {label: answers for label, answers in found.items() if not label.startswith(("BBKB", "uniform"))}
        t = min([2000, *(reached(answers) for answers in others.values())])
        bbkb = seconds_at(found["BBKB, global"], t)
        times = {label: seconds_at(answers, t) for label, answers in others.items()}
        listed = ", ".join(f"{label} {value:.3g}" for label, value in times.items())
        out.append(
            f"BBKB takes less time than every other GP algorithm over the same {t} steps: {bbkb:.3g} s against {listed}; "
            f"{verdict(bbkb < min(times.values()))}."
        )
    if row.name.startswith(("bbkb-cadata", "bbkb-abalone")) and "small" not in row.name:
        for label in ("BBKB, global", "BBKB, global–local"):
            sizes = np.array(found[label][0]["batches"])
            before = np.concatenate([[1], 1 + np.cumsum(sizes)[:-1]])
            late = before > 100
            if late.sum() > 5:
                out.append(f"{label}: after step 100 the sizes of the batches grow as t^{exponent(before[late], sizes[late]):.2f}.")
    both = [label for label in ("BBKB, global", "BBKB, global–local") if label in found]
    if len(both) == 2:
        counts = [mean([len(a["batches"]) for a in found[label]]) for label in both]
        out.append(
            f"The global–local rule makes fewer, larger batches: {counts[1]:.0f} against {counts[0]:.0f}; "
            f"{verdict(counts[1] < counts[0])}."
        )
    if row.name.startswith("rkhs"):
        final = {label: mean([a["regret"][-1] for a in answers]) for label, answers in found.items()}
        order = " < ".join(sorted(final, key=final.get))
        ahead = final["IGP-UCB"] < final["GP-UCB"] and final["GP-TS"] < final["GP-UCB"]
        worst = final["GP-UCB"] == max(final.values())
        out.append(f"Cumulative regret at the end: {order}.")
        out.append(f"IGP-UCB and GP-TS are ahead of GP-UCB: {verdict(ahead)}. GP-UCB is the worst of all: {verdict(worst)}.")
    if row.name in ("grid-1", "grid-2", "grid-3"):
        igp, pi = final_ratio(found["IGP-UCB"]), final_ratio(found["π-GP-UCB"])
        times = [mean([a["cpu_seconds"] for a in found[label]]) for label in ("π-GP-UCB", "IGP-UCB")]
        out.append(
            f"π-GP-UCB's regret is below IGP-UCB's: {pi:.3f} against {igp:.3f}; {verdict(pi < igp)}. "
            f"Its CPU time is {times[0] / times[1]:.2g} times IGP-UCB's ({times[0]:.3g} s and {times[1]:.3g} s)."
        )
    return out


# ---- writing -------------------------------------------------------------------------------------------------


def blocks_of(rows, answers, missing):
    blocks = []
    for row in rows:
        if row.name in missing:
            blocks.append((row.name, Block(row.title, row.source, row.settings, [], [], {}, [f"Not run: {missing[row.name]}."])))
            continue
        pairs = [(series, answers[row.name, series.label]) for series in row.series]
        header, cells, figures = BLOCKS[row.measure](row, pairs)
        found = {series.label: given for series, given in pairs}
        told = findings(row, found) + ([row.notes] if row.notes else [])
        blocks.append((row.name, Block(row.title, row.source, row.settings, header, cells, figures, told)))
    return blocks


def served_block(served):
    if "missing" in served:
        return Block("Through a server", "[BBKB] figure 1", "", [], [], {}, [f"Not run: {served['missing']}."])
    difference = abs(served["regret_ratio"] - served["library"])
    return Block(
        *("Through a server", "[BBKB] figure 1", served["settings"] + f", {served['workers']} workers over HTTP"),
        ["", "ratio", "wall-clock seconds"],
        [
            ["the HTTP server", f"{served['regret_ratio']:.9f}", f"{served['seconds']:.3g}"],
            ["the engine library", f"{served['library']:.9f}", "–"],
        ],
        {},
        [f"Workers of the server get the same picks as the library makes: {verdict(difference < 1e-8)} (the ratios differ by {difference:.1g})."],
    )


def machine():
    model = next(
        (line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="ascii") if line.startswith("model name")),
        platform.machine(),
    )
    return f"{model}, {platform.system()}"


def version():
    return (pathlib.Path(__file__).resolve().parents[2] / "server" / "VERSION").read_text().strip()


INTRODUCTION = (
    "Every row shows the size that was run and the paper's size. Figures with ± are means over the runs with 95 % "
    "intervals (Student's t); each run has its own noise and seed. Regret is computed from expected rewards. “Ratio” is "
    "the regret divided by the expected regret of uniform picks. Seconds are CPU seconds in the engine's calls on one "
    "thread. The papers' seconds are from other machines, so they only show how the algorithms compare with each other."
)


def markdown(blocks, figure_path, made):
    lines = ["# Reproduction of the papers", "", INTRODUCTION, "", made, ""]
    for name, block in blocks:
        lines += [f"## {block.title}", "", f"{block.source}: {block.settings}.", ""]
        if block.header:
            lines += ["| " + " | ".join(block.header) + " |", "|" + "---|" * len(block.header)]
            lines += ["| " + " | ".join(cells) + " |" for cells in block.cells] + [""]
        lines += [f"- {finding}" for finding in block.findings] + ([""] if block.findings else [])
        for figure in block.figures:
            lines += [f"![{block.title}: {figure}]({figure_path}{name}-{figure}.svg)"]
        lines += [""] if block.figures else []
    return "\n".join(lines).rstrip() + "\n"


STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24 }
table { border-collapse: collapse; font-size: 13px; margin: 1em 0 } td, th { padding: .25em .7em; text-align: left }
th { border-bottom: 2px solid #ccc } td { border-bottom: 1px solid #e5e5e5; font-variant-numeric: tabular-nums }
figure { display: inline-block; margin: 0 1rem 1rem 0 } h2 { margin-top: 2.5rem } .source { color: #57606a }
"""


def document(blocks, made):
    def cell(tag, text):
        return f"<{tag}>{html.escape(text)}</{tag}>"

    parts = [f"<!doctype html><html lang='en'><meta charset='utf-8'><title>Reproduction of the papers</title><style>{STYLE}</style>"]
    parts += [cell("h1", "Reproduction of the papers"), cell("p", INTRODUCTION), cell("p", made)]
    for name, block in blocks:
        parts += [f"<h2 id='{name}'>{html.escape(block.title)}</h2>"]
        parts += [f"<p class='source'>{html.escape(block.source)}: {html.escape(block.settings)}.</p>"]
        if block.header:
            parts += ["<table><tr>" + "".join(cell("th", h) for h in block.header) + "</tr>"]
            parts += ["<tr>" + "".join(cell("td", c) for c in cells) + "</tr>" for cells in block.cells] + ["</table>"]
        if block.findings:
            parts += ["<ul>" + "".join(cell("li", f.replace("**", "")) for f in block.findings) + "</ul>"]
        parts += [f"<figure>{svg}</figure>" for svg in block.figures.values()]
    return "\n".join([*parts, "</html>\n"])


def write(folder, rows, answers, missing, served, summary):
    blocks = blocks_of(rows, answers, missing)
    if served:
        blocks.append(("server", served_block(served)))
    made = f"Made on {datetime.date.today()} by banditd {version()}; machine: {machine()}."
    (folder / "report.html").write_text(document(blocks, made))
    for target, figures in ((folder / "report.md", folder / "figures"), *(((summary / "reproduction.md", summary / "reproduction"),) if summary else ())):
        figures.mkdir(parents=True, exist_ok=True)
        target.write_text(markdown(blocks, figures.name + "/", made))
        for name, block in blocks:
            for figure, svg in block.figures.items():
                (figures / f"{name}-{figure}.svg").write_text(svg)
