"""Decisions as people think of them: of every set that there is, in its own names."""

import re

import numpy as np

import sottovoce as sv
from sampling import every
from sottovoce.domains import all_domains
from sottovoce.report.html._drawings import draw_decision, laid_out
from sottovoce.report.html.page import templates

STREETS = [
    ("home", "park"),
    ("home", "mill"),
    ("park", "bridge"),
    ("mill", "bridge"),
    ("bridge", "work"),
    ("mill", "work"),
]


def shown(drawing):
    source = '{% import "drawings.html" as drawings %}{{ drawings.drawing(it) }}'
    return templates().from_string(source).render(it=drawing)


@every("kind", all_domains())
def test_every_set_can_be_drawn(kind):
    for domain in kind.examples():
        vertex = domain.extreme_point(np.abs(np.random.default_rng(0).normal(size=domain.dimension)))
        for point in (vertex, domain.middle):
            drawn = draw_decision(domain, point)
            page = shown(drawn)
            assert drawn.words
            assert page.strip()
            assert " style=" not in page


def test_a_slate_shows_what_is_in_it_and_what_is_not():
    domain = sv.domains.Hypersimplex(["tea", "coffee", "cocoa", "milk"], k=2)
    drawn = draw_decision(domain, np.array([0.0, 1.0, 0.0, 1.0]))
    assert (drawn.kind, [one.name for one in drawn.bars], drawn.others) == (
        "slate",
        ["coffee", "milk"],
        ("tea", "cocoa"),
    )


def test_large_slates_say_how_many_more_there_are():
    domain = sv.domains.Hypersimplex(500, 3)
    drawn = draw_decision(domain, np.where(np.arange(500) < 3, 1.0, 0.0))
    assert len(drawn.bars) + len(drawn.others) + drawn.more == 500
    many = draw_decision(domain, np.where(np.arange(500) < 300, 1.0, 0.0))
    assert many.more == 300 - len(many.bars)
    links = [(i, i + 1) for i in range(100)] + [(i, i + 2) for i in range(99)]
    network = sv.domains.Paths(links, source=0, target=100)  # too large to draw
    assert draw_decision(network, network.extreme_point(np.ones(network.dimension))).kind == "slate"


def test_a_path_is_drawn_from_left_to_right_and_said_by_its_stops():
    domain = sv.domains.Paths(STREETS, source="home", target="work")
    drawn = draw_decision(domain, domain.extreme_point(np.array([1.0, 9, 1, 9, 1, 9])))
    assert drawn.kind == "network"
    assert drawn.words == "home → park → bridge → work"
    ends = [float(x) for x in re.findall(r'<path class="node end" transform="translate\(([\d.]+) ', drawn.svg)]
    others = [float(x) for x in re.findall(r'<path class="node(?: on)?" transform="translate\(([\d.]+) ', drawn.svg)]
    assert min(ends) <= min(others)
    assert max(ends) >= max(others)
    assert drawn.svg.count('class="way"') == 3
    assert drawn.svg.count('class="link"') == len(STREETS)


@every("nodes", [1, 3, 60])
def test_nodes_are_apart_and_inside(nodes):
    rng = np.random.default_rng(nodes)
    edges = [(i, int(rng.integers(0, i))) for i in range(1, nodes)]
    edges += [tuple(map(int, rng.integers(0, nodes, 2))) for _ in range(nodes // 2)]
    places = laid_out([f"n{i}" for i in range(nodes)], edges)
    assert ((places >= 0) & (places <= 1)).all()
    apart = np.linalg.norm(places[:, None] - places[None], axis=2) + np.eye(nodes)
    assert apart.min() > 0.01
    again = laid_out([f"n{i}" for i in range(nodes)], edges)
    assert np.array_equal(places, again)
