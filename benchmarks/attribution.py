"""Speed: integrated gradients beside Captum's, and two faithfulness metrics beside a text-by-text loop.

python benchmarks/attribution.py                                writes results/attribution_cpu.json, or _gpu
python benchmarks/attribution.py --ferret VENV/bin/python       measures ferret's evaluators too, run by that Python
python benchmarks/attribution.py --short 200 --long 60 --reviews 200 --models minilm bert-base

One process, float32 throughout (TF32 off), the same model, encoded texts and classes. Rivals take turns; a ratio is the
median over the turns. Texts are planted reviews: "short" are one to three sentences of a review, "long" two to four
reviews in a row. "minilm" is the embedded encoder, fine-tuned on planted reviews here and now; "bert-base" has that
architecture and random weights.

Integrated gradients. Captum is called as its tutorials do: LayerIntegratedGradients on the word embeddings, text by
text, all steps of a text in one batch, Gauss-Legendre, against a text of padding tokens. It is told the classes; our
time includes finding them.

equal steps   50 steps in both, Captum's default; the scores are compared as well.
equal error   The completeness error of a text is |Σ scores - (f(text) - f(baseline))| relative to that difference.
              Captum takes as many steps for one text as for all: the fewest from LADDER with which 95 % of the texts
              are within 1 % (a user would have to know). We take the default, which places points text by text until
              each is within 1 %. What both reach is written down, and so is the error of the scores themselves against
              an integral of very many steps; and the same for Captum's 50 and for a tolerance of 0.1 %.

Faithfulness. Sufficiency and comprehensiveness (5 bins) of given scores: `rationales.evaluate`, a loop that puts the 11
versions of a text into one batch, and the bare forward passes over the versions, sorted by length and put together
beforehand. The texts have been tokenised before, when they were explained, and we remember that; the loop tokenises
them again. ferret drops bins that select no token and equal ones, so that it does a little less.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import numpy as np
import torch
from captum.attr import LayerIntegratedGradients
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

from rationales import evaluate, explain, results
from rationales.data.example import Example
from rationales.data.planted import REVIEW_LABELS, reviews
from rationales.errors import QualityWarning
from rationales.explainers import IntegratedGradients
from rationales.explainers.integrated_gradients import difference
from rationales.explanation import Explanation
from rationales.explanation.types import FloatArray
from rationales.metrics.faithfulness import BINS
from rationales.metrics.on_tokens import best_tokens, places
from rationales.models import Batch, TransformersClassifier, embedded_encoder
from rationales.models.batch import collate
from rationales.models.loading import best_device
from rationales.models.packer import plan
from rationales.train.classifier import Config, train

STEPS = 50
LADDER = (32, 40, 50, 56, 64, 72, 80, 96, 112, 128, 160, 200)
TOLERANCE, SHARE = 0.01, 0.95
WANTED = {
    ("cuda", "minilm", "short"): {"equal steps": 6.0, "equal error": 10.0},
    ("cuda", "minilm", "long"): {"equal steps": 1.8, "equal error": 4.0},
    ("cuda", "bert-base", "short"): {"equal steps": 2.0},
    ("cuda", "bert-base", "long"): {"equal steps": 1.2},
    ("cuda", "minilm", "reviews"): {"loop": 8.0, "bare passes": 1 / 1.5},
    ("cpu", "minilm", "short"): {"equal steps": 1.0, "equal error": 3.0},
    ("cpu", "minilm", "long"): {"equal steps": 1.0, "equal error": 3.0},
    ("cpu", "minilm", "reviews"): {"loop": 1.5, "ferret": 1.0, "bare passes": 1 / 1.5},
}
"""How many times faster than what we are to be, by device, model and texts."""


def short_texts(size: int) -> list[Example]:
    draw, texts = random.Random(0), []
    for number, review in enumerate(reviews(size, seed=11)):
        sentences = re.split(r"(?<=[.!?]) ", review.texts[0])
        length = draw.choice((1, 2, 2, 3))
        begin = draw.randrange(max(1, len(sentences) - length + 1))
        texts.append(Example(str(number), (" ".join(sentences[begin : begin + length]),)))
    return texts


def long_texts(size: int) -> list[Example]:
    draw, pool, texts = random.Random(0), iter(reviews(4 * size, seed=12)), []
    for number in range(size):
        several = [next(pool).texts[0] for _ in range(draw.choice((2, 3, 3, 4)))]
        texts.append(Example(str(number), (" ".join(several),)))
    return texts


def minilm(encoder: str) -> TransformersClassifier:
    with tempfile.TemporaryDirectory() as directory:
        config = Config(out=Path(directory) / "model", encoder=encoder, epochs=2, learning_rate=2e-4)
        trained = train(config, reviews(1200, seed=0), list(reviews(200, seed=1000)), labels=REVIEW_LABELS)
        return TransformersClassifier.from_pretrained(trained)


def bert_base(encoder: str) -> TransformersClassifier:
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(encoder or embedded_encoder())  # its vocabulary is BERT's
    network = BertForSequenceClassification(BertConfig(num_labels=2)).eval().to(best_device())
    return TransformersClassifier(network, tokenizer, name="bert-base")


MODELS = {"minilm": minilm, "bert-base": bert_base}


class Table:
    """The figures of one model on one kind of text."""

    def __init__(self, model: str, data: str, size: int, explainer: str) -> None:
        self.rows: list[results.Row] = []
        self.wanted = WANTED.get((best_device().type, model, data), {})
        self.row = partial(results.Row, model=model, data=data, n=size, explainer=explainer)

    def add(self, metric: str, value: float, method: str, note: str | None = None) -> None:
        row = self.row(metric, float(value), method=method, note=note)
        self.rows.append(row)
        print(row.model, row.data, method, metric, f"{value:.4g}", note or "", flush=True)

    def race(self, turns: int, rivals: Mapping[str, Callable[[], object]]) -> dict[str, list[float]]:
        """Seconds of each rival in each turn; a first turn warms up and does not count."""
        seconds: dict[str, list[float]] = {name: [] for name in rivals}
        for turn in range(turns + 1):
            for name, run in rivals.items():
                _wait()
                began = time.perf_counter()
                run()
                _wait()
                if turn:
                    seconds[name].append(time.perf_counter() - began)
        for name, own in seconds.items():
            self.add("seconds", np.median(own), name)
        return seconds

    def faster(self, seconds: Mapping[str, list[float]], ours: str, theirs: str, bar: str) -> None:
        """How many times faster we are: the median over turns, and the bar."""
        ratios = [b / a for a, b in zip(seconds[ours], seconds[theirs], strict=True)]
        note = f"{min(ratios):.2f} to {max(ratios):.2f} in {len(ratios)} turns"
        if bar in self.wanted:
            note += f"; wanted: at least {self.wanted[bar]:.2g}"
        self.add(f"times_faster, {bar}", np.median(ratios), f"{ours} / {theirs}", note)


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def captum(model: TransformersClassifier, batch: Batch, targets: Sequence[int], steps: int) -> list[FloatArray]:
    """Scores of each text's tokens."""

    def forward(ids: torch.Tensor, types: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        return model.model(input_ids=ids, token_type_ids=types, attention_mask=keep).logits

    assert batch.types is not None
    method = LayerIntegratedGradients(forward, model.model.get_input_embeddings())
    scores = []
    for row, length in enumerate(batch.lengths.tolist()):
        ids, types = batch.ids[row : row + 1, :length], batch.types[row : row + 1, :length]
        baseline = torch.where(batch.content[row : row + 1, :length], model.tokenizer.pad_token_id, ids)
        found = method.attribute(
            ids,
            baseline,
            target=targets[row],
            additional_forward_args=(types, torch.ones_like(ids)),
            n_steps=steps,
            method="gausslegendre",
        )
        scores.append(found[0].sum(-1).detach().cpu().double().numpy())
    return scores


def ours(model: TransformersClassifier, batch: Batch, **options: object) -> list[FloatArray]:
    return [item.body.values for item in attributed(model, batch, **options)]


def attributed(model: TransformersClassifier, batch: Batch, **options: object) -> Sequence[Explanation]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QualityWarning)
        return IntegratedGradients(baseline="pad", **options)(model, batch)


def apart(found: Sequence[FloatArray], wanted: Sequence[FloatArray]) -> FloatArray:
    """The largest difference between scores, relative to the largest score, [N]."""
    return np.array([np.abs(a - b).max() / np.abs(b).max() for a, b in zip(found, wanted, strict=True)])


def integrated_gradients(
    model: TransformersClassifier, texts: Sequence[Example], table: Table, turns: int, exact: int
) -> None:
    """Equal steps; and equal error too, if `exact` says with how many steps the integral counts as known."""
    batch = model.encode(texts)
    table.add("mean_tokens", float(batch.lengths.float().mean()), "texts")
    targets = [item.target.index for item in attributed(model, batch, steps=1, rule="gauss")]
    theirs, own = f"captum, {STEPS} steps", f"rationales, {STEPS} steps"
    rivals: dict[str, Callable[[], list[FloatArray]]] = {
        theirs: lambda: captum(model, batch, targets, STEPS),
        own: lambda: ours(model, batch, steps=STEPS, rule="gauss"),
    }
    found = {name: run() for name, run in rivals.items()}
    worst = apart(found[own], found[theirs]).max()
    table.add("largest_difference", worst, f"{own} / {theirs}", "relative to the largest score")
    if not exact:
        table.faster(table.race(turns, rivals), own, theirs, "equal steps")
        return
    with model.borrowed():
        change = difference(model, batch, torch.tensor(targets, device=model.device), "pad").double().cpu().numpy()

    def errors(scores: Sequence[FloatArray]) -> FloatArray:
        return np.abs([row.sum() for row in scores] - change) / np.maximum(np.abs(change), 0.01)

    steps = next(n for n in LADDER if np.mean(errors(ours(model, batch, steps=n, rule="gauss")) <= TOLERANCE) >= SHARE)
    enough, adaptive, tight = f"captum, {steps} steps", "rationales, default", "rationales, tolerance 0.001"
    rivals[enough] = lambda: captum(model, batch, targets, steps)
    rivals[adaptive] = lambda: ours(model, batch)
    rivals[tight] = lambda: ours(model, batch, tolerance=0.001)
    known = ours(model, batch, steps=exact, rule="gauss")
    taken = {name: np.full(len(texts), float(name.split()[1])) for name in (theirs, own, enough)}
    for name, options in ((adaptive, {}), (tight, {"tolerance": 0.001})):
        taken[name] = np.array([item.checks["steps"] for item in attributed(model, batch, **options)])
    for name in (theirs, enough, adaptive, tight):
        scores = rivals[name]()
        table.add("gradient_evaluations", taken[name].mean(), name, f"per text; {taken[name].max():.0f} at most")
        table.add(
            "percent_within_tolerance", 100 * np.mean(errors(scores) <= TOLERANCE), name, "completeness error ≤ 1 %"
        )
        for metric, own_errors in (("completeness_error", errors(scores)), ("score_error", apart(scores, known))):
            for label, level in (("median", 0.5), ("95 %", 0.95), ("worst", 1.0)):
                table.add(f"{metric}, {label}", np.quantile(own_errors, level), name)
    seconds = table.race(turns, rivals)
    table.faster(seconds, own, theirs, "equal steps")
    table.faster(seconds, adaptive, enough, "equal error")
    table.faster(seconds, adaptive, theirs, "default against default")
    table.faster(seconds, tight, theirs, "a tenth of the tolerance against default")


def faithfulness(
    model: TransformersClassifier, texts: Sequence[Example], table: Table, turns: int, ferret: str
) -> None:
    given = explain(model, texts, "input_x_gradient")
    names = ("sufficiency", "comprehensiveness")
    passes = bare_passes(model, given)
    rivals: dict[str, Callable[[], object]] = {
        "rationales.evaluate": lambda: evaluate(model, given, names),
        "text-by-text loop": lambda: text_by_text(model, given),
        "bare passes": lambda: run_bare(model, passes),
    }
    measured = [item.values for item in evaluate(model, given, names)]
    table.add("largest_difference", np.abs(measured - np.array(text_by_text(model, given))).max(), "evaluate / loop")
    with Ferret(ferret, model, given) if ferret else nullcontext() as evaluators:
        if evaluators is not None:
            rivals["ferret"] = evaluators.run
        seconds = table.race(turns, rivals)
    for rival, bar in (("text-by-text loop", "loop"), ("bare passes", "bare passes"), ("ferret", "ferret")):
        if rival in seconds:
            table.faster(seconds, "rationales.evaluate", rival, bar)


class Ferret:
    """ferret's evaluators in a process of another Python, which waits while others have their turn."""

    def __init__(self, python: str, model: TransformersClassifier, given: Sequence[Explanation]) -> None:
        self.directory = tempfile.TemporaryDirectory()
        model.save_pretrained(self.directory.name)
        rows = [
            {
                "text": item.texts[0],
                "tokens": model.tokenizer.convert_ids_to_tokens(model.tokenizer(item.texts[0])["input_ids"]),
                "scores": item.body.values.tolist(),
                "target": item.target.index,
            }
            for item in given
        ]
        task = Path(self.directory.name) / "task.json"
        task.write_text(json.dumps({"model": self.directory.name, "bins": BINS, "explanations": rows}))
        side = Path(__file__).with_name("ferret_evaluators.py")
        self.process = subprocess.Popen(
            [python, str(side), str(task)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._answer()

    def __enter__(self) -> Ferret:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()
        self.directory.cleanup()

    def run(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        self._answer()

    def _answer(self) -> str:
        assert self.process.stdout is not None
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("ferret's process ended; what it said is above")
        return answer


def erased(explanation: Explanation, ids: Sequence[int]) -> list[list[int]]:
    """The ids of a text, those of its 5 rationales, and those of what is left without each."""
    scores, content = explanation.body.values[None], explanation.content[None]
    [best] = best_tokens(places(scores, content), content, BINS)
    keeps = [np.ones(len(ids), dtype=bool), *(best | ~explanation.content), *~best]
    return [[number for number, kept in zip(ids, keep, strict=True) if kept] for keep in keeps]


def text_by_text(model: TransformersClassifier, given: Sequence[Explanation]) -> tuple[list[float], list[float]]:
    """Sufficiency and comprehensiveness, as a careful user would write it: one batch for each text."""
    sufficiency, comprehensiveness = [], []
    with torch.no_grad():
        for item in given:
            versions = erased(item, model.tokenizer(item.texts[0])["input_ids"])
            padded = model.tokenizer.pad({"input_ids": versions}, return_tensors="pt").to(model.device)
            chosen = model.model(**padded).logits.softmax(-1)[:, item.target.index].tolist()
            sufficiency.append(chosen[0] - float(np.mean(chosen[1:6])))
            comprehensiveness.append(chosen[0] - float(np.mean(chosen[6:])))
    return sufficiency, comprehensiveness


def bare_passes(model: TransformersClassifier, given: Sequence[Explanation]) -> list[Batch]:
    """Every version of every text once, sorted by length, in full batches on the device."""
    ids = sorted({tuple(v) for item in given for v in erased(item, model.tokenizer(item.texts[0])["input_ids"])})
    parts = plan(torch.tensor([len(row) for row in ids]), model.budget)
    rows = [[ids[number] for number in part.tolist()] for part in parts]
    return [
        collate(part, [[0] * len(row) for row in part], None, pad_id=0, side="right", sources=()).to(model.device)
        for part in rows
    ]


def run_bare(model: TransformersClassifier, passes: Sequence[Batch]) -> None:
    with torch.no_grad():
        for part in passes:
            model.model(input_ids=part.ids, attention_mask=part.keep.long()).logits.softmax(-1).cpu()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=["minilm"])
    parser.add_argument("--encoder", default="", help="directory of the encoder; the embedded one by default")
    parser.add_argument("--short", type=int, default=60, help="short texts")
    parser.add_argument("--long", type=int, default=6, help="long texts")
    parser.add_argument("--reviews", type=int, default=200, help="reviews to measure scores on")
    parser.add_argument("--exact", type=int, default=160, help="steps with which the integral counts as known")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument(
        "--ferret", default="", help="Python of an environment with ferret; without it ferret is left out"
    )
    parser.add_argument("--table", default="attribution_gpu" if torch.cuda.is_available() else "attribution_cpu")
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    torch.set_float32_matmul_precision("highest")
    rows: list[results.Row] = []
    for name in options.models:
        model = MODELS[name](options.encoder)
        for data, texts in (("short", short_texts(options.short)), ("long", long_texts(options.long))):
            table = Table(name, data, len(texts), "integrated_gradients")
            integrated_gradients(model, texts, table, options.turns, options.exact if name == "minilm" else 0)
            rows += table.rows
        if name == "minilm":
            table = Table(name, "reviews", options.reviews, "input_x_gradient")
            faithfulness(model, list(reviews(options.reviews, seed=13)), table, options.turns, options.ferret)
            rows += table.rows
    print(results.write(options.table, rows, seeds=[0], directory=options.out))


if __name__ == "__main__":
    main()
