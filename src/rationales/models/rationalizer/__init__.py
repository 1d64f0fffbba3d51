"""Rationalizers: models that select tokens and predict from those alone."""

from rationales.models.rationalizer.encoders import GruEncoder, TransformerEncoder
from rationales.models.rationalizer.networks import Predictor, Selector
from rationales.models.rationalizer.rationalizer import Architecture, Networks, Rationalizer
from rationales.models.rationalizer.selecting import Draw, gumbel_draw, likelier, most_wanted, perturbed, rank

__all__ = [
    "Architecture",
    "Draw",
    "GruEncoder",
    "Networks",
    "Predictor",
    "Rationalizer",
    "Selector",
    "TransformerEncoder",
    "gumbel_draw",
    "likelier",
    "most_wanted",
    "perturbed",
    "rank",
]
