"""Tables that come with the package, read through the same door as a user's own."""

from __future__ import annotations

from importlib.resources import as_file, files

from bayes_irsl.door.reading import read_responses
from bayes_irsl.responses import Responses


def frontier() -> Responses:
    """Benchmark scores of language models by release date, to the end of 2025.

    2,515 scores of 534 LMs on 58 benchmarks, each benchmark one item. 92% of the cells are missing, and not at
    random: old LMs were never run on new benchmarks. Variants of one LM are LMs of their own.

    Returns
    -------
    Responses
        ``score`` in [0, 1]; ``date``, the day of release, is the scaling variable; ``chance`` is the score of
        guessing where it is known.

    Notes
    -----
    Collected by Epoch AI's benchmarking hub, https://epoch.ai/benchmarks, licensed under CC BY 4.0; taken from
    the package benchprobe 0.1.1 (Zhu 2026, doi:10.5281/zenodo.22177190; MIT license) and changed: several reports
    of one cell are reduced to their median, and benchmarks have shorter names.

    Examples
    --------
    >>> responses = frontier()
    >>> len(responses.cells), len(responses.lms), len(responses.items)
    (2515, 534, 58)
    """
    with as_file(files("bayes_irsl") / "data_files" / "frontier") as folder:
        return read_responses(folder / "responses.csv", lms=folder / "lms.csv", items=folder / "items.csv")
