"""ferret's side of `attribution.py`: run by a Python that has ferret, which may need other versions than we do.

It reads a file with the model's directory, texts, scores, classes and bins, and answers each line on its standard input
with the seconds that sufficiency and comprehensiveness of all texts took. ferret 0.4.2 leaves out scores below zero
and fails where it is told not to (`only_pos=False`), so scores are raised above zero, which keeps their order.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from ferret.evaluators.faithfulness_measures import AOPC_Comprehensiveness_Evaluation, AOPC_Sufficiency_Evaluation
from ferret.explainers.explanation import Explanation
from transformers import AutoModelForSequenceClassification, AutoTokenizer


def above_zero(scores: list[float]) -> np.ndarray:
    return np.array(scores) - min(scores) + 1


def main(path: str) -> None:
    given = json.loads(Path(path).read_text(encoding="utf-8"))
    model = AutoModelForSequenceClassification.from_pretrained(given["model"]).eval()
    tokenizer = AutoTokenizer.from_pretrained(given["model"])
    evaluators = [
        AOPC_Sufficiency_Evaluation(model, tokenizer),
        AOPC_Comprehensiveness_Evaluation(model, tokenizer),
    ]
    explanations = [
        Explanation(row["text"], row["tokens"], above_zero(row["scores"]), "given", row["target"])
        for row in given["explanations"]
    ]
    print("ready", flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        for explanation in explanations:
            for evaluator in evaluators:
                evaluator.compute_evaluation(
                    explanation, explanation.target, removal_args={"thresholds": given["bins"]}
                )
        print(time.perf_counter() - began, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
