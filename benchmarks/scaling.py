"""Time and peak memory of explaining 100, 1,000 and 10,000 texts: does a text cost the same, and memory not more?

python benchmarks/scaling.py                             writes results/scaling_cpu.json, or _gpu
python benchmarks/scaling.py --encoder DIR --out results

Each measurement is a process of its own, because a process never gives its peak back: the largest resident memory,
and on an accelerator the most that PyTorch allocated there. Seconds are those of explaining and writing, after a
hundred texts that warm up. The texts are planted reviews. "embedded" is the embedded encoder with an untrained head;
"tiny" is a very small BERT for the methods that make many copies of each text.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from rationales import results

COUNTS = (100, 1_000, 10_000)
CASES = (
    "embedded:gradient",
    "tiny:integrated_gradients",
    "tiny:deeplift",
    "tiny:leave_one_out",
)


def measure(encoder: str, size: str, method: str, count: int) -> dict[str, float]:
    """Explain so many texts into a file: milliseconds for each, and the peaks in MiB."""
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

    from rationales import explain
    from rationales.data.planted import reviews
    from rationales.explainers import IntegratedGradients, Lime
    from rationales.models import TransformersClassifier, embedded_encoder
    from rationales.models.loading import best_device

    torch.manual_seed(0)
    source = encoder or embedded_encoder()
    tiny = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = AutoConfig.from_pretrained(source, **(tiny if size == "tiny" else {}))
    network = AutoModelForSequenceClassification.from_config(config).float().eval().to(best_device())
    model = TransformersClassifier(network, AutoTokenizer.from_pretrained(source))
    fast = {"integrated_gradients": IntegratedGradients(steps=4, tolerance=1e9), "lime": Lime(samples=20)}
    with tempfile.TemporaryDirectory() as directory:
        explain(model, reviews(100, seed=1), fast.get(method, method), out=Path(directory) / "first.parquet")
        began = time.perf_counter()
        explain(model, reviews(count, seed=0), fast.get(method, method), out=Path(directory) / "all.parquet")
        seconds = time.perf_counter() - began
    found = {"milliseconds_per_text": 1000 * seconds / count}
    found |= {"peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    if torch.cuda.is_available():
        found["accelerator_peak_mib"] = torch.cuda.max_memory_allocated() / 2**20
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="", help="directory of the encoder; the embedded one by default")
    parser.add_argument("--cases", nargs="+", default=CASES, help="size:method, such as embedded:gradient")
    parser.add_argument("--table", default="scaling_gpu" if torch.cuda.is_available() else "scaling_cpu")
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--one", nargs=3, help="size, method and number of texts: measure in this process and print")
    options = parser.parse_args()
    if options.one:
        size, method, count = options.one
        print(json.dumps(measure(options.encoder, size, method, int(count))))
        return
    rows = []
    for size, method in (case.split(":") for case in options.cases):
        first: dict[str, float] = {}
        for count in COUNTS:
            command = [sys.executable, __file__, "--encoder", options.encoder, "--one", size, method, str(count)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            for metric, value in json.loads(done.stdout.splitlines()[-1]).items():
                note = f"{value / first[metric] - 1:+.1%} against {COUNTS[0]} texts" if metric in first else None
                first.setdefault(metric, value)
                rows.append(results.Row(metric, value, explainer=method, model=size, n=count, note=note))
                print(rows[-1], flush=True)
    print(results.write(options.table, rows, seeds=[0], directory=options.out))


if __name__ == "__main__":
    main()
