"""A folder of test vectors: a problem file for each, with what is expected of it, and the manifest of all."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attncli.base.lazy_numpy import np
from attncli.base.program import __version__
from attncli.base.text import count_of
from attncli.checks.bugs import Bug, bugs
from attncli.checks.slips import SLIPS
from attncli.io.npy import write_npz
from attncli.io.safetensors import write_tensors
from attncli.kernels.calls import visible_table
from attncli.kernels.vectors import TYPES, Vector
from attncli.problem.arrays import GivenArray
from attncli.problem.fields import EXPECTED
from attncli.render.document import Answer, Document, Pairs, Section, Statement
from attncli.render.objects import write_json
from attncli.render.target import TEXT_FILE

VECTORS_FORMAT = "attn.vectors/1"
MANIFEST = "manifest.json"
KINDS = ("npz", "safetensors", "json")


@dataclass(frozen=True, eq=False)
class Pack:
    """Test vectors of a seed."""

    vectors: Sequence[Vector]
    seed: int

    @property
    def mistakes(self) -> Sequence[str]:
        """The mistakes that any vector reveals."""
        found = {slip for vector in self.vectors for slips in vector.reveals.values() for slip in slips}
        return [slip for slip in SLIPS if slip in found]

    @property
    def bugs(self) -> Sequence[Bug]:
        """The bugs of public projects whose mistakes these are."""
        known = set(self.mistakes)
        return [bug for bug in bugs().values() if bug.slip in known]

    @property
    def summary(self) -> str:
        """What the vectors reveal, in a line without a full stop."""
        mistakes = count_of(len(self.mistakes), "mistake")
        found = f"{count_of(len(self.vectors), 'vector')}: {mistakes} revealed"
        return f"{found}, and {len(self.bugs)} of {len(bugs())} public bugs"

    def files(self, kind: str) -> dict[str, bytes]:
        """The contents of the files by name, the manifest last."""
        found = {file_of(vector, kind): _WRITERS[kind](vector) for vector in self.vectors}
        return {**found, MANIFEST: "".join(write_json(self.manifest(kind), TEXT_FILE)).encode()}

    def manifest(self, kind: str = KINDS[0]) -> dict[str, Any]:
        """What the vectors are, how far a right kernel may be off, and the mistakes that each reveals.

        Each mistake is named with the first result that reveals it, and at the end with its sentence and known bugs.
        """
        sources: dict[str, list[str]] = {}
        for bug in self.bugs:
            sources.setdefault(bug.slip, []).append(bug.url)
        return {
            "format": VECTORS_FORMAT,
            "version": __version__,
            "seed": self.seed,
            "vectors": [self._row(vector, kind) for vector in self.vectors],
            "mistakes": {
                slip: {"sentence": SLIPS[slip].sentence, "bugs": sources.get(slip, [])} for slip in self.mistakes
            },
        }

    def _row(self, vector: Vector, kind: str) -> dict[str, Any]:
        """A vector in the manifest."""
        arrays = {**vector.arrays, **vector.results}
        return {
            "name": vector.row.name,
            "file": file_of(vector, kind),
            "about": vector.row.about,
            "dtype": vector.row.dtype,
            "keys": {key: list(x) if isinstance(x, tuple) else x for key, x in vector.row.keys.items()},
            "shapes": {name: list(array.shape) for name, array in arrays.items()},
            "tolerance": {dtype: vector.tolerances(dtype) for dtype in TYPES},
            "reveals": {name: list(slips) for name, slips in vector.reveals.items()},
        }


def file_of(vector: Vector, kind: str) -> str:
    """The name of the file of a vector."""
    return f"{vector.row.name}.{kind}"


def _plain(value: Any) -> Any:
    """A value as JSON has it: infinities and NaN as text."""
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _keys(vector: Vector) -> dict[str, Any]:
    """The keys of its problem that are no arrays, with its type where NumPy has none."""
    own = {"dtype": vector.row.dtype} if vector.arrays["query"].dtype.name != vector.row.dtype else {}
    return {**vector.row.keys, **own}


def _npz(vector: Vector) -> bytes:
    stream = io.BytesIO()
    keys = {key: np.array(value) for key, value in _keys(vector).items()}
    write_npz(stream, {**keys, **vector.arrays, **vector.results})
    return stream.getvalue()


def _safetensors(vector: Vector) -> bytes:
    """Tensors, which can't be texts: where the alignment of a mask is one, the mask itself is there instead."""
    stream, keys, arrays = io.BytesIO(), dict(vector.row.keys), dict(vector.arrays)
    if keys.pop("align", None) is not None:
        arrays["mask"] = visible_table(vector.problem)
        keys = {key: value for key, value in keys.items() if key not in ("causal", "window")}
    arrays |= {key: np.array(value) for key, value in keys.items()}
    given = {
        name: GivenArray(array, dtype=vector.row.dtype if array.dtype.kind == "f" else None)
        for name, array in arrays.items()
    }
    write_tensors(stream, given | {name: GivenArray(x, dtype="float32") for name, x in vector.results.items()})
    return stream.getvalue()


def _json(vector: Vector) -> bytes:
    content = {**vector.row.keys, "dtype": vector.row.dtype, **vector.arrays, EXPECTED: vector.results}
    return f"{json.dumps(_plain(content))}\n".encode()


_WRITERS = {"npz": _npz, "safetensors": _safetensors, "json": _json}


def vectors_answer(pack: Pack) -> Answer:
    """The answer of a pack: what each vector is for, and how many mistakes it reveals; or the manifest."""
    return Answer(lambda: _document(pack), pack.manifest)


def _document(pack: Pack) -> Document:
    pairs = [
        (
            vector.row.name,
            f"{vector.row.about} ({count_of(sum(map(len, vector.reveals.values())), 'mistake')})",
        )
        for vector in pack.vectors
    ]
    return Document([Section("", blocks=(Statement(f"{pack.summary}."), Pairs(pairs)))], 0)
