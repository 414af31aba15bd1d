"""What was fitted to private records cannot stand before a private fit by accident."""

import numpy as np
import pytest

pytest.importorskip("sklearn")
pd = pytest.importorskip("pandas")
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, Normalizer, OneHotEncoder, StandardScaler, scale

import dyad_dp
from dyad_dp import DyadError, PrivateAUCClassifier, PrivateMetric, PublicOneHot, PublicScaler


def private(**kw):
    return PrivateAUCClassifier(**{"bounds": (-3, 3), "data_id": "clinic", "classes": (0, 1), "raw_columns": True, **kw})


class Shifted(BaseEstimator, TransformerMixin):
    """A transformer of somebody else, with scikit-learn's default tags."""

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        return self

    def transform(self, X):
        return X - self.mean_


FITTED = {
    "scaler": lambda: [StandardScaler()],
    "min-max": lambda: [MinMaxScaler()],
    "imputer": lambda: [SimpleImputer()],
    "PCA": lambda: [PCA(3)],
    "selection by the labels": lambda: [SelectKBest(k=3)],
    "somebody else's": lambda: [Shifted()],
    "second of two": lambda: [Normalizer(), StandardScaler()],
    "nested": lambda: [make_pipeline(Normalizer(), StandardScaler())],
    "union": lambda: [FeatureUnion([("a", Normalizer()), ("b", StandardScaler())])],
    "columns": lambda: [make_column_transformer((StandardScaler(), [0, 1]), remainder="passthrough")],
    "columns with public ones": lambda: [make_column_transformer((StandardScaler(), [0, 1]), (PublicScaler((-3, 3)), [2, 3, 4]))],
    "remainder": lambda: [make_column_transformer(("passthrough", [0, 1]), remainder=StandardScaler())],
    "function of all rows": lambda: [FunctionTransformer(scale)],
    "function of all rows, second": lambda: [PublicScaler((-3, 3)), FunctionTransformer(lambda X: X - X.mean(axis=0))],
}


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize("frame", [False, True])
def test_a_pipeline_that_learns_before_the_private_step_is_refused(clinic, own_places, name, frame):
    X, y = clinic
    if frame:
        names = [f"c{k}" for k in range(5)]
        kw, X = {"bounds": {c: (-3, 3) for c in names}}, pd.DataFrame(X, columns=names)
    else:
        kw = {}
    p = make_pipeline(*FITTED[name](), private(**kw))
    if frame and all(hasattr(step, "set_output") for _, step in p.steps[:-1]) and "public" not in name:
        p.set_output(transform="pandas")
    with pytest.raises(DyadError, match="PublicScaler"):
        p.fit(X, y)
    assert not (own_places / "state" / "dyad" / "ledger.jsonl").exists(), "a refusal was charged"


def test_the_refusal_names_the_step(clinic):
    X, y = clinic
    with pytest.raises(DyadError, match="standardscaler .*StandardScaler"):
        make_pipeline(StandardScaler(), private()).fit(X, y)
    with pytest.raises(DyadError, match="functiontransformer"):
        make_pipeline(FunctionTransformer(scale), private()).fit(X, y)


def test_an_outer_pipeline_is_looked_at_as_well(clinic):
    X, y = clinic
    with pytest.raises(DyadError, match="standardscaler"):
        make_pipeline(StandardScaler(), make_pipeline(Normalizer(), private())).fit(X, y)
    metric = PrivateMetric(bounds=(-3, 3), data_id="m", classes=(0, 1), raw_columns=True)
    with pytest.raises(DyadError, match="standardscaler"):
        make_pipeline(StandardScaler(), metric, FunctionTransformer()).fit(X, y)


def test_figures_and_search_are_looked_at_as_well(clinic, own_places):
    X, y = clinic
    m = private().fit(X, y)
    m.raw_columns = False
    with pytest.raises(DyadError, match="raw_columns"):
        m.evaluate(X, y, epsilon=1)
    with pytest.raises(DyadError, match="raw_columns"):
        dyad_dp.search(private(raw_columns=False), [{"name": "a"}, {"name": "b", "radius": 2}], X, y)


@pytest.mark.parametrize("change", [{}, {"schema": {"format": "npz", "features": 5, "range": [-3, 3], "columns": [{"name": "y", "role": "label", "positive": "1", "negative": "0"}]}, "bounds": None}])
def test_an_array_needs_a_declaration(clinic, own_places, change):
    X, y = clinic
    X = StandardScaler().fit_transform(X)  # no trace of it is left in an array
    with pytest.raises(DyadError, match="raw_columns=True"):
        private(raw_columns=False, **change).fit(X, y)
    assert not (own_places / "state" / "dyad" / "ledger.jsonl").exists()
    PrivateAUCClassifier(public=True).fit(X, y)


def test_a_frame_without_names_is_an_array(clinic):
    X, y = clinic
    with pytest.raises(DyadError, match="raw_columns=True"):
        private(raw_columns=False, bounds={k: (-3, 3) for k in range(5)}).fit(pd.DataFrame(X), y)


@pytest.mark.parametrize("wrap", [lambda e: BaggingClassifier(e, 2), lambda e: CalibratedClassifierCV(e, cv=2)])
def test_no_other_tool_of_scikit_learn_calls_fit(clinic, own_places, wrap):
    X, y = clinic
    with pytest.raises((DyadError, ValueError), match="sklearn|search"):
        wrap(private()).fit(X, y)
    assert not (own_places / "state" / "dyad" / "ledger.jsonl").exists()


PUBLIC = {
    "scaler": lambda X: [PublicScaler((-3, 3))],
    "row by row": lambda X: [Normalizer(), FunctionTransformer(np.sign), "passthrough"],
    "frozen": lambda X: [FrozenEstimator(StandardScaler().fit(np.random.default_rng(0).normal(size=(50, 5))))],
    "columns": lambda X: [make_column_transformer((PublicScaler((-3, 3)), [0, 1]), (PublicScaler((-4, 4)), [2, 3]), remainder="drop")],
    "union": lambda X: [make_union(PublicScaler((-3, 3)), Normalizer())],
}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_pipeline_of_public_steps_is_taken(clinic, name):
    X, y = clinic
    p = make_pipeline(*PUBLIC[name](X), private(epsilon=2)).fit(X, y)
    assert p[-1].guarantee_.epsilon == pytest.approx(2)
    assert len(p.predict(X[:10])) == 10


def test_a_public_pipeline_may_learn(clinic, surely):
    X, y = clinic
    p = make_pipeline(StandardScaler(), PrivateAUCClassifier(public=True)).fit(X, y)
    surely("AUC of a public pipeline", p.score(X, y))


def test_public_encoders_declare_the_columns_themselves():
    r = np.random.default_rng(4)
    n = 3000
    frame = pd.DataFrame({"age": r.integers(18, 95, n), "sex": r.choice(["f", "m"], n), "ward": r.choice(["a", "b", "c"], n)})
    y = (frame.age + r.normal(0, 20, n) > 60).astype(int)
    encode = make_column_transformer((PublicScaler({"age": (18, 95)}), ["age"]), (PublicOneHot({"sex": ["f", "m"], "ward": ["a", "b", "c"]}), ["sex", "ward"]))
    p = make_pipeline(encode, private(raw_columns=False, bounds=(0, 1), epsilon=4))
    p.fit(frame, y)
    assert p[-1].n_features_in_ == 6 and p[-1].guarantee_.epsilon == pytest.approx(4)
    assert list(encode.fit(frame).get_feature_names_out()) == ["publicscaler__age", *(f"publiconehot__{x}" for x in ("sex_f", "sex_m", "ward_a", "ward_b", "ward_c"))]


def test_public_scaler():
    X = np.array([[18.0, -1.0], [95.0, 1.0], [200.0, np.nan], [18 + 77 / 4, 0.0]])
    s = PublicScaler(([18, -1], [95, 1]))
    assert np.array_equal(s.transform(X), [[0, 0], [1, 1], [1, np.nan], [0.25, 0.5]], equal_nan=True)
    assert np.array_equal(s.fit(X[:2]).transform(X), clone(s).fit(X[1:]).transform(X), equal_nan=True), "fit took something from the data"
    frame = pd.DataFrame({"b": X[:, 1], "age": X[:, 0], "other": 0})
    assert np.array_equal(PublicScaler({"age": (18, 95), "b": (-1, 1)}).fit_transform(frame), s.transform(X), equal_nan=True)
    for wrong in ((1, 1), (0, np.inf), [(0, 1)] * 3, {"age": (0, 1)}):
        with pytest.raises(DyadError, match="bounds|DataFrame"):
            PublicScaler(wrong).fit(X)
    with pytest.raises(DyadError, match="'age'"):
        PublicScaler({"age": (0, 1)}).transform(pd.DataFrame({"b": [1.0]}))


def test_public_one_hot():
    frame = pd.DataFrame({"sex": ["f", "m", "x"], "grade": [1, 2, 1], "other": 0})
    h = PublicOneHot({"sex": ["f", "m"], "grade": [1, 2]}, unknown="other")
    assert np.array_equal(h.fit_transform(frame), [[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    assert list(h.get_feature_names_out()) == ["sex_f", "sex_m", "grade_1", "grade_2"]
    with pytest.raises(DyadError, match=r"row 2, column 'sex'") as e:
        clone(h).set_params(unknown="error").transform(frame)
    assert "'x'" not in str(e.value)
    a = PublicOneHot([["f", "m"], [1, 2]])
    assert np.array_equal(a.transform(np.array([["m", 2]], dtype=object)), [[0, 1, 0, 1]])
    for wrong in ({}, {"sex": []}, {"sex": ["f", "f"]}, {"sex": "fm"}):
        with pytest.raises(DyadError, match="categories"):
            PublicOneHot(wrong).fit(frame)
    with pytest.raises(DyadError, match="unknown"):
        PublicOneHot({"sex": ["f"]}, unknown="drop").fit(frame)
    assert np.array_equal(OneHotEncoder(categories=[["f", "m"]], sparse_output=False).fit_transform(frame[["sex"]][:2]), PublicOneHot({"sex": ["f", "m"]}).transform(frame[:2]))
