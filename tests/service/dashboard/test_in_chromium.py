"""The dashboard in a real browser: it lives, hostile names do nothing, everybody can read and use it."""

import contextlib
import threading
from pathlib import Path

import numpy as np
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from sites import Site, address, play

import sottovoce as sv
from browsers import drain, too_wide
from sottovoce.service.dashboard import pages, shown

NASTY = "<script>document.title='owned'</script>"
LABELS = ("<img src=x onerror=\"document.title='owned'\">", '"><svg onload="document.title=\'owned\'">', "tea", "milk")
STREETS = [
    ("home", "park"),
    ("home", "mill"),
    ("park", "bridge"),
    ("mill", "bridge"),
    ("bridge", "work"),
    ("mill", "work"),
]


def waited(browser, condition, seconds=20):
    return WebDriverWait(browser, seconds, 0.05).until(lambda _: condition())


def text_of(browser, selector):
    return browser.execute_script("return document.querySelector(arguments[0]).innerText", selector)


@pytest.fixture(scope="module")
def serious(system_program):
    """What axe has against a page, with all of it folded open."""
    axe = Path(system_program("axe.min.js")).read_text(encoding="utf-8")

    def look(browser):
        browser.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true })")
        browser.execute_script(axe)
        found = browser.execute_async_script("axe.run().then(arguments[0])")["violations"]
        return [
            (one["id"], [node["html"][:120] for node in one["nodes"]])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]

    return look


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A service with a few studies, whose pages look for news five times a second; `broken` keeps them from it."""
    asset, look_now = pages._asset, shown.look_now
    with pytest.MonkeyPatch.context() as patched, contextlib.closing(Site(tmp_path_factory.mktemp("site"))) as site:
        site.looks, site.broken = [], threading.Event()

        def look(study):
            site.looks.append(study.name)
            if site.broken.is_set():
                raise sv.errors.StorageError("away")
            return look_now(study)

        patched.setattr(shown, "look_now", look)
        patched.setattr(pages, "_asset", lambda name: asset(name).replace(b"every = 3000", b"every = 200"))
        play(site.add("spring"), 6)
        streets = sv.domains.Paths(STREETS, source="home", target="work")
        play(site.add("streets", domain=streets), 3, np.linspace(0.1, 0.3, 6))
        play(site.add(NASTY, domain=sv.domains.Hypersimplex(LABELS, k=2)), 3)
        site.at = site.serve()
        yield site


def page_of(site, name):
    return site.at + address(name)


@pytest.fixture
def visitor(browser, site):
    """A browser that was told a key."""
    browser.key, text = site.ring.create(["read"])
    browser.get(with_key(site, text))
    yield browser
    browser.get("about:blank")  # it asks no more of a server that is gone


def with_key(site, text):
    return site.at.replace("http://", f"http://anybody:{text}@")


def test_a_running_study_is_followed_without_reload(visitor, site):
    study = site.studies["spring"]
    visitor.get(page_of(site, "spring"))
    visitor.execute_script("window.mine = true; document.querySelector('#whole-plan').open = true")
    link = visitor.find_element(By.CSS_SELECTOR, "nav.contents a[href='#promise']")
    visitor.execute_script("arguments[0].focus(); scrollTo(0, 400)", link)
    rounds = study.round
    assert str(rounds) in text_of(visitor, "#now")
    points = "return document.querySelector('#rounds .series').dataset.words.split('|').length"
    before = visitor.execute_script(points)
    for more in (1, 2):
        play(study, 1)
        waited(visitor, lambda more=more: visitor.execute_script(points) == before + more)
        assert f"{rounds + more} rounds are closed" in text_of(visitor, "#news")  # said to whoever does not see
        assert f"{study.status().asked:,}" in text_of(visitor, "#now")
    assert visitor.execute_script("return window.mine")
    assert visitor.execute_script("return document.querySelector('#whole-plan').open")
    assert visitor.switch_to.active_element == link
    assert visitor.execute_script("return scrollY") == 400
    assert visitor.execute_script("return document.querySelectorAll('#rounds svg').length") == 1


def test_the_list_is_followed_and_stays_as_it_was_sorted(visitor, site):
    heads = "return Array.from(document.querySelectorAll('#studies-table thead th button'))"
    rounds = f"{heads}.find(one => one.textContent.includes('Rounds'))"
    waited(visitor, lambda: visitor.execute_script(rounds))  # a script puts buttons there
    visitor.execute_script(f"{rounds}.click()".removeprefix("return "))
    visitor.execute_script(f"{rounds}.click()".removeprefix("return "))  # the most first
    names = "return Array.from(document.querySelectorAll('#studies-table tbody th a'), one => one.textContent)"
    first = visitor.execute_script(names)[0]
    assert first == "spring"
    link = visitor.find_element(By.LINK_TEXT, "streets")
    visitor.execute_script("arguments[0].focus()", link)
    play(site.studies["streets"], 1, np.linspace(0.1, 0.3, 6))
    site.add("another")
    waited(visitor, lambda: "another" in visitor.execute_script(names))
    cell = "return document.querySelector('tr[data-key=streets] td[data-head=Rounds]').textContent"
    waited(visitor, lambda: visitor.execute_script(cell) == str(site.studies["streets"].round))
    assert visitor.execute_script(names)[0] == "spring"
    assert visitor.switch_to.active_element == link


def test_the_policy_stops_what_would_slip_through(visitor, site):
    """Names are inert (`test_pages.py`); and were they not, nothing would run."""
    visitor.get(site.at)
    drain(visitor)
    visitor.execute_script(
        "document.querySelector('main').insertAdjacentHTML('beforeend', "
        '\'<img src="data:," onerror="document.title=1234"><p style="color: red">p</p>\')'
    )
    waited(visitor, lambda: len(visitor.get_log("browser")) >= 1)
    assert visitor.title != "1234"


def test_every_page_is_for_everybody(visitor, site, show, serious):
    """Nothing serious by axe, nothing wider than the window; in light and dark, at a desk and on a phone."""
    pages = {
        "list": site.at,
        "slate": page_of(site, "spring"),
        "network": page_of(site, "streets"),
        "nasty": page_of(site, NASTY),
        "statement": page_of(site, "spring") + "/statement",
        "docs": f"{site.at}/docs",
        "problem": f"{site.at}/problems/round-closed",
        "nothing": page_of(site, "nothing"),
    }
    for name, page in pages.items():
        for width, scheme in ((1280, "light"), (400, "dark")):
            show(visitor, page, width=width, scheme=scheme)
            if width == 400 or name in ("list", "slate"):
                assert serious(visitor) == [], (name, width)
            assert too_wide(visitor) == [0, []], (name, width)


def test_axe_would_notice(visitor, site, serious):
    visitor.get(site.at)
    visitor.execute_script("document.querySelector('main').insertAdjacentHTML('beforeend', '<img src=\"data:,\">')")
    assert [name for name, _ in serious(visitor)] == ["image-alt"]


def test_everything_is_reached_by_keyboard(visitor, site):
    """From the list to a study, and to its plan."""
    visitor.get(site.at)
    tab_to(visitor, "To the content").send_keys(Keys.ENTER)
    tab_to(visitor, "spring").send_keys(Keys.ENTER)
    waited(visitor, lambda: "/studies/spring" in visitor.current_url)
    tab_to(visitor, "The whole plan").send_keys(Keys.ENTER)
    assert visitor.execute_script("return document.querySelector('#whole-plan').open")


def tab_to(browser, name):
    """Press Tab until something of this name has the focus, and shows that it has."""
    for _ in range(80):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        here = browser.switch_to.active_element
        if name in (here.text, here.get_attribute("aria-label")):
            style = (
                "const s = getComputedStyle(arguments[0]); return s.outlineStyle !== 'none' && s.outlineWidth !== '0px'"
            )
            assert browser.execute_script(style, here), name
            return here
    raise AssertionError(f"no way to {name}")


def test_a_lost_connection_is_said_and_mended(visitor, site):
    visitor.get(page_of(site, "spring"))
    lost = visitor.find_element(By.CSS_SELECTOR, ".lost")
    site.broken.set()
    waited(visitor, lambda: lost.is_displayed() and "Connection lost, trying again" in lost.text)
    site.broken.clear()
    waited(visitor, lambda: not lost.is_displayed())
    assert text_of(visitor, "#news") == "Connected again."
    play(site.studies["spring"], 1)
    rounds = f"{site.studies['spring'].round} rounds are closed."
    waited(visitor, lambda: text_of(visitor, "#news") == rounds)


def test_a_key_that_ends_is_said(visitor, site):
    visitor.get(page_of(site, "spring"))
    site.ring.revoke(visitor.key.id)
    lost = visitor.find_element(By.CSS_SELECTOR, ".lost")
    waited(visitor, lambda: lost.is_displayed() and "Your key has ended" in lost.text)


def test_nobody_is_asked_while_nobody_looks(visitor, site):
    """Neither in a tab that is hidden, nor while the reader has paused."""
    visitor.get(page_of(site, "spring"))
    pause = visitor.find_element(By.CSS_SELECTOR, ".pause")

    def is_still():
        visitor.execute_async_script("setTimeout(arguments[0], 400)")  # what was on its way has come
        before = len(site.looks)
        visitor.execute_async_script("setTimeout(arguments[0], 700)")  # several times as long as between two looks
        return len(site.looks) == before

    def goes_on():
        before = len(site.looks)
        return waited(visitor, lambda: len(site.looks) > before)

    assert goes_on()
    pause.click()
    assert text_of(visitor, ".live-words") == "Paused"
    assert is_still()
    pause.click()
    assert goes_on()
    with contextlib.closing(_Tab(visitor)):
        assert is_still()
    assert goes_on()


class _Tab:
    """Another tab in front of the first one."""

    def __init__(self, browser):
        self._browser, self._first = browser, browser.current_window_handle
        browser.switch_to.new_window("tab")

    def close(self):
        self._browser.close()
        self._browser.switch_to.window(self._first)


def test_a_page_is_whole_without_its_script(start, site):
    """A reader without JavaScript sees the same."""
    _, text = site.ring.create(["read"])
    with start(script=False) as plain:
        plain.get(with_key(site, text) + address("spring"))
        assert plain.find_element(By.CSS_SELECTOR, "#rounds svg.chart").is_displayed()
        assert "epsilon = 1" in plain.find_element(By.ID, "promise").text
        assert not plain.find_element(By.CSS_SELECTOR, ".pause").is_displayed()
