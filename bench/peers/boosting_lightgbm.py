"""LightGBM on the columns of the file, not private: the ceiling of boosting. Small sets get fewer leaves."""
import lightgbm
import numpy as np

from protocol import serve_columns


def boost(train, y, test, kinds, seed):
    """Scores of boosted trees; the learning rate and the trees are usual values, and none was tuned."""
    n = len(y)
    model = lightgbm.LGBMClassifier(n_estimators=300 if n >= 5000 else 100, learning_rate=.05, num_leaves=31 if n >= 5000 else 7,
                                    min_child_samples=20, subsample=.8, subsample_freq=1, colsample_bytree=.8, random_state=seed % 2 ** 31,
                                    n_jobs=1, verbose=-1, deterministic=True)
    model.fit(train, y > 0, categorical_feature=[k for k, m in enumerate(kinds) if m > 2] or "auto")
    return model.predict_proba(test)[:, 1]


if __name__ == "__main__":
    serve_columns(f"lightgbm {lightgbm.__version__}, numpy {np.__version__}", lambda train, y, test, kinds, epsilon, delta, seed, options: boost(train, y, test, kinds, seed))
