"""Methods, one file each: those that score tokens are in the registry `explainers`, those that link the tokens of two
texts in `aligners`; and `Own` asks the model itself."""

from rationales.explainers.alignment import Aligner
from rationales.explainers.arec import Arec
from rationales.explainers.attention import Attention
from rationales.explainers.attention_rollout import AttentionRollout
from rationales.explainers.backselect import BackSelect
from rationales.explainers.base import AnyExplainer, Attribution, Explainer, Links, aligners, explainers
from rationales.explainers.deeplift import DeepLift
from rationales.explainers.gradient import Gradient
from rationales.explainers.input_x_gradient import InputXGradient
from rationales.explainers.integrated_gradients import IntegratedGradients
from rationales.explainers.kernel_shap import KernelShap
from rationales.explainers.leave_one_out import LeaveOneOut
from rationales.explainers.lime import Lime
from rationales.explainers.own import OWN, Own, default_method, method_named
from rationales.explainers.random import Random
from rationales.explainers.scaled_attention import ScaledAttention
from rationales.explainers.smoothgrad import SmoothGrad

__all__ = [
    "OWN",
    "Aligner",
    "AnyExplainer",
    "Arec",
    "Attention",
    "AttentionRollout",
    "Attribution",
    "BackSelect",
    "DeepLift",
    "Explainer",
    "Gradient",
    "InputXGradient",
    "IntegratedGradients",
    "KernelShap",
    "LeaveOneOut",
    "Lime",
    "Links",
    "Own",
    "Random",
    "ScaledAttention",
    "SmoothGrad",
    "aligners",
    "default_method",
    "explainers",
    "method_named",
]
