"""The docs keep up with the code: names are listed, links lead somewhere, the contributor's example works."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rationales.explainers import explainers
from rationales.registry import summary

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("results/*.md")])


@pytest.mark.parametrize("name", list(explainers))
def test_every_method_has_a_row_a_summary_and_a_source(name):
    page = (ROOT / "docs/explain.md").read_text(encoding="utf-8")
    assert f"\n| `{name}` |" in page
    assert "pass" in summary(explainers[name]) or name == "random"
    assert "s_i" in (explainers[name].__doc__ or "") or re.search(r"\(\d{4}\)", explainers[name].__doc__ or "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_example_of_an_own_explainer_works(tmp_path):
    page = (ROOT / "docs/write-an-explainer.md").read_text(encoding="utf-8")
    method, line, test = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    file = tmp_path / "gradient_max.py"
    file.write_text(method)
    script = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("rationales.explainers.gradient_max", {str(file)!r})
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
{line}
{test}
test_equals_the_equation()
from rationales import explain
(found,) = explain(classifier("bert"), "the soup was good", "gradient_max")
assert found.provenance.params == {{"power": 1.0}}
"""
    path = {"PYTHONPATH": str(ROOT / "tests"), "PATH": ""}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, env=path)
    assert done.returncode == 0, done.stderr
