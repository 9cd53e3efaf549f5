import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey import outside
from covey.errors import BadValue, UnknownName
from covey.registry import Registry, WrongKind, names_code, refuse_code


def number(thing):
    """What the registry of these tests adopts."""
    if not isinstance(thing, int):
        raise WrongKind("a whole number")
    return thing


@pytest.fixture
def numbers():
    made = Registry("lucky number", number)
    made.add("seven", 7, summary="")
    yield made
    Registry.all.remove(made)


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "beside.py").write_text("forty = 40\n")
    text = "from beside import forty\nbest = forty + 2\nword = 'x'\n\nclass Inner:\n    deep = 5\n"
    (tmp_path / "mine.py").write_text(text)
    return tmp_path / "mine.py"


@pytest.mark.parametrize("place", ["./mine.py", "mine.py", "{mine}", "mine"])
def test_a_part_from_a_file_or_a_module(numbers, mine, place):
    sys.modules.pop("mine", None)
    before = list(sys.path)
    assert numbers[f"{place.format(mine=mine)}:best"] == 42
    assert numbers[f"{place.format(mine=mine)}:Inner.deep"] == 5
    assert sys.path == before
    sys.modules.pop("mine", None)
    sys.modules.pop("beside", None)


def test_an_edited_file_is_read_again(numbers, mine):
    assert numbers["./mine.py:best"] == 42
    mine.write_text("best = 43\n")
    assert numbers["./mine.py:best"] == 43


def test_a_registered_name_comes_first(numbers, mine):
    mine.with_name("seven.py").write_text("real = 1\n")
    with pytest.raises(UnknownName, match="lucky number is 'seven:real'"):
        numbers["seven:real"]
    assert numbers["./seven.py:real"] == 1


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("./mine.py:word", "lucky number is './mine.py:word'; allowed is a whole number; this is of type str"),
        ("./mine.py:Inner", "allowed is a whole number; this is the class Inner"),
        ("./mine.py:none", r"code that can be loaded \(./mine.py has no none\)"),
        ("./gone.py:x", "there is no file .*gone.py"),
        ("./broken.py:x", "SyntaxError: "),
        ("./leaves.py:x", "SystemExit: 0"),
        ("./fails.py:x", "ZeroDivisionError: division by zero"),
        ("no.such.module:x", "ModuleNotFoundError: No module named 'no'"),
        ("eight", "lucky number is 'eight'; allowed is one of seven"),
        ("nowhere_to_be_found:x", "allowed is one of seven"),
        (None, "lucky number is None; allowed is a text such as 'seven'"),
        (["./mine.py:best"], "allowed is a text such as 'seven'"),
    ],
)
def test_what_is_wrong_is_one_sentence(numbers, mine, name, sentence):
    for file, text in {"broken": "x = (", "leaves": "raise SystemExit(0)", "fails": "x = 1 / 0"}.items():
        mine.with_name(f"{file}.py").write_text(text)
    with pytest.raises(BadValue, match=sentence) as caught:
        numbers[name]
    assert "\n" not in str(caught.value)


def test_a_file_that_failed_is_not_half_there(numbers, mine):
    mine.write_text("best = 1\nraise RuntimeError('not today')")
    for _ in range(2):
        with pytest.raises(BadValue, match="RuntimeError: not today"):
            numbers["./mine.py:best"]


def test_a_registry_that_takes_nothing_from_outside(mine):
    closed: Registry[int] = Registry("closed")
    closed.add("seven", 7, summary="")
    with pytest.raises(BadValue, match="allowed is one of seven; code of your own cannot be one"):
        closed["./mine.py:best"]
    Registry.all.remove(closed)


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "os:abort"},
        {"model": "package.module:Net"},
        {"model": "./mine.py:Net"},
        {"algorithm": "/abs/mine.py:Pairs"},
        {"options": {"grouping": "./mine.py:by_size"}},
        {"options": {"list": [1, {"deep": ["os:abort"]}]}},
        {"options": {"os:abort": 1}},
        {"merge": "chain:os:abort"},
        {"merge": "chain:first=os:abort,second=mean"},
        {"merge": "clip:1,then=./mine.py:Merge:0.1"},
        {"merge": "mean, os:abort"},
        {"local": "a b.py:Rule"},
        {"model": "C:\\mine.py:Net"},
        {"model": "mödule.ünder:Net"},
    ],
)
def test_settings_that_name_code_are_refused(settings):
    (key,) = settings
    with pytest.raises(BadValue, match=f"^{key} of x.toml is .*only with --allow-code"):
        refuse_code(settings, "x.toml")


@pytest.mark.parametrize(
    "text",
    [
        "fedavg",
        "dirichlet:0.1,min=20,max=200",
        "natural:first",
        "fedfusion:multi",
        "fedfusion:kind=multi",
        "phone-5gflops:3,raspberry-pi-4:1",
        "10MB/s,1ms",
        "0.1:5",
        "lab.graphml",
        "pi.toml:secure",
        "phones/pi.toml:secure",
        "no_module_of_that_name:x",
        "class-diversity:0.1,0.25",
        "",
        ":",
        "::::",
    ],
)
def test_other_words_are_not(text):
    import covey.data
    import covey.local  # noqa: F401 (both know the names)

    refuse_code({"setting": text, "options": {"x": [text, 3, None, True]}}, "x.toml")


def test_a_long_text_takes_no_time():
    refuse_code({"x": ":" * 100_000 + "a:" * 20_000}, "x.toml")


@given(st.text(max_size=40))
def test_whatever_would_be_loaded_is_refused(text):
    if names_code(text):
        with pytest.raises(BadValue):
            refuse_code({"x": text}, "x.toml")


def test_an_address_is_not_a_word_with_values():
    assert outside.address("adam:0.1") is None
    assert outside.address("x" * 5000 + ".py:y") is None
    assert names_code("os:abort")
    assert not names_code("abort")


ANNOUNCED = """
    import warnings

    import pytest

    from covey.errors import BadData, UnknownName
    from covey.registry import Registry
    from tests.test_registry import number

    numbers = Registry("lucky number", number)
    numbers.add("seven", 7, summary="")
    assert numbers.names == ["seven", "eleven", "broken", "text"], numbers.names
    assert numbers["eleven"] == 11 and "eleven" in numbers and len(numbers) == 4
    with pytest.raises(BadData, match="lucky number 'broken' of an installed package cannot be loaded: ModuleNotFound"):
        numbers["broken"]
    with pytest.raises(UnknownName, match="one of eleven .*, broken, seven, text"):
        numbers["twelve"]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert [entry.name for entry in numbers] == ["seven", "eleven"]
    assert [str(one.message)[:29] for one in said] == ["left out: lucky number 'broke", "left out: lucky number is 'te"]
"""


def test_installed_packages_announce_parts(tmp_path):
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    points = ["eleven = theirs:eleven", "broken = nowhere_at_all:x", "text = theirs:text"]
    (info / "entry_points.txt").write_text(
        "[covey.parts]\n" + "".join(f"lucky-number.{point}\n" for point in points) + "other.kind = theirs:eleven\n"
    )
    (tmp_path / "theirs.py").write_text("eleven = 11\ntext = 'eleven'\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{textwrap.dedent(ANNOUNCED)}"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[1])
