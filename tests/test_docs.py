"""What the documents show is true: recipes are right, commands exist, both languages agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from zuka import commands, docs, recipe

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "README.zh.md", ROOT / "CONTRIBUTING.md"]


def blocks(page: Path, language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_recipes_are_right(page: Path, tmp_path: Path) -> None:
    """Every recipe of a document passes the check."""
    (tmp_path / "recipes").mkdir()
    for number, text in enumerate(blocks(page, "yaml")):
        path = tmp_path / "recipes" / f"r{number}.yaml"
        path.write_text(text, encoding="utf-8")
        assert recipe.load(path, tmp_path, {}).stages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page: Path) -> None:
    """Every `zuka …` of a document is a command, every `sh …` a file."""
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"(?:^|`)zuka ([a-z]+)", text, re.MULTILINE):
        assert name in [*commands.names(), *commands.DOIT], name
    for name in re.findall(r"^sh (\S+)", text, re.MULTILINE):
        assert (ROOT / name).is_file(), name
    for name in re.findall(r"\]\(([a-zA-Z./]+)\)", text):
        assert (ROOT / name).exists(), name


def test_both_languages_have_the_same_blocks() -> None:
    """What is not prose is the same in English and in Chinese, comments aside."""

    def bare(page: Path, language: str) -> list[str]:
        found = blocks(page, language)
        return [re.sub(r" *#.*", "", text) for text in found]

    for language in ("sh", "yaml", "text"):
        assert bare(PAGES[0], language) == bare(PAGES[1], language)


@pytest.mark.parametrize("path", sorted(ROOT.glob("recipes/*.yaml")), ids=lambda path: path.stem)
def test_our_own_recipes_are_right(path: Path) -> None:
    """The recipes of this repository pass the check."""
    assert recipe.load(path, ROOT, {}).stages


@pytest.mark.parametrize(("name", "text"), docs.pages().items())
def test_reference_is_fresh(name: str, text: str) -> None:
    """The committed pages are what schemas and help say; `python -m zuka.docs` writes them."""
    assert text == (ROOT / name).read_text(encoding="utf-8")
