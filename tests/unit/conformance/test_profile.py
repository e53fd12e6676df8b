"""Known deviations of well-known servers."""

from pathlib import Path

import pytest

from antiphon_verify.areas import REQUIREMENTS
from antiphon_verify.errors import VerifyError
from antiphon_verify.profile import load_profile, profiles

PAGE = Path(__file__).parents[3] / "docs" / "guides" / "check-conformance.md"


@pytest.mark.parametrize("name", profiles())
def test_a_profile_names_requirements_with_reason_and_author(name: str) -> None:
    profile = load_profile(name)

    assert profile.known
    for known in profile.known:
        assert known.why.endswith(".")
        assert known.source
    assert profile.reasons("any model").keys() <= REQUIREMENTS.keys()


def test_a_reason_may_be_one_of_some_models(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "Mine"\n[[known]]\nids = ["responses:models"]\nwhy = "No list."\nsource = '
        '"seen"\nmodels = ["gpt-*"]\n'
    )
    profile = load_profile(str(path))

    assert profile.reasons("gpt-oss")["responses:models:list"] == "No list. (seen)"
    assert profile.reasons("qwen3") == {}


def test_the_page_names_every_profile_and_shows_one(tmp_path: Path) -> None:
    page = PAGE.read_text()
    path = tmp_path / "shown.toml"
    path.write_text(page.partition("```toml\n")[2].partition("```")[0])

    assert [name for name in profiles() if f"`{name}`" not in page] == []
    assert load_profile(str(path)).reasons("qwen3")["responses:store:retrieved"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = 1", "name"),
        ("nam", "wrong"),
        ('name = "x"\nids = []', "ids"),
        ('name = "x"\n[[known]]\nids = ["no:such:id"]\nwhy = "y"\nsource = "z"', "no:such:id"),
    ],
)
def test_a_wrong_profile_is_reported(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)

    with pytest.raises(VerifyError, match=words):
        load_profile(str(path)).reasons("m")


def test_a_missing_profile_is_reported_with_the_existing_ones() -> None:
    with pytest.raises(VerifyError, match="ollama"):
        load_profile("olama")
