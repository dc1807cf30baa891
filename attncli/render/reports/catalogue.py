"""The catalogue as text: operators, slips and examples with a line each, or the facts that the record of one has."""

from collections.abc import Iterable, Mapping, Sequence

from attncli.base.axes import legend
from attncli.ops.records import OperatorRecord
from attncli.render.formats.text_page import TextPage
from attncli.render.target import TextTarget


def render_list(groups: Iterable[tuple[str, Sequence[tuple[str, str]]]], target: TextTarget) -> str:
    """The name and the summary of each operator or slip, under the title of its group."""
    page = TextPage(target)
    for title, summaries in groups:
        page.print((title, "bold"))
        page.print_pairs(summaries, "cyan")
        page.skip_line()
    return page.text.rstrip("\n") + "\n"


def render_topics(topics: Mapping[str, Mapping[str, str]], target: TextTarget) -> str:
    """The name of each example and what it teaches, in columns that are the same under every topic."""
    width = max(len(name) for examples in topics.values() for name in examples)
    groups = ((topic, [(name.ljust(width), text) for name, text in of.items()]) for topic, of in topics.items())
    return render_list(groups, target)


def facts_of_record(record: OperatorRecord) -> Iterable[tuple[str, str]]:
    """The title and the text of each line about an operator; a line without a title continues the one above."""
    yield "formula", record.formula
    shapes = ", ".join(f"{name}[{' '.join(axes)}]" for name, axes in record.shapes.arrays.items())
    if shapes:
        yield "shapes", f"{shapes} → [{' '.join(record.shapes.result)}]"
        yield "", legend(axis for axes in (*record.shapes.arrays.values(), record.shapes.result) for axis in axes)
    for number, parameter in enumerate(record.parameters):
        yield "" if number else "parameters", str(parameter)
    for number, inner in enumerate(record.inner):
        yield "" if number else "steps inside", f"{inner.name} = {inner.formula}"
    yield "source", record.source
    arguments = [f"{name} = {value}" for name, value in record.example.items() if name != "gives"]
    result = [f"gives {record.example['gives']}"] if "gives" in record.example else []
    yield "example", "\n".join([*arguments, *result])
