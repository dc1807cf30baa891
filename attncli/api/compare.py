"""A comparison from Python: `compare(problem, vary={…})`, and the comparison that it returns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from attncli.api.arguments import Position, ProblemKeys, to_edits, to_name, to_names
from attncli.api.frames import TO_PANDAS, comparison_frame
from attncli.api.problem import Problem, problem_of, raw_values
from attncli.api.result import Result, of_computed
from attncli.api.shown import document_html, document_text
from attncli.base.errors import AttnError
from attncli.base.labels import number_equal_labels
from attncli.base.text import repr_excerpt, shorten
from attncli.comparisons import comparison as report
from attncli.comparisons.comparison import CompareOptions, OverSeeds
from attncli.comparisons.comparison import compare as compare_variants
from attncli.comparisons.differences import Difference, FirstDifference, VariantResult
from attncli.comparisons.document import comparison_document, render_comparison
from attncli.engine.options import RunOptions
from attncli.io.variants import PROBLEM, NamedDocument, make_variants, positions_of_variants, varied_keywords
from attncli.problem.conventions import find_convention
from attncli.problem.layout import find_positions
from attncli.render.document import Document
from attncli.render.formats import JSON, find_format
from attncli.render.rows import RowStatistics
from attncli.render.target import TEXT_FILE
from attncli.render.view import ComparisonView

if TYPE_CHECKING:
    import pandas

__all__ = ["ComparedVariant", "Comparison", "compare"]

CONVENTIONS = "conventions"
MAX_REPR = 60  # characters of the names of variants


@dataclass(frozen=True)
class ComparedVariant:
    """One variant: its name, the varied keys with their values as text, its result, and the statistics of its weights.

    `statistics` are None if the problem computes no weights, or a large one does not keep them. `remarks` name options
    that its convention lacks.
    """

    name: str
    keys: Mapping[str, str]
    result: Result
    statistics: RowStatistics | None
    remarks: tuple[str, ...]


class Comparison:
    """Variants side by side, as `compare` returns them; `print(comparison)` shows the text of `attn compare`.

    >>> import attncli
    >>> comparison = attncli.compare(query=[[2, 0]], key=[[1, 0], [0, 1]], vary={"scale": [1, 2]}, select="weights")
    >>> comparison
    Comparison(scale=1; scale=2)
    >>> comparison.variants[1].result.weights.round(4).tolist(), round(comparison.differences[0].max_abs, 4)
    ([[0.982, 0.018]], 0.1012)
    """

    def __init__(self, data: report.Comparison) -> None:
        self._data = data

    @cached_property
    def variants(self) -> Sequence[ComparedVariant]:
        """The variants, in the order in which they were made; the last varied key varies fastest."""
        return tuple(map(_compared, self._data.variants))

    @property
    def differences(self) -> Sequence[Difference]:
        """The difference of each selected result in two variants.

        Each has `variants` (their positions, the baseline first), the `name` of the result, `max_abs` at `position`
        with its `labels` and `numbers`, and of weights `row_count`, `reordered_count`, and of the rows that are
        distributions (`distribution_count`) `total_variation`, `kl` (in nats) and `infinite_kl_count`; `reason` says
        why nothing can be compared.
        """
        return self._data.differences

    @property
    def first_differences(self) -> Sequence[FirstDifference]:
        """Where two variants first differ: the `step` (None if none does), its `labels` and `numbers`."""
        return self._data.first_differences

    @property
    def seeds(self) -> Sequence[OverSeeds]:
        """The statistics of the weights over the variants that differ only in their seed.

        Each has `keys` (the other varied keys), `variants` (their positions), and by the name of a statistic `mean` and
        `standard_deviation`, of the means of each variant's rows.
        """
        return report.over_seeds(self._data)

    def to_pandas(self, name: str | None = None) -> "pandas.DataFrame":
        """The comparison in long form: a row for each variant, batch item, head, query and key, as in `--format csv`.

        The columns are the variant, each varied key (of keys of one number as numbers), `batch` and `head` (0 where
        there is no such axis), `query`, `key`, and each selected result that has a number for these. The `name` of one
        result picks it alone, of the output with `feature` in place of the key; "statistics" has a row for each query,
        and "differences" a row for each result of two variants.

        Raises AttnError if pandas is not installed, UnknownNameError if there is no such name.
        """
        return comparison_frame(self._data, None if name is None else to_name(name, TO_PANDAS))

    def to_json(self) -> str:
        """The text of `attn compare --json`: the variants with their results, and the differences."""
        return "".join(render_comparison(find_format(JSON), self._data, TEXT_FILE, ComparisonView()))

    def __str__(self) -> str:
        return document_text(self._document)

    def __repr__(self) -> str:
        return f"Comparison({shorten('; '.join(one.variant.name for one in self._data.variants), MAX_REPR)})"

    def _repr_html_(self) -> str:
        return document_html(self._document)

    @property
    def _document(self) -> Document:
        return comparison_document(self._data, ComparisonView())


def compare(
    problem: Problem | Iterable[Problem] | Mapping[str, Problem] | None = None,
    vary: Mapping[str, Iterable[Any]] | None = None,
    *,
    conventions: Iterable[str] = (),
    set: Mapping[str, float | str] | None = None,
    select: Iterable[str] | None = None,
    all_pairs: bool = False,
    head: Position = None,
    batch: Position = None,
    executor: str = "threads",
    **keys: Unpack[ProblemKeys],
) -> Comparison:
    """Compute variants of a problem, with their differences, and the first step that differs.

    The problem is a `Problem`, several of them in a list or in a mapping from names, or the keys of one as keywords:
    `query=q, key=k`. One or more of these vary; the values of different keys are combined:

    - `vary`: the values of keys as a problem takes them, `{"scale": [0.5, 1, 2], "seed": range(1, 101)}`; None is the
      problem without the key
    - `conventions`: frameworks, such as "torch-sdpa" and "flash", as each of which the problem is read
    - `set`: numbers of cells, `{"w_q[0,1]": 3}`; each variant comes without these and with them

    The results and steps in `select` are compared, by default scores, weights and output, at one `head` and one `batch`
    item if these are given: each variant with the first, or with `all_pairs` every pair. A single variant is compared
    with the problem as given. The `executor` works as in `attention`.

    Raises AttnError if nothing varies, a key or a value is wrong, or a variant can't be computed; it names the variant.

    >>> scores = [[2, 1, 0]]
    >>> comparison = compare(scores=scores, vary={"normalize": ["softmax", "sparsemax"]}, select="weights")
    >>> [variant.statistics.support.tolist() for variant in comparison.variants]
    [[3], [1]]
    >>> comparison.first_differences[0].step
    'weights'
    """
    documents = [document.converted() for document in _documents(problem, keys)]  # first: own operators
    varied = varied_keywords(_mapping(vary))
    listed = to_names(conventions, CONVENTIONS, "torch-sdpa")
    names = [find_convention(name, where=CONVENTIONS).name for name in listed]
    edits = () if set is None else to_edits(set)
    if len(documents) == 1 and not (varied or names or edits):
        hint = 'give vary={"scale": [0.5, 1]}, conventions=["torch-sdpa", "flash"], set={…}, or several problems'
        raise AttnError("one problem and nothing that varies", hint=hint)
    variants = make_variants(documents, varied, names, edits)
    chosen = {"head": head, "batch": batch}
    positions = positions_of_variants(variants, lambda layout: find_positions(layout, chosen)[0])
    options = CompareOptions(all_pairs=all_pairs, positions=positions, run=RunOptions(executor))
    return Comparison(compare_variants(variants, None if select is None else to_names(select), options))


def _compared(one: VariantResult) -> ComparedVariant:
    """A variant as Python shows it."""
    variant = one.variant
    return ComparedVariant(variant.name, variant.keys, of_computed(one.result), one.statistics, variant.remarks)


def _mapping(vary: Any) -> Mapping[str, Iterable[Any]]:
    """The values by the varied keys; raises AttnError for anything but a mapping."""
    if vary is None:
        return {}
    if not isinstance(vary, Mapping):
        hint = 'expected keys and lists of their values, such as {"scale": [0.5, 1, 2]}'
        raise AttnError(f"{repr_excerpt(vary)} has no keys", where="vary", hint=hint)
    return vary


def _documents(problem: Any, keys: Mapping[str, Any]) -> Sequence[NamedDocument]:
    """The problems as documents with names, numbered if equal; problems in a list without names are counted."""
    if isinstance(problem, Mapping):
        documents = [replace(_source(one, keys), name=str(name)) for name, one in problem.items()]
    else:
        is_one = problem is None or isinstance(problem, (Problem, str)) or not isinstance(problem, Iterable)
        sources = [_source(one, keys) for one in ([problem] if is_one else problem)]
        names = [source.name or str(number) for number, source in enumerate(sources, 1)]
        documents = [
            replace(source, name=name) for source, name in zip(sources, number_equal_labels(names), strict=True)
        ]
    if not documents:
        raise AttnError("the list of problems is empty", where="problem", hint="give one or more")
    return documents


def _source(problem: Any, keys: Mapping[str, Any]) -> NamedDocument:
    """The raw values of a problem, or of keys that, with the varied ones, are a problem."""
    return NamedDocument("", raw_values(keys), noun=PROBLEM) if problem is None else problem_of(problem, keys).source
