"""The program `bayes-irsl`: its commands, its exit statuses, and what it says when something is wrong."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from cyclopts import App, CycloptsError, Parameter

from bayes_irsl.cli import check, demo, diagnose, fit, forecast, plot, predict
from bayes_irsl.cli.output import tell
from bayes_irsl.errors import InputError

WRONG_INPUT = 2
BUG = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
READER_GONE = 141  # 128 + SIGPIPE

app = App(
    name="bayes-irsl",
    help="Bayesian item response scaling laws: forecasts of language-model scores with intervals.",
    help_epilogue="Start with: bayes-irsl demo",
    help_format="plaintext",  # markdown would cost a third of the time that --help takes
    # A list given as an empty one means nothing here, and every switch is off unless given.
    default_parameter=Parameter(negative=()),
    suppress_keyboard_interrupt=False,
)
for module in (demo, check, fit, forecast, predict, diagnose, plot):
    name = module.__name__.rpartition(".")[2]
    app.command(getattr(module, name), help_epilogue=module.EXAMPLE)


def run() -> None:
    """Run the program and leave with its exit status."""
    set_environment()
    # Told to end, as at the end of a batch job's time: the same as Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(status(sys.argv[1:]))


def status(words: Sequence[str]) -> int:
    """Run one command.

    Parameters
    ----------
    words : sequence of str
        What follows the name of the program.

    Returns
    -------
    int
        0 done; 1 a diagnostic failed; 2 the input, the design or the command is wrong; 70 a bug of ours;
        130 interrupted.

    Examples
    --------
    >>> status(["check", "no-such-file.csv"])
    2
    """
    try:
        found = app(list(words), result_action="return_value", exit_on_error=False, print_error=False)
        # What is still in the buffer meets a closed pipe here, where it is caught, or nowhere.
        sys.stdout.flush()
    except CycloptsError as problem:
        return _told(f"bayes-irsl: {' '.join(str(problem).split())}\nSee {_help_of(words)}.", WRONG_INPUT)
    except InputError as problem:
        return _told(str(problem), WRONG_INPUT)
    except KeyboardInterrupt as problem:
        told = str(problem) or "interrupted; files that were not finished are not there"
        return _told(f"bayes-irsl: {told}", INTERRUPTED)
    except (BrokenPipeError, SystemExit):
        # rich answers a closed pipe with SystemExit(1), which would say that a diagnostic failed; nobody else exits.
        # Python flushes stdout once more at its end; without a place to go it complains there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    except OSError as problem:
        where = f"{problem.filename}: " if problem.filename else ""
        return _told(f"{where}{problem.strerror or problem}", WRONG_INPUT)
    except Exception as problem:  # the last door: nobody who feeds us a table should meet a traceback
        if os.environ.get("BAYES_IRSL_TRACEBACK") == "1":
            traceback.print_exc()
        what = " ".join(f"{type(problem).__name__}: {problem}".split())
        hint = "BAYES_IRSL_TRACEBACK=1 shows the traceback"
        return _told(f"This is a bug of bayes-irsl, not of your input: {what} ({hint})", BUG)
    return int(found or 0)


def set_environment() -> None:
    """Set what JAX and Matplotlib read when they are imported, where the user has not.

    Only the program does this: a library leaves the settings of its process alone.
    """
    defaults = {"MPLBACKEND": "agg"}
    if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        defaults["JAX_NUM_CPU_DEVICES"] = "4"
    cache = _cache_folder()
    if cache is not None:
        # Compiling is most of the time of a small fit. By default JAX keeps only what took over a second.
        defaults["JAX_COMPILATION_CACHE_DIR"] = str(cache)
        defaults["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    for name, value in defaults.items():
        os.environ.setdefault(name, value)


def _cache_folder() -> Path | None:
    """Folder for compiled programs, or None where none can be made."""
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = base / "bayes-irsl" / "jax"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder


def _told(message: str, code: int) -> int:
    tell(message)
    return code


def _help_of(words: Sequence[str]) -> str:
    known = [word for word in words[:1] if word in app]
    return " ".join(["bayes-irsl", *known, "--help"])
