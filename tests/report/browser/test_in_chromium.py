"""Pages in a real browser, from disk: they render, complain about nothing, and can be read."""

import json
import math

import pytest
from selenium.webdriver.common.by import By

import sottovoce as sv
from browsers import drain, too_wide
from sottovoce.lab.problems import PROBLEMS
from sottovoce.report import run_report, sweep_report

CONTRAST = """
function colour(text) { return text.match(/[\\d.]+/g).map(Number); }
function light(c) {
  const part = c.slice(0, 3).map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
}
function behind(one) {
  for (let e = one; e; e = e.parentElement) {
    const c = colour(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c;
  }
  return [255, 255, 255];
}
function ratio(a, b) { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); }
const found = [];
for (const one of document.querySelectorAll("body *")) {
  const style = getComputedStyle(one), own = Array.from(one.childNodes).some(n => n.nodeType === 3 && n.data.trim());
  const svg = one.ownerSVGElement;
  if (own && one.getClientRects().length && !["SCRIPT", "STYLE", "title"].includes(one.tagName))
    found.push(["text", one.tagName + ": " + one.textContent.slice(0, 30),
                ratio(colour(svg ? style.fill : style.color), behind(svg || one))]);
  if (svg && one.matches(".line, .mark"))
    found.push(["line", one.getAttribute("class"),
                ratio(colour(one.matches(".line") ? style.stroke : style.fill), behind(svg))]);
}
return found;
"""
CUT = """
return Array.from(document.querySelectorAll(".scroll")).filter(box => {
  const hint = box.previousElementSibling;
  const told = hint && hint.matches(".hint") && hint.getClientRects().length > 0;
  return box.scrollWidth > box.clientWidth + 1 && !told;
}).map(box => box.getAttribute("aria-label"));
"""  # tables that hide columns without a word
SMALL = """
return Array.from(document.querySelectorAll("body *")).filter(one => {
  const own = Array.from(one.childNodes).some(n => n.nodeType === 3 && n.data.trim());
  if (!own || !one.getClientRects().length || ["SCRIPT", "STYLE", "title"].includes(one.tagName)) return false;
  const svg = one.ownerSVGElement, scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
  return parseFloat(getComputedStyle(one).fontSize) * scale < 11;
}).map(one => one.outerHTML.slice(0, 80));
"""  # words that are too small to read


@pytest.fixture(scope="module")
def sweep(make_sweep, grid_of):
    cells = grid_of(
        ("slate", "ball:dimension=3"), ("default", "a-rather-long-algorithm:name=with,settings=2", "no-privacy")
    )
    return make_sweep(cells, failed=(1,), missing=(2,), command="sottovoce compare " + 30 * "slate:items=40,slots=5 ")


@pytest.fixture(scope="module")
def sweep_page(sweep):
    return sweep_report(sweep, sweep.folder / "report.html")


@pytest.fixture(scope="module")
def run_page(make_run, tmp_path_factory):
    """Two runs of a problem with segments."""
    problem = PROBLEMS["editions"](items=10, slots=3, segments=3, differ=1.0)
    optimizer = problem.optimizer(horizon=3_000, privacy=sv.NoPrivacy(), seed=1)
    run = sv.lab.simulate(optimizer, problem.environment)
    path = tmp_path_factory.mktemp("run") / "report.html"
    players = [optimizer, None]
    return run_report([run, make_run()], path, optimizers=players, problem=problem, command="sottovoce run")


@pytest.fixture(params=["sweep", "run"])
def page(request, sweep_page, run_page):
    return sweep_page if request.param == "sweep" else run_page


def table(browser, name):
    rows = browser.execute_script(
        "return Array.from(document.getElementById(arguments[0]).tBodies[0].rows,"
        "  row => Array.from(row.cells, cell => [cell.dataset.value ?? null, cell.innerText]))",
        name,
    )
    return [[tuple(cell) for cell in row] for row in rows]


def test_nothing_is_complained_about_and_nothing_is_asked_of_the_network(browser, show, page):
    drain(browser)
    show(browser, page)
    browser.execute_script("scrollTo(0, document.body.scrollHeight)")
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"}
    assert asked == {page.as_uri()}
    assert not [event for event in events if event["method"] == "Network.loadingFailed"]


def test_the_log_would_show_a_complaint(browser, show, tmp_path):
    """The check above can fail: a page that asks for something and complains is seen to."""
    path = tmp_path / "bad.html"
    path.write_text('<img src="nothing.png"><script>throw new Error("broken")</script>')
    drain(browser)
    show(browser, path)
    assert len(browser.get_log("browser")) >= 2


@pytest.mark.parametrize("width", [400, 768, 1400])
def test_pictures_are_drawn_and_nothing_is_wider_than_the_window(browser, show, page, width):
    show(browser, page, width=width)
    charts = browser.find_elements(By.CSS_SELECTOR, "svg.chart")
    assert charts
    assert all(chart.size["height"] > 100 for chart in charts)
    assert browser.execute_script(CUT) == []
    assert browser.execute_script(SMALL) == []
    browser.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert browser.execute_script("return innerWidth") == width
    assert too_wide(browser) == [0, []]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_lines_of_every_colour_have_contrast(browser, show, page, scheme):
    """4.5 to 1 for text and 3 to 1 for lines, as the Web Content Accessibility Guidelines (AA) ask."""
    show(browser, page, scheme=scheme)
    browser.execute_script(
        "const some = document.querySelector('svg.chart');"
        "for (let i = 0; i < 8; i++) some.insertAdjacentHTML('beforeend', `<path class='line c${i} probe' d='M0 0'/>`)"
    )
    found = browser.execute_script(CONTRAST)
    assert sum(kind == "text" for kind, _, _ in found) > 100
    assert sum(kind == "line" and "probe" in words for kind, words, _ in found) == 8
    assert [one for one in found if one[2] < (4.5 if one[0] == "text" else 3.0)] == []
    dark = browser.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 27)"
    assert dark == (scheme == "dark")


@pytest.mark.parametrize(("page", "scheme"), [("sweep", "light"), ("run", "dark")], indirect=["page"])
def test_the_switch_changes_the_colours_and_is_remembered(start, show, page, scheme):
    with start() as browser:  # of its own: what one page remembers is heard of late by the next
        show(browser, page, scheme=scheme)

        def colour():
            return browser.execute_script("return getComputedStyle(document.body).backgroundColor")

        button, before = browser.find_element(By.CSS_SELECTOR, "button.theme"), colour()
        assert button.text == ("Dark colours" if scheme == "light" else "Light colours")
        button.click()
        after = colour()
        assert {before, after} == {"rgb(250, 249, 246)", "rgb(20, 22, 27)"}
        browser.refresh()
        assert colour() == after
        assert browser.execute_script(CONTRAST)
        browser.find_element(By.CSS_SELECTOR, "button.theme").click()
        assert colour() == before


def test_a_head_sorts_by_the_exact_value(browser, show, sweep_page):
    show(browser, sweep_page)
    heads = browser.find_elements(By.CSS_SELECTOR, "#prices-problem-0 thead th")
    column = [head.text for head in heads].index("price of privacy")
    for direction in (1, -1):
        browser.execute_script("arguments[0].querySelector('button').click()", heads[column])
        values = [float(row[column][0]) for row in table(browser, "prices-problem-0")]
        known = [value for value in values if not math.isnan(value)]
        assert known == sorted(known, reverse=direction < 0)
        assert 0 < len(known) < len(values)


def test_pointing_at_a_chart_reads_out_its_numbers(browser, show, sweep_page):
    show(browser, sweep_page)
    chart = browser.find_element(By.CSS_SELECTOR, "svg.chart")
    last = browser.execute_script(
        "const box = arguments[0].getBoundingClientRect();"
        "arguments[0].dispatchEvent(new PointerEvent('pointermove', {clientX: box.right - 2, clientY: box.top + 50}));"
        "return arguments[0].querySelector('.series').dataset.words.split('|').pop()",
        chart,
    )
    box = browser.find_element(By.CSS_SELECTOR, ".readout:not([hidden])")
    assert last in box.text


def test_without_scripts_everything_is_there(start, show, sweep_page):
    with start(script=False) as plain:
        plain.get(sweep_page.as_uri())
        source = plain.find_element(By.TAG_NAME, "body")
        text = source.text
        for words in ("NOT PRIVATE", "price of privacy", "Do it again", "Cells that failed", "broken"):
            assert words in text
        assert not plain.find_element(By.CSS_SELECTOR, "button.theme").is_displayed()
        assert not plain.find_elements(By.CSS_SELECTOR, "th button")  # no script ran
        assert all(one.is_displayed() for one in plain.find_elements(By.CSS_SELECTOR, "svg.chart, img, table"))


def test_on_paper_everything_is_there_in_light_colours(browser, show, sweep_page):
    show(browser, sweep_page, scheme="dark")
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    try:
        assert browser.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert not browser.find_element(By.CSS_SELECTOR, "button.theme").is_displayed()
        clipped = "return Array.from(document.querySelectorAll('.scroll'), e => getComputedStyle(e).overflowX)"
        assert set(browser.execute_script(clipped)) == {"visible"}
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
