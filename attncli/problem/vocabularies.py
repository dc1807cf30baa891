"""attn's small vocabulary: each word's vector has 1 for its features, otherwise 0."""

from collections.abc import Mapping
from functools import cache

from attncli.base.lazy_numpy import Array, np

FEATURES = (
    "animal",
    "person",
    "place",
    "thing",
    "food",
    "action",
    "quality",
    "male",
    "female",
    "plural",
    "pronoun",
    "function",
)
# The words by their features.
SMALL: Mapping[str, str] = {
    "animal": "cat dog bird horse mouse",
    "animal plural": "cats dogs birds horses mice",
    "animal food": "fish",
    "person": "child teacher student",
    "person male": "man king boy",
    "person female": "woman queen girl",
    "person plural": "people children",
    "place": "house garden school river city",
    "place plural": "houses rivers",
    "thing": "mat ball book tree letter",
    "thing plural": "balls books trees",
    "thing food": "apple bread milk",
    "action": "sat ran slept ate drank saw chased read wrote gave",
    "quality": "big small old young red tired hungry",
    "pronoun animal thing": "it",
    "pronoun person male": "he",
    "pronoun person female": "she",
    "pronoun plural": "they",
    "function": "the a and or of in on to with because was were is",
}
SMALL_NAME = "small"  # its name in a problem


@cache
def features_of_words() -> Mapping[str, tuple[str, ...]]:
    """The features of each word of the small vocabulary.

    >>> features_of_words()["queen"]
    ('person', 'female')
    """
    return {word: tuple(features.split()) for features, words in SMALL.items() for word in words.split()}


def small_vocabulary() -> dict[str, Array]:
    """The vector of each word.

    >>> small_vocabulary()["it"].tolist()
    [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    """
    return {
        word: np.array([feature in features for feature in FEATURES], dtype=np.float64)
        for word, features in features_of_words().items()
    }
