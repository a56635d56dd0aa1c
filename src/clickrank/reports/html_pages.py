"""HTML pages: Jinja2 templates that escape all text, figures as SVG, and version numbers."""

from __future__ import annotations

import functools
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np
import scipy

import clickrank
from clickrank._compile.jit import fingerprint
from clickrank._core.output_files import make_folder_of
from clickrank.plots import svg

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup
    from matplotlib.figure import Figure

TEMPLATES = Path(__file__).parent / "templates"


class Drawing(NamedTuple):
    """A figure as an SVG element, and what it shows in words."""

    svg: Markup
    label: str


def drawing_of(figure: Figure, name: str, label: str) -> Drawing:
    """Return a figure for a page; ``name`` must be different for each figure of the page."""
    from markupsafe import Markup

    return Drawing(Markup(svg(figure, name)), label)


def render_page(template: str, **values: Any) -> str:
    """Return the page that a template of this folder makes of some values.

    The page needs no other file: style sheet and figures are part of it.
    """
    return _environment().get_template(template).render(values)


def write_page(path: Path, text: str) -> Path:
    """Write a page, create its folder if it does not exist, and return its path."""
    make_folder_of(path).write_text(text, encoding="utf-8")
    return path


def versions() -> dict[str, str]:
    """Return the versions that results depend on, and the hash of the kernels' source code."""
    return {
        "clickrank": f"{clickrank.__version__} (code {fingerprint()})",
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "Numba": numba.__version__,
        "SciPy": scipy.__version__,
    }


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
