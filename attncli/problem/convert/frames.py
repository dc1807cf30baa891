"""Data frames of any library: the labels of their rows and columns, and their numbers without a column of labels."""

from typing import Any

from attncli.base.lazy_numpy import np

AxisLabels = tuple[tuple[str, ...] | None, tuple[str, ...] | None]  # of the rows, and of the columns


def frame_labels(value: Any) -> AxisLabels:
    """The labels of the rows and columns of a data frame; None for numbers, which only count, and for other values.

    Words in the index are labels, otherwise those in the one column that has words.
    """
    if not _is_frame(value):
        return None, None
    names = list(getattr(value, "columns", ()))
    label_column = _label_column(value)
    if label_column is None:
        return _words(getattr(value, "index", None)), _column_labels(names)
    at, words = label_column
    return words, _column_labels([*names[:at], *names[at + 1 :]])


def without_label_column(value: Any) -> Any:
    """The numbers of a data frame whose labels are a column of it, as an array; any other value as it is."""
    label_column = _label_column(value) if _is_frame(value) else None
    if label_column is None:
        return value
    names = list(value.columns)
    del names[label_column[0]]
    return np.stack([value[name].to_numpy() for name in names], axis=1)


def columns_of_words(value: Any) -> list[str]:
    """The names of the columns of a data frame that have words, if it is one."""
    names = list(getattr(value, "columns", ())) if _is_frame(value) else []
    return [str(name) for name in names if names.count(name) == 1 and _words_of_column(value[name])]


def _is_frame(value: Any) -> bool:
    """Whether a value is a data frame, or a column of one."""
    return hasattr(value, "to_numpy") and (hasattr(value, "columns") or hasattr(value, "index"))


def _label_column(frame: Any) -> tuple[int, tuple[str, ...]] | None:
    """The position and the words of the one column that has words; None where the index has them, or no column, or two.

    A frame without any other column is no table of numbers.
    """
    names = list(getattr(frame, "columns", ()))
    if _words(getattr(frame, "index", None)) or len(names) < 2 or len(set(names)) < len(names):
        return None
    columns = [(at, words) for at, name in enumerate(names) if (words := _words_of_column(frame[name]))]
    return columns[0] if len(columns) == 1 else None


def _words_of_column(column: Any) -> tuple[str, ...] | None:
    """The words of a column; None of one of numbers, which are not looked at one by one."""
    return None if column.to_numpy().dtype.kind in "biufc" else _words(column)


def _words(entries: Any) -> tuple[str, ...] | None:
    """The entries of an index or a column where all are words; None otherwise."""
    listed = (
        entries.to_list() if hasattr(entries, "to_list") else entries.tolist() if hasattr(entries, "tolist") else []
    )
    return tuple(listed) if listed and all(isinstance(entry, str) for entry in listed) else None


def _column_labels(names: list[Any]) -> tuple[str, ...] | None:
    """The names of columns where all are words, and not those that Polars gives to columns without a name."""
    are_words = names and all(isinstance(name, str) for name in names)
    return tuple(names) if are_words and names != [f"column_{at}" for at in range(len(names))] else None
