"""What `run` and `pairs` do to a server: 16 studies whose batches are ready, and 64 workers on them by the program
`load`."""

import json
import subprocess

WORKERS, STUDIES = 64, 16


def create_studies(client):
    points = [[(i * 37 % 1000) / 1000, (i * 91 % 1000) / 1000, i / 1000] for i in range(1000)]
    for i in range(STUDIES):
        client.create(
            {
                "id": f"s{i}",
                "metric": {"name": "y", "goal": "maximize"},
                "domain": {"type": "candidates", "points": points},
                "algorithm": {"name": "uniform", "max_batch": 4096},
                "feedback": "async",
            }
        )
        client.tell(f"s{i}", [{"trial": t["id"], "value": 0} for t in client.ask(f"s{i}", wait_seconds=10)["trials"]])


def load(folder, port, seconds, workers=WORKERS, echo=False):
    command = [folder / "load", "127.0.0.1", str(port), str(workers), str(STUDIES), str(seconds)]
    done = subprocess.run(command + (["echo"] if echo else []), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
