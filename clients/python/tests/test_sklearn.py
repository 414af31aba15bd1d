import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.base import clone, is_classifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dyad_dp import PrivateAUCClassifier, PrivateMetric

# Without noise, so that two fits are equal; the checks know no privacy.
EXACT = {"public": True, "options": {"mode": "nonprivate"}}
EXPECTED = {"check_fit2d_1sample": "one record has no pair"}


@parametrize_with_checks([PrivateAUCClassifier(**EXACT), PrivateMetric(**EXACT)], expected_failed_checks=lambda e: EXPECTED)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_pipeline(clinic):
    X, y = clinic
    p = make_pipeline(FunctionTransformer(lambda X: np.clip(X, -1, 1)), PrivateAUCClassifier(bounds=(-1, 1), raw_columns=True, data_id="p", classes=(0, 1)))
    p.fit(X, y)
    assert p[-1].guarantee_.epsilon == pytest.approx(1)
    p.predict(X)
    assert is_classifier(p[-1])


def test_clone_and_parameters():
    e = PrivateAUCClassifier(epsilon=2, options={"steps": 5})
    c = clone(e)
    assert c.get_params() == e.get_params() and repr(c) == "PrivateAUCClassifier(epsilon=2, options={'steps': 5})"
    with pytest.raises(ValueError, match="Invalid parameter"):
        e.set_params(eps=1)
