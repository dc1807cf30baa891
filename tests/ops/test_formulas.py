"""The formulas of operators with their parameters in force: what is left out or is 1 is not in them."""

import math
from collections.abc import Mapping
from typing import Any

import pytest

from attncli.ops import look_up
from tests.ops.test_derivatives import derivatives_of
from tests.ops.values import RECORDS

MADE = {"w1": True, "w2": True, "v": True}
TURNED = "(u₁ cos φ − u₂ sin φ, u₂ cos φ + u₁ sin φ)"
TURNED_BACK = "(u₁ cos φ + u₂ sin φ, u₂ cos φ − u₁ sin φ)"
THETA = "θ = base^(−2f/d)"
VECTORS = {"lambda_q1": True, "lambda_k1": True, "lambda_q2": True, "lambda_k2": True}
LAMBDA = "λ = exp(λ_q1·λ_k1) − exp(λ_q2·λ_k2)"

# The kind and the name, the parameters, True for an array that is given, and the formula.
FORMULAS: list[tuple[str, Mapping[str, Any], str]] = [
    ("score additive", MADE, "Sᵢⱼ = vᵀ tanh(W₁Kⱼ + W₂Qᵢ)"),
    ("score additive", {**MADE, "b": True, "activation": "relu"}, "Sᵢⱼ = vᵀ relu(W₁Kⱼ + W₂Qᵢ + b_H)"),
    ("score cosine", {}, "Sᵢⱼ = Qᵢ·Kⱼ / (‖Qᵢ‖ ‖Kⱼ‖)"),
    ("score cosine", {"beta": 2}, "Sᵢⱼ = β Qᵢ·Kⱼ / (‖Qᵢ‖ ‖Kⱼ‖)"),
    ("score gaussian", {}, "Sᵢⱼ = −‖Qᵢ − Kⱼ‖² / 2"),
    ("score gaussian", {"sigma": 2}, "Sᵢⱼ = −‖Qᵢ − Kⱼ‖² / 2σ²"),
    ("score laplacian", {}, "Sᵢⱼ = −‖Qᵢ − Kⱼ‖₁"),
    ("score laplacian", {"sigma": 2}, "Sᵢⱼ = −‖Qᵢ − Kⱼ‖₁ / σ"),
    ("normalize softmax", {}, "Aᵢⱼ = exp(Sᵢⱼ) / Σⱼ exp(Sᵢⱼ)"),
    ("normalize softmax", {"temperature": 2}, "Aᵢⱼ = exp(Sᵢⱼ/T) / Σⱼ exp(Sᵢⱼ/T)"),
    ("normalize sigmoid", {}, "Aᵢⱼ = 1 / (1 + exp(−Sᵢⱼ))"),
    ("normalize sigmoid", {"shift": 1}, "Aᵢⱼ = 1 / (1 + exp(−(Sᵢⱼ + shift)))"),
    ("normalize topk", {"k": 3}, "Aᵢ = softmax over the 3 largest Sᵢⱼ, 0 elsewhere"),
    ("normalize sparsemax", {}, "Aᵢⱼ = max(Sᵢⱼ − τᵢ, 0)"),
    ("normalize entmax", {}, "Aᵢⱼ = max(Sᵢⱼ/2 − τᵢ, 0)²"),
    ("normalize entmax", {"alpha": 1}, "Aᵢⱼ = exp(Sᵢⱼ) / Σⱼ exp(Sᵢⱼ)"),
    ("normalize entmax", {"alpha": 2}, "Aᵢⱼ = max(Sᵢⱼ − τᵢ, 0)"),
    ("normalize entmax", {"alpha": 3}, "Aᵢⱼ = max((α − 1) Sᵢⱼ − τᵢ, 0)^(1/(α − 1))"),
    ("recurrence linear", {}, "Sᵢ = Sᵖᵢ + Kᵢᵀ Vᵢ, Cᵢ = scale Qᵢ Sᵢ"),
    ("recurrence linear", {"normalize": True}, "Sᵢ = Sᵖᵢ + Kᵢᵀ Vᵢ, Cᵢ = Qᵢ Sᵢ / Qᵢ Zᵢ"),
    ("recurrence gated", {}, "Sᵢ = exp(δᵢ) Sᵖᵢ + Kᵢᵀ Vᵢ, Cᵢ = scale Qᵢ Sᵢ"),
    ("recurrence gated", {"normalize": True}, "Sᵢ = exp(δᵢ) Sᵖᵢ + Kᵢᵀ Vᵢ, Cᵢ = Qᵢ Sᵢ / Qᵢ Zᵢ"),
    ("recurrence delta", {}, "Sᵢ = Sᵖᵢ + Kᵢᵀ βᵢ (Vᵢ − Kᵢ Sᵖᵢ), Cᵢ = scale Qᵢ Sᵢ"),
    (
        "recurrence gated_delta",
        {},
        "Sᵢ = Sᵈᵢ + Kᵢᵀ βᵢ (Vᵢ − Kᵢ Sᵈᵢ), Sᵈᵢ = exp(δᵢ) Sᵖᵢ, Cᵢ = scale Qᵢ Sᵢ",
    ),
    ("difference differential", {}, "λ = 0"),
    ("difference differential", {"lambda_full": 0.7, "lambda_init": 0.2}, "λ = 0.7"),
    ("difference differential", {"lambda_init": 0.2}, "λ = λ_init = 0.2"),
    ("difference differential", {"layer": 2}, "λ = λ_init = 0.8 − 0.6 exp(−0.3·2)"),
    ("difference differential", VECTORS, LAMBDA),
    ("difference differential", {**VECTORS, "lambda_init": 0.2}, f"{LAMBDA} + λ_init, λ_init = 0.2"),
    ("difference differential", {**VECTORS, "layer": 0}, f"{LAMBDA} + λ_init, λ_init = 0.8 − 0.6 exp(−0.3·0)"),
    ("position rope", {}, f"(u₁, u₂) → {TURNED}, φ = pos θ, {THETA}"),
    ("position rope", {"dims": 2}, f"(u₁, u₂) → {TURNED}, φ = pos θ, θ = base^(−2f/dims)"),
    ("position rope", {"scaling": 4}, f"(u₁, u₂) → {TURNED}, φ = pos θ / scaling, {THETA}"),
    ("position rope", {"offset": 1}, f"(u₁, u₂) → {TURNED}, φ = (pos + offset) θ, {THETA}"),
    ("position rope", {"frequencies": True}, f"(u₁, u₂) → {TURNED}, φ = pos θ, θ = frequencies"),
    ("position rope", {"attention_factor": 2}, f"(u₁, u₂) → attention_factor {TURNED}, φ = pos θ, {THETA}"),
    ("position rope", {"reverse": True}, f"(u₁, u₂) → {TURNED_BACK}, φ = pos θ, {THETA}"),
    ("position sinusoidal", {}, "P[pos, 2f] = sin(pos / base^(2f/x)), P[pos, 2f + 1] = cos(pos / base^(2f/x))"),
    (
        "position sinusoidal",
        {"offset": 1},
        "P[pos, 2f] = sin((pos + offset) / base^(2f/x)), P[pos, 2f + 1] = cos((pos + offset) / base^(2f/x))",
    ),
    ("position learned", {"table": True}, "P[pos] = table[pos]"),
    ("position learned", {"table": True, "offset": 2}, "P[pos] = table[pos + offset]"),
    ("position transformer_xl", {}, "Qᵢ·R(posᵢ − j), R = table"),
    ("position transformer_xl", {"w_position": True}, "Qᵢ·R(posᵢ − j), R = table W_P"),
    ("position transformer_xl", {"content_bias": True}, "Qᵢ·R(posᵢ − j) + u·Kⱼ, R = table"),
    ("position transformer_xl", {"position_bias": True}, "Qᵢ·R(posᵢ − j) + v·R(posᵢ − j), R = table"),
    ("position disentangled", {}, "Qᵢ·Kᴿ(δ) + Kⱼ·Qᴿ(δ), δ = posᵢ − j, Kᴿ = table, Qᴿ = table"),
    ("position disentangled", {"terms": "c2p"}, "Qᵢ·Kᴿ(δ), δ = posᵢ − j, Kᴿ = table"),
    ("position disentangled", {"terms": "p2c", "max_distance": 9}, "Kⱼ·Qᴿ(δ), δ = bucket(posᵢ − j), Qᴿ = table"),
    (
        "position disentangled",
        {"w_position_k": True, "b_position_k": True, "w_position_q": True},
        "Qᵢ·Kᴿ(δ) + Kⱼ·Qᴿ(δ), δ = posᵢ − j, Kᴿ = table W_Kᴿ + b_Kᴿ, Qᴿ = table W_Qᴿ",
    ),
    ("mask window", {"left": 2, "right": 0}, "visible where posᵢ − left ≤ j ≤ posᵢ + right"),
    ("mask window", {"left": 2, "right": math.inf}, "visible where posᵢ − left ≤ j"),
    ("mask window", {"left": math.inf, "right": 1}, "visible where j ≤ posᵢ + right"),
    ("mask block", {"size": 4}, "visible where ⌊j / size⌋ = ⌊posᵢ / size⌋"),
    ("mask block", {"size": 4, "around": 1}, "visible where |⌊j / size⌋ − ⌊posᵢ / size⌋| ≤ around"),
    ("mask top", {"keys": 3}, "visible where Iᵢⱼ is one of the 3 largest of row i that no other rule hides"),
    ("norm l2", {}, "u / ‖u‖"),
    ("norm l2", {"eps": 0.1, "gain": True}, "γ u / √(‖u‖² + eps)"),
    ("norm l2", {"gain": True, "gain_plus_one": True, "bias": True}, "(1 + γ) u / ‖u‖ + β"),
    ("norm rms", {}, "u / √(mean(u²))"),
    ("norm rms", {"eps": 0.1, "bias": True}, "u / √(mean(u²) + eps) + β"),
    ("norm layer", {"gain": True}, "γ (u − mean(u)) / √(var(u))"),
    ("norm layer", {"eps": 0.1}, "(u − mean(u)) / √(var(u) + eps)"),
    ("query_scale log_steps", {"length": 4}, "κᵢ = 1 + factor ln(1 + ⌊(posᵢ + offset) / length⌋)"),
    ("query_scale log_steps", {"length": 4, "offset": 0}, "κᵢ = 1 + factor ln(1 + ⌊posᵢ / length⌋)"),
    ("query_scale logn", {"length": 4}, "κᵢ = max(ln(posᵢ + 1) / ln(length), 1)"),
    ("query_scale logn", {"length": 4, "factor": 2}, "κᵢ = 1 + factor ln(max((posᵢ + 1) / length, 1))"),
    ("query_scale ssmax", {}, "κᵢ = ln(posᵢ + 1)"),
    ("query_scale ssmax", {"scale": 2, "bias": 1}, "κᵢ = scale ln(posᵢ + 1) + bias"),
    ("query_scale ssmax", {"scale": True, "bias": True}, "κᵢ = scaleₕ ln(posᵢ + 1) + biasₕ"),
]


@pytest.mark.parametrize(("operator", "given", "formula"), FORMULAS)
def test_a_formula_has_what_is_in_force(operator: str, given: Mapping[str, Any], formula: str) -> None:
    record = look_up(*operator.split())
    assert record.formula_in_force is not None
    assert record.formula_in_force(**{**record.defaults, **given}) == formula


def test_every_operator_whose_formula_depends_on_its_parameters_is_here() -> None:
    found = {f"{record.kind} {record.name}" for record in RECORDS if record.formula_in_force is not None}
    assert found == {operator for operator, *_ in FORMULAS}


KINK = "; 0 is taken for a vector of size 0"
AT_THRESHOLD = "; 0 is taken where a score is exactly at the threshold"
MEAN_OF_ALL = "dXᵢⱼ = sᵢⱼ (dYᵢⱼ − Σⱼ sᵢⱼ dYᵢⱼ / Σⱼ sᵢⱼ)"

# The operator, the argument, what else is given, the options, and the formula of the gradient dX from dY.
GRADIENTS: list[tuple[str, str, str, Mapping[str, Any], str]] = [
    ("score additive", "b", "hidden v", {"activation": "tanh"}, "dX = Σᵢⱼ δᵢⱼ, δᵢⱼ = dYᵢⱼ v ∘ (1 − H²)"),
    ("score additive", "b", "hidden v", {"activation": "sigmoid"}, "dX = Σᵢⱼ δᵢⱼ, δᵢⱼ = dYᵢⱼ v ∘ H ∘ (1 − H)"),
    ("score additive", "b", "hidden v", {"activation": "relu"}, "dX = Σᵢⱼ δᵢⱼ, δᵢⱼ = dYᵢⱼ v where H > 0, otherwise 0"),
    ("score additive", "b", "hidden v", {"activation": "identity"}, "dX = Σᵢⱼ δᵢⱼ, δᵢⱼ = dYᵢⱼ v"),
    ("normalize softmax", "scores", "result", {"temperature": 1.0}, "dXᵢⱼ = resultᵢⱼ (dYᵢⱼ − Σⱼ dYᵢⱼ resultᵢⱼ)"),
    ("normalize softmax", "scores", "result", {"temperature": 2.0}, "dXᵢⱼ = resultᵢⱼ (dYᵢⱼ − Σⱼ dYᵢⱼ resultᵢⱼ) / T"),
    *(
        (
            "normalize entmax",
            "scores",
            "result",
            {"alpha": alpha},
            f"{MEAN_OF_ALL}, sᵢⱼ = {power} where resultᵢⱼ > 0, otherwise 0{AT_THRESHOLD}",
        )
        for alpha, power in ((1.0, "resultᵢⱼ"), (1.5, "√resultᵢⱼ"), (2.0, "1"), (3.0, "resultᵢⱼ^(2 − α)"))
    ),
    ("position rope", "x", "", {"reverse": None}, f"dX: (u₁, u₂) → {TURNED_BACK} of dY, by the same angles and factor"),
    ("position rope", "x", "", {"reverse": True}, f"dX: (u₁, u₂) → {TURNED} of dY, by the same angles and factor"),
    ("norm l2", "x", "x", {}, f"dX = (g − y (y·g)) / ‖x‖, y = x / ‖x‖, g = dY{KINK}"),
    (
        "norm l2",
        "x",
        "x gain",
        {"eps": 0.1},
        f"dX = (g − y (y·g)) / √(‖x‖² + eps), y = x / √(‖x‖² + eps), g = gain dY{KINK}",
    ),
    (
        "norm rms",
        "x",
        "x gain",
        {"gain_plus_one": True},
        f"dX = (g − y mean(y g)) / √(mean(x²)), y = x / √(mean(x²)), g = (1 + gain) dY{KINK}",
    ),
    (
        "norm layer",
        "x",
        "x",
        {"eps": 0.1},
        "dX = (g − mean(g) − y mean(y g)) / √(var(x) + eps), y = (x − mean(x)) / √(var(x) + eps), g = dY" + KINK,
    ),
]


@pytest.mark.parametrize(("operator", "argument", "names", "options", "formula"), GRADIENTS)
def test_the_formula_of_a_gradient_has_what_is_in_force(
    operator: str, argument: str, names: str, options: Mapping[str, Any], formula: str
) -> None:
    symbols = {name: name for name in names.split()} | {f"d_{argument}": "dX", "d_result": "dY"}
    found = dict(derivatives_of(look_up(*operator.split())))[argument]
    assert found.record.formula_with(symbols, options) == formula
