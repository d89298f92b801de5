"""Make SVG that belongs to its page: text as text, the page's colours, no id twice, the same bytes each time.

Models: matplotlib draws with sentinel colours; the drawing is parsed, sentinels become `currentColor` and CSS
variables, fonts are inherited, ids get a prefix, metadata goes. A standalone file carries its own light and
dark colours. Leaves out: what is drawn (`railyard.analysis.figures`).
"""

from __future__ import annotations

import functools
import io
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

INK = "#010203"
#: Series colours, light and dark scheme: Okabe and Ito's hues, darkened or lightened for contrast.
LIGHT = ("#0072b2", "#c65200", "#007f5f", "#a8508f", "#7a6400", "#555555")
DARK = ("#56b4e9", "#f0893e", "#2ec29a", "#dd8fc0", "#e6d95a", "#bdbdbd")
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES = ("-", "--", "-.", ":", "-", "--")

#: The rules of matplotlib's own style element, for the page's style or the file's.
STROKES = "svg *{stroke-linejoin:round;stroke-linecap:butt}"

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "{http://www.w3.org/1999/xlink}href"
#: Any replaces the list of all names in matplotlib's stubs.
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "railyard",
    "text.parse_math": False,
    "axes.unicode_minus": True,
    **dict.fromkeys(("figure.facecolor", "axes.facecolor"), "none"),
    **{f"{part}.color": INK for part in ("grid", "text", "xtick", "ytick")},
    **{f"axes.{part}color": INK for part in ("edge", "label", "title")},
    **dict.fromkeys(("axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 10),
    "axes.titlesize": 10.5,
    "axes.titleweight": "normal",
    "axes.titlelocation": "left",
    "axes.linewidth": 0.8,
    **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.16,
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "font.family": "DejaVu Sans",
}


def sentinel(series: int) -> str:
    """Return the sentinel that the page's series colour replaces."""
    return f"#0a0b{series % len(LIGHT):02x}"


@functools.cache
def _parameters() -> dict[Any, Any]:
    """Return matplotlib's defaults changed by the settings of this module; cached, because each is validated."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        return {name: matplotlib.rcParams[name] for name in matplotlib.rcParams if name != "backend"}


@contextmanager
def style() -> Iterator[None]:
    """All drawing happens inside: whatever the user's matplotlib is set to, figures look the same."""
    wanted = _parameters()
    with matplotlib.rc_context():
        for name, value in wanted.items():
            matplotlib.rcParams._set(name, value)  # validated when it was made
        yield


def clean(text: str) -> str:
    """Return a text that XML allows: other characters become U+FFFD."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


def inline(figure: Figure, name: str, description: str) -> str:
    """Return the figure as an `<svg>` element for a page; `name` prefixes its ids, `description` is read aloud."""
    root = _parsed(figure, name)
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    root.set("class", "figure")
    root.set("role", "img")
    root.set("aria-label", clean(description))
    return ElementTree.tostring(root, encoding="unicode")


def standalone(figure: Figure, name: str, description: str) -> str:
    """Return the figure as an SVG file that follows its viewer's colour scheme."""
    root = _parsed(figure, name)
    root.set("role", "img")
    title = ElementTree.Element(f"{{{_SVG}}}title")
    title.text = clean(description)
    sheet = ElementTree.Element(f"{{{_SVG}}}style")
    sheet.text = (
        f"{STROKES}svg{{color:#1f2328;font-family:system-ui,sans-serif;{variables(LIGHT)}}}"
        f"@media(prefers-color-scheme:dark){{svg{{color:#e6edf3;{variables(DARK)}}}}}"
    )
    root.insert(0, title)
    root.insert(1, sheet)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def variables(colours: tuple[str, ...]) -> str:
    """Return the series colours as CSS variables."""
    return "".join(f"--s{number}:{colour};" for number, colour in enumerate(colours, 1))


def _parsed(figure: Figure, name: str) -> ElementTree.Element:
    ElementTree.register_namespace("", _SVG)
    file = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    if figure.axes and (engine := figure.get_layout_engine()):
        # Give the axes their places. `savefig` would draw the whole figure once more, for nothing but the places.
        FigureCanvasSVG(figure)  # texts are as wide as in the file
        dpi = figure.dpi
        engine.execute(figure)
        figure.set_layout_engine("none")
        figure.dpi = dpi
    figure.savefig(file, format="svg", metadata=nothing)
    root = ElementTree.fromstring(file.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.endswith(("}metadata", "}style")):  # a style element would reach the whole page
                parent.remove(child)
    for element in root.iter():
        _adapt(element, name)
    return root


def _adapt(element: ElementTree.Element, name: str) -> None:
    for attribute, value in list(element.attrib.items()):
        if attribute == "id":
            element.set("id", f"{name}-{value}")
        elif attribute == _XLINK:
            del element.attrib[attribute]
            element.set("href", value.replace("#", f"#{name}-", 1))
        elif attribute == "style":
            element.set("style", _css(value))
        elif "url(#" in value:
            element.set(attribute, value.replace("url(#", f"url(#{name}-"))


def _css(css: str) -> str:
    """Return a style that keeps font sizes, takes families from the page, and has its colours in place of sentinels.

    matplotlib writes size and family as two properties or, before 3.11, as one `font`.
    """
    css = re.sub(r"font: (?:[\w-]+ )*?([\d.]+px) ([^;]+)", r"font-size: \1; font-family: \2", css)
    css = re.sub(r"font-family: [^;]+", "font-family: inherit", css)
    for number, colour in enumerate(LIGHT):
        css = css.replace(sentinel(number), f"var(--s{number + 1}, {colour})")
    return css.replace(INK, "currentColor")
