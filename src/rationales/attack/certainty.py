"""How certain what was counted is: intervals of shares, and a test of two models on the same texts."""

from __future__ import annotations

from scipy.stats import binomtest


def wilson(part: int, whole: int) -> tuple[float, float]:
    """The 95 % interval of a share part / whole = p̂ of n = whole, with z = 1.96; NaN of nothing.

        (p̂ + z²/2n ± z √(p̂(1 - p̂)/n + z²/4n²)) / (1 + z²/n)

    It stays between 0 and 1 and has a width also where the share is 0 or 1. Wilson (1927), Probable Inference, the Law
    of Succession, and Statistical Inference.
    """
    if not whole:
        return float("nan"), float("nan")
    low, high = binomtest(part, whole).proportion_ci(0.95, method="wilson")
    return float(low), float(high)


def mcnemar(only_one: int, only_other: int) -> float:
    """How likely two models part at least so unevenly if neither is better: the exact test, two-sided.

        p = P(|2K - n| ≥ |b - c|),   K ~ Binomial(n = b + c, ½),   b and c texts on which only one of the two is right

    McNemar (1947), Note on the Sampling Error of the Difference between Correlated Proportions or Percentages.
    """
    apart = only_one + only_other
    return float(binomtest(only_one, apart).pvalue) if apart else 1.0
