"""Optuna's TPE: multivariate, and with regard to trials under way, which are its defaults since version 5."""

import optuna
from optuna_common import OptunaSampler
from protocol import serve


class Tpe(OptunaSampler):
    def make(self, seed, conditional):
        # group: what its documentation advises for conditional parameters.
        return optuna.samplers.TPESampler(seed=seed, group=conditional)


if __name__ == "__main__":
    serve(Tpe)
