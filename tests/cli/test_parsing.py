import pytest

from sampling import every
from sottovoce._parsing import written_domain
from sottovoce.cli.parsing import count
from sottovoce.domains import Ball, Box, Hypersimplex, Simplex, all_domains


@every(
    ("text", "number"),
    [
        ("1000000", 10**6),
        ("1_000_000", 10**6),
        ("1e6", 10**6),
        ("1E6", 10**6),
        ("100k", 10**5),
        ("1M", 10**6),
        ("2.5m", 2_500_000),
        (" 7 ", 7),
        (1e3, 1000),
        (12, 12),
    ],
)
def test_counts_are_read_as_people_write_them(text, number):
    assert count("horizon", text) == number


@every(
    "text", ["", "0", "-5", "1.5", "k", "1kk", "ten", "1e-3", "nan", "inf", "1e40", "1..2", True, None, "_", "1,000"]
)
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


@every("text", ["ball", "ball:", "ball:x", "ball:1,2", "hypersimplex:5", "ball:2.5"])
def test_a_domain_with_the_wrong_numbers_is_shown_how(text):
    with pytest.raises(ValueError, match=f"domain must be written like {text.split(':')[0]}:"):
        written_domain(text)


def test_an_unknown_domain_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=r"ball:10.*hypersimplex:20,5.*sphere"):
        written_domain("sphere:3")


def test_numbers_that_a_domain_does_not_take_are_refused_by_the_domain():
    with pytest.raises(ValueError, match="k must be"):
        written_domain("hypersimplex:5,9")
