"""The raw runs: a CSV file each under build/quality/raw/SAMPLER, TASK_CONDITION_PROTOCOL_SEED.csv with a line a trial

  trial, point, value, told, cpu, seconds, recommended

in the order in which they were told: the point's key, its value without noise, what was told (empty: failed), CPU and wall
seconds of its share of ask and tell, and, at the budgets under noise, the true value of what the sampler recommends. Beside it, a run
that ended early has a file .why; one that the sampler cannot do has nothing but that. about.json has the versions."""

import csv
import json

from simulate import Row


class Store:
    def __init__(self, folder):
        self.folder = folder

    def path(self, run, suffix=".csv"):
        return self.folder / run.sampler.name / f"{run.task}_{run.condition}_{run.protocol}_{run.seed}{suffix}"

    def has(self, run):
        return self.path(run).exists() or self.path(run, ".why").exists()

    def write(self, run, rows, why):
        path = self.path(run)
        path.parent.mkdir(parents=True, exist_ok=True)
        if why:
            path.with_suffix(".why").write_text(why + "\n")
        if not rows:
            return
        unfinished = path.with_suffix(".new")
        with unfinished.open("w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(Row._fields)
            for row in rows:
                timed = row._replace(cpu=f"{row.cpu:.6f}", seconds=f"{row.seconds:.6f}")
                writer.writerow("" if cell is None else cell for cell in timed)
        unfinished.rename(path)

    def about(self, sampler, facts):
        path = self.folder / sampler.name / "about.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(facts, indent=1) + "\n")

    def read(self):
        """-> {(task, condition, protocol): {sampler: {seed: [row as a dictionary of words]}}}"""
        found = {}
        for path in sorted(self.folder.glob("*/*.csv")):
            task, condition, protocol, seed = path.stem.rsplit("_", 3)
            with path.open(newline="") as lines:
                rows = list(csv.DictReader(lines))
            found.setdefault((task, condition, protocol), {}).setdefault(path.parent.name, {})[int(seed)] = rows
        return found

    def versions(self):
        """-> {sampler: what about.json says}"""
        return {path.parent.name: json.loads(path.read_text()) for path in sorted(self.folder.glob("*/about.json"))}
