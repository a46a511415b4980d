"""Optuna's Gaussian process sampler with its defaults."""

import optuna
import torch
from optuna_common import OptunaSampler
from protocol import serve

torch.set_num_threads(1)


class Gp(OptunaSampler):
    conditions = False  # it leaves conditional parameters to chance

    def make(self, seed, conditional):
        return optuna.samplers.GPSampler(seed=seed)


if __name__ == "__main__":
    serve(Gp)
