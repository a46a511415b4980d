"""A textbook Bayesian optimizer as a yardstick: who is behind it has something to mend. NumPy and SciPy only.

After every result the model is fitted again (samplers/textbook_model.py) and the point of the largest log expected improvement over
the largest posterior mean of the tried points is taken.
  spaces of real parameters  six Sobol points, then the score's maximum by sampling: everywhere, then ever nearer to the best;
                             with "climb" by gradients from five starts after that. One at a time only.
  lists                      first candidates by chance, then the best of all that were not tried. What is under way is counted
                             as if it had been told its posterior mean: means stay, deviations shrink. At most the
                             last 400 results.
options: "warp", fold or yj; "climb". The point of the largest posterior mean among the tried is recommended."""

import numpy as np
from protocol import CannotDo, Sampler, is_number, need_one_at_a_time, serve
from scipy.optimize import minimize
from scipy.stats import qmc
from textbook_model import correlation, learn, log_expected_improvement, squared_distances

LATEST, FIRST = 400, 6


class Textbook(Sampler):
    def __init__(self, task, seed, options):
        super().__init__()
        self.warp, self.theta = options["warp"], None
        self.told, self.finder = {}, OfList(task, seed) if task["features"] else OfBox(task, seed, options)
        self.rows = []  # by handle: what the finder knows a point by

    def choose(self, count):
        under_way = [self.rows[h] for h in range(len(self.rows)) if h not in self.told]
        first = max(FIRST, self.finder.batch)
        if len(self.told) < 2 or len(self.rows) + count <= first:
            rows = self.finder.begin(count)
        else:
            tried, posterior = self.posterior()
            rows = self.finder.best(count, posterior, tried, under_way)
        self.rows += rows
        return [self.finder.point(row) for row in rows]

    def posterior(self):
        handles = list(self.told)[-LATEST:]
        tried = np.array([self.finder.unit(self.rows[h]) for h in handles])
        posterior, self.theta = learn(tried, np.array([self.told[h] for h in handles]), self.warp, self.theta)
        return tried, posterior

    def learn(self, results):
        self.told.update({handle: value for handle, _, value in results if is_number(value)})

    def recommend(self):
        tried, posterior = self.posterior()
        return self.points[list(self.told)[-LATEST:][int(np.argmax(posterior(tried)[0]))]]


class OfList:
    def __init__(self, task, seed):
        self.list, self.draw, self.batch = np.load(task["features"]), np.random.default_rng(seed), task["batch"]
        self.free = np.ones(len(self.list), bool)

    def take(self, row):
        self.free[row] = False
        return int(row)

    def begin(self, count):
        return [self.take(row) for row in self.draw.choice(np.flatnonzero(self.free), count, replace=False)]

    def unit(self, row):
        return self.list[row]

    def point(self, row):
        return row

    def best(self, count, posterior, tried, under_way):
        incumbent = posterior(tried)[0].max()
        mean, variance, columns = posterior.parts(self.list)
        scaled, given = self.list / posterior.lengths, []

        def shrink(row):
            near, _ = correlation(squared_distances(scaled, scaled[row : row + 1])[:, 0])
            covariance = posterior.signal * (near - columns.T @ columns[:, row])
            for one in given:
                covariance = covariance - one * one[row]
            given.append(covariance / np.sqrt(max(covariance[row] + posterior.noise, 1e-12 * posterior.signal)))
            return variance - given[-1] ** 2

        for row in under_way:
            variance = shrink(row)
        rows = []
        for place in range(min(count, int(self.free.sum()))):
            deviation = np.sqrt(np.maximum(variance, 1e-14 * posterior.signal))
            score = np.where(self.free, log_expected_improvement(mean, deviation, incumbent), -np.inf)
            rows.append(self.take(np.argmax(score)))
            if place + 1 < count:
                variance = shrink(rows[-1])
        return rows


class OfBox:
    batch = 1

    def __init__(self, task, seed, options):
        need_one_at_a_time(task)
        self.parameters = task["parameters"]
        if task["batch"] > 1 or any(p["type"] != "double" or "active_when" in p for p in self.parameters):
            raise CannotDo("it is for real parameters, one at a time")
        self.d, self.draw, self.climb = len(self.parameters), np.random.default_rng(seed), options.get("climb", False)
        self.first = list(qmc.Sobol(self.d, seed=seed).random(8)[:FIRST])

    def begin(self, count):
        return [self.first.pop(0) for _ in range(count)]

    def unit(self, row):
        return row

    def point(self, row):
        point = {}
        for p, u in zip(self.parameters, row):
            low, high = p["min"], p["max"]
            value = low * (high / low) ** u if p.get("scale") == "log" else low + u * (high - low)
            point[p["name"]] = float(min(max(value, low), high))
        return point

    def sobol(self, n):
        return qmc.Sobol(self.d, seed=self.draw).random(n)

    def best(self, count, posterior, tried, under_way):
        means = posterior(tried)[0]
        incumbent, top = tried[np.argmax(means)], means.max()

        def score(points):
            return log_expected_improvement(*posterior(points), top)

        x = self.sample(score, incumbent)
        return [self.ascend(score, x) if self.climb else x]

    def sample(self, score, incumbent):
        """The best of points everywhere, then four times of points near the best eight and the incumbent."""
        points, share = self.sobol(1024), max(0.5, 2 / self.d)
        for narrowing in range(4):
            best = points[np.argsort(-score(points))[:8]]
            around = np.repeat(np.vstack([best, incumbent]), 24, axis=0)
            widths = (0.2 * 0.4**narrowing, 0.05 * 0.4**narrowing, 0.01 * 0.3**narrowing)
            near = [around + w * self.draw.normal(size=around.shape) * (self.draw.random(around.shape) < share) for w in widths]
            points = np.clip(np.vstack([best, *near]), 0, 1)
        return points[np.argmax(score(points))]

    def ascend(self, score, x):
        far = self.sobol(1024)
        starts = [x, *far[np.argsort(-score(far))[:4]]]
        found = [minimize(lambda u: -score(u[None])[0], start, method="L-BFGS-B", bounds=[(0, 1)] * self.d,
                          options={"maxiter": 40}) for start in starts]  # fmt: skip
        return min(found, key=lambda each: each.fun).x


if __name__ == "__main__":
    serve(Textbook)
