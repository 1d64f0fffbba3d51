"""What a step of REGEX costs beside a plain one: one run, the same model, texts, batches and optimiser.

    python benchmarks/regex_step.py --encoder bert-base-uncased --out results

Texts are parts of planted reviews of about 25 tokens, as sentences of SST-2 have. A step is forward, backward, clipping
and AdamW. Beside the whole (8 points of integrated gradients): each term alone, other numbers of points, guidance in
every fourth batch only, and the whole without recorded steps. On CUDA it is checked that recorded steps give the same
losses: without dropout and without a random start of the perturbation, over some steps in which the weights change.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rationales.data.example import Example
from rationales.data.planted import REVIEW_LABELS, reviews
from rationales.models.loading import checked_device
from rationales.results import Row, write
from rationales.train import classifier, regex
from rationales.train.encoding import EncodedTexts
from rationales.train.labels import read_task

BAR = 5
WITHOUT = {"gradient_weight": 0.0, "adversarial_weight": 0.0, "guidance_weight": 0.0}
EIGHT = {"guide_steps": 8}
KINDS: dict[str, dict[str, Any]] = {
    "whole, 8 points": EIGHT,
    "whole, 1 point": {"guide_steps": 1},
    "whole, 2 points": {"guide_steps": 2},
    "whole, 4 points": {"guide_steps": 4},
    "whole, 50 points": {"guide_steps": 50},
    "whole, 8 points in every 4th batch": {**EIGHT, "guide_every": 4},
    "whole, 8 points, not recorded": {**EIGHT, "replay": False},
    "gradient term alone": {**WITHOUT, "gradient_weight": 0.01},
    "adversarial term alone": {**WITHOUT, "adversarial_weight": 4.0},
    "guidance alone, 8 points": {**WITHOUT, **EIGHT, "guidance_weight": 0.01},
}


def sentences(number: int, words: int) -> list[Example]:
    """Beginnings of planted reviews."""
    return [
        replace(review, texts=(" ".join(review.texts[0].split()[:words]),), rationale=None)
        for review in reviews(number, seed=0)
    ]


def seconds_per_step(objective: nn.Module, batches: list[list[int]], device: torch.device, warm: int) -> float:
    """After a few steps to warm up."""
    objective.train()
    optimizer = torch.optim.AdamW(objective.parameters(), lr=1e-6, fused=True)
    began = 0.0
    for number, rows in enumerate(batches):
        if number == warm:
            _wait(device)
            began = time.perf_counter()
        objective(rows).backward()
        nn.utils.clip_grad_norm_(objective.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    _wait(device)
    return (time.perf_counter() - began) / (len(batches) - warm)


def losses(objective: nn.Module, batches: list[list[int]]) -> Tensor:
    """Of some steps without dropout."""
    objective.train()
    for part in objective.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    optimizer = torch.optim.AdamW(objective.parameters(), lr=1e-5, fused=True)
    found = []
    for rows in batches:
        loss = objective(rows)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.detach())
    return torch.stack(found)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="", help="directory or hub name; empty: the embedded MiniLM")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--words", type=int, default=20)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--warm", type=int, default=5)
    parser.add_argument("--device", default=None)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    device = checked_device(options.device)
    steps, size = options.warm + options.steps, options.batch_size
    texts = sentences(steps * size, options.words)
    task = read_task(texts, texts[:size], REVIEW_LABELS)
    batches = [list(range(start, start + size)) for start in range(0, steps * size, size)]

    def made(make: Callable[[EncodedTexts], nn.Module]) -> nn.Module:
        torch.manual_seed(0)
        model = classifier.pretrained(classifier.Config(encoder=options.encoder), task)
        model.model.to(device)
        return make(EncodedTexts(model, task.train, "training", warn=False))

    def timed(make: Callable[[EncodedTexts], nn.Module]) -> float:
        return seconds_per_step(made(make), batches, device, options.warm)

    plain = timed(classifier.Objective)
    rows = [Row("milliseconds per step", 1000 * plain, method="plain", n=options.steps, note=f"batch {size}")]
    for name, kind in KINDS.items():
        config = regex.Config(Path("model"), **kind)
        spent = timed(partial(regex.Objective, config=config))
        bar = f"wanted: at most {BAR}" if kind == EIGHT else None
        rows += [
            Row("milliseconds per step", 1000 * spent, method=name, n=options.steps),
            Row("times a plain step", spent / plain, method=name, note=bar),
        ]
    if device.type == "cuda":
        known = [regex.Config(Path("model"), start=0.0, replay=replay, guide_steps=8) for replay in (True, False)]
        recorded, plainly = (losses(made(partial(regex.Objective, config=config)), batches[:12]) for config in known)
        apart = float(((recorded - plainly) / plainly).abs().max())
        rows.append(Row("largest relative difference of the loss", apart, method="recorded and not", n=12))
    for row in rows:
        print(row.method, row.metric, f"{row.mean:.4g}", row.note or "", flush=True)
    kind = "gpu" if device.type == "cuda" else "cpu"
    print(write(f"regex_step_{kind}", rows, seeds=[0], directory=options.out))


if __name__ == "__main__":
    main()
