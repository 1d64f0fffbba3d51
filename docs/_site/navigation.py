"""The order of the pages. It does not stand in the pages, so that these are plain Markdown wherever they are read."""

from __future__ import annotations

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

PAGES: dict[str, list[tuple[str, list[str]]]] = {
    "index": [
        ("Begin", ["start", "choose"]),
        (
            "Use",
            [
                "explain", "compare", "data", "bad-input", "planted", "train", "faithful-classifiers", "rationalizers",
                "alignments", "attack", "explanations", "import",
            ],
        ),
        ("Look up", ["methods/index", "links/index", "metrics/index", "api", "results"]),
        ("Extend", ["write-an-explainer", "write-a-metric", "write-a-reader", "decisions/index"]),
        ("Beside", ["other-tools"]),
    ],
    "methods/index": [
        (
            "",
            [
                "random", "attention", "scaled_attention", "attention_rollout", "gradient", "input_x_gradient",
                "smoothgrad", "integrated_gradients", "deeplift", "leave_one_out", "backselect", "lime", "kernel_shap",
            ],
        )
    ],
    "links/index": [
        (
            "",
            [
                "link_random", "arec", "diffmask", "coattention", "link_gradient", "link_integrated_gradients",
                "link_leave_one_out", "link_backselect", "link_lime",
            ],
        )
    ],
    "metrics/index": [
        (
            "",
            [
                "comprehensiveness", "sufficiency", "normalised_comprehensiveness", "normalised_sufficiency",
                "saturation", "log_odds", "decision_flip", "auroc", "auprc", "average_precision", "token_precision",
                "token_recall", "token_f1", "iou_f1", "aorc", "fidelity", "compactness", "contiguity", "alignment_f1",
                "largest_alignment_f1", "alignment_included", "alignment_recall", "jaccard", "rank_correlation",
            ],
        )
    ],
    "decisions/index": [
        (
            "",
            [
                "0001-deeplift-at-the-dispatcher", "0002-embeddings-through-a-hook", "0003-padding-side",
                "0004-command-package", "0005-defaults-of-regex",
            ],
        )
    ],
}  # fmt: skip


def append(_app: Sphinx, page: str, source: list[str]) -> None:
    """Add a page's tables of contents, which only the sidebar shows."""
    for caption, pages in PAGES.get(page, ()):
        source[0] += "\n\n```{toctree}\n:hidden:\n" + f":caption: {caption}\n" * bool(caption)
        source[0] += "\n" + "\n".join(pages) + "\n```\n"


def setup(app: Sphinx) -> ExtensionMetadata:
    """What Sphinx calls."""
    app.connect("source-read", append)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
