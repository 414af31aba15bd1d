"""scikit-learn's conventions: its own checks, pipelines, routing of groups and persons."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")
from sklearn import config_context
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dyad_dp import DyadError, PrivateAUCClassifier, PrivateMetric, PrivateRanker, PublicScaler

# The checks that fail, and why. The first three demand that two fits are equal, and noise is fresh; they pass without noise. The others demand that
# probabilities are a function of the score: they are of records as the training clipped them (docs/theory.md#log-odds), and the score orders better.
_CLIPPED = "probabilities are of clipped records, scores are not"
EXPECTED = {
    "check_classifier_data_not_an_array": "compares two fits",
    "check_supervised_y_2d": "compares two fits",
    "check_fit_idempotent": "compares two fits",
    "check_classifiers_train": _CLIPPED,
    "check_decision_proba_consistency": _CLIPPED,
}
EXACT = {"public": True, "options": {"mode": "nonprivate"}}
ESTIMATORS = (PrivateAUCClassifier, PrivateRanker, PrivateMetric)


@parametrize_with_checks([kind(**EXACT) for kind in ESTIMATORS])
def test_estimator_checks(estimator, check):
    check(estimator)


# At an epsilon at which noise is too small to decide on a check by chance, so that what passes once passes always.
@parametrize_with_checks([PrivateAUCClassifier(1e6, public=True)], expected_failed_checks=lambda e: EXPECTED)
def test_estimator_checks_with_noise(estimator, check):
    check(estimator)


def test_they_are_estimators_of_scikit_learn():
    assert all(issubclass(kind, BaseEstimator) for kind in (*ESTIMATORS, PublicScaler))


def test_pipeline(clinic):
    X, y = clinic
    p = make_pipeline(FunctionTransformer(lambda X: np.clip(X, -1, 1)), PrivateAUCClassifier(bounds=(-1, 1), raw_columns=True, data_id="p", classes=(0, 1)))
    p.fit(X, y)
    assert p[-1].guarantee_.epsilon == pytest.approx(1)
    assert p.predict_proba(X).shape == (len(X), 2)
    assert is_classifier(p[-1])


def test_clone_and_parameters():
    e = PrivateAUCClassifier(epsilon=2, options={"steps": 5})
    c = clone(e)
    assert c.get_params() == e.get_params() and repr(c) == "PrivateAUCClassifier(epsilon=2, options={'steps': 5})"
    with pytest.raises(ValueError, match="Invalid parameter"):
        e.set_params(eps=1)


def test_persons_and_groups_are_routed(clinic):
    X, y = clinic
    who = np.arange(len(y)) // 4
    e = PrivateAUCClassifier(epsilon=4, bounds=(-3, 3), raw_columns=True, data_id="p", classes=(0, 1), persons=1000, max_rows_per_person=4)
    with config_context(enable_metadata_routing=True):
        p = make_pipeline(PublicScaler((-3, 3)), clone(e).set_params(bounds=(0, 1)).set_fit_request(person=True)).fit(X, y, person=who)
    assert p[-1].guarantee_.unit == "one person"
    p = make_pipeline(PublicScaler((-3, 3)), clone(e).set_params(bounds=(0, 1))).fit(X, y, privateaucclassifier__person=who)
    assert p[-1].guarantee_.unit == "one person"
    ranker = PrivateRanker(public=True, grades=(0, 4))
    with config_context(enable_metadata_routing=True):
        p = make_pipeline(PublicScaler((-3, 3)), ranker.set_fit_request(group="groups")).fit(X, 2 * y, groups=np.arange(len(y)) // 20)
    assert p.decision_function(X).shape == y.shape


def test_weights_are_refused_with_the_reason(clinic):
    X, y = clinic
    e = PrivateAUCClassifier(public=True)
    with pytest.raises(DyadError, match="count once"):
        e.fit(X, y, sample_weight=np.ones(len(y)))
    with pytest.raises(TypeError, match="wieght"):
        e.fit(X, y, wieght=1)


def test_probabilities(clinic, surely):
    X, y = clinic
    m = PrivateAUCClassifier(epsilon=2, bounds=(-3, 3), raw_columns=True, data_id="p", classes=(0, 1)).fit(X, y)
    p = m.predict_proba(X)
    assert p.shape == (len(y), 2) and np.allclose(p.sum(axis=1), 1) and (p >= 1 / (len(y) + 2) - 1e-12).all()
    assert np.array_equal(m.predict(X), m.classes_[p.argmax(axis=1)])
    share = np.array([y[part].mean() - p[part, 1].mean() for part in np.array_split(np.argsort(p[:, 1]), 10)])
    surely("distance of probabilities from shares", np.abs(share).mean())
    again = m.guarantee_.spent_in_all
    assert again["runs"] == 1, "probabilities were charged"
    order = PrivateAUCClassifier(bounds=(-3, 3), raw_columns=True, data_id="p", classes=(0, 1), algorithm="dpgdsc").fit(X, y)
    assert not hasattr(order, "predict_proba")
    with pytest.raises(AttributeError, match="released no second moments"):
        order.predict_proba(X)
    assert set(order.predict(X)) <= {0, 1}


def test_tools_that_need_probabilities(clinic):
    X, y = clinic
    public = PrivateAUCClassifier(public=True)
    v = VotingClassifier([("a", public), ("b", clone(public))], voting="soft").fit(X, y)
    assert v.predict_proba(X).shape == (len(y), 2)
    m = PrivateAUCClassifier(bounds=(-3, 3), raw_columns=True, data_id="p", classes=(0, 1)).fit(X, y)
    assert CalibratedClassifierCV(FrozenEstimator(m)).fit(X, y).predict_proba(X).shape == (len(y), 2)


def test_what_a_notebook_shows():
    r = np.random.default_rng(0)
    X = pd.DataFrame({"a<b": r.random(500), "sex": r.choice(["f", "m"], 500)})
    y = (X["a<b"] > 0.5).astype(int)
    m = PrivateAUCClassifier(bounds={"a<b": (0, 1), "sex": ["f", "m"]}, data_id="p", classes=(0, 1))
    assert "PrivateAUCClassifier" in m._repr_html_() and "guarantee" not in m._repr_html_().split("</style>")[-1]
    page = m.fit(X, y)._repr_html_()
    assert "epsilon = 1" in page and "a&lt;b" in page.split("guarantee")[-1] and "a<b" not in page.split("guarantee")[-1]
    assert list(m.coef_names_) == ["a<b", "sex=m"] and m.coef_.shape == (2,)
    f = m.evaluate(X, y, epsilon=1)
    assert "AUC" in f._repr_html_()


def test_importances_and_what_there_is_not(tmp_path):
    r = np.random.default_rng(5)
    X = pd.DataFrame({"sex": r.choice(["f", "m"], 600), "age": r.uniform(18, 95, 600), "noise": r.uniform(0, 1, 600)})
    y = (X.age + 20 * (X.sex == "m") + r.normal(0, 5, 600) > 65).astype(int)
    m = PrivateAUCClassifier(public=True, bounds={"sex": ["f", "m"], "age": (18, 95), "noise": (0, 1)}, options={"mode": "nonprivate"}).fit(X, y)
    shares = m.feature_importances_
    assert shares.shape == (3,) and np.isclose(shares.sum(), 1) and shares[1] > shares[0] > shares[2]
    array = PrivateAUCClassifier(public=True, bounds=([18, 0], [95, 1])).fit(X[["age", "noise"]].to_numpy(), y)
    spans = [np.ptp(array.decision_function(np.array([[18, 0.5], [95, 0.5]]))), np.ptp(array.decision_function(np.array([[56.5, 0], [56.5, 1]])))]
    assert np.allclose(array.feature_importances_, np.array(spans) / sum(spans), atol=1e-9)  # the most that a column changes
    network = PrivateAUCClassifier(public=True, bounds=(0, 95), options={"model": "mlp", "hidden": 2, "steps": 2}).fit(X[["age", "noise"]].to_numpy(), y)
    assert not hasattr(network, "feature_importances_")
    (tmp_path / "net.yaml").write_text("layers: [dense: 2, activation: silu]\n")
    of_file = PrivateAUCClassifier(public=True, bounds=(0, 95), options={"model": str(tmp_path / "net.yaml"), "steps": 2}, random_state=7)
    of_file.fit(X[["age", "noise"]].to_numpy(), y)
    assert of_file.model_["network"]["kind"] == "layers" and of_file.model_["network"]["seed"] == 7
    assert np.isfinite(of_file.decision_function(X[["age", "noise"]].to_numpy())).all()
    for name, why in {"partial_fit": "charged in full", "staged_predict": "not released"}.items():
        assert not hasattr(m, name)  # tools of scikit-learn ask so
        with pytest.raises(AttributeError, match=why):
            getattr(m, name)


def test_released_shares_check_probabilities(clinic, surely):
    X, y = clinic
    m = PrivateAUCClassifier(bounds=(-3, 3), raw_columns=True, data_id="p", classes=(0, 1)).fit(X, y)
    f, s, p = m.evaluate(X, y, epsilon=1), m.decision_function(X), m.predict_proba(X)[:, 1]
    shares = f.shares()
    assert np.isclose(shares.records.sum(), len(y)) and shares.share.between(1 / (shares.records + 2), 1 - 1 / (shares.records + 2)).all()
    parts = [((s >= a) & (s < b)) for a, b in zip(shares.low, shares.high)]
    weight = np.array([part.mean() for part in parts])
    exact = np.array([y[part].mean() if part.any() else 0 for part in parts])
    surely("distance of released shares from exact ones", float((weight * np.abs(exact - shares.share)).sum()))
    told = np.array([p[part].mean() if part.any() else 0 for part in parts])  # probabilities, and ones that are wrong by a factor
    assert (weight * np.abs(told - shares.share)).sum() < (weight * np.abs(told / 3 - shares.share)).sum()
    assert m.guarantee_.epsilon == pytest.approx(1) and f.guarantee.spent_in_all["runs"] == 2, "shares cost nothing beyond the evaluation"
    with pytest.raises(ValueError, match="releases them"):
        PrivateAUCClassifier(public=True).fit(X, y).evaluate(X, y).shares()
