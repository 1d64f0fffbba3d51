import copy
import pickle

import pytest

from rationales.data import Example
from rationales.errors import InputError

PAIR = Example(
    "7",
    ("a man sleeps", "a man runs"),
    label=2,
    rationale=(((6, 12),), ()),
    alignment=(((6, 12), (6, 10)),),
    sentences=("who sleeps cannot run",),
    meta={"source": "own"},
)


def test_an_example_survives_worker_processes():
    # ours alone is read back: nothing from outside is ever unpickled
    assert pickle.loads(pickle.dumps(PAIR)) == PAIR
    assert copy.deepcopy(PAIR) == PAIR


def test_an_example_cannot_be_changed():
    with pytest.raises(AttributeError):
        PAIR.label = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        PAIR.meta["source"] = "other"  # type: ignore[index]


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"texts": "a man"}, "tuple of strings"),
        ({"texts": ("a", 3)}, "tuple of strings"),
        ({"texts": ()}, "one text or two, got 0"),
        ({"texts": ("a", "b", "c")}, "one text or two, got 3"),
        ({"texts": ("a", "b"), "rationale": (((0, 1),),)}, "rationales for 1 texts, but there are 2"),
        ({"texts": ("a",), "rationale": (((0, 2),),)}, r"\[0, 2\) does not lie in text 0 of 1 characters"),
        ({"texts": ("a",), "rationale": (((1, 1),),)}, r"\[1, 1\)"),
        ({"texts": ("a",), "alignment": (((0, 1), (0, 1)),)}, "text 1 of 0 characters"),
    ],
)
def test_what_is_no_example(parts, reason):
    with pytest.raises(InputError, match=reason):
        Example("1", **parts)
