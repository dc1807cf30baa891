"""The section of a data fit: a plot for each of its curves."""

from dataclasses import replace

from attncli.render.curve import Plot, Series
from attncli.render.data_fit import data_fits
from attncli.render.section import Section
from attncli.render.view import View


def data_fit_section(view: View) -> Section:
    """The plots of a data fit; where numbers were set with the curve before and that after."""
    fits = list(data_fits(view.result.trace, view.positions))
    curves: list[tuple[Series, ...]] = [(fit.curve,) for fit in fits]
    if view.edited_cells and view.before is not None:
        before = data_fits(view.before.trace, view.positions)
        curves = [
            (replace(old.curve, name="before"), replace(fit.curve, name="after"))
            for old, fit in zip(before, fits, strict=True)
        ]
    plots = tuple(Plot(fit.title, fit.points, own) for fit, own in zip(fits, curves, strict=True))
    return Section(f"{fits[0].curve.name} over {fits[0].x_name}s", plots=plots)
