"""Settings and presets of algorithms: what is taken, what is refused, and in which words."""

from typing import Annotated, ClassVar

import pytest
from pydantic import Field
from tests.narrow import a

from covey.algorithms import ALGORITHMS, CFL, FLHC, FedAvg, HierFAVG, make_algorithm
from covey.algorithms.base import Algorithm, setting_names, settings
from covey.errors import BadValue, UnknownName
from covey.plan import Star, Train


@settings
class Own(Algorithm):
    """An algorithm of a user's."""

    shared: ClassVar[int] = 3

    size: Annotated[int, Field(ge=1)] = 2

    def plan(self, round, fleet, state, rng):
        return Star([Train(0)])


def test_what_all_objects_share_is_no_setting():
    assert setting_names(Own) == ["size"]
    for name in ("shared", "keeps_updates", "sketch"):
        with pytest.raises(UnknownName, match=f"setting of Own is '{name}'; allowed is one of size"):
            Own(**{name: 1})
    with pytest.raises(UnknownName, match="setting of cfl is 'keeps_updates'; allowed is one of after, eps1"):
        make_algorithm("cfl", {"keeps_updates": False})
    assert CFL.keeps_updates


def test_a_wrong_setting_is_one_sentence_from_python_too():
    with pytest.raises(BadValue, match=r"^size is 0; allowed is a number greater than or equal to 1$"):
        Own(size=0)
    with pytest.raises(BadValue, match="tau2 is 'many'; allowed is a valid integer"):
        HierFAVG(tau2="many")  # type: ignore[arg-type]  # what is tested
    with pytest.raises(UnknownName, match=r"did you mean 'sample'\?"):
        FedAvg(sampel=0.5)  # type: ignore[call-arg]
    assert FedAvg(sample="0.5").sample == 0.5  # type: ignore[arg-type]


def test_settings_are_keyword_only():
    with pytest.raises((TypeError, BadValue)):
        FedAvg(0.5)  # type: ignore[call-arg]


@pytest.mark.parametrize("entry", [entry for entry in ALGORITHMS if entry.settings], ids=lambda entry: entry.name)
def test_a_preset_is_its_thing_with_settings(entry):
    made = make_algorithm(entry.name)
    assert type(made) is entry.thing
    assert made == entry.thing(**entry.settings)
    assert {*entry.fixed} <= {*entry.settings} <= {*setting_names(entry.thing)}
    # the thing itself has a name of its own, registered before, so that a run stores that one for an object
    assert next(other for other in ALGORITHMS if other.thing is entry.thing).settings == {}
    for name in entry.fixed:  # saying what the name says is fine
        assert make_algorithm(entry.name, {name: entry.settings[name]}) == made


def test_settings_of_a_preset_that_are_not_fixed_can_be_set():
    assert a(FLHC, make_algorithm("hfl")).global_every == 5
    assert a(FLHC, make_algorithm("hfl", {"global_every": 2})).global_every == 2
