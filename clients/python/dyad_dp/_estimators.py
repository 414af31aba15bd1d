"""The estimators."""

from __future__ import annotations

import contextlib
import importlib
import json
from html import escape
from pathlib import Path as File
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from . import _checks, _handover, _raw, _released, _results, _schema
from ._program import DyadError, flags, run, verdict
from ._results import Curve, Figures, Guarantee, Surface

if TYPE_CHECKING:
    from ._types import Bounds, Missing, Options, Pair, Path, Persons, Schema


def _names(X):
    return [str(c) for c in X.columns] if _handover.is_frame(X) else None


class _Estimator(_raw.Private):
    """What all estimators share: parameters, hand-over, training, the model file."""

    _task = "auc"

    def _repr_html_(self) -> str:
        """scikit-learn's diagram where it is installed, and of a fitted model guarantee, algorithm and weights."""
        of = getattr(super(), "_repr_html_", None) or getattr(super(), "_repr_html_inner", None)
        try:
            head = of() if of else f"<pre>{escape(repr(self))}</pre>"
        except AttributeError:  # scikit-learn shows text, if it was told to
            head = f"<pre>{escape(repr(self))}</pre>"
        return head + _results.table(self) if hasattr(self, "model_") else head

    def _repr_mimebundle_(self, **_) -> dict:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _tags(self, kind: str | None):
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags, TransformerTags

        tags = Tags(
            estimator_type=kind,
            target_tags=TargetTags(required=True, two_d_labels=False),
            transformer_tags=TransformerTags() if kind is None else None,
            classifier_tags=ClassifierTags(poor_score=True, multi_class=False) if kind != "ranker" else None,  # y has two classes
            regressor_tags=None,
            input_tags=InputTags(sparse=True, allow_nan=self.missing != "error"),
        )
        tags.non_deterministic = (self.options or {}).get("mode") != "nonprivate"  # noise is fresh
        return tags

    # Data.

    @property
    def _is_public(self) -> bool:
        """The data are public, as declared here or by the schema."""
        return bool(self.public or (self.schema is not None and _schema.load(self.schema).get("public", False)))

    def _describe(self, X, y, group, person, n: int) -> tuple[dict, dict]:
        """The schema of these data, and the columns or arrays that travel besides the features."""
        frame = _handover.is_frame(X)
        own = self.schema is None
        schema = {} if own else _schema.load(self.schema)
        public = self._is_public
        if not public:
            _raw.check(self, X)
        if not own:
            schema = _schema.for_parquet(schema) if frame else {"format": "npz", **schema}
        elif frame:
            schema = _schema.of_frame(X, self._frame_bounds(X), self.public, self.missing, others=[self.person] if self.person is not None else [])
        else:
            schema = _schema.of_matrix(X, self.bounds, self.public, self.missing)
        if frame:
            _schema.ask_about_texts(schema["columns"], X)
        data_id = self.data_id or schema.get("data_id")
        if not data_id and not public:
            raise DyadError("data_id= is needed on private data: the name under which the ledger adds up what is spent on them")
        schema["data_id"] = data_id or "public-data"
        schema["public"] = public
        taken = {c["name"] for c in schema["columns"]}
        if frame:
            taken |= set(map(str, X.columns))
        columns = {}
        if own:
            label = {"name": _schema.free_name(getattr(y, "name", None) or "y", taken), "role": "label"}
            schema["columns"] = [*schema["columns"], label]
        else:
            label = _schema.label_of(schema)
        values = self._label(label, y, n, own)
        columns[label["name"] if frame else "y"] = values
        if group is not None:
            columns[self._mark(schema, "group", frame, taken)] = _checks.whole(group, n, "group")
        if self._by_person(person):
            columns.update(self._person(schema, X, person, frame, taken, n))
        return schema, columns

    def _by_person(self, person) -> bool:
        return person is not None or self.person is not None

    def _person(self, schema: dict, X, person, frame: bool, taken: set, n: int) -> dict:
        if self.schema is None:
            if self.persons == "public":
                schema["ids"] = "public"
            elif self.persons is not None:
                schema["persons"] = int(self.persons)
            elif not self._is_public:
                raise DyadError("persons= is needed with person=: the public number of persons, or 'public' if their ids are public")
            if self.max_rows_per_person is not None:
                schema["max_rows_per_person"] = int(self.max_rows_per_person)
        if person is None:  # a column of the frame
            if not frame or self.person not in X.columns:
                raise DyadError("person= names a column of a DataFrame; with arrays pass fit(X, y, person=ids)")
            if self.schema is None:
                schema["columns"] = [*(c for c in schema["columns"] if c["name"] != self.person), {"name": self.person, "role": "person"}]
            return {}
        return {self._mark(schema, "person", frame, taken): _checks.whole(person, n, "person")}

    def _mark(self, schema: dict, role: str, frame: bool, taken: set) -> str:
        """The column of a role, added to the schema if it has none."""
        column = _schema.column_of(schema, role)
        if column is None:
            if self.schema is not None:
                raise DyadError(f"the schema has no column with role: {role}")
            column = {"name": _schema.free_name(role, taken), "role": role}
            schema["columns"] = [*schema["columns"], column]
        return column["name"] if frame else role

    def _frame_bounds(self, X):
        if self.bounds is None and self.public and self.person is not None:
            return {c: b for c, b in zip(X.columns, map(lambda c: _schema._values_of(X[c]), X.columns)) if c != self.person}
        return self.bounds

    def _take(self, X):
        """X as it travels; checks it against what fit saw."""
        if _handover.is_frame(X):
            names = np.array([str(c) for c in X.columns], dtype=object)
            if self.schema is None and self.bounds is None and hasattr(self, "model_") and len(names) != self.n_features_in_:
                raise ValueError(f"X has {len(names)} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input")
            if len(X) == 0:
                raise ValueError(f"Found array with 0 sample(s) while a minimum of 1 is required by {type(self).__name__}.")
            return X
        X = _checks.matrix(X, type(self).__name__, missing=self.missing != "error" or self.schema is not None)
        if hasattr(self, "model_") and X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input")
        return X

    def _take_later(self, X):
        """_take for data that the fitted model reads."""
        X, encoder = self._take(X), self.model_["encoder"]
        frame, arrays = _handover.is_frame(X), encoder.get("format") == "npz"
        if encoder.get("format") not in ("npz", "parquet"):
            raise DyadError("the model was trained by the program on files of text: write the records to such a file and run dyad predict")
        if frame == arrays:
            raise DyadError(f"the model was fitted to {'arrays' if arrays else 'columns with names'}: give {'an array' if arrays else 'a DataFrame'}, not {type(X).__name__}")
        if frame:
            _schema.ask_about_texts(encoder["columns"], X)
        elif encoder.get("sparse") and not _handover.is_sparse(X):
            X = importlib.import_module("scipy.sparse").csr_matrix(X)
        elif _handover.is_sparse(X) and not encoder.get("sparse"):
            X = X.toarray()
        return X

    @staticmethod
    def _write(at: File, X, columns: dict) -> str:
        if _handover.is_frame(X):
            return str(_handover.write_frame(at / "data.parquet", X, columns))
        return str(_handover.write_arrays(at / "data.npz", X, **columns))

    # Training.

    def _options(self) -> dict:
        """Options of training and planning."""
        options = {
            "task": self._task,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "algorithm": self.algorithm,
            "loss": self.loss,
            "radius": self.radius,
            "l2": self.l2,
            **(self.options or {}),
        }
        if options.get("model", "linear") != "linear" and self.random_state is not None:
            options.setdefault("init_seed", self._seed())
        names = {o.strip(" -").replace("_", "-") for o in self.options or {}}
        taken = ("task", "data-id", "ledger", "resume", *(o for o in ("epsilon", "delta", "algorithm", "loss", "radius", "l2") if getattr(self, o) is not None))
        for name in ("seed", "out", "data", "schema", "json", "public-data", *taken):
            if name in names:
                raise DyadError(f"options has {name!r}, which this class sets itself; noise is never seeded from Python")
        return options

    def _seed(self) -> int:
        if hasattr(self.random_state, "randint"):
            return int(self.random_state.randint(0, 2**31 - 1))
        return int(self.random_state)

    def _fit(self, X, y, group=None, person=None, resume=None):
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("_")]:
            delattr(self, name)
        X = self._take(X)
        n = X.shape[0]
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        schema, columns = self._describe(X, y, group, person, n)
        with _handover.folder() as at, self._keeping(schema, at) as out:
            options = self._options()
            plain = options.get("mode") == "nonprivate"
            args = ["baseline" if plain else "train", "--data", self._write(at, X, columns), "--schema", str(_handover.write_schema(at / "schema.yaml", schema))]
            args += ["--out", str(out), *([] if plain else ["--yes"]), *flags({**options, "mode": None if plain else options.get("mode")})]
            args += flags({"ledger": self.ledger, "resume": resume})
            result = run(args, verbose=self.verbose, columns=_names(X))
            self._adopt(out.read_bytes())
        self.model_file_ = None if schema["public"] else str(out)
        self.guarantee_ = Guarantee.of(result)
        self.report_ = result.get("report") or self.model_.get("report")  # of the model if the run was released before and got its name now
        self.n_features_in_ = X.shape[1]
        if _handover.is_frame(X):
            self.feature_names_in_ = np.array([str(c) for c in X.columns], dtype=object)
        return self

    def _keeping(self, schema: dict, at: File):
        """The file of the model: one that stays if it is paid for."""
        return contextlib.nullcontext(at / "model.json") if schema["public"] else _released.file("model", self.ledger)

    def _adopt(self, text: bytes) -> None:
        self.model_bytes_ = text
        self.model_ = json.loads(text)
        self.guarantee_ = Guarantee.of(self.model_)
        self.report_ = self.model_.get("report")
        if "weights" in self.model_:
            self.coef_ = np.array(self.model_["weights"], dtype=np.float64)

    @property
    def coef_names_(self) -> np.ndarray:
        """The encoded features that coef_ is of: a column, or COLUMN=CATEGORY."""
        self._fitted()
        return np.array(self.model_["features"], dtype=object)

    @property
    def interactions_(self) -> list[tuple[str, ...]]:
        """The pairs of columns whose products are features: those that the schema names (interactions), then those that training chose in private (choose_interactions)."""
        self._fitted()
        return [tuple(pair) for pair in self.model_["encoder"].get("interactions") or []]

    @property
    def feature_importances_(self) -> np.ndarray:
        """The most that each column of X can change a linear score within its public range or categories, as shares with the sum 1.

        They follow from the model alone: no budget is charged, and how often a value occurs does not count. Interactions are left out.
        """
        self._fitted()
        weights = getattr(self, "coef_", None)
        numbered = self.model_["encoder"].get("features")
        if self._task != "auc" or weights is None or "network" in self.model_ or numbered and len(weights) != numbered:
            raise AttributeError(f"this {type(self).__name__} has no feature_importances_: only a linear score is a sum of what its columns add")
        if numbered:  # features without names are scaled to ranges of one length
            most = np.abs(weights)
        else:
            spans = {c.name: float(np.ptp(c.y)) for c in self.curves()}
            names = getattr(self, "feature_names_in_", None)
            most = np.array([spans.get(n, 0.0) for n in (spans if names is None else names)])
        return most / (most.sum() or 1.0)

    def _lacks(self, name: str, why: str):
        raise AttributeError(f"{type(self).__name__} has no {name}: {why}")

    @property
    def partial_fit(self):
        self._lacks(
            "partial_fit",
            "every call would be a training of its own, charged in full to the same people. fit takes all records at once and is charged once; for records "
            "that arrive one by one, dyad online releases a model after each block for one charge of all",
        )

    @property
    def staged_predict(self):
        self._lacks("staged_predict", "a training releases one model, and its steps in between are not released")

    def _fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise _checks.not_fitted(self)

    def _apply(self, command: str, X, *more: str) -> np.ndarray:
        self._fitted()
        X = self._take_later(X)
        group, columns = _schema.column_of(self.model_["encoder"], "group"), {}
        if group is not None and (not _handover.is_frame(X) or group["name"] not in X.columns):  # a score does not depend on it
            columns[group["name"] if _handover.is_frame(X) else "group"] = np.zeros(X.shape[0], dtype=np.int64)
        with _handover.folder() as at:
            model = self._model(at)
            run([command, model, "--data", self._write(at, X, columns), "--out", str(at / "out.npy"), *more], columns=_names(X))
            return np.load(at / "out.npy")

    def _model(self, at: File) -> str:
        with _handover.create(at / "model.json") as f:
            f.write(self.model_bytes_)
        return str(at / "model.json")

    # What users ask for.

    def plan(self, n: int, n_features: int | None = None) -> dict[str, Any]:
        """The whole privacy report of training on n records (persons with person=), before there are data.

        Without schema= and bounds= of every feature, n_features says how many features there are.
        """
        with _handover.folder() as at:
            args = ["plan", "-n", str(int(n)), *flags(self._options())]
            if self.schema is not None:
                args += ["--schema", str(_handover.write_schema(at / "schema.yaml", _schema.load(self.schema)))]
            elif isinstance(self.bounds, dict):
                schema = _schema.of_frame(None, self.bounds, False, self.missing)
                schema["columns"].append(self._plan_label(_schema.free_name("y", set(self.bounds))))
                schema["data_id"] = self.data_id or "planned"
                args += ["--schema", str(_handover.write_schema(at / "schema.yaml", schema))]
            elif n_features is not None:
                args += ["-d", str(int(n_features))]
            else:
                raise DyadError("plan needs n_features, or schema= or a dict of bounds=, which say how many features there are")
            return run(args)

    def _plan_label(self, name: str) -> dict:
        return {"name": name, "role": "label", "positive": "1", "negative": "-1"}

    def evaluate(self, X, y, *, epsilon: float | None = None, delta: float | None = None, group=None, person=None, out: Path | None = None, **options: Any) -> Figures:
        """Figures of the model on records: exact on public data, private with epsilon=, which is charged to the ledger.

        Private figures are kept in the file out, by default a new one in the folder "released" next to the ledger: it stays, and
        Figures.load reads it at no cost. options are flags and keys of ``dyad evaluate``, such as resume="RUN".
        """
        self._fitted()
        names = {o.strip(" -").replace("_", "-") for o in options}
        if "seed" in names:
            raise DyadError("noise is never seeded from Python")
        if "public-data" in names:
            raise DyadError("public=True of the class declares data public, not an option of evaluate")
        if epsilon is None and not self._is_public:
            raise DyadError(
                "figures of private records are private like the records: evaluate(X, y, epsilon=...) releases them with a guarantee "
                "and charges it; dyad_dp.search chooses among settings in one charge"
            )
        X = self._take_later(X)
        schema, columns = self._describe(X, y, group, person, X.shape[0])
        keeping = contextlib.nullcontext(out) if epsilon is None else _released.file("evaluation", self.ledger, out)
        with _handover.folder() as at, keeping as out:
            args = ["evaluate", "compare" if "compare" in options else "exact" if epsilon is None else "private", self._model(at), "--data", self._write(at, X, columns)]
            if epsilon is None:
                args.append("--public-data")
            else:
                args += flags({"epsilon": epsilon, "delta": delta, "ledger": self.ledger, "data_id": schema["data_id"]})
            return Figures.of(run(args + flags({"out": out, **options}), verbose=self.verbose, columns=_names(X)))

    def influence(self, X, y, *, public: bool | None = None, exact_figures: bool = False, **options):
        """What each record does to a fit without noise, as a DataFrame in the order of the records (dyad influence).

        Nothing here is private: it is for public data, or with exact_figures=True for the owner of the records alone. options are flags and keys such as check=20.
        """
        self._fitted()
        public = self._is_public if public is None else public
        if not (public or exact_figures):
            raise DyadError("the influence of private records is private like them: exact_figures=True computes it for their owner only; nothing protects it")
        X = self._take_later(X)
        schema, columns = self._describe(X, y, None, None, X.shape[0])
        import pandas

        with _handover.folder() as at:
            args = ["lab", "influence", self._model(at), "--data", self._write(at, X, columns), "--public-data" if public else "--exact-figures", "--out", str(at / "influence.csv")]
            run(args + flags(options), verbose=self.verbose, columns=_names(X))
            return pandas.read_csv(at / "influence.csv")

    def report_html(self, path: Path, *, figures: Figures | None = None) -> None:
        """Writes a page about the model: guarantee in words, charges, weights and noise, assumptions (dyad report).

        figures of evaluate(..., epsilon=) are drawn: ROC curve and scores. No budget is charged; a file that is there
        is not replaced.
        """
        self._fitted()
        with _handover.folder() as at:
            args = ["report", self._model(at), "--out", str(File(path).absolute())]
            if figures is not None:
                if "figures" not in figures.report:
                    raise DyadError("figures= takes what evaluate(..., epsilon=) returned; exact figures are not put on a page")
                args += ["--figures", str(_handover.write_text(at / "figures.json", json.dumps(figures.report)))]
            run(args + flags({"ledger": self.ledger}), verbose=self.verbose)

    def curves(self, path: Path | None = None) -> list[Curve]:
        """What each column adds to a linear score, with the band of its noise where the schema has a basis or interactions (dyad report --curves).

        The score of a record is their sum, up to a constant, if its encoded features have norm at most 1. The score of a longer record is divided by the norm.

        They follow from the model alone: no budget is charged. path is a figure to write, too: SVG, PDF or PNG by its ending; a file that
        is there is not replaced.
        """
        return [Curve.of(c) for c in self._curves(path)["curves"]]

    def surfaces(self) -> list[Surface]:
        """What the interactions of the schema add to the curves of a linear score, as tables. No budget is charged."""
        return [Surface.of(s) for s in self._curves().get("surfaces", [])]

    def _curves(self, path=None) -> dict:
        self._fitted()
        with _handover.folder() as at:
            model, written = self._model(at), [str(at / "curves.json")] + ([str(File(path).absolute())] if path is not None else [])
            for k, out in enumerate(written):
                run(["report", model, "--out", str(at / f"page{k}.html"), "--curves", out, *flags({"ledger": self.ledger})], verbose=self.verbose)
            return json.loads((at / "curves.json").read_text(encoding="utf-8"))

    def save(self, path: Path) -> None:
        """Writes the model file, which the program reads (dyad predict, dyad verify)."""
        self._fitted()
        File(path).write_bytes(self.model_bytes_)

    def export(self, path: Path, format: str = "onnx") -> None:
        """Writes the model for other programs: "onnx", "npz", "safetensors", and of linear scores "python", "go", "javascript"
        and, as a SELECT, "duckdb", "postgres", "bigquery", "snowflake", "spark", "sqlserver".

        A path of "javascript" ends in .mjs. What is there is replaced. The file has the guarantee and the checksum of the model.
        """
        self._fitted()
        formats = {name: [f"--{name}"] for name in ("onnx", "npz", "safetensors", "python", "go")}
        formats.update({name: ["--sql", name] for name in ("duckdb", "postgres", "bigquery", "snowflake", "spark", "sqlserver")})
        formats["javascript"] = []  # by its ending
        if format not in formats:
            raise ValueError(f"format is {format!r}, want one of {sorted(formats)}")
        with _handover.folder() as at:
            run(["export", self._model(at), *formats[format], "--out", str(path), "--force"])

    def export_onnx(self, path: Path) -> None:
        """Writes ONNX with the encoder inside: an input for each column of a DataFrame, or X for arrays."""
        self.export(path, "onnx")

    @classmethod
    def load(cls, path: Path, **params: Any):
        """An estimator with the model of a file; params are those of the class, for later use.

        A verdict of the checker that is not "verified" is a warning, unless the model is of public data.
        """
        e = cls(**params)
        text = File(path).read_bytes()
        verdict(path, json.loads(text).get("guarantee", {}).get("kind") == "public data")
        e._adopt(text)
        task = e.model_.get("task")
        if task != cls._task:
            raise DyadError(f"the file holds a model of task {task}, {cls.__name__} needs {cls._task}")
        encoder = e.model_["encoder"]
        e.n_features_in_ = encoder.get("features") or sum(c.get("role", "feature") == "feature" for c in encoder["columns"])
        e._after_load(encoder)
        return e

    def _after_load(self, encoder: dict) -> None:
        pass


class PrivateAUCClassifier(_Estimator):
    """Scores that rank one class above the other: the AUC, with differential privacy.

    Parameters
    ----------
    epsilon, delta : the budget of the training. delta None is min(1e-5, n^-1.5).
    bounds : public ranges of the features: (low, high) for all, two arrays, a pair for each feature, or for a
        DataFrame a dict from a column to (low, high) or [categories]. For two features, two arrays are of numpy.
    schema : instead of bounds, a schema of the program: a dict, a path or a YAML text.
    raw_columns : declares that bounds are of raw columns: every row is computed from its record alone, by rules that
        are public. Arrays of private data need it; a DataFrame with names does not. Nothing that was fitted to
        the private records may stand before fit: ``make_pipeline(StandardScaler(), PrivateAUCClassifier(...))`` would
        put their mean and variance into the model without noise, and is refused. Leave the scaler out (bounds
        scale), or use PublicScaler and PublicOneHot, whose ranges and categories are declared.
    data_id : name of the data in the ledger; required on private data.
    public : the data are public: no budget is charged, and ranges may come from the data.
    classes : (negative, positive); required on private data unless the schema names them.
    threshold : score from which predict says the positive class. None: the probability of 1/2 where the model has probabilities, else the score
        0, which is arbitrary, since scores have no intercept.
    missing : "error" or "middle" (of the range), for missing values.
    person, persons, max_rows_per_person : the column of a DataFrame that says whose row it is, the public
        number of persons or "public" if their ids are public, and the public cap of the rows of one.
        The guarantee then is for a person.
    algorithm, loss, radius, l2 : as ``dyad train``; None leaves the choice to the program's public rules.
    options : further flags and keys of ``dyad train`` (dyad help keys), such as {"steps": 50} or {"model": "mlp", "hidden": 32}
        or {"model": "conv.yaml"}, a file that describes a network.
    ledger : ledger file; None is the program's own.
    random_state : seed of the public start of a network. It never seeds noise.
    verbose : show the program's progress.

    Attributes
    ----------
    classes_, coef_ (of encoded features, coef_names_), feature_importances_ (of the columns of X), interactions_ (pairs of columns), guarantee_, report_ (the program's report), model_ (content of the model file),
    model_file_ (where the model of private data stays, None on public data), n_features_in_, feature_names_in_.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        bounds: Bounds | None = None,
        schema: Schema | None = None,
        raw_columns: bool = False,
        data_id: str | None = None,
        public: bool = False,
        classes: Sequence[Any] | None = None,
        threshold: float | None = None,
        missing: Missing = "error",
        person: str | None = None,
        persons: Persons | None = None,
        max_rows_per_person: int | None = None,
        algorithm: str | None = None,
        loss: str | None = None,
        radius: float | None = None,
        l2: float | None = None,
        options: Options | None = None,
        ledger: Path | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.schema = schema
        self.raw_columns = raw_columns
        self.data_id = data_id
        self.public = public
        self.classes = classes
        self.threshold = threshold
        self.missing = missing
        self.person = person
        self.persons = persons
        self.max_rows_per_person = max_rows_per_person
        self.algorithm = algorithm
        self.loss = loss
        self.radius = radius
        self.l2 = l2
        self.options = options
        self.ledger = ledger
        self.random_state = random_state
        self.verbose = verbose

    _estimator_type: str | None = "classifier"

    def __sklearn_tags__(self):
        return self._tags("classifier")

    def _label(self, label: dict, y, n: int, own: bool) -> np.ndarray:
        y = _checks.vector(y, n, "y")
        if y.dtype.kind == "f" and not np.array_equal(y, np.round(y)):
            raise ValueError("Unknown label type: continuous. y has two classes; PrivateRanker takes grades.")
        classes = self._classes_of(label, y, own)
        if own:
            label.update(positive="1", negative="-1")
        known = (y == classes[0]) | (y == classes[1])
        if not known.all():
            row = int(np.argmin(known))
            raise ValueError(f"y[{row}] is of neither class; classes are public, so correct classes= or the row. Only binary classification is supported.")
        self.classes_ = classes
        return np.where(y == classes[1], 1, -1) if own else y

    def _classes_of(self, label: dict, y: np.ndarray, own: bool) -> np.ndarray:
        if self.classes is not None:
            classes = np.asarray(self.classes)
            if not own and classes.shape == (2,) and (_schema.is_text_of(classes[0], label.get("positive")) or _schema.is_text_of(classes[1], label.get("negative"))):
                raise DyadError(f"classes=(negative, positive) contradicts the schema, whose positive class is {label.get('positive')!r}: exchange them, or leave classes= out")
        elif not own and label.get("negative") and label.get("positive"):
            classes = np.array([label["negative"], label["positive"]])
            if y.dtype.kind in "iufb":
                classes = classes.astype(np.float64).astype(y.dtype)
        elif self._is_public:
            classes = np.unique(y)
            if len(classes) > 2:
                raise ValueError(f"Only binary classification is supported. The type of the target is multiclass: y has {len(classes)} classes.")
        elif hasattr(self, "classes_"):
            classes = self.classes_
        else:
            raise DyadError("classes=(negative, positive) is needed on private data: which labels occur is private, which can occur is public")
        if classes.shape != (2,) or classes[0] == classes[1]:
            raise ValueError(f"Classifier can't train when only one class is present: classes has {len(np.unique(classes))} class, want (negative, positive).")
        return classes

    def fit(self, X, y, *, group=None, person=None, resume: str | None = None, **others: Any) -> PrivateAUCClassifier:
        """Trains on X (array, SciPy matrix or DataFrame) and y.

        group are public query groups, pairs are formed within one; person says whose row it is;
        resume is the run that an interrupt named: it continues at no further cost. sample_weight is refused: noise is scaled for records that
        count once, or by a share of their person.
        """
        _checks.no_others(self, others)
        return self._fit(X, y, group, person, resume)

    def decision_function(self, X) -> np.ndarray:
        """Scores; a high score means classes_[1]."""
        return self._apply("predict", X)

    def predict(self, X) -> np.ndarray:
        """Classes: classes_[1] where the score is at least threshold, or the probability at least 1/2."""
        self._fitted()
        if self.threshold is None and "log_odds" in self.model_:
            return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]
        return self.classes_[(self.decision_function(X) >= (self.threshold or 0.0)).astype(int)]

    @property
    def predict_proba(self):
        """predict_proba(X): a column for each class of classes_. Linear models that moments trained have it, at no charge: it is
        computed from what their training released. Nothing is promised about the probability of a single record; evaluate with epsilon=
        gives released shares to compare with, and charges them.
        """
        options = self.options or {}
        by = self.algorithm or options.get("algorithm") or "moments"  # may be: the program's rules choose
        if "log_odds" not in self.model_ if hasattr(self, "model_") else by != "moments" or options.get("model") or options.get("mode") == "nonprivate":
            raise AttributeError(
                f"this {type(self).__name__} has no probabilities: its training ({(getattr(self, 'report_', None) or {}).get('algorithm', by)}) released no second moments by "
                'fit, which they take. algorithm="moments", the default where it applies, releases them if epsilon and the number of records allow; dyad_dp.search gives none'
            )
        return self._proba

    def _proba(self, X) -> np.ndarray:
        p = self._apply("predict", X, "--probabilities")
        return np.column_stack([1 - p, p])

    def score(self, X, y, *, epsilon: float | None = None, delta: float | None = None) -> float:
        """The AUC: exact on public data, private with epsilon=, which is charged."""
        if epsilon is None and not self._is_public:
            raise DyadError("score on private data needs epsilon=, and is charged; to choose among settings use dyad_dp.search, one charge for all")
        return float(self.evaluate(X, y, epsilon=epsilon, delta=delta))

    def _after_load(self, encoder: dict) -> None:
        label = _schema.label_of(encoder)
        texts = np.array([label.get("negative", "other"), label["positive"]])
        self.classes_ = np.asarray(self.classes) if self.classes is not None else texts


class PrivateRanker(_Estimator):
    """Scores that order records by grades, within public query groups if there are any.

    grades is the public range (lowest, highest) of y, required on private data unless the schema
    has it. The other parameters are those of PrivateAUCClassifier.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        bounds: Bounds | None = None,
        schema: Schema | None = None,
        raw_columns: bool = False,
        data_id: str | None = None,
        public: bool = False,
        grades: Pair | None = None,
        missing: Missing = "error",
        person: str | None = None,
        persons: Persons | None = None,
        max_rows_per_person: int | None = None,
        algorithm: str | None = None,
        loss: str | None = None,
        radius: float | None = None,
        l2: float | None = None,
        options: Options | None = None,
        ledger: Path | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.schema = schema
        self.raw_columns = raw_columns
        self.data_id = data_id
        self.public = public
        self.grades = grades
        self.missing = missing
        self.person = person
        self.persons = persons
        self.max_rows_per_person = max_rows_per_person
        self.algorithm = algorithm
        self.loss = loss
        self.radius = radius
        self.l2 = l2
        self.options = options
        self.ledger = ledger
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        return self._tags("ranker")

    def _label(self, label: dict, y, n: int, own: bool) -> np.ndarray:
        y = _checks.vector(y, n, "y")
        if y.dtype.kind not in "iufb":
            raise ValueError(f"Unknown label type: {y.dtype}. y of a ranker are numbers, the grades")
        if own:
            if self.grades is None and not self._is_public:
                raise DyadError("grades=(lowest, highest) is needed on private data: the public range of y")
            low, high = self.grades if self.grades is not None else (float(y.min()), float(y.max()))
            label.update(kind="numeric", range=[float(low), float(high if high > low else low + 1)])
        return y.astype(np.float64)

    def _plan_label(self, name: str) -> dict:
        low, high = self.grades or (0, 1)
        return {"name": name, "role": "label", "kind": "numeric", "range": [float(low), float(high)]}

    def fit(self, X, y, *, group=None, person=None, resume: str | None = None, **others: Any) -> PrivateRanker:
        """Trains on X and grades y; group are public query groups (whole numbers). sample_weight is refused, as by PrivateAUCClassifier."""
        _checks.no_others(self, others)
        return self._fit(X, y, group, person, resume)

    def decision_function(self, X) -> np.ndarray:
        """Scores; a high score means a high grade."""
        return self._apply("predict", X)

    predict = decision_function

    def score(self, X, y, *, epsilon: float | None = None, delta: float | None = None, group=None) -> float:
        """The share of pairs of different grades in the right order; exact figures, so for public data only."""
        return float(self.evaluate(X, y, epsilon=epsilon, delta=delta, group=group))


class PrivateMetric(PrivateAUCClassifier):
    """A Mahalanobis metric in which records of equal classes are close; a transformer.

    transform maps records so that Euclidean distances are the learned ones. With
    options={"model": "mlp"} it is an embedding by a network. Parameters as PrivateAUCClassifier.
    """

    _task = "metric"
    _estimator_type = None
    decision_function = property()
    predict = property()
    predict_proba = property()
    score = property()

    def __sklearn_tags__(self):
        return self._tags(None)

    def transform(self, X) -> np.ndarray:
        """X in the space of the metric."""
        return self._apply("transform", X)

    def fit_transform(self, X, y, **params) -> np.ndarray:
        """fit and transform of the same records; the output is as private as they are."""
        return self.fit(X, y, **params).transform(X)

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Names of the columns of transform."""
        self._fitted()
        d = self.model_["network"]["dim"] if "network" in self.model_ else len(self.model_["features"])
        return np.array([f"z{k + 1}" for k in range(d)], dtype=object)
