"""The convention of Keras' layer Attention, which has no projections."""

from attncli.problem.conventions.readings import REAL_KEYS, TOP_LEFT
from attncli.problem.conventions.records import Convention, Reading, register

register(
    Convention(
        name="keras-attention",
        title="Keras keras.layers.Attention",
        version="3.15",
        source="https://keras.io/api/layers/attention_layers/attention/",
        is_run=True,
        words={
            "key_mask": REAL_KEYS,
            "causal": TOP_LEFT,
            "scale": Reading("the learned number of use_scale; without it there is no scale"),
            "score dot": Reading("the score unless it is given"),
        },
        defaults={"empty_rows": "uniform", "score": "dot"},
    )
)
