"""Matplotlib as figures use it: found or an error, without its messages, without the settings of the user."""

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from attncli.base.errors import AttnError

INSTALL = "pip install 'attncli[plot]'"
FONT_SIZE = 9.0  # points: that of a figure in a paper

# What the files are like: text stays text in SVG, fonts are TrueType in PDF, names in SVG are the same at every run.
_SETTINGS: Mapping[str, Any] = {
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "svg.hashsalt": "attn",
    "text.parse_math": False,  # a $ in a label is a $
    "font.size": FONT_SIZE,
    "hatch.linewidth": 0.6,
    "axes.linewidth": 0.6,
}


def check_matplotlib() -> None:
    """Raise AttnError where Matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise AttnError("a figure needs the package matplotlib", hint=f"install it: {INSTALL}")


@contextmanager
def drawing() -> Iterator[None]:
    """Draw with the settings of this file on top of Matplotlib's own, whatever the user's are; they return afterwards.

    Raises AttnError where Matplotlib is not installed or does not start.
    """
    check_matplotlib()
    with _without_messages():
        try:
            from matplotlib import style  # noqa: PLC0415 - an extra, and slow to import
        except (ImportError, ValueError) as error:  # the second: MPLBACKEND names no backend
            raise AttnError(f"a figure needs matplotlib, which does not start: {error}") from None
        with style.context(["default", dict(_SETTINGS)]):
            yield


@contextmanager
def _without_messages() -> Iterator[None]:
    """Matplotlib without warnings and log lines: what matters to the user are warnings of ours."""
    logger = logging.getLogger("matplotlib")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
