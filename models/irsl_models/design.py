"""What a model is told about the table: integer codes, covariates and sizes, never names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int


@dataclass(frozen=True)
class Dim:
    """Levels of one dimension: those of the calibration table, then levels seen only at prediction.

    A model draws the ``known`` levels under the site name that the fit stores, and the ``new`` ones under a
    name of their own. Predicting is then running the same model with the known sites set to their posterior
    draws: whatever is new is drawn from the population, given the draw.

    Parameters
    ----------
    known : int
        Number of levels in the calibration table.
    new : int
        Number of levels that only a prediction has; 0 while fitting.

    Examples
    --------
    >>> Dim(3, 1).size
    4
    """

    known: int
    new: int = 0

    @property
    def size(self) -> int:
        """Number of levels, known and new."""
        return self.known + self.new


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Grouping:
    """LMs that share a deviation, e.g. one model family or training run.

    Parameters
    ----------
    code : Int[Array, " lm"]
        Group of each LM.
    name : str
        Name of the column the groups come from.
    dim : Dim
        Groups of the calibration table, and new ones.
    """

    code: Int[Array, " lm"]
    name: str = field(metadata={"static": True})
    dim: Dim = field(metadata={"static": True})


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Knots:
    """Equally spaced points on the scaling variable at which a local level may change its course.

    Parameters
    ----------
    left : Int[Array, " lm"]
        Knot at or before each LM, counted over ``before``, ``dim.known`` and ``dim.new`` knots in this order.
    weight : Float[Array, " lm"]
        Share of the way from that knot to the next one, in [0, 1].
    spacing : Float[Array, ""]
        Distance between two knots, in standardised x.
    dim : Dim
        Knots over the calibration table, and knots beyond its largest x.
    before : int
        Knots below the smallest x of the calibration table.
    """

    left: Int[Array, " lm"]
    weight: Float[Array, " lm"]
    spacing: Float[Array, ""]
    dim: Dim = field(metadata={"static": True})
    before: int = field(default=0, metadata={"static": True})


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Design:
    """The arrays a model sees. A pytree, so that one compiled program serves many tables of one shape.

    LMs of the calibration table come first, then LMs that only a prediction has.

    Parameters
    ----------
    lm, item : Int[Array, " cell"] or None
        LM and item of each observed (or asked for) response; None where the layout by rows says it, see `codes`.
    benchmark : Int[Array, " item"]
        Benchmark of each item.
    x : Float[Array, " lm"]
        Standardised scaling variable (mean 0, standard deviation 1 over the calibration LMs); 0 where unknown.
    untrended : Int[Array, " lm"]
        Number of an LM among those without x, which have an ability of their own and no trend; -1 with x.
    chance : Float[Array, " item"]
        Score of blind guessing; 0 where there is none or it is unknown.
    pool : Int[Array, " item"]
        Index of the benchmark whose items are pooled, or -1 for an item that pools directly to the whole.
    spread : Float[Array, "lm eligible"]
        Share of an LM's responses in each benchmark that has a deviation (rows sum to one).
    eligible : Int[Array, " benchmark"]
        Column of ``spread`` of each benchmark, or -1 where it has no deviation.
    groupings : tuple of Grouping
        Shared deviations, from the coarsest to the finest.
    knots : Knots
        Where a random walk may turn.
    score : Float[Array, " cell"] or None
        Responses in [0, 1]; None when they are to be drawn or are counts.
    log_score, log_rest : Float[Array, " cell"] or None
        Logs of score and of 1 - score, taken once; anything finite at exact zeros and ones. The density of a cell
        is computed in the type of its columns, so that single precision here makes it fast.
    successes, trials : Int[Array, " cell"] or None
        Counts; ``trials`` stays when the successes are to be drawn.
    log_choose : Float[Array, " cell"] or None
        Log of the binomial coefficient of observed counts.
    present : Bool[Array, " cell"] or None
        Cells that the table has, in a layout by rows that has more; None where it has all.
    rows : bool
        Whether the cells are laid out row by row, every LM with every item in their order.
    blocks : int
        Blocks of neighbouring items, equally many in each, that are laid out by rows one after the other; what the last
        ones have beyond the last item is not ``present``.
    lms, untrended_lms : Dim
        Numbers of LMs, and of LMs without x.
    n_items, n_benchmarks, n_pools, n_eligible, n_guessing : int
        Numbers of items, benchmarks, pools, columns of ``spread`` and items with a chance level.
    guessing : Int[Array, " item"]
        Number of an item among those with a chance level; -1 without one.
    scaled : bool
        Whether the table has a scaling variable at all.
    """

    lm: Int[Array, " cell"] | None
    item: Int[Array, " cell"] | None
    benchmark: Int[Array, " item"]
    x: Float[Array, " lm"]
    untrended: Int[Array, " lm"]
    chance: Float[Array, " item"]
    guessing: Int[Array, " item"]
    pool: Int[Array, " item"]
    spread: Float[Array, "lm eligible"]
    eligible: Int[Array, " benchmark"]
    groupings: tuple[Grouping, ...]
    knots: Knots
    score: Float[Array, " cell"] | None
    log_score: Float[Array, " cell"] | None
    log_rest: Float[Array, " cell"] | None
    successes: Int[Array, " cell"] | None
    trials: Int[Array, " cell"] | None
    log_choose: Float[Array, " cell"] | None
    present: Bool[Array, " cell"] | None
    lms: Dim = field(metadata={"static": True})
    untrended_lms: Dim = field(metadata={"static": True})
    n_items: int = field(metadata={"static": True})
    n_benchmarks: int = field(metadata={"static": True})
    n_pools: int = field(metadata={"static": True})
    n_eligible: int = field(metadata={"static": True})
    n_guessing: int = field(metadata={"static": True})
    scaled: bool = field(metadata={"static": True})
    rows: bool = field(metadata={"static": True}, default=False)
    blocks: int = field(metadata={"static": True}, default=1)

    @property
    def observed(self) -> bool:
        """Whether the responses are given, as in a fit, or are to be drawn."""
        return self.score is not None or self.successes is not None

    @property
    def n_cells(self) -> int:
        """Number of cells of the layout."""
        return self.lms.known * self.n_items if self.lm is None else self.lm.shape[0]

    @property
    def codes(self) -> tuple[Int[Array, " cell"], Int[Array, " cell"]]:
        """LM and item of each cell of the layout."""
        if self.lm is None or self.item is None:
            lm, item = jnp.divmod(jnp.arange(self.n_cells), self.n_items)
            return lm, item
        return self.lm, self.item

    @property
    def width(self) -> int:
        """Items of a block."""
        return -(-self.n_items // self.blocks)

    def in_blocks(self, values: Array, axis: int = 0) -> Array:
        """Cut a dimension of items into one of blocks and one of their items; places beyond the last item repeat it."""
        axis %= values.ndim
        fill = [(0, 0)] * values.ndim
        fill[axis] = (0, self.blocks * self.width - self.n_items)
        shape = (*values.shape[:axis], self.blocks, self.width, *values.shape[axis + 1 :])
        return jnp.pad(values, fill, mode="edge").reshape(shape)

    def at(self, places: Any) -> Design:
        """Take some of the cells, each on its own, by where they lie among all of this design."""
        lm, item = self.codes
        columns: dict[str, Any] = {name: getattr(self, name) for name in _OF_CELLS} | {"lm": lm, "item": item}
        taken: dict[str, Any] = {name: None if column is None else column[places] for name, column in columns.items()}
        return replace(self, rows=False, blocks=1, present=None, **taken)

    def in_single(self) -> Design:
        """The same with scores in single precision; none that lies inside (0, 1) becomes 0 or 1.

        Counts stay as they are: where they scatter no more than a binomial, slopes in the precision are differences of
        nearly equal numbers.
        """
        columns = {name: getattr(self, name) for name in ("score", "log_score", "log_rest")}
        single = {name: column.astype(jnp.float32) for name, column in columns.items() if column is not None}
        if self.score is not None:
            edge = np.finfo(np.float32)
            inside = jnp.clip(single["score"], float(edge.tiny), float(1.0 - edge.epsneg))
            single["score"] = jnp.where((self.score > 0) & (self.score < 1), inside, single["score"])
        return replace(self, **single)


_OF_CELLS = ("lm", "item", "score", "log_score", "log_rest", "successes", "trials", "log_choose")
