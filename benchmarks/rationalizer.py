"""Updates of rationalizers per second: a plain loop, one seed at a time, against many runs at once.

    python benchmarks/rationalizer.py --runs 16 60 --out results

The plain loop is what the paper describes: batches of 128 texts in random order, padded to 256 tokens, one seed,
PyTorch's own GRU (cuDNN), Adam. Ours is `Stack`: the same game, many seeds, batches of like length, our kernels, CUDA
graphs. Both are VER on the same texts: planted reviews, joined until they are as long as beer reviews. What counts is
updates times seeds per second; beside it the loss after equal numbers of updates, the same but for chance.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from rationales.data.example import Example
from rationales.data.planted import REVIEW_LABELS, reviews
from rationales.models import Batch
from rationales.models.loading import checked_device
from rationales.results import Row, write
from rationales.train.labels import Task, read_task
from rationales.train.rationalizers import rationalizers, ver
from rationales.train.rationalizers.stack import stacked
from rationales.train.rationalizers.training import new_model, table_of

WIDTH, MEAN_LENGTH, SPREAD = 256, 150, 70
BAR = 10


def long_reviews(number: int, seed: int) -> list[Example]:
    """Planted reviews of one class joined to texts of about 150 words."""
    rng = np.random.default_rng(seed)
    pools: dict[object, Iterator[Example]] = {
        label: itertools.cycle([review for review in reviews(2000, seed=seed) if review.label == label])
        for label in (0, 1)
    }
    texts = []
    for index in range(number):
        label, words = index % 2, max(20, rng.normal(MEAN_LENGTH, SPREAD))
        joined = ""
        while len(joined.split()) < words:
            joined = f"{joined} {next(pools[label]).texts[0]}".strip()
        texts.append(Example(f"long-{index}", (joined,), label=label))
    return texts


def plain_loop(task: Task, config: ver.Config, updates: int, device: torch.device) -> tuple[float, list[float]]:
    """Seconds for so many updates after a few to warm up, and the loss of each update."""
    torch.manual_seed(config.seed)
    model = new_model("ver", config, task)
    model.networks.to(device)
    table = table_of(model, task.train, "training", warn=False)
    game = rationalizers["ver"](model, table, config).to(device)
    optimizer = torch.optim.Adam([p for p in game.parameters() if p.requires_grad], lr=config.learning_rate)
    rng = np.random.default_rng(config.seed)
    warm, began, losses = 10, 0.0, []
    for step in range(warm + updates):
        if step == warm:
            _wait(device)
            began = time.perf_counter()
        rows = torch.from_numpy(rng.choice(len(table.lengths), config.batch_size, replace=False)).to(device)
        batch = Batch(table.ids[rows], table.keep[rows], table.segments[rows])
        loss = game(batch, table.targets[rows]).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        if step % 10 == 0:
            float(losses[-1])  # a progress bar shows it
    _wait(device)
    return time.perf_counter() - began, [float(loss) for loss in losses]


def stack(
    task: Task, config: ver.Config, seeds: int, updates: int, every: int, device: torch.device
) -> tuple[float, np.ndarray]:
    """Seconds for so many updates after the graphs were made, and mean losses, [updates / every, seeds]."""
    runs = [(task, replace(config, seed=seed)) for seed in range(1, seeds + 1)]
    made = stacked("ver", runs, device=device)
    made.train(2 * every, every=2 * every)
    _wait(device)
    began = time.perf_counter()
    made.train(updates, every=updates)
    _wait(device)
    seconds = time.perf_counter() - began
    fresh = stacked("ver", runs, device=device)
    fresh.train(updates, every=every)
    return seconds, np.array([curve.loss for curve in fresh.curves]).T


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, nargs="+", default=[16, 60])
    parser.add_argument("--texts", type=int, default=4000)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--hidden", type=int, default=200)
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--device", default=None)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    device = checked_device(options.device)
    data, held_out = long_reviews(options.texts, 0), long_reviews(200, 1)
    words = sorted({word.lower().strip(".,;!?") for text in data for word in text.texts[0].split()})
    rng = np.random.default_rng(0)
    folder = tempfile.TemporaryDirectory()
    vectors = Path(folder.name) / "vectors.txt"
    vectors.write_text("".join(f"{word} {' '.join(f'{x:.3f}' for x in rng.normal(size=100))}\n" for word in words))
    task = read_task(data, held_out, REVIEW_LABELS)
    config = ver.Config(
        vectors=str(vectors),
        batch_size=options.batch_size,
        hidden=options.hidden,
        learning_rate=0.001,
        sparsity_weight=2.75,
        continuity_weight=3.0,
        max_length=WIDTH,
    )
    every = max(1, options.updates // 6)
    seconds, losses = plain_loop(task, config, options.updates, device)
    plain = options.updates / seconds
    rows = [
        Row("updates per second", plain, method="plain loop", n=1, note=f"batch {options.batch_size}, width {WIDTH}")
    ]
    parts = [float(np.mean(losses[start : start + every])) for start in range(0, options.updates, every)]
    rows += [
        Row(f"loss, updates {number * every + 1} to {(number + 1) * every}", value, method="plain loop", n=1)
        for number, value in enumerate(parts[: options.updates // every])
    ]
    for seeds in options.runs:
        seconds, curves = stack(task, config, seeds, options.updates, every, device)
        rate, name = seeds * options.updates / seconds, f"{seeds} runs at once"
        rows += [
            Row("updates times seeds per second", rate, method=name, n=seeds),
            Row("times faster", rate / plain, method=name, note=f"wanted: at least {BAR}"),
        ]
        rows += [
            Row(
                f"loss, updates {number * every + 1} to {(number + 1) * every}",
                float(values.mean()),
                method=name,
                std=float(values.std(ddof=1)) if seeds > 1 else None,
                n=seeds,
            )
            for number, values in enumerate(curves)
        ]
    for row in rows:
        print(row.method, row.metric, f"{row.mean:.4g}", "" if row.std is None else f"± {row.std:.2g}", row.note or "")
    print(
        write(
            f"rationalizer_{'gpu' if device.type == 'cuda' else 'cpu'}",
            rows,
            seeds=range(1, max(options.runs) + 1),
            directory=options.out,
        )
    )


if __name__ == "__main__":
    main()
