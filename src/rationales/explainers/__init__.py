"""Methods, one file each: those that score tokens are in the registry `explainers`, those that link the tokens of two
texts in `aligners`; and `Own` asks the model itself."""

from rationales.explainers.alignment import Aligner
from rationales.explainers.arec import Arec
from rationales.explainers.attention import Attention
from rationales.explainers.attention_rollout import AttentionRollout
from rationales.explainers.backselect import BackSelect
from rationales.explainers.base import AnyExplainer, Attribution, Explainer, Links, aligners, explainers
from rationales.explainers.coattention import CoAttention
from rationales.explainers.deeplift import DeepLift
from rationales.explainers.diffmask import DiffMask
from rationales.explainers.gradient import Gradient
from rationales.explainers.induced import LinkScorer
from rationales.explainers.input_x_gradient import InputXGradient
from rationales.explainers.integrated_gradients import IntegratedGradients
from rationales.explainers.kernel_shap import KernelShap
from rationales.explainers.leave_one_out import LeaveOneOut
from rationales.explainers.lime import Lime
from rationales.explainers.link_backselect import LinkBackSelect
from rationales.explainers.link_gradient import LinkGradient
from rationales.explainers.link_integrated_gradients import LinkIntegratedGradients
from rationales.explainers.link_leave_one_out import LinkLeaveOneOut
from rationales.explainers.link_lime import LinkLime
from rationales.explainers.link_random import LinkRandom
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
    "CoAttention",
    "DeepLift",
    "DiffMask",
    "Explainer",
    "Gradient",
    "InputXGradient",
    "IntegratedGradients",
    "KernelShap",
    "LeaveOneOut",
    "Lime",
    "LinkBackSelect",
    "LinkGradient",
    "LinkIntegratedGradients",
    "LinkLeaveOneOut",
    "LinkLime",
    "LinkRandom",
    "LinkScorer",
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
