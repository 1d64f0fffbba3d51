"""The docs site: `make docs` builds it into build/docs, warnings as errors, nothing loaded from elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "rationales"
author = "The rationales authors"
copyright = author
extensions = ["myst_parser", "_site.navigation", "_site.mathml", "_site.pictures", "_site.speed", "_site.reference"]
exclude_patterns = ["_site", "_static", "pictures"]
nitpicky = True

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "rationales"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1653ad", "color-brand-content": "#1653ad"},
    "dark_css_variables": {"color-brand-primary": "#8ab8ff", "color-brand-content": "#8ab8ff"},
}
html_math_renderer = "mathml"
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # it would be fetched, which browsers forbid where pages are opened from the disk
pygments_style = "friendly"
pygments_dark_style = "github-dark"
