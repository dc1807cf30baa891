"""Figures: what Matplotlib draws of a result, and the files of it."""

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import attncli
from attncli.engine.run import run as run_problem
from attncli.figure import make_figure
from attncli.io import examples
from attncli.render.view import View
from tests.arrays import normal
from tests.cli.running import run_in_process
from tests.problems import PROBLEMS, problem

pytest.importorskip("matplotlib")

TOKENS = ["the", "cat", "sat"]
X = normal(3, 8)
HEADS = attncli.attention(X, X, heads=4, causal=True, tokens=TOKENS, select=("weights", "output"))


def panels(figure: Any, title: str = "") -> list[Any]:
    """The axes that have a table, those of a title alone; colour bars have none."""
    return [axes for axes in figure.axes if axes.get_label() != "<colorbar>" and title in title_of(axes)]


def title_of(axes: Any) -> str:
    """The title of axes; one that is wider than the panel begins at its left edge."""
    return axes.get_title() or axes.get_title(loc="left")


def color_bars(figure: Any) -> list[Any]:
    """The axes of the colour bars."""
    return [axes for axes in figure.axes if axes.get_label() == "<colorbar>"]


def drawn(axes: Any) -> Any:
    """The numbers that the colours of axes are made of, as a masked array."""
    (mapped,) = [*axes.images, *(each for each in axes.collections if each.get_array() is not None)]
    return mapped.get_array()


def texts(figure: Any) -> list[str]:
    """Every text of the figure itself: titles, names of axes, legends, notes."""
    return [text.get_text() for text in figure.texts]


def labels(axis: Any) -> list[str]:
    """The labels of an axis."""
    return [label.get_text() for label in axis.get_ticklabels()]


def numbers(axes: Any) -> list[str]:
    """The texts in the cells of axes."""
    return [text.get_text() for text in axes.texts]


def write(folder: Path, *words: str, env: Mapping[str, str] | None = None) -> bytes:
    """What the command writes into the file that its last word names."""
    ran = run_in_process("compute", *words, folder=folder, env=dict(env or {}))
    assert (ran.returncode, ran.stderr) == (0, "")
    return (folder / words[-1]).read_bytes()


class TestHeatMaps:
    FIGURE = HEADS.figure()

    def test_have_a_panel_for_each_head_with_its_numbers(self) -> None:
        found = panels(self.FIGURE, "head")
        assert [title_of(axes) for axes in found] == ["head 0", "head 1", "head 2", "head 3"]
        for axes, weights in zip(found, HEADS.weights, strict=True):
            np.testing.assert_array_equal(np.tril(drawn(axes).filled(0)), weights)

    def test_have_equal_tokens_as_they_are(self) -> None:
        given = {"weights": [[0.5, 0.5]], "tokens": ["the", "the"], "value": [[1], [2]]}
        figure = attncli.attention(**given, select="weights").figure()
        assert labels(panels(figure)[0].xaxis) == ["the", "the"]

    def test_share_one_range_of_colours_and_its_bar(self) -> None:
        ranges = {tuple(axes.collections[0].get_clim()) for axes in panels(self.FIGURE, "head")}
        assert ranges == {(0, HEADS.weights.max())}
        assert len(color_bars(self.FIGURE)) == 2  # of the weights and of the output

    def test_have_the_tokens_at_their_outer_sides(self) -> None:
        found = panels(self.FIGURE, "head")
        assert [labels(axes.yaxis) for axes in found] == [TOKENS, [], [], []]
        assert [labels(axes.xaxis) for axes in found] == [TOKENS] * 4
        assert {"weights", "output", "queries", "keys"} <= set(texts(self.FIGURE))

    def test_hatch_what_masks_hide(self) -> None:
        for axes in panels(self.FIGURE, "head"):
            np.testing.assert_array_equal(np.ma.getmaskarray(drawn(axes)), np.triu(np.ones((3, 3), bool), 1))
            (patch,) = axes.patches
            assert patch.get_hatch() == "/////"
            runs = patch.get_path().vertices.reshape(-1, 5, 2).tolist()  # of hidden cells, a rectangle each
            assert [(*run[0], *run[2]) for run in runs] == [(1, 0, 3, 1), (2, 1, 3, 2)]
        assert "masked" in texts(self.FIGURE)

    def test_have_rounded_numbers_in_the_cells_that_are_not_hatched(self) -> None:
        first = panels(self.FIGURE, "head 0")[0]
        assert numbers(first) == [f"{number:.2f}" for number in HEADS.weights[0][np.tril_indices(3)]]
        assert numbers(panels(HEADS.figure(decimals=3), "head 0")[0])[0] == "1.000"

    def test_of_large_tables_have_no_numbers_and_label_every_word_before_fewer(self) -> None:
        for count, second in ((60, "query_2"), (120, "query_3")):
            (axes,) = panels(attncli.attention(normal(count, 4), normal(count, 4), select="weights").figure())
            assert numbers(axes) == []
            assert labels(axes.yaxis)[:2] == ["query_1", second]

    def test_of_smaller_cells_than_pixels_are_images_of_the_largest_numbers(self) -> None:
        result = attncli.attention(normal(700, 4), normal(700, 4), heads=2, select="weights")
        figure = result.figure(size=(3, 2))
        first, _ = panels(figure)
        step = round(700 / first.images[0].get_array().shape[0])
        largest = max(result.weights[0][:step, :step].ravel())
        assert drawn(first)[0, 0] == largest
        assert f"a pixel shows the largest of {step} × {step} cells" in texts(figure)

    def test_tell_nan_and_infinities_apart(self) -> None:
        scores = [[1, np.nan], [-np.inf, np.inf]]
        figure = attncli.attention(scores=scores, select="scores").figure()
        hatches = {patch.get_hatch() for patch in panels(figure)[0].patches}
        assert len(hatches) == 3
        assert {"−∞", "+∞", "NaN"} <= set(texts(figure))

    def test_of_weights_that_are_all_0_have_a_range_of_weights(self) -> None:
        figure = attncli.attention(scores=[[-np.inf, -np.inf]], select="weights").figure()
        assert panels(figure)[0].collections[0].get_clim() == (0, 1)

    def test_rotate_labels_that_are_longer_than_a_cell(self) -> None:
        given = {"weights": [[0.5, 0.5]], "tokens": ["a long token", "b"], "value": [[1], [2]]}
        figure = attncli.attention(**given, select="weights").figure()
        assert {label.get_rotation() for label in panels(figure)[0].get_xticklabels()} == {90}

    def test_show_one_head_where_that_is_chosen(self) -> None:
        figure = HEADS.figure(head=2)
        np.testing.assert_array_equal(np.tril(drawn(panels(figure)[0]).filled(0)), HEADS.weights[2])
        assert "weights, head 2" in texts(figure)

    def test_of_several_batch_items_name_both(self) -> None:
        result = attncli.attention(normal(2, 3, 4), normal(2, 3, 4), heads=2, select="weights")
        titles = [title_of(axes) for axes in panels(result.figure())]
        assert titles == [f"batch item {item}, head {head}" for item in (0, 1) for head in (0, 1)]


class TestOtherPanels:
    def test_a_mask_has_the_signs_of_its_rules_and_a_legend(self) -> None:
        figure = attncli.attention(normal(3, 2), normal(3, 2), causal=True, key_lengths=2, select="visible").figure()
        assert numbers(panels(figure)[0]) == ["●", "▷", "░", "●", "●", "░", "●", "●", "░"]
        assert {"visible", "after the query (causal)", "padding"} <= set(texts(figure))

    def test_an_output_over_one_dimensional_keys_is_a_curve_with_points(self) -> None:
        keys, values, queries = [[0], [1], [3]], [[2], [4], [8]], [[0], [0.5], [2]]
        result = attncli.attention(queries, keys, values, select="output")
        (axes,) = panels(result.figure())
        curve, points = axes.lines
        np.testing.assert_array_equal(curve.get_xydata(), np.column_stack([[0, 0.5, 2], result.output[:, 0]]))
        np.testing.assert_array_equal(points.get_xydata(), [(0, 2), (1, 4), (3, 8)])
        assert [text.get_text() for text in axes.get_legend().get_texts()] == ["output", "value"]

    def test_a_change_is_shown_before_and_after(self, tmp_path: Path) -> None:
        svg = write(tmp_path, "--scores", "2 0", "--set", "scores[0,1]=2", "--select", "weights", "-o", "x.svg")
        shown = svg_texts(svg)
        assert [text for text in shown if text in ("before", "after")] == ["before", "after"]
        assert {"0.88", "0.12", "0.5▼", "0.5▲", "set scores[0,1]: 0 → 2"} <= set(shown)

    def test_an_explanation_has_a_panel_for_each_step_with_its_formula(self) -> None:
        figure = make_figure(View(run_problem(problem(embeddings=normal(3, 2))), explain=True, decimals=2))
        titles = [text for text in texts(figure) if re.match(r"\d+\. ", text)]
        assert titles == ["2. dot_products", "3. scores", "4. exponentials", "5. weights", "6. context"]
        assert "Cᵢ = Σⱼ Aᵢⱼ Vⱼ" in texts(figure)

    @pytest.mark.parametrize(
        "name",
        [
            "causal, grouped heads",
            "a batch without heads",
            "one head, a softcap and a bias",
            "selected queries of another sequence",
            "given scores, embeddings and a cache",
            "given weights",
            "a residual stream",
            "tokens that are looked up",
            "rows without keys are uniform",
            "bfloat16",
        ],
    )
    def test_a_problem_of_any_axes_can_be_drawn(self, name: str) -> None:
        result = run_problem(problem(**PROBLEMS[name]))
        figure = make_figure(View(result, decimals=2, positions={"b": 0, "h": 0}))
        assert len(figure.axes) >= len(result.select)

    @pytest.mark.parametrize("name", ["bahdanau", "decoder", "sentence_positions"])
    def test_examples_can_be_explained(self, name: str) -> None:
        result = run_problem(examples.load(name).parts[0].problem)
        assert make_figure(View(result, explain=True, decimals=2)).axes


class TestStyles:
    def test_a_dark_figure_has_light_text_and_a_transparent_one_no_ground(self) -> None:
        dark, clear = HEADS.figure(dark=True), HEADS.figure(transparent=True)
        assert sum(dark.get_facecolor()[:3]) < 0.5
        assert sum(int(dark.texts[0].get_color()[at : at + 2], 16) for at in (1, 3, 5)) > 600
        assert clear.get_facecolor()[3] == 0
        assert panels(clear, "")[-1].collections[0].get_cmap()(0.5)[3] < 0.05  # 0 between the signs is no paint

    def test_larger_text_is_as_large_as_asked_for(self) -> None:
        figure = HEADS.figure(font_size=12)
        assert {label.get_size() for label in panels(figure, "head 0")[0].get_yticklabels()} == {12}

    def test_grey_tells_signs_by_a_minus(self) -> None:
        scores = normal(3, 40)
        (axes,) = panels(attncli.attention(scores=scores, select="scores").figure(palette="grey"))
        (minus,) = [each for each in axes.collections if each.get_array() is None and each.get_zorder() == 1.9]
        assert len(minus.get_segments()) == (scores < 0).sum()

    @pytest.mark.parametrize(
        ("style", "message"),
        [
            ({"palette": "jet"}, "palette: unknown palette 'jet'"),
            ({"font_size": 1}, "font_size: 1 points are out of range; expected 4 to 40 points"),
            ({"font": "Arial"}, "font: unknown keyword of a figure 'font'"),
            ({"changes": True}, "changes: has no effect: there is no result before"),
        ],
        ids=str,
    )
    def test_another_style_is_an_error(self, style: dict[str, Any], message: str) -> None:
        with pytest.raises(attncli.AttnError, match=re.escape(message)):
            HEADS.figure(**style)

    def test_inputs_have_tokens_and_features_as_axes(self) -> None:
        result = attncli.attention(X, X, select="query")
        assert {"queries", "query features"} <= set(texts(result.figure()))
        result = attncli.Problem(embeddings=X, w_q=normal(8, 8)).compute(("embeddings", "w_q"))
        assert {"tokens", "embedding features", "query features"} <= set(texts(result.figure()))
        assert not {"queries", "keys"} & set(texts(result.figure()))


class TestLines:
    def test_are_as_opaque_as_weights_and_none_is_where_a_mask_hides(self) -> None:
        figure: Any = attncli.attention(X, X, heads=4, causal=True, tokens=TOKENS, select="output").figure(lines=True)
        assert [title_of(axes) for axes in figure.axes] == ["head 0", "head 1", "head 2", "head 3"]
        for axes, weights in zip(figure.axes, HEADS.weights, strict=True):
            (lines,) = axes.collections
            visible = np.sort(weights[weights >= 0.004])
            np.testing.assert_allclose([rgba[3] for rgba in lines.get_colors()], visible)
            assert numbers(axes) == ["queries", *TOKENS, "keys", *TOKENS]
            (end,) = {segment[1, 0] for segment in lines.get_segments()}
            assert end < axes.get_xlim()[1]

    def test_of_a_change_are_before_and_after(self, tmp_path: Path) -> None:
        svg = write(tmp_path, "--scores", "2 0", "--set", "scores[0,1]=2", "--lines", "-o", "x.svg")
        assert {"before", "after", "query_1", "key_2"} <= set(svg_texts(svg))


def test_the_heads_of_a_model_are_a_row_for_each_layer_or_lines(tmp_path: Path) -> None:
    maps = np.full((3, 6, 4, 4), 0.25)
    np.save(tmp_path / "maps.npy", maps)
    for words, shown in (
        ([], {f"2.{head}" for head in range(6)}),
        (["--lines", "--layer", "2", "--top", "1", "--dark"], {"2.0 uniform"}),
    ):
        ran = run_in_process("heads", "maps.npy", "--tokens", "a b a c", *words, "-o", "x.svg", folder=tmp_path)
        assert (ran.returncode, ran.stderr) == (0, "")
        labels = svg_texts((tmp_path / "x.svg").read_bytes())
        assert {text for text in labels if text.startswith("2.")} == shown
        assert {"a", "b", "c", "queries", "keys"} <= set(labels)
        assert ("weights: layers down, heads across" in labels) == (words == [])
    np.save(tmp_path / "maps.npy", maps.repeat(20, 0))
    ran = run_in_process("heads", "maps.npy", "-o", "x.png", folder=tmp_path)
    assert "a figure shows 300 tables at most, and these are 360; choose some with --layer N" in ran.stderr


def test_a_font_that_was_installed_later_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a font with one character, which Matplotlib's list does not have."""
    from matplotlib import font_manager

    drawing = import_module("attncli.figure.drawing")
    pen = import_module("fontTools.pens.ttGlyphPen").TTGlyphPen(None)
    for at, point in enumerate([(0, 0), (500, 0), (500, 500)]):
        (pen.lineTo if at else pen.moveTo)(point)
    pen.closePath()
    glyph = pen.glyph()
    builder = import_module("fontTools.fontBuilder").FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "own"])
    builder.setupCharacterMap({0x13000: "own"})
    builder.setupGlyf({".notdef": glyph, "own": glyph})
    builder.setupHorizontalMetrics({".notdef": (600, 0), "own": (600, 0)})
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Own Font", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(tmp_path / "own.ttf")
    assert drawing.fonts_for(["\U00013000"]).missing == ("\U00013000",)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [str(tmp_path / "own.ttf")])
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [*font_manager.fontManager.ttflist])
    drawing._add_new_fonts.cache_clear()
    assert drawing.fonts_for(["\U00013000"]) == drawing.Fonts(("DejaVu Sans", "Own Font"))
    drawing._add_new_fonts.cache_clear()


def test_changes_are_after_minus_before_around_the_paper(tmp_path: Path) -> None:
    words = ("--scores", "2 0", "--set", "scores[0,1]=2", "--select", "weights", "--changes")
    shown = svg_texts(write(tmp_path, *words, "-o", "x.svg"))
    assert {"weights, after − before", "−0.38", "0.38"} <= set(shown)
    assert not {"before", "after"} & set(shown)


class TestSizes:
    def test_a_figure_has_the_size_that_is_asked_for(self) -> None:
        assert HEADS.figure(size=(6, 4)).get_size_inches().tolist() == [6, 4]
        assert HEADS.figure(size="25.4cm x 127mm").get_size_inches().tolist() == [10, 5]

    @pytest.mark.parametrize("size", [None, (7, 7), (12, 5)], ids=str)
    def test_no_panel_overlaps_another_or_leaves_the_page(self, size: Any) -> None:
        figure = HEADS.figure(size=size, title="Heads")
        boxes = [axes.get_position() for axes in figure.axes]
        for at, box in enumerate(boxes):
            assert 0 <= box.x0 < box.x1 <= 1
            assert 0 <= box.y0 < box.y1 <= 1
            assert not any(box.overlaps(other) for other in boxes[:at])

    @pytest.mark.parametrize(
        ("size", "message"),
        [
            ((1, 1), "figure: 1 × 1 inches are too small for the panels and their labels; choose a larger size"),
            ((0.5, 3), "size: 0.5 × 3 inches are out of range; expected 1 to 30 inches each"),
            ("small", "size: 'small' is not a size; expected a width and a height, such as 6x4"),
            (3, "size: 3 is not a size; expected a width and a height in inches, such as"),
        ],
        ids=str,
    )
    def test_another_size_is_an_error(self, size: Any, message: str) -> None:
        with pytest.raises(attncli.AttnError, match=re.escape(message)):
            HEADS.figure(size=size)

    def test_a_long_title_has_lines_inside_the_page(self) -> None:
        title = "A title that is longer than the page is wide " * 4
        result = attncli.attention(scores=[[2, 0]], select="weights")
        for size in (None, (4, 4)):
            figure = result.figure(title=title, size=size)
            lines = [text for text in figure.texts if text.get_text() in title]
            assert len(lines) > 1
            assert " ".join(text.get_text() for text in lines) == title.strip()
            assert figure.get_figwidth() <= 7.5
            for text in lines:
                extent = text.get_window_extent()
                assert 0 <= extent.x0 < extent.x1 <= figure.bbox.width

    def test_a_title_that_is_no_text_is_an_error(self) -> None:
        with pytest.raises(attncli.AttnError, match="title: 5 is not text"):
            HEADS.figure(title=5)

    def test_too_many_heads_are_an_error_before_the_work(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "p.npz", query=normal(20, 2, 32), key=normal(20, 2, 32))
        ran = run_in_process("compute", "p.npz", "--heads", "32", "-o", "x.svg", folder=tmp_path)
        assert "a figure shows 300 tables at most" in ran.stderr
        assert "choose some with --head N, --batch N or --select NAME" in ran.stderr


class TestFiles:
    @pytest.fixture(autouse=True)
    def file(self, tmp_path: Path) -> None:
        (tmp_path / "p.yaml").write_text("scores: [[2, 0], [1, 1]]\ntokens: [a$b$, <i>]\n")

    def test_svg_is_xml_with_text_and_without_links(self, tmp_path: Path) -> None:
        svg = write(tmp_path, "p.yaml", "--title", "One & $two$", "-o", "x.svg")
        assert {"One & $two$", "a$b$", "<i>", "scores", "weights"} <= set(svg_texts(svg))
        outside = re.sub(rb'xmlns(:\w+)?="[^"]*"|<!DOCTYPE[^>]*>', b"", svg)
        assert b"http" not in outside

    def test_png_has_300_dots_an_inch_and_pdf_has_its_fonts(self, tmp_path: Path) -> None:
        png = write(tmp_path, "p.yaml", "--size", "6x4", "-o", "x.png")
        assert (png[:8], png[16:24]) == (b"\x89PNG\r\n\x1a\n", (1800).to_bytes(4) + (1200).to_bytes(4))
        pdf = write(tmp_path, "p.yaml", "-o", "x.pdf")
        assert pdf.startswith(b"%PDF-")
        assert b"/FontFile2" in pdf  # TrueType
        assert b"/Type3" not in pdf

    def test_the_same_result_is_the_same_file_whatever_the_settings_of_the_user(self, tmp_path: Path) -> None:
        (tmp_path / "matplotlibrc").write_text("font.size: 30\nimage.cmap: hot\nsvg.fonttype: path\n")
        code = (
            "import sys, attncli, io; from attncli.render.formats import format_of_file; "
            "from attncli.render.view import View; result = attncli.load('p.yaml').compute(); "
            "[format_of_file(name).write(View(result, decimals=2), open(name, 'wb')) for name in sys.argv[1:]]"
        )
        command = [sys.executable, "-c", code, "user.svg", "user.png", "user.pdf"]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert ran.stderr == ""
        for suffix in ("svg", "png", "pdf"):
            assert (tmp_path / f"user.{suffix}").read_bytes() == write(tmp_path, "p.yaml", "-o", f"x.{suffix}")

    @pytest.mark.parametrize(("suffix", "is_warning"), [("png", True), ("pdf", True), ("svg", False)])
    def test_a_character_without_a_font_is_one_warning(self, suffix: str, is_warning: bool, tmp_path: Path) -> None:
        ran = run_in_process(
            "compute", "--scores", "2 0", "--tokens", "\U00013000,b", "-o", f"x.{suffix}", folder=tmp_path
        )
        assert ran.returncode == 0
        assert ran.stderr.count("\n") == ran.stderr.count("no installed font has") == is_warning

    def test_options_without_effect_are_warnings(self, tmp_path: Path) -> None:
        words = ("--cell", "0,0", "--stats", "--heatmap", "--terms", "3")
        ran = run_in_process("compute", "p.yaml", *words, "-o", "x.svg", folder=tmp_path)
        assert re.findall(r"warning: (--\w+) has no effect", ran.stderr) == [
            "--cell",
            "--terms",
            "--stats",
            "--heatmap",
        ]


def test_of_a_large_result_masks_are_hatched_too(tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", query=normal(1, 600, 16), key=normal(1, 600, 16))
    words = ("p.npz", "--heads", "2", "--causal", "--select", "weights", "--strict", "-o", "x.svg")
    svg = write(tmp_path, *words)
    assert svg.count(b"<image") == 3  # with the colour bar
    assert "masked" in svg_texts(svg)
    assert len(svg) < 2_000_000


def test_without_matplotlib_an_error_says_what_to_install() -> None:
    code = """
import sys
sys.modules["matplotlib"] = None
import attncli
import attncli.cli
try:
    attncli.attention(scores=[[1]], select="weights").figure()
except attncli.AttnError as error:
    print(error)
sys.argv = ["attn", "compute", "--scores", "1", "-o", "x.svg"]
attncli.cli.run()
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    message = "a figure needs the package matplotlib; install it: pip install 'attncli[plot]'\n"
    assert (ran.stdout, ran.stderr) == (f"figure: {message}", f"attn: --output x.svg: {message}")
    assert not Path("x.svg").exists()


def svg_texts(svg: bytes) -> Sequence[str]:
    """The texts of an SVG."""
    return [
        "".join(element.itertext()) for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("}text")
    ]


def test_a_figure_shows_itself_in_a_notebook() -> None:
    figure: Any = attncli.attention([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], select="weights").figure()
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert "<svg" in figure._repr_svg_()


def test_a_comparison_is_a_figure_of_its_variants_and_their_differences(tmp_path: Path) -> None:
    words = ("compare", "--embeddings", "1 0; 0 1", "--vary", "scale=1,2", "--select", "weights", "--dark")
    ran = run_in_process(*words, "-o", "variants.svg", "--title", "Two scales", folder=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    text = (tmp_path / "variants.svg").read_text(encoding="utf-8")
    assert all(f">{label}</text>" in text for label in ("Two scales", "weights", "weights, difference"))
