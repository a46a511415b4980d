"""One of the experiments again, through a server with eight workers."""

import json
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

WORKERS = 8
STEPS = 2000


def evaluate(study, means, noise, worker, regret):
    """A worker: asks, evaluates, tells, until the study is done."""
    best = max(means)
    while True:
        asked = study.ask_with_reason(worker=worker, wait_seconds=30)
        if not asked.trials and asked.reason in ("horizon_reached", "finished"):
            return
        for trial in asked.trials:
            regret[trial.id - 1] = best - means[trial.candidate]
            study.tell(trial, means[trial.candidate] + noise[trial.id - 1])


def run(root, work):
    """{"settings", "regret_ratio", "library", "equal", "seconds", "workers"}, or {"missing": why}."""
    import experiments
    import problems
    import reproduce

    sys.path.insert(0, str(root / "clients" / "python" / "src"))
    import banditd

    series = experiments.regression_series("abalone", "BBKB, global", "bbkb", STEPS, 1)
    try:
        spec = reproduce.specification(series, 0)
    except problems.NotAtHand as reason:
        return {"missing": str(reason)}
    generator = random.Random(1)
    noise = [generator.gauss(0, 0.1) for _ in range(STEPS)]
    spec["noise"] = {"type": "given", "values": noise}
    done = subprocess.run([reproduce.PROGRAM], input=json.dumps(spec), capture_output=True, text=True, check=True)
    library = json.loads(done.stdout)
    problem = json.loads(pathlib.Path(spec["problem"]).read_text())

    with tempfile.TemporaryDirectory() as folder:
        command = [root / "build" / "release" / "banditd", "serve", "--listen", "127.0.0.1:0"]
        server = subprocess.Popen([*command, "--db", f"{folder}/banditd.db", "--log-level", "warn"], stdout=subprocess.PIPE, text=True)
        try:
            client = banditd.Client(server.stdout.readline().split()[-1])
            study = client.create_study(spec["study"] | {"id": "abalone", "feedback": "batch"})
            study.upload(problem["points"])
            regret = [None] * STEPS
            started = time.monotonic()
            workers = [
                threading.Thread(target=evaluate, args=(study, problem["means"], noise, f"worker-{i}", regret))
                for i in range(WORKERS)
            ]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            seconds = time.monotonic() - started
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
    uniform = max(problem["means"]) - statistics.fmean(problem["means"])
    return {
        "settings": f"Abalone, BBKB with the global rule and the settings above, T = {STEPS}, feedback by batch",
        "workers": WORKERS,
        "regret_ratio": sum(regret) / (STEPS * uniform),
        "library": library["regret"][-1] / (STEPS * library["uniform_regret"]),
        "seconds": seconds,
    }
