"""New LMs, read by the rules of the table of LMs that a fit knows."""

import numpy as np
import pandas as pd

from bayes_irsl.door.describing import describe_lms
from bayes_irsl.door.draft import Draft, column_faults, is_blank
from bayes_irsl.door.options import Options
from bayes_irsl.door.rules.tables import ids_are_unique
from bayes_irsl.door.sources import Source, load_table
from bayes_irsl.errors import InputError


def read_new_lms(source: Source, known: pd.DataFrame) -> pd.DataFrame:
    """Read a table of LMs to forecast.

    Parameters
    ----------
    source : path or pandas.DataFrame
        ``lm`` and covariates, one row for each LM.
    known : pandas.DataFrame
        LMs of the fit. A column that is text there is text here: a group "7" is not the number 7.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    InputError
        If the file cannot be read, there is no column lm, or an id is blank or stands twice.

    Examples
    --------
    >>> known = pd.DataFrame({"lm": ["a"], "flops": [1e20], "family": ["7"]})
    >>> read_new_lms(pd.DataFrame({"lm": ["b"], "flops": ["1e25"], "family": ["7"]}), known).values.tolist()
    [['b', 1e+25, '7']]
    """
    table = load_table(source, "lms")
    faults = list(column_faults(table))
    if faults:
        raise InputError(*faults)
    ids = table.texts("lm")
    draft = Draft(table, table, None, Options())
    faults = [
        *(
            table.fault(row, "lm", kind="blank id", rule="an id is blank", way_out="Fill it in")
            for row in np.flatnonzero(is_blank(ids))
        ),
        *ids_are_unique(draft),
    ]
    if faults:
        raise InputError(*faults)
    found = describe_lms(draft, ids).table
    texts = [name for name in found if name in known and known[name].dtype == "str" and name in table.data]
    return found.assign(**{name: pd.Series(table.texts(name), dtype="str") for name in texts})
