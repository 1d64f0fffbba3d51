"""Peak memory of explaining 100 and 10,000 texts: the same within 20 %?

python benchmarks/memory.py            writes results/memory.json

Each measurement is a process of its own, because a process never gives its peak back. The model is the embedded
encoder with an untrained head; the texts are planted reviews. A second, very small model shows the methods that make
many copies of each text.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from rationales import results

COUNTS = (100, 10_000)
CASES = (
    ("embedded", "attention"),
    ("embedded", "gradient"),
    ("tiny", "integrated_gradients"),
    ("tiny", "leave_one_out"),
    ("tiny", "deeplift"),
    ("tiny", "lime"),
)


def measure(size: str, method: str, count: int) -> float:
    """Explain so many texts into a file; the peak resident memory in MiB."""
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

    from rationales import explain
    from rationales.data.planted import reviews
    from rationales.explainers import IntegratedGradients, Lime
    from rationales.models import TransformersClassifier, embedded_encoder

    torch.manual_seed(0)
    source = embedded_encoder()
    tiny = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = AutoConfig.from_pretrained(source, **(tiny if size == "tiny" else {}))
    network = AutoModelForSequenceClassification.from_config(config).eval()
    model = TransformersClassifier(network, AutoTokenizer.from_pretrained(source))
    fast = {"integrated_gradients": IntegratedGradients(steps=4, tolerance=1e9), "lime": Lime(samples=20)}
    with tempfile.TemporaryDirectory() as directory:
        explain(model, reviews(count, seed=0), fast.get(method, method), out=Path(directory) / "all.parquet")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    rows = []
    for size, method in CASES:
        peaks = []
        for count in COUNTS:
            command = [sys.executable, __file__, size, method, str(count)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            peaks.append(json.loads(done.stdout.splitlines()[-1]))
            note = f"{count} texts" + (
                f", {peaks[-1] / peaks[0] - 1:+.1%} against {COUNTS[0]}" if len(peaks) > 1 else ""
            )
            rows.append(results.Row("peak_mib", peaks[-1], explainer=method, model=size, n=count, note=note))
            print(rows[-1], flush=True)
    print(results.write("memory", rows, seeds=[0]))


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(json.dumps(measure(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
    else:
        main()
