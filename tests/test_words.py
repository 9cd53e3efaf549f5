from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import BadValue, UnknownName
from covey.registry import Registry
from covey.words import make, number, spelled, usage, whole


@dataclass(frozen=True)
class Step:
    """A step with every type of setting."""

    owner: ClassVar[str] = "nobody"
    rate: float
    times: int = 1
    nesterov: bool = False
    kind: Literal["plain", "signed"] = "plain"
    note: str = ""
    clip: float | None = None
    most: int | None = field(default=None, kw_only=True)


STEPS: Registry[Any] = Registry("step")
STEPS.add("step", Step)
STEPS.add("still", lambda: "still", summary="no settings")


def by_type(share, *, deep=False):
    """A function without annotations."""
    return share, deep


STEPS.add("untyped", by_type)


@pytest.mark.parametrize(
    ("word", "made"),
    [
        ("step:0.5", Step(0.5)),
        ("step:3", Step(3.0)),
        ("step:0.5,2", Step(0.5, 2)),
        ("step:0.5,nesterov=true", Step(0.5, nesterov=True)),
        ("step:0.5,nesterov=No", Step(0.5)),
        ("step: 0.5 , kind = signed", Step(0.5, kind="signed")),
        ("step:rate=1e-3,note=a=b", Step(0.001, note="a=b")),
        ("step:1,clip=2", Step(1.0, clip=2.0)),
        ("step:1,clip=none,most=4", Step(1.0, most=4)),
        ("step:-1", Step(-1.0)),
        ("still", "still"),
        ("untyped:3,deep=x", (3, "x")),
        ("untyped:0.5", (0.5, False)),
    ],
)
def test_words(word, made):
    assert make(STEPS, word) == made


def test_numbers_have_the_type_of_their_field():
    assert isinstance(make(STEPS, "step:3").rate, float)
    assert isinstance(make(STEPS, "step:3,3").times, int)


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("step", r"server is 'step'; allowed is step:rate,times=1,.*\(rate is missing\)"),
        ("step:", r"server is 'step:'; .*\('' is no value\)"),
        ("step:1,", "'' is no value"),
        ("step:1,times=", "'times=' is no value"),
        ("step:=1", "'=1' is no value"),
        ("step:fast", "rate of step is 'fast'; allowed is a number"),
        ("step:nan", "rate of step is 'nan'; allowed is a number"),
        ("step:1e400", "rate of step is '1e400'; allowed is a number"),
        ("step:1,2.5", "times of step is '2.5'; allowed is a whole number"),
        ("step:1,²", "times of step is '²'; allowed is a whole number"),
        ("step:1," + "9" * 19, "allowed is a whole number of at most 18 digits"),
        ("step:1,clip=soft", "clip of step is 'soft'; allowed is a number"),
        ("step:1,nesterov=maybe", "nesterov of step is 'maybe'; allowed is true or false"),
        ("step:1,kind=sign", "kind of step is 'sign'; allowed is one of signed .did you mean 'signed'.., plain"),
        ("step:1,rate=2", "rate is set twice"),
        ("step:rate=1,2", "'2' has no name and stands after one that has"),
        ("step:1,2,true,plain,x,3,4", "'4' is one value too many"),
        ("step:1,owner=me", "setting of step is 'owner'; allowed is one of clip, kind"),
        ("still:1", "server is 'still:1'; allowed is still .'1' is one value too many"),
        ("still:a=1", "allowed is still .it has no settings"),
        ("stap:1", "step is 'stap'; allowed is one of .*did you mean 'step'"),
        ("", "step is ''"),
        (":1", "step is ''"),
        (None, "server is None; allowed is a text such as 'step'"),
        (("step", 1), "allowed is a text such as 'step'"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(word, sentence):
    with pytest.raises(BadValue, match=sentence) as caught:
        make(STEPS, word, "server")
    assert "\n" not in str(caught.value)


def test_a_long_word_gets_a_short_sentence():
    with pytest.raises(BadValue) as caught:
        make(STEPS, "step:" + "9" * 5000)
    assert len(str(caught.value)) < 300


def test_the_kind_of_part_names_the_word_where_no_setting_does():
    with pytest.raises(BadValue, match="step is 'step'"):
        make(STEPS, "step")


def test_annotations_that_only_a_type_checker_can_read():
    def odd(share: Nowhere = 1):  # type: ignore[name-defined]  # noqa: F821
        return share

    odds: Registry[Any] = Registry("odd")
    odds.add("odd", odd, summary="")
    assert make(odds, "odd:2") == 2


def test_usage_names_an_example_where_there_is_one():
    class Dressed:
        """A part that says how it is written."""

        example = "dressed:blue"

    assert usage("dressed", Dressed) == "dressed:blue"
    assert usage("untyped", by_type) == "untyped:share,deep=False"


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(10**17), 10**17),
    st.booleans(),
    st.sampled_from(["plain", "signed"]),
    st.none() | st.floats(-1e300, 1e300),
)
def test_what_is_spelled_makes_the_same_part(rate, times, nesterov, kind, clip):
    part = Step(rate, times, nesterov, kind, clip=clip)
    assert make(STEPS, spelled("step", part)) == part


def test_single_numbers():
    assert (number(" 2.5 ", "x"), whole(" -7 ", "x")) == (2.5, -7)
    with pytest.raises(BadValue, match="x is 'inf'; allowed is a share"):
        number("inf", "x", "a share")
    with pytest.raises(UnknownName):
        make(STEPS, "stil")
