#!/usr/bin/env python3
"""What properties of words gain: the direct arylation of docs/tutorials/reaction.md, with and without them.

usage: words.py BANDITD [--seeds 20] [--trials 50]

$BANDITD_DATA/direct_arylation.csv is the table; the tutorial says where it is from. With RDKit installed, its descriptors
are compared as well."""

import argparse
import csv
import os
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "clients" / "python" / "src"), str(ROOT / "tests"), str(ROOT / "tests" / "integration")]
import banditd  # noqa: E402
import server as servers  # noqa: E402

WORDS = ("Base", "Ligand", "Solvent")
NUMBERS = ("Concentration", "Temp_C")
SHOWN = (10, 15, 20, 30, 40, 50)


def counts(smiles):
    marks = ("C", "N", "O", "F", "=", "(", "Cs")
    return [smiles.count(mark) for mark in marks] + [sum(map(str.isdigit, smiles)) / 2]


def rdkit_descriptors():
    """A function of a structure; None without RDKit."""
    try:
        from rdkit import Chem
        from rdkit.Chem import Descriptors
    except ImportError:
        return None
    return lambda smiles: list(Descriptors.CalcMolDescriptors(Chem.MolFromSmiles(smiles)).values())


def usable(rows):
    """The columns of descriptors that are finite and differ, less each that tells what an earlier one does."""
    kept, chosen = [], []
    for j, column in enumerate(zip(*rows)):
        if not all(abs(x) < 1e10 for x in column) or len(set(column)) == 1:
            continue
        if all(abs(statistics.correlation(column, other)) < 0.7 for other in kept):
            kept.append(column)
            chosen.append(j)
    return [[row[j] for j in chosen] for row in rows]


def parameters(table, describe):
    result = []
    for name in WORDS:
        structures = {row[name]: row[name + "_SMILES"] for row in table}
        words = sorted(structures)
        parameter = {"name": name, "type": "categorical", "values": words}
        if describe:
            rows = [describe(structures[word]) for word in words]
            parameter["features"] = rows if describe is counts else usable(rows)
        result.append(parameter)
    for name in NUMBERS:
        result.append({"name": name, "type": "discrete", "values": sorted({float(row[name]) for row in table})})
    return result


def play(client, space, yields, seed, trials):
    """-> the best yield after each trial"""
    definition = {"metric": {"name": "yield", "goal": "maximize"}, "domain": {"type": "space", "parameters": space}, "seed": seed}
    study, best = client.create_study(definition), []
    for _ in range(trials):
        (trial,) = study.ask(wait_seconds=60)
        point = trial.parameters
        value = yields[tuple(point[name] for name in WORDS) + tuple(float(point[name]) for name in NUMBERS)]
        study.tell(trial, value)
        best.append(max(best[-1:] + [value]))
    return best


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("banditd")
    arguments.add_argument("--seeds", type=int, default=20)
    arguments.add_argument("--trials", type=int, default=50)
    given = arguments.parse_args()
    path = pathlib.Path(os.environ.get("BANDITD_DATA", ".")) / "direct_arylation.csv"
    if not path.exists():
        sys.exit(f"{path} does not exist; docs/tutorials/reaction.md says where to get it")
    with open(path, newline="") as file:
        table = list(csv.DictReader(file))
    yields = {tuple(r[n] for n in WORDS) + tuple(float(r[n]) for n in NUMBERS): float(r["yield"]) for r in table}
    kinds = {"no properties": None, "counts of the structure": counts, "descriptors of RDKit": rdkit_descriptors()}
    shown = [n for n in SHOWN if n <= given.trials]
    print("| properties | " + " | ".join(map(str, shown)) + " | ms per trial |\n|---" + "|---" * (len(shown) + 1) + "|")
    servers.BINARY = str(pathlib.Path(given.banditd).resolve())
    with servers.Server() as running:
        client = banditd.Client(f"http://127.0.0.1:{running.port}")
        for name, describe in kinds.items():
            if describe is None and name.startswith("descriptors"):
                continue
            space, began = parameters(table, describe), time.monotonic()
            curves = [play(client, space, yields, seed, given.trials) for seed in range(given.seeds)]
            spent = (time.monotonic() - began) / given.seeds / given.trials
            cells = []
            for n in shown:
                reached = [curve[n - 1] for curve in curves]
                cells.append(f"{statistics.mean(reached):.1f} ± {statistics.stdev(reached) / len(reached) ** 0.5:.1f}")
            print(f"| {name} | " + " | ".join(cells) + f" | {1000 * spent:.0f} |", flush=True)


if __name__ == "__main__":
    main()
