"""What a fitted map tells of itself: labels, checks, tables, a page in the browser, a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..core.threads import resolve_n_jobs
from ..method.describe import Facts, LevelDescription, Namer
from ..method.describe.namer import Kept
from ..method.describe.tables import mark_label
from ..method.hierarchy import HierarchySummary
from ..method.hierarchy.asking import describe_with, levels_to_name
from ..method.hierarchy.described import read_described
from ..method.hierarchy.naming import describe_levels
from ..method.layout import Audit
from ..method.layout.audit import audit_layout
from ..method.layout.pieces import summarize_map
from ..model.files.model import save_model
from .state import FittedState, labels_in_chunks


class ShownMap(FittedState):
    """Methods of estimators with a fitted map that change nothing."""

    def labels(
        self, level: int | None = None, *, n_clusters: int | None = None, noise: float = 0.0
    ) -> Any:
        """Cluster of each row of the fit, as `hierarchy_.labels` tells.

        A dask array if the rows were one.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from nestmap import HNNE
        >>> model = HNNE().fit(load_digits().data)
        >>> model.labels(level=-1).shape
        (1797,)
        >>> bool(((model.labels(noise=0.5) == -1) == (model.membership() < 0.5)).all())
        True
        """
        check_is_fitted(self)
        if n_clusters is None and noise == 0:
            return labels_in_chunks(self.hierarchy_, level, self._chunks)
        found = self.hierarchy_.labels(level, n_clusters=n_clusters, noise=noise)
        return found if self._chunks is None else self._chunks.of(found, "labels")

    def membership(self, level: int | None = None) -> Any:
        """How sure the cluster of each row is on a level (0 to 1): see `hierarchy_.membership`.

        A dask array if the rows were one.
        """
        check_is_fitted(self)
        found = self.hierarchy_.membership(level)
        return found if self._chunks is None else self._chunks.of(found, "membership")

    def describe(
        self,
        levels: Any = None,
        *,
        X: Any = None,
        metadata: Any = None,
        texts: Any = None,
        names: Any = None,
        label: str | None = None,
        namer: Namer | None = None,
        kept: Kept | None = None,
    ) -> dict[int, LevelDescription]:
        """Describe the clusters of several levels, as `hierarchy_.describe` does those of one.

        Parameters
        ----------
        levels : sequence of int, optional
            Default: those of at most 256 clusters, and all from the level of `labels_` upwards.
        X : the training rows, optional
            Of a model with an encoder the raw table.
        metadata, texts, names, label : optional
            Of the rows, as for `hierarchy_.describe`.
        namer : callable, optional
            Gets a `ClusterToName` for each cluster and returns its name (docs/use/names.md): from
            the finest level upwards, so that parents are named from the names of their children.
        kept : dict of int to dict of int to str, optional
            Names by level and cluster that stay as they are; the namer is not asked for them.
            `nestmap.naming.carry_names` makes them of the names of an earlier model.

        Returns
        -------
        dict of int to LevelDescription
            For `nestmap.plot(model, labels=list(told.values()))`, and for the explorer:
            `model.explore(cluster_names={level: own.names for level, own in told.items()})`.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from nestmap import HNNE
        >>> X, digit = load_digits(return_X_y=True)
        >>> model = HNNE().fit(X)
        >>> def shout(cluster):
        ...     return cluster.name.upper()
        >>> told = model.describe([-1], metadata={"digit": digit}, namer=shout)
        >>> told[3].names[0]
        'DIGIT 0'
        """
        check_is_fitted(self)
        tree = self.hierarchy_
        given = levels_to_name(tree) if levels is None else [tree.check_level(k) for k in levels]
        rows, columns = read_described(tree, X)
        facts = Facts.of(tree.n_rows, metadata=metadata, texts=texts, names=names)
        facts = replace(facts, columns=mark_label((*columns, *facts.columns), label))
        told = describe_levels(tree, sorted({*given}), facts, rows)
        return told if namer is None else describe_with(tree, told, namer, texts, kept)

    def explore(self, X: Any = None, *, path: Any = None, **options: Any) -> Any:
        """Show the map in the browser, where zoom is the hierarchy; see docs/use/explorer.md.

        Parameters
        ----------
        X : the training rows, optional
            Needed only by a model from a file, for typical rows by distance and for trust=True.
        path : path, optional
            Write a static folder there instead, which any web server or a double-click can show.
        **options
            Of the rows: names, texts, metadata (a DataFrame or a dict of columns), images, quality,
            neighbors (row numbers of true neighbours), or trust=True, which measures the last two.
            cluster_names: a column, a function of (level, cluster, rows), or names per level.
            compare: a dict of other models or positions of the same rows. title; host, port;
            verbose. tour: stops, as `Explorer.tour` has them, or the path of a tour.json. For a
            folder also description, and url: where it will be, for previews of links to it.

        Returns
        -------
        Explorer, or the path
            An Explorer serves in the background until its `stop()`, has a `url`, and shows itself
            in notebooks.
        """
        check_is_fitted(self)
        from ..views.explore import explore, export  # a server that few fits need

        rows = self._rows_shown(X)
        return (
            explore(self, rows, **options) if path is None else export(path, self, rows, **options)
        )

    def _rows_shown(self, X: Any) -> Any:
        """The training rows as the explorer takes them: those that are still here, if none are
        given.
        """
        if X is None:
            return self._fitted.X
        return X if self.encoder_ is None else self._as_numbers(X)

    def audit(self) -> Audit:
        """Check the promise: every descendant inside its ball (Lemma 1) or region, at every level.

        Islands promise it for leaves only; on all levels the audit measures which share of the rows
        lies nearest to the centre of its own cluster (`LevelAudit.share_own`), and how whole
        clusters are (`LevelAudit.whole`, `n_split`; docs/use/levels.md).
        """
        check_is_fitted(self)
        return audit_layout(self.hierarchy_, self.layout_, resolve_n_jobs(self.n_jobs))

    def summary(self) -> HierarchySummary:
        """The table of `hierarchy_.summary()`, and how whole clusters of each level are on the map.

        `whole` is the share of the rows that lie in the largest piece of their cluster, `split` the
        number of clusters that do not lie in one place (docs/use/levels.md). Descent and mosaic
        have balls or regions for that, which `audit` checks: there the table is without these
        columns.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from nestmap import HNNE
        >>> table = HNNE().fit(load_digits().data).summary()
        >>> str(table).splitlines()[0].split()[-3:]
        ['sure', 'whole', 'split']
        >>> all(0 < level.whole <= 1 for level in table)
        True
        """
        check_is_fitted(self)
        return summarize_map(self.hierarchy_, self.layout_, resolve_n_jobs(self.n_jobs))

    def save(self, path: Any) -> None:
        """Write the fitted model to one file that `nestmap.load` reads (docs/use/files.md).

        The file holds no code, and not the training rows (but for new_points='neighbor'). It is
        written under another name and renamed when it is complete. `callback`, and a `random_state`
        that is no number, are not kept.

        Raises
        ------
        ValueError
            For a metric that is a function: pickle such a model.

        Examples
        --------
        >>> import tempfile, nestmap
        >>> from nestmap import HNNE
        >>> from sklearn.datasets import load_digits
        >>> X = load_digits().data
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     HNNE().fit(X).save(f"{folder}/digits.nestmap")
        ...     model = nestmap.load(f"{folder}/digits.nestmap")
        >>> model.transform(X[:1]).shape
        (1, 2)
        """
        check_is_fitted(self)
        save_model(path, self, self._fitted, {"label_level": int(self.label_level_)})

    def _repr_html_(self) -> str:
        """In a notebook: a small map, levels and neighbour report; before the fit, parameters."""
        if not hasattr(self, "hierarchy_"):
            return str(super()._repr_html_())
        from ..views.plots.notebook import model_html

        return model_html(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """What notebooks ask for first."""
        found: dict[str, str] = super()._repr_mimebundle_(**options)
        return {**found, "text/html": self._repr_html_()} if "text/html" in found else found
