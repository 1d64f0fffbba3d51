"""ferret's side of `attribution.py`: run by a Python that has ferret, which may need other versions than we do.

It reads a file with the model's directory, texts, scores, classes and bins, and answers each line on its standard input
with the seconds that sufficiency and comprehensiveness of all texts took.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from ferret.evaluators.faithfulness_measures import AOPC_Comprehensiveness_Evaluation, AOPC_Sufficiency_Evaluation
from ferret.explainers.explanation import Explanation
from ferret.model_utils import ModelHelper
from transformers import AutoModelForSequenceClassification, AutoTokenizer


def main(path: str) -> None:
    given = json.loads(Path(path).read_text(encoding="utf-8"))
    model = AutoModelForSequenceClassification.from_pretrained(given["model"]).eval()
    helper = ModelHelper(model, AutoTokenizer.from_pretrained(given["model"]))
    evaluators = [AOPC_Sufficiency_Evaluation(helper), AOPC_Comprehensiveness_Evaluation(helper)]
    explanations = [
        Explanation(row["text"], row["tokens"], np.array(row["scores"]), "given", row["target"])
        for row in given["explanations"]
    ]
    print("ready", flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        for explanation in explanations:
            for evaluator in evaluators:
                evaluator.compute_evaluation(
                    explanation, explanation.target, only_pos=False, removal_args={"thresholds": given["bins"]}
                )
        print(time.perf_counter() - began, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
