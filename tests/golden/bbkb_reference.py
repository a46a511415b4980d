"""BBKB and BKB the slow, obviously right way: an independent reference for the engine's golden tests.

Nothing here is clever on purpose. The embedding is the pseudo-inverse square root of the dictionary's kernel
matrix, from its eigenvalues; the posterior is a dense solve; every arm is recomputed at every pick; a pick
repeated a thousand times is a thousand picks. No code, layout or factorization is shared with the engine.

  [BBKB]  Calandriello et al., ICML 2020, arXiv 2002.09954
  [BKB]   Calandriello et al., COLT 2019, arXiv 1903.05594

Variances are in the papers' scale (Bayesian variance / lambda) throughout. Arms are rows. An arm pulled n_i
times with rewards that sum to r_i enters once, with weight n_i.
"""

import math
from dataclasses import dataclass, field

import numpy as np

# A choice made by a smaller relative margin than this would not be the same in another correct program.
SAFE_MARGIN = 1e-7
# Arms that coincide have equal scores but for rounding: differences below this are ties.
TIE = 1e-11


class NearTie(Exception):
    """The run hangs on a difference too small to be reproduced; choose another seed."""


# ---- random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011) ----------------------------------

PURPOSE_INITIAL_ARM = 1
PURPOSE_RESAMPLE = 2
PURPOSE_BLESS = 3
MASK32 = 0xFFFFFFFF


def philox4x32(counter, key, rounds=10):
    """The four output words of one block; counter: four words, key: two."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(rounds):
        p0 = 0xD2511F53 * c0
        p1 = 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK32, (p0 >> 32) ^ c3 ^ k1, p0 & MASK32
        k0 = (k0 + 0x9E3779B9) & MASK32
        k1 = (k1 + 0xBB67AE85) & MASK32
    return c0, c1, c2, c3


def random_words(seed, batch, purpose, index, attempt=0):
    """Two words of 64 bits: a function of who asks (batch, purpose, index, attempt) and the study's seed."""
    who = (attempt << 56) ^ (batch << 8) ^ purpose
    out = philox4x32((index & MASK32, index >> 32, who & MASK32, who >> 32), (seed & MASK32, seed >> 32))
    return out[0] | out[1] << 32, out[2] | out[3] << 32


def random_uniform(seed, batch, purpose, index):
    return (random_words(seed, batch, purpose, index)[0] >> 11) * 2.0**-53


def random_below(seed, batch, purpose, index, n):
    """Uniform on 0 ... n-1: the first word that is not among the 2^64 mod n lowest, mod n."""
    attempt = 0
    while True:
        for word in random_words(seed, batch, purpose, index, attempt):
            if word >= 2**64 % n:
                return word % n
        attempt += 1


# ---- kernels ---------------------------------------------------------------------------------------------


def scale_features(raw, scaling):
    if scaling == "none":
        return raw.copy()
    if scaling == "standardize":
        shift, width = raw.mean(axis=0), raw.std(axis=0)
    else:
        shift, width = raw.min(axis=0), raw.max(axis=0) - raw.min(axis=0)
    constant = (raw == raw[0]).all(axis=0)
    width = np.where(constant, 1.0, width)
    return np.where(constant, 0.0, (raw - shift) / width)


def kernel_matrix(kernel, x, y):
    """k(x_i, y_j) for rows of x and y, by direct differences."""
    if kernel["type"] == "linear":
        return x @ y.T
    ell = np.asarray(kernel["lengthscales"], dtype=float)
    r = np.sqrt((((x[:, None, :] - y[None, :, :]) / ell) ** 2).sum(axis=2))
    if kernel["type"] == "gaussian":
        return np.exp(-0.5 * r**2)
    assert kernel["type"] == "matern"
    if kernel["nu"] == 0.5:
        return np.exp(-r)
    s = math.sqrt(2 * kernel["nu"]) * r
    if kernel["nu"] == 1.5:
        return (1 + s) * np.exp(-s)
    assert kernel["nu"] == 2.5
    return (1 + s + s**2 / 3) * np.exp(-s)


# ---- posterior -------------------------------------------------------------------------------------------


class Posterior:
    """[BBKB] eq. 1-3 under a dictionary and weighted pulls, all A arms at once.

    z     A x m'  embedding, m' the numerical rank of K_S
    v     m' x m' V = sum n_i z_i z_i' + lambda I
    mean, var     A
    """

    def __init__(self, gram, lam, dictionary, counts, sums):
        k_s = gram[np.ix_(dictionary, dictionary)]
        eigenvalues, vectors = np.linalg.eigh(k_s)
        keep = eigenvalues > eigenvalues[-1] * len(dictionary) * 1e-15
        root = (vectors[:, keep] / np.sqrt(eigenvalues[keep])).T
        self.lam = lam
        self.gram = gram
        self.diagonal = np.diag(gram).copy()
        self.z = gram[:, dictionary] @ root.T
        self.rest = np.maximum(0.0, self.diagonal - (self.z**2).sum(axis=1)) / lam
        self.v = (self.z * counts[:, None]).T @ self.z + lam * np.eye(self.z.shape[1])
        self.mean = self.z @ np.linalg.solve(self.v, self.z.T @ sums)
        self.var = self.variance(self.v)

    def variance(self, v):
        """Variances under the matrix v (the posterior's own, or with hallucinated picks)."""
        return self.rest + np.einsum("ij,ji->i", self.z, np.linalg.solve(v, self.z.T))

    def covariance(self, arms):
        """k~(x, x_s), A x len(arms)."""
        prior = (self.gram[:, arms] - self.z @ self.z[arms].T) / self.lam
        return prior + self.z @ np.linalg.solve(self.v, self.z[arms].T)

    def log_sum(self, counts, c):
        """log det(I + c sum n_i z_i z_i' / lambda) + c sum n_i (k_ii - |z_i|^2) / lambda."""
        inner = c * (self.z * counts[:, None]).T @ self.z / self.lam
        return np.linalg.slogdet(np.eye(len(inner)) + inner)[1] + c * (counts * self.rest).sum()

    def joining(self, counts, c):
        """What pulls that join later add: log det(V + c dV) - log det V + c sum n_i (k_ii - |z_i|^2) / lambda."""
        grown = self.v + c * (self.z * counts[:, None]).T @ self.z
        return np.linalg.slogdet(grown)[1] - np.linalg.slogdet(self.v)[1] + c * (counts * self.rest).sum()

    def information_gain(self):
        return 0.5 * (np.linalg.slogdet(self.v / self.lam)[1])


def exact_variances(gram, lam, pulls):
    """Variances of the exact GP after `pulls`, repeats and all, one row a pull."""
    k_t = gram[np.ix_(pulls, pulls)] + lam * np.eye(len(pulls))
    cross = gram[pulls]
    return (np.diag(gram) - np.einsum("ij,ij->j", cross, np.linalg.solve(k_t, cross))) / lam


# ---- choosing --------------------------------------------------------------------------------------------


@dataclass
class Options:
    kernel: dict
    algorithm: str = "bbkb"
    lam: float = 0.01
    noise_std: float = 0.1
    norm_bound: float = 1.0
    delta: float = 1e-3
    q_bar: float = 2.0
    q_bar_theory: bool = False
    ratio_bound: float = 2.0
    batch_rule: str = "global"
    confidence: str = "practical"
    beta: float = 0.0
    resample: str = "fresh"
    max_batch: int = 4096
    init: str = "uniform"
    parallelism: float = 1.0
    horizon: int = 0
    seed: int = 0


@dataclass
class Margins:
    """How close the run came to another choice: relative distances."""

    pick: float = math.inf
    stop: float = math.inf
    dictionary: float = math.inf

    def narrow(self, name, value):
        if value < SAFE_MARGIN:
            raise NearTie(f"{name}: {value:.1e}")
        setattr(self, name, min(getattr(self, name), float(value)))


def argmax_lowest(score, twins, margins):
    """Largest score, lowest index among arms that coincide; refuses any other close call."""
    best = score.max()
    scale = 1 + abs(best)
    first = int(np.flatnonzero(score >= best - TIE * scale)[0])
    others = score[twins != twins[first]]
    if len(others):
        margins.narrow("pick", (best - others.max()) / scale)
    return first


def twin_classes(gram):
    """Arms with equal rows of the kernel matrix (equal arms) share a number."""
    classes, numbers = {}, []
    for row in gram:
        numbers.append(classes.setdefault(row.tobytes(), len(classes)))
    return np.array(numbers)


@dataclass
class Batch:
    """What the engine must say of one batch."""

    number: int
    dictionary: list
    alpha: float
    log_sum: float
    mean: np.ndarray
    var: np.ndarray
    effective_dimension: float
    information_gain: float
    picks: list = field(default_factory=list)
    variances: list = field(default_factory=list)
    stop: str = ""
    ratio: float = 1.0


class Study:
    """One run of [BBKB] Algorithm 1 or [BKB] Algorithm 1 on arms known by their kernel matrix."""

    def __init__(self, gram, options):
        self.gram = gram
        self.o = options
        self.twins = twin_classes(gram)
        self.counts = np.zeros(len(gram))
        self.sums = np.zeros(len(gram))
        self.handed_out = 0
        self.batch = -1
        self.log_sum = None  # Lambda_1 (Lambda_3 for theory's width) of the pulls in the model
        self.posterior = None
        self.dictionary = None
        self.pending = []
        self.margins = Margins()

    # -- batch 0 --

    def initial_picks(self):
        o = self.o
        self.batch = 0
        if o.init == "uniform":
            picks = [random_below(o.seed, 0, PURPOSE_INITIAL_ARM, 0, len(self.gram))]
        else:  # [BBKB] Algorithm 3
            picks = [int(np.argmax(np.diag(self.gram)))]  # k(x,x) is not computed: equal ones are exactly equal
            while True:
                var = exact_variances(self.gram, o.lam, picks)
                self.margins.narrow("stop", abs(var.max() * o.parallelism - 1))
                if var.max() < 1 / o.parallelism:
                    break
                picks.append(argmax_lowest(var, self.twins, self.margins))
        self.handed_out += len(picks)
        return picks

    # -- the first dictionary from history --

    def binomial(self, index, n, p):
        """How many of n coins of probability p show heads: the distribution function inverted at one uniform."""
        u = random_uniform(self.o.seed, self.batch, PURPOSE_BLESS, index)
        for k in range(int(n) + 1):
            u -= math.comb(int(n), k) * p**k * (1 - p) ** (int(n) - k)
            self.margins.narrow("dictionary", abs(u))
            if u < 0:
                return k
        return int(n)

    def bless(self):
        """BLESS (Rudi et al., 2018) with pulls as items, every copy of an arm a row of its own."""
        o, k = self.o, np.diag(self.gram)
        pulled = [int(i) for i in np.flatnonzero(self.counts)]
        t = self.counts.sum()
        top = t * k.max()
        levels = math.ceil(math.log(t))
        chosen, weights = [], []  # J, a row a copy, and p_J
        for i in pulled:
            u = min(1.0, o.q_bar * k[i] / (k[i] + top))
            copies = self.binomial(i, self.counts[i], u)
            chosen += [i] * copies
            weights += [u] * copies
        for level in range(1, levels + 1):
            rho = top * (o.lam / top) ** (level / levels)
            if not chosen:
                raise NearTie("an empty set: what is kept then is the engine's own affair")
            k_j = self.gram[np.ix_(chosen, chosen)] + rho * np.diag(weights)
            next_chosen, next_weights = [], []
            for i in pulled:
                u = min(1.0, o.q_bar * k[i] / (k[i] + rho))
                candidates = self.binomial((2 * level) << 32 | i, self.counts[i], u)
                if candidates == 0:
                    continue
                cross = self.gram[chosen, i]
                score = (k[i] - cross @ np.linalg.solve(k_j, cross)) / rho
                p = min(o.q_bar * score, u)
                copies = self.binomial((2 * level + 1) << 32 | i, candidates, p / u)
                next_chosen += [i] * copies
                next_weights += [p] * copies
            chosen, weights = next_chosen, next_weights
        return sorted(set(chosen))

    # -- batch 1 and later (0 and later with history) --

    def begin_batch(self, results, pending=()):
        """results: (arm, reward, start-of-batch variance of the batch that issued it; None for a pull of the user's
        own). pending: arms whose rewards are still out."""
        o = self.o
        old = self.posterior
        own = np.zeros(len(self.gram))
        for arm, reward, variance in results:
            self.counts[arm] += 1
            self.sums[arm] += reward
            if variance is None:
                own[arm] += 1
            elif old is not None:
                self.log_sum += math.log(1 + self.log_factor() * variance)
        if old is not None and own.any():
            self.log_sum += old.joining(own, self.log_factor())
        self.batch += 1
        self.pending = list(pending)
        offered = self.counts + np.bincount(np.array(self.pending, dtype=int), minlength=len(self.gram))
        pulled = np.flatnonzero(offered)
        if old is not None:
            self.dictionary = self.resample(pulled, offered, old.var)
        elif own.any():
            self.dictionary = self.bless()
        else:
            self.dictionary = [int(i) for i in pulled]
        self.posterior = Posterior(self.gram, o.lam, self.dictionary, self.counts, self.sums)
        if old is None:
            self.log_sum = self.posterior.log_sum(self.counts, self.log_factor())
        return self.posterior

    def resample(self, pulled, counts, var_fb):
        """[BBKB] Alg. 1, l. 14-18, p = min(1, q sigma^2): an arm of n pulls is kept with probability min(1, n p), or
        (per_pull, the paper's letter) each of its pulls with probability p."""
        o = self.o
        t = self.counts.sum()
        q_bar = 72 * o.ratio_bound * math.log(4 * t / o.delta) if o.q_bar_theory else o.q_bar
        number = 0 if o.resample == "persistent" else self.batch
        kept = []
        for i in pulled:
            p = min(1.0, q_bar * var_fb[i])
            n = counts[i]
            probability = 1 - (1 - p) ** n if o.resample == "per_pull" else min(1.0, n * p)
            u = random_uniform(o.seed, number, PURPOSE_RESAMPLE, int(i))
            if probability < 1:
                self.margins.narrow("dictionary", abs(u - probability))
            if u < probability:
                kept.append(int(i))
        if not kept:
            first = argmax_lowest(var_fb[pulled], self.twins[pulled], self.margins)
            kept = [int(pulled[first])]
        return kept

    def log_factor(self):
        return 3 if self.o.confidence == "theory" else 1

    def alpha(self):
        """The factor before sigma."""
        o = self.o
        if o.confidence == "fixed":
            return o.beta
        log_delta = math.log(1 / o.delta)
        effective = (self.counts * self.posterior.var).sum()
        t = self.counts.sum()
        if o.algorithm == "bkb":
            if o.confidence == "practical":
                width = o.noise_std * math.sqrt(math.log(t) * effective + log_delta)
                return math.sqrt(o.lam) * o.norm_bound + width
            epsilon = 0.5  # [BKB] Alg. 1, and its appendix for the constants
            a = (1 + epsilon) / (1 - epsilon)
            kappa2 = np.diag(self.gram).max()
            width = 2 * o.noise_std * math.sqrt(a * max(0.0, math.log(kappa2 * t)) * effective + log_delta)
            return width + (1 + 1 / math.sqrt(1 - epsilon)) * math.sqrt(o.lam) * o.norm_bound
        if o.confidence == "practical":
            return math.sqrt(o.lam) * o.norm_bound + o.noise_std * math.sqrt(
                o.ratio_bound * self.log_sum + log_delta
            )
        beta = 2 * o.noise_std * math.sqrt(self.log_sum + log_delta)  # [BBKB] Thm. 2
        return o.ratio_bound * (beta + (1 + math.sqrt(2)) * math.sqrt(o.lam) * o.norm_bound)

    def choose(self):
        """[BBKB] Alg. 1, l. 6-13: one whole batch."""
        o, post = self.o, self.posterior
        out = Batch(
            number=self.batch,
            dictionary=self.dictionary,
            alpha=self.alpha(),
            log_sum=self.log_sum,
            mean=post.mean,
            var=post.var,
            effective_dimension=(self.counts * post.var).sum(),
            information_gain=post.information_gain(),
        )
        v = post.v.copy()
        for arm in self.pending:
            v += np.outer(post.z[arm], post.z[arm])
        while not (stop := self.stop_rule(out)):
            score = post.mean + out.alpha * np.sqrt(post.variance(v))
            pick = argmax_lowest(score, self.twins, self.margins)
            v += np.outer(post.z[pick], post.z[pick])
            out.picks.append(pick)
            out.variances.append(post.var[pick])
        out.stop = stop
        out.ratio = self.ratio(out)
        self.handed_out += len(out.picks)
        return out

    def ratio(self, batch):
        return 1 + math.fsum(self.posterior.var[self.pending]) + math.fsum(batch.variances)

    def stop_rule(self, batch):
        """Why no further pick is made; '' when one is."""
        o = self.o
        out = self.pending + batch.picks
        if o.algorithm == "bkb":
            return "sequential" if out else ""
        if out:
            ratio = self.ratio(batch)
            self.margins.narrow("stop", abs(ratio - o.ratio_bound) / o.ratio_bound)
            if ratio > o.ratio_bound:
                if o.batch_rule == "global":
                    return "global"
                local = self.local_ratio(out)
                self.margins.narrow("stop", abs(local - o.ratio_bound) / o.ratio_bound)
                if local > o.ratio_bound:
                    return "global_local"
        if len(batch.picks) == o.max_batch:
            return "max_batch"
        if o.horizon and self.handed_out + len(batch.picks) == o.horizon:
            return "horizon"
        return ""

    def local_ratio(self, picks):
        """[BBKB] Lemma 3, with both of its sums, over the whole batch, every arm."""
        post = self.posterior
        exact = (post.covariance(picks) ** 2).sum(axis=1)
        dtc = ((post.z @ np.linalg.solve(post.v, post.z[picks].T)) ** 2).sum(axis=1)
        alive = post.var > 0
        return 1 + (np.maximum(exact, dtc)[alive] / post.var[alive]).max()
