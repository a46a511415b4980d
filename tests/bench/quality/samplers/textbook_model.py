"""The Gaussian process of the textbook optimizer: exact, Matérn 5/2 with a lengthscale for each feature, the signal's variance and the
mean at their most likely values, weak priors on what is left, and a monotone warp of the values.

With theta = (log lengthscales, log of the noise's share of the signal) and K the correlations plus that share on the diagonal,
  mean  m = 1'K^-1 v / 1'K^-1 1,    signal  s2 = (v - m)' K^-1 (v - m) / n,
  objective  n/2 log s2 + 1/2 log det K - log prior(theta) - log Jacobian of the warp."""

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.optimize import minimize
from scipy.special import log_ndtr

JITTER = 1e-10
NOISE_PRIOR = (-9.0, 3.0)  # mean and deviation of the log noise share
POWERS = (1.0, 1.5, 2.0, 3.0, 4.0, 0.5)


def correlation(squares):
    """Matérn 5/2 of squared distances in lengthscales, and its derivative by them."""
    root = np.sqrt(5 * np.maximum(squares, 1e-20))
    decay = np.exp(-root)
    return (1 + root + 5 / 3 * squares) * decay, -5 / 6 * (1 + root) * decay


def squared_distances(a, b):
    return np.maximum((a * a).sum(1)[:, None] + (b * b).sum(1) - 2 * a @ b.T, 0)


# ---- warps: values to be minimized -> [(values to be maximized of about unit spread, log Jacobian)] --------------


def fold(values):
    """By median and interquartile range; what is more than one range worse than the worse quartile is folded back by a logarithm."""
    low, middle, high = np.percentile(values, [25, 50, 75])
    unit = max(high - low, 1e-300)
    knee = high + unit
    beyond = np.maximum(values - knee, 0)
    return [((middle - np.where(beyond > 0, knee + unit * np.log1p(beyond / unit), values)) / unit, 0.0)]


def yeo_johnson(values):
    """Of (median - value) / interquartile range, one for each power; 1 is no warp."""
    low, middle, high = np.percentile(values, [25, 50, 75])
    unit = max(high - low, 1e-300)
    plain = (middle - values) / unit
    good, size = plain >= 0, np.abs(plain)
    found = []
    for power in POWERS:
        opposite = 2 - power
        above = ((size + 1) ** power - 1) / power
        below = -np.log1p(size) if opposite == 0 else -((size + 1) ** opposite - 1) / opposite
        warped = np.where(good, above, below)
        scale = max(warped.std(), 1e-12)
        jacobian = (power - 1) * (np.sign(plain) * np.log1p(size)).sum() - len(values) * np.log(unit * scale)
        found.append(((warped - np.median(warped)) / scale, jacobian))
    return found


WARPS = {"fold": fold, "yj": yeo_johnson}

# ---- the fit and the posterior -----------------------------------------------------------------------------------


class Fit:
    """Maximum a posteriori of theta; log lengthscales are expected at `log(0.23 sqrt(d))` with deviation 1."""

    def __init__(self, dimension):
        self.centre = np.append(np.full(dimension, np.log(0.23 * np.sqrt(dimension))), NOISE_PRIOR[0])
        self.deviation = np.append(np.ones(dimension), NOISE_PRIOR[1])
        self.bounds = [(-5, 5)] * dimension + [(-18, 2)]

    def objective(self, theta, points, values):
        n = len(values)
        scaled = points / np.exp(theta[:-1])
        parts = (scaled[:, None] - scaled[None]) ** 2  # n x n x d
        correlations, slopes = correlation(parts.sum(-1))
        share = np.exp(theta[-1])
        try:
            factor = np.linalg.cholesky(correlations + (share + JITTER) * np.eye(n))
        except np.linalg.LinAlgError:
            return 1e10, np.zeros_like(theta)
        inverse = cho_solve((factor, True), np.eye(n))
        ones = inverse.sum(1)
        rest = values - ones @ values / ones.sum()
        weights = inverse @ rest
        signal = max(rest @ weights / n, 1e-12)
        away = (theta - self.centre) / self.deviation
        value = 0.5 * n * np.log(signal) + np.log(np.diag(factor)).sum() + 0.5 * away @ away
        outer = inverse - np.outer(weights, weights) / signal
        gradient = np.append(-np.einsum("ij,ijk->k", outer * slopes, parts), 0.5 * share * np.trace(outer))
        return value, gradient + away / self.deviation

    def __call__(self, points, values, before):
        starts = [self.centre] if before is None else [self.centre, before]
        found = [
            minimize(self.objective, start, (points, values), "L-BFGS-B", jac=True, bounds=self.bounds,
                     options={"maxiter": 50})
            for start in starts
        ]  # fmt: skip
        return min(found, key=lambda each: each.fun)


class Posterior:
    def __init__(self, points, values, theta):
        self.lengths, share = np.exp(theta[:-1]), np.exp(theta[-1])
        self.scaled = points / self.lengths
        correlations, _ = correlation(squared_distances(self.scaled, self.scaled))
        self.factor = np.linalg.cholesky(correlations + (share + JITTER) * np.eye(len(values)))
        ones = cho_solve((self.factor, True), np.ones(len(values)))
        self.mean = ones @ values / ones.sum()
        self.weights = cho_solve((self.factor, True), values - self.mean)
        self.signal = max((values - self.mean) @ self.weights / len(values), 1e-12)
        self.noise = self.signal * share

    def parts(self, points):
        """-> mean, variance, and the columns L^-1 k that covariances are made of"""
        near, _ = correlation(squared_distances(points / self.lengths, self.scaled))
        columns = solve_triangular(self.factor, near.T, lower=True)
        variance = self.signal * np.maximum(1 - (columns**2).sum(0), 1e-14)
        return self.mean + near @ self.weights, variance, columns

    def __call__(self, points):
        mean, variance, _ = self.parts(points)
        return mean, np.sqrt(variance)


def learn(points, values, warp, before):
    """-> (posterior of the warp of the largest likelihood, its theta)"""
    fit = Fit(points.shape[1])
    found = [(fit(points, warped, before), jacobian, warped) for warped, jacobian in WARPS[warp](values)]
    best, _, warped = min(found, key=lambda each: each[0].fun - each[1])
    return Posterior(points, warped, best.x), best.x


def log_expected_improvement(mean, deviation, incumbent):
    """log E max(f - incumbent, 0), by its asymptote where the improvement is hopeless."""
    z = (mean - incumbent) / deviation
    density = -0.5 * z * z - 0.5 * np.log(2 * np.pi)
    far = density - np.log(np.maximum(z * z, 1))
    with np.errstate(all="ignore"):
        near = density + np.log1p(z * np.exp(log_ndtr(z) - density))
    return np.where(z > -5, near, far) + np.log(deviation)
