from pathlib import Path

import pytest

from agentcli.view.theme import DARK, LIGHT, PLAIN, contrast, load_themes

SHIPPED = Path(__file__).parent.parent.parent / "themes"


def themes_of(tmp_path, **files):
    for name, text in files.items():
        (tmp_path / f"{name}.toml").write_text(text)
    return load_themes([tmp_path])


def test_the_shipped_themes_are_without_fault():
    themes = load_themes([SHIPPED])
    assert (sorted(themes.found), themes.warnings) == ([DARK, LIGHT], [])
    assert [themes.found[name].dark for name in (DARK, LIGHT)] == [True, False]


@pytest.mark.parametrize("ground", ["background", "surface", "panel"])
@pytest.mark.parametrize("name", [DARK, LIGHT])
def test_no_text_is_dimmer_than_it_may_be(name, ground):
    theme = load_themes([SHIPPED]).found[name]
    words = {
        **theme.agent,
        **{key: theme.colors[key] for key in ("foreground", "primary", "secondary", "accent", "success", "warning")},
    }
    dim = {role: colour for role, colour in words.items() if contrast(colour, theme.colors[ground]) < 4.5}
    assert dim == {}


def test_the_explore_line_can_be_read():
    for theme in load_themes([SHIPPED]).found.values():
        assert contrast(theme.colors["background"], theme.agent["explore"]) >= 4.5


def test_names_of_the_palette_and_references_are_resolved(tmp_path):
    text = '[palette]\nsky = "#aabbcc"\n[colors]\nprimary = "sky"\naccent = "$primary"\n[agent]\nuser = "$accent"\n'
    theme = themes_of(tmp_path, mine=text).found["mine"]
    assert (theme.colors["primary"], theme.colors["accent"], theme.agent["user"]) == ("#aabbcc",) * 3


def test_a_theme_extends_another(tmp_path):
    themes = themes_of(
        tmp_path,
        base='[theme]\ndark = false\n[colors]\nprimary = "#111111"\nerror = "#220000"\n',
        mine='[theme]\nextends = "base"\n[colors]\nprimary = "#333333"\n',
    )
    mine = themes.found["mine"]
    assert (mine.dark, mine.colors["primary"], mine.colors["error"]) == (False, "#333333", "#220000")


def test_themes_that_extend_each_other_end(tmp_path):
    themes = themes_of(tmp_path, a='[theme]\nextends = "b"\n', b='[theme]\nextends = "a"\n')
    assert sorted(themes.found) == ["a", "b"]


def test_what_is_wrong_is_told_and_left_out(tmp_path):
    themes = themes_of(tmp_path, mine='[colors]\nprimry = "#111111"\nprimary = "red"\n[agents]\nuser = 1\n', bad="[")
    assert themes.found["mine"].colors == PLAIN.colors
    told = "\n".join(themes.warnings)
    assert all(part in told for part in ("bad.toml", "colors.primry; did you mean primary?", "[agents]", "'red' is no colour"))


def test_an_unknown_name_falls_back_with_a_warning(tmp_path):
    themes = load_themes([SHIPPED])
    assert themes.choose("agentcli-drak").name == DARK
    assert themes.warnings == ["There is no theme agentcli-drak; did you mean agentcli-dark?"]
    assert load_themes([tmp_path]).choose(None) == PLAIN
