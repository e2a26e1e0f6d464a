"""The texts around a run's numbers: templates, filled in."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def page(**content: Any) -> str:
    """Return the report: page.html.j2 with its style, its scripts and ``content`` in place."""
    folder = Path(__file__).parent
    parts = {
        "style": Markup((folder / "page.css").read_text(encoding="utf-8")),
        "program": Markup((folder / "page.js").read_text(encoding="utf-8")),
        "explorer": Markup((folder / "explorer.js").read_text(encoding="utf-8")),
    }
    return template("page.html.j2").render(**parts, **content)


def comparison(**content: Any) -> str:
    """Return the page that sets two runs side by side: compare.html.j2 with ``content`` in place."""
    style = Markup((Path(__file__).parent / "page.css").read_text(encoding="utf-8"))
    return template("compare.html.j2").render(style=style, **content)


def template(name: str) -> Any:
    """Return a template of this folder; HTML is escaped, and what is missing is an error."""
    environment = Environment(
        loader=PackageLoader("modp.report", "."),
        autoescape=name.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # Bokeh reads its objects in order, the ones referred to first.
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False}
    return environment.get_template(name)
