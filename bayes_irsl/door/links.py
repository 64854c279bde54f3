"""How responses link LMs and items: parts without a link, and links that hang on one response."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from bayes_irsl.wording import counted, listed

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """LMs and items that are linked by responses.

    Parameters
    ----------
    lms, items : tuple of str
        Members, sorted.
    """

    lms: tuple[str, ...]
    items: tuple[str, ...]

    def __str__(self) -> str:
        """Say how many members there are, and the first of them."""
        return f"{_some(self.lms, 'LM')} on {_some(self.items, 'item')}"


@dataclass(frozen=True)
class Bridge:
    """A response without which two parts would fall apart.

    Parameters
    ----------
    lm, item : str
        The response.
    n_lms : int
        LMs in the smaller part.
    n_items : int
        Items in the smaller part.
    """

    lm: str
    item: str
    n_lms: int
    n_items: int


@dataclass(frozen=True)
class _Graph:
    """LMs are the first nodes, items the others."""

    lms: NDArray[np.object_]
    items: NDArray[np.object_]
    start: Ints
    end: Ints

    @property
    def matrix(self) -> csr_array:
        """One entry for each response."""
        n = len(self.lms) + len(self.items)
        return coo_array((np.ones(len(self.start), dtype=np.int8), (self.start, self.end)), shape=(n, n)).tocsr()


def components(cells: pd.DataFrame) -> list[Part]:
    """Find the parts that no response links, largest first.

    Parameters
    ----------
    cells : pandas.DataFrame
        Responses with the columns lm and item.

    Examples
    --------
    >>> parts = components(pd.DataFrame({"lm": ["a", "b"], "item": ["p", "q"]}))
    >>> [str(part) for part in parts]
    ['1 LM (a) on 1 item (p)', '1 LM (b) on 1 item (q)']
    """
    graph = _graph(cells)
    number, label = connected_components(graph.matrix, directed=False)
    of_lm, of_item = label[: len(graph.lms)], label[len(graph.lms) :]
    parts = [
        Part(tuple(map(str, graph.lms[of_lm == part])), tuple(map(str, graph.items[of_item == part])))
        for part in range(number)
    ]
    return sorted(parts, key=lambda part: (-len(part.lms) - len(part.items), part.lms))


def components_text(parts: Sequence[Part]) -> str:
    """Describe parts in one sentence without its full stop."""
    shown = "; ".join(str(part) for part in parts[:5]) + ("; ..." if len(parts) > 5 else "")
    return f"LMs and items fall into {len(parts)} parts that no response links: {shown}"


def bridges(cells: pd.DataFrame) -> list[Bridge]:
    """Find responses that alone hold two parts together, each of more than one LM or item.

    Parameters
    ----------
    cells : pandas.DataFrame
        Responses with the columns lm and item, each pair once.

    Examples
    --------
    >>> cells = pd.DataFrame({"lm": list("aabbbccdd"), "item": list("pqpqrrsrs")})
    >>> bridges(cells)
    [Bridge(lm='b', item='r', n_lms=2, n_items=2)]
    """
    graph = _graph(cells)
    n_lms = len(graph.lms)
    _, label = connected_components(graph.matrix, directed=False)
    is_lm = np.arange(len(label)) < n_lms
    nodes_of, lms_of = np.bincount(label), np.bincount(label, weights=is_lm).astype(np.int64)
    found = []
    for below, above, n_nodes, n_below in _cuts(*_certificate(graph), is_lm):
        part = label[below]
        sides = sorted([(n_nodes, n_below), (int(nodes_of[part]) - n_nodes, int(lms_of[part]) - n_below)])
        small, small_lms = sides[0]
        if small > 1:  # a part of one LM or item is no news: it has one response
            lm, item = sorted((below, above))
            name = str(graph.lms[lm]), str(graph.items[item - n_lms])
            found.append(Bridge(*name, small_lms, small - small_lms))
    return sorted(found, key=lambda bridge: (-bridge.n_lms - bridge.n_items, bridge.lm, bridge.item))


def _graph(cells: pd.DataFrame) -> _Graph:
    lm, lms = pd.factorize(cells["lm"], sort=True)
    item, items = pd.factorize(cells["item"], sort=True)
    return _Graph(np.asarray(lms, dtype=object), np.asarray(items, dtype=object), lm.astype(np.int64), item + len(lms))


def _certificate(graph: _Graph) -> tuple[Ints, Ints]:
    """Reduce the edges to two spanning forests, which have the same bridges as the whole."""
    kept: list[Ints] = []
    rest = np.arange(len(graph.start))
    n = len(graph.lms) + len(graph.items)
    for _ in range(2):
        weight = np.ones(len(rest))
        matrix = coo_array((weight, (graph.start[rest], graph.end[rest])), shape=(n, n)).tocsr()
        tree = minimum_spanning_tree(matrix).tocoo()
        chosen = np.isin(graph.start[rest] * n + graph.end[rest], tree.row.astype(np.int64) * n + tree.col)
        kept.append(rest[chosen])
        rest = rest[~chosen]
    edges = np.concatenate(kept)
    return graph.start[edges], graph.end[edges]


def _cuts(start: Ints, end: Ints, is_lm: NDArray[np.bool_]) -> Iterator[tuple[int, int, int, int]]:
    """Yield each bridge as the node below, the node above, and the nodes and LMs below (Tarjan's search)."""
    neighbours: list[list[int]] = [[] for _ in is_lm]
    for a, b in zip(start.tolist(), end.tolist(), strict=True):
        neighbours[a].append(b)
        neighbours[b].append(a)
    number, low = [-1] * len(is_lm), [0] * len(is_lm)
    nodes, lms = [1] * len(is_lm), is_lm.astype(int).tolist()
    count = 0
    for root in range(len(is_lm)):
        if number[root] >= 0:
            continue
        number[root] = low[root] = count
        count += 1
        path = [(root, -1, iter(neighbours[root]))]
        while path:
            node, above, ahead = path[-1]
            step = next(ahead, None)
            if step is None:
                path.pop()
                if above >= 0:
                    low[above] = min(low[above], low[node])
                    nodes[above] += nodes[node]
                    lms[above] += lms[node]
                    if low[node] == number[node]:
                        yield node, above, nodes[node], lms[node]
            elif number[step] < 0:
                number[step] = low[step] = count
                count += 1
                path.append((step, node, iter(neighbours[step])))
            elif step != above:
                low[node] = min(low[node], number[step])


def _some(names: Sequence[str], word: str) -> str:
    return f"{counted(len(names), word)} ({listed(names, 3)})"
