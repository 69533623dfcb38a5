import pytest

from sampling import every
from sottovoce._parsing import written_domain
from sottovoce.cli.parsing import count
from sottovoce.domains import Ball, Box, Hypersimplex, Simplex, all_domains


def test_counts_are_read_as_people_write_them():
    for text, number in (
        ("1_000_000", 10**6),
        ("1E6", 10**6),
        ("100k", 10**5),
        ("2.5m", 2_500_000),
        (" 7 ", 7),
        (12, 12),
    ):
        assert count("horizon", text) == number


@every("text", ["", "0", "-5", "1.5", "k", "1kk", "1e-3", "nan", "inf", "1e40", True, None, "1,000"])
def test_other_counts_are_refused_by_name(text):
    with pytest.raises(ValueError, match="horizon must be a whole number"):
        count("horizon", text)


def test_domains_are_read_by_name_and_numbers():
    assert repr(written_domain("ball:10")) == repr(Ball(10))
    assert repr(written_domain(" Simplex:4 ")) == repr(Simplex(4))
    assert repr(written_domain("hypersimplex:20,5")) == repr(Hypersimplex(20, 5))
    assert repr(written_domain("box:3")) == repr(Box(0.0, 1.0, 3))
    written = [family for family in all_domains() if family.written]
    assert len({family.written.partition(":")[0] for family in written}) == len(written) >= 4
    for family in written:
        assert type(written_domain(family.written)) is family


@every(
    "text, words",
    [
        ("ball", "written like ball:"),
        ("ball:x", "written like ball:"),
        ("ball:1,2", "written like ball:"),
        ("hypersimplex:5", "written like hypersimplex:"),
        ("sphere:3", "ball:10.*hypersimplex:20,5.*sphere"),
        ("hypersimplex:5,9", "k must be"),
    ],
)
def test_other_domains_are_answered_with_what_would_do(text, words):
    with pytest.raises(ValueError, match=words):
        written_domain(text)
