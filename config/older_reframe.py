"""Give ReFrame 4.7 and 4.8 the configuration of reframe.yml and of the files in RAILYARD_CONFIG.

    RAILYARD_CONFIG=mine.yml reframe -C config/older_reframe.py ...

Several files are separated by colons, and a later one is searched first. 4.7 reads no YAML, and 4.8 refuses a setting
that 4.9 introduced. Later releases read the files themselves.
"""

import os
from pathlib import Path

import yaml
from jinja2.sandbox import SandboxedEnvironment

_NEWER = "poll_rate_min"
_FILES = [Path(__file__).parents[1] / "reframe.yml", *filter(None, os.environ.get("RAILYARD_CONFIG", "").split(":"))]


def _read(path):
    """Return the sections of a file; its variables are those that ReFrame gives a template."""
    text = SandboxedEnvironment().from_string(Path(path).read_text(encoding="utf-8")).render(getenv=os.getenv)
    return yaml.safe_load(text)


site_configuration = {}
for _section, _entries in [pair for _file in reversed(_FILES) for pair in _read(_file).items()]:
    _known = [{name: value for name, value in entry.items() if name != _NEWER} for entry in _entries]
    site_configuration.setdefault(_section, []).extend(_known)
