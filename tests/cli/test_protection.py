import math

import pytest

from covey.profile import Profile

FEW = ("--sizes", "2,3,4,5", "--samples", "10,20", "--model", "softmax-regression")


def test_json(covey):
    found = covey("bench-groupops", *FEW, "--json").json
    assert found["sizes"] == [2, 3, 4, 5]
    assert len(found["seconds"]) == len(found["bytes"]) == 4
    assert len(found["fit"]) == 3
    assert math.isfinite(found["r2"])


def test_for_a_person_with_a_profile_and_a_picture(covey, tmp_path):
    said = covey("bench-groupops", *FEW, "--out", "here.toml", "--plot", "here.png")
    assert "secure-aggregation: " in said.out
    assert "wrote here.toml" in said.out
    assert (tmp_path / "here.png").stat().st_size > 1000
    assert Profile.read(tmp_path / "here.toml").notes["values"] == 7850


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--sizes", "2,3"), "sizes is '2,3'; allowed is 4 or more different whole numbers"),
        (("--sizes", "1,2,3,4"), "from 2 up"),
        (("--sizes", "a,b"), "sizes is 'a'"),
        (("--out", "here.txt"), "out is 'here.txt'"),
        (("--plot", "here.txt"), "plot is 'here.txt'"),
    ],
)
def test_bad_input(covey, words, sentence):
    said = covey("bench-groupops", *words)
    assert said.code == 2
    assert sentence in said.err


def test_secure_runs_of_group_fel(small):
    words = ("--clients", "12", "--edges", "1", "--set", "min_size=4", "--set", "group_rounds=2")
    plain, secure = (small("group-fel", *words, *more, "--json").json for more in ((), ("--merge", "secure")))
    assert secure["traffic_bytes"] == plain["traffic_bytes"]
    assert abs(secure["loss"] - plain["loss"]) < 1e-4
    assert secure["model_sha256"] != plain["model_sha256"]  # the mean of fixed-point numbers


def test_merges_that_do_not_go_together(small):
    assert "cannot compare them" in small("fedavg", "--merge", "secure+flame").complaint
    assert "looks at single updates" in small("cfl", "--merge", "secure").complaint


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (("fedavg", "--client-merge", "krum", "--merge", "median"), "merge is 'median'"),
        (("ihc-fl", "--client-merge", "krum", "--merge", "median"), "merge is 'median'"),
        (("star-rings", "--client-merge", "krum", "--merge", "median"), "merge is 'median'"),
        (("ring", "--merge", "median"), "merge is 'median'"),
        (("semicyclic", "--client-merge", "median"), "client_merge is 'median'"),
    ],
)
def test_a_merge_for_models_that_never_meet_is_refused(small, words, refused):
    said = small(*words).complaint
    assert f"{refused}; allowed is none with {words[0]}, in whose plan" in said


@pytest.mark.parametrize(
    "words",
    [
        ("fedavg", "--client-merge", "median"),
        ("fedavg", "--client-merge", "median", "--merge", "mean"),
        ("hierfavg", "--client-merge", "median", "--merge", "krum"),
        ("star-rings", "--set", "chains=2", "--client-merge", "median", "--merge", "krum"),
        ("rings", "--set", "chains=2", "--set", "groups=2", "--merge", "median"),
        ("ring-stars", "--merge", "median"),
    ],
)
def test_a_merge_for_models_that_do(small, words):
    assert small(*words, "--clients", "4", "--json").code == 0


def test_robust_merges_and_attacks_by_name(small):
    for merge in ("flame", "median", "trimmed-mean", "krum"):
        found = small("fedavg", "--clients", "6", "--merge", merge, "--attack", "label-flip:0.2", "--json").json
        assert 0 <= found["attack_success"] <= 1
