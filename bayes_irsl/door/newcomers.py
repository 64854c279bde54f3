"""New LMs, read by the rules of the table of LMs that a fit knows."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from bayes_irsl.door.describing import describe_lms
from bayes_irsl.door.draft import Draft, column_faults, rename, unused_names
from bayes_irsl.door.options import Options
from bayes_irsl.door.rules import tables
from bayes_irsl.door.sources import Source, Table, load_table
from bayes_irsl.errors import Fault, InputError
from bayes_irsl.scaling_values import How, needed, transform

_ID_RULES = (tables.not_texts, tables.blank, tables.padded, tables.repeated)
_AS_WRITTEN = Options()


def read_new_lms(
    source: Source | Table, known: pd.DataFrame, x: tuple[str, How] | None = None, options: Options = _AS_WRITTEN
) -> pd.DataFrame:
    """Read a table of LMs to forecast.

    Parameters
    ----------
    source : path, pandas.DataFrame or Table
        ``lm`` and covariates, one row for each LM.
    known : pandas.DataFrame
        LMs of the fit. A column that is text there is text here: a group "7" is not the number 7.
    x : tuple of (str, {"log10", "linear", "date"}), optional
        Name and scale of the scaling variable, which every new LM needs.
    options : Options
        How the table is written: its columns, separator and marks.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    InputError
        If the file cannot be read, there is no column lm, a text holds a control character, an id is blank, padded,
        stands twice or belongs to an LM of the fit, or the scaling variable is missing or has no place on its scale:
        all of it in one message.

    Examples
    --------
    >>> known = pd.DataFrame({"lm": ["a"], "flops": [1e20], "family": ["7"]})
    >>> read_new_lms(pd.DataFrame({"lm": ["b"], "flops": ["1e25"], "family": ["7"]}), known).values.tolist()
    [['b', 1e+25, '7']]
    """
    loaded = source if isinstance(source, Table) else load_table(source, "lms", options.sep)
    faults = list(unused_names([loaded], options.columns))
    table, _ = rename(loaded, options.columns)
    faults += column_faults(table)
    if x is not None and x[0] not in table.data:
        rule = f"there is no column {x[0]}, the scaling variable of the fit"
        shown = ", ".join(map(str, table.data.columns))
        way_out = f"Give {x[0]} for each new LM, or name the column with --columns {x[0]}=OLD; there are {shown}"
        faults.append(Fault(table.file, "columns", rule, way_out))
    if faults:
        raise InputError(*faults)
    faults = list(name_faults(table, known))
    faults += [] if x is None else _x_faults(table, *x, options)
    if faults:
        raise InputError(*faults)
    ids = table.texts("lm")
    found = describe_lms(Draft(table, table, None, options), ids).table
    texts = [name for name in found if name in known and known[name].dtype == "str" and name in table.data]
    return found.assign(**{name: pd.Series(table.texts(name), dtype="str") for name in texts})


def name_faults(table: Table, known: pd.DataFrame) -> Iterator[Fault]:
    """Find new LMs that cannot have the name they have.

    Parameters
    ----------
    table : Table
        The new LMs, with a column lm.
    known : pandas.DataFrame
        LMs of the fit.
    """
    yield from tables.control_characters(table)
    for rule in _ID_RULES:
        yield from rule(table, "lm")
    for row in np.flatnonzero(np.isin(table.texts("lm").astype(str), known["lm"].to_numpy(dtype=str))):
        way_out = "Use predict for LMs of the fit, or give the new one another name"
        yield table.fault(row, "lm", kind="known id", rule="this LM is in the fit", way_out=way_out)


def _x_faults(table: Table, name: str, how: How, options: Options) -> Iterator[Fault]:
    values, problems = transform(table.data[name].astype(object).tolist(), how, options.numerals)
    for row in np.flatnonzero(np.isnan(values)):
        if problem := problems.get(int(row)):
            yield table.fault(row, name, kind=problem.kind, rule=problem.rule, way_out=needed(problem).way_out)
        else:
            rule = f"{name} is missing, the scaling variable of the fit"
            yield table.fault(row, name, kind="missing x", rule=rule, way_out="Give it for each new LM")
