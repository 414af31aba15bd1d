"""Synthetic documents as LIBSVM rows for bench/results/wide-moments*.csv: python topics.py FAMILY N D OUT

Words are drawn from topics. Labels follow the topics (counts, topics) or the words (words, sharp). Needs numpy.
"""

import sys

import numpy as np


def counts(n, d, words=52):
    """Zipf's law over words, mixed with topics; the label follows the mixture."""
    r = np.random.default_rng(7)
    base = 1 / np.arange(1, d + 1) ** 0.8
    topics = r.gamma(0.05, size=(60, d)) * base + 1e-12
    topics /= topics.sum(1, keepdims=True)
    cum, base, w = topics.cumsum(1), (base / base.sum()).cumsum(), r.normal(size=60)
    for _ in range(n):
        mix = r.dirichlet(np.full(60, 0.08))
        of, at, ids = r.choice(60, size=words, p=mix), r.random(words), set()
        for t, v in zip(of, at):
            c = cum[t] if r.random() < 0.6 else base
            ids.add(min(int(np.searchsorted(c, v * c[-1])), d - 1) + 1)
        yield r.random() < 1 / (1 + np.exp(-6 * (mix @ w))), ids


def documents(n, d, seed, topics, shape, zipf, mixture, by_words, words=52):
    r = np.random.default_rng(seed)
    of = r.gamma(shape, size=(topics, d)) * (1 / np.arange(1, d + 1) ** zipf) + 1e-12
    of /= of.sum(1, keepdims=True)
    cum, w = of.cumsum(1), r.normal(size=d if by_words else topics)
    for _ in range(n):
        mix = r.dirichlet(np.full(topics, mixture))
        drawn, at = r.choice(topics, size=words, p=mix), r.random(words)
        ids = sorted({min(int(np.searchsorted(cum[t], v * cum[t][-1])), d - 1) + 1 for t, v in zip(drawn, at)})
        odds = sum(w[k - 1] for k in ids) / np.sqrt(len(ids)) * 2.5 if by_words else 4 * (mix @ w)
        yield r.random() < 1 / (1 + np.exp(-odds)), ids


FAMILIES = {
    "counts": counts,
    "topics": lambda n, d: documents(n, d, 11, 40, 0.1, 0, 0.1, False),
    "words": lambda n, d: documents(n, d, 13, 60, 0.05, 0.5, 0.1, True),
    "sharp": lambda n, d: documents(n, d, 17, 60, 0.02, 0.5, 0.05, True),
}

if __name__ == "__main__":
    family, n, d, out = sys.argv[1:]
    with open(out, "w", encoding="ascii") as f:
        for y, ids in FAMILIES[family](int(n), int(d)):
            f.write(("1 " if y else "-1 ") + " ".join(f"{k}:1" for k in sorted(ids)) + "\n")
