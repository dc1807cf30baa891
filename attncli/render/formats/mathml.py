"""Formulas as MathML."""

import re
from html import escape


def mathml_line(line: str) -> str:
    """A formula as markup."""
    parts = re.split(r"(\d+(?:\.\d+)?)", line)
    texts = (f"<mn>{part}</mn>" if at % 2 else f"<mtext>{escape(part)}</mtext>" for at, part in enumerate(parts))
    return f"<math><mrow>{''.join(texts)}</mrow></math>"
