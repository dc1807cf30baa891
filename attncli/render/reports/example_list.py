"""The worked examples as a list: what each teaches, under its topic."""

from collections.abc import Mapping

from attncli.render.formats.text_page import TextPage
from attncli.render.target import TextTarget


def render_topics(topics: Mapping[str, Mapping[str, str]], target: TextTarget) -> str:
    """The name of each example and what it teaches, in columns that are the same under every topic."""
    page = TextPage(target)
    width = max(len(name) for examples in topics.values() for name in examples)
    for topic, examples in topics.items():
        page.print((topic, "bold"))
        page.print_pairs([(name.ljust(width), sentence) for name, sentence in examples.items()], "cyan")
        page.skip_line()
    return page.text.rstrip("\n") + "\n"
