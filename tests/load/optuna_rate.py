"""Optuna's RDB storage on SQLite: ask and tell with a random sampler, as fast as it goes. -> calls a second

usage: optuna_rate.py FILE SECONDS PROCESSES"""

import multiprocessing
import sys
import time

import optuna

optuna.logging.set_verbosity(optuna.logging.WARNING)


def work(url, name, end, counts):
    study = optuna.load_study(study_name=name, storage=url, sampler=optuna.samplers.RandomSampler())
    done = 0
    while time.monotonic() < end:
        trial = study.ask()
        x = sum(trial.suggest_float(f"x{i}", 0, 1) for i in range(8))
        study.tell(trial, x)
        done += 2
    counts.put(done)


def main():
    url, seconds, processes = f"sqlite:///{sys.argv[1]}", float(sys.argv[2]), int(sys.argv[3])
    for i in range(processes):
        optuna.create_study(study_name=f"s{i}", storage=url)
    counts = multiprocessing.Queue()
    start = time.monotonic()
    workers = [
        multiprocessing.Process(target=work, args=(url, f"s{i}", start + seconds, counts)) for i in range(processes)
    ]
    for worker in workers:
        worker.start()
    total = sum(counts.get() for _ in workers)
    for worker in workers:
        worker.join()
    print(total / (time.monotonic() - start))


main()
