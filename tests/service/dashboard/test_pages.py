"""Pages without a browser: what is on them, for whom, under which headers; and that no loss ever is."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
from sites import DRINKS, address, play

import sottovoce as sv
from sottovoce.models import FitCheck
from sottovoce.report.numbers import significant
from sottovoce.service.dashboard import shown
from sottovoce.service.problem_documents import KINDS

NASTY = "<script>alert('name')</script> & \"co\""
LABELS = ("<img src=x onerror=alert(1)>", '"><script>alert(2)</script>', "a & b", "{{ 7*7 }}", "plain")


class Tags(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, page):
        super().__init__()
        self.found, self.attributes, self.scripts = set(), set(), []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.add(tag)
        self.attributes |= {name for name, _ in attributes}
        if tag == "script":
            self.scripts.append(dict(attributes).get("src", ""))


def every_page(client, name):
    pages = {path: client.get(path) for path in ("/", "/docs", address(name), f"{address(name)}/statement")}
    assert all(one.status_code == 200 for one in pages.values())
    return pages


# ---------------------------------------------------------------------- losses


def test_losses_of_an_open_round_change_no_byte_of_any_page(make_site):
    """Two worlds that differ in losses that are not released: the strongest form of `they are not shown`."""
    seen = []
    for losses in (0.0, 1.0):
        site = make_site(f"world{losses}", dev=True)
        with site.add("spring", noise=sv.SimulatedNoise(5)) as study:
            play(study, 4)
            actions = study.ask(200)
            study.tell(actions.ids[:150], np.full(150, losses))
        found = every_page(site.client(), "spring")
        seen.append({path: re.sub(r"world\d.\d|Made on .*? UTC", "", one.text) for path, one in found.items()})
    assert "Waiting" in seen[0][address("spring")]
    assert seen[0] == seen[1]


# ---------------------------------------------------------------------- what is shown


def test_the_list_opens_no_study(site):
    site.add("spring")
    assert "spring" in site.reader().get("/").text
    assert not site.app.state.context.studies._open


def test_the_page_says_what_the_study_says(site):
    study = site.add("spring")
    play(study, 6)
    status, found, history = study.status(), study.recommend(), study.history()
    page = site.reader().get(address("spring")).text
    assert f"{status.asked:,}" in page
    for name in found.chosen:
        assert f'<span class="what">{name}</span>' in page
    assert significant(float(history.means[-1])) in page  # as the chart of rounds reads it out
    assert "epsilon = 1, pure differential privacy" in page


def test_names_and_labels_are_inert(site):
    """Of a study and of its coordinates: whatever is written there stays text, on every page."""
    play(site.add(NASTY, domain=sv.domains.Hypersimplex(LABELS, k=2)), 3)
    client = site.reader("admin")
    for path, page in every_page(client, NASTY).items():
        tags = Tags(page.text)
        assert not tags.found & {"img", "b", "iframe"}, path
        assert all(one.startswith("/dashboard/static/") for one in tags.scripts), path
        assert not [one for one in tags.attributes if one.startswith("on") or one == "style"], path
    page = client.get(address(NASTY)).text
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    assert "{{ 7*7 }}" in page


def test_simulated_noise_and_development_are_said_loudly(make_site):
    site = make_site(dev=True)
    site.add("imitated", noise=sv.SimulatedNoise(1))
    client = site.client()
    for path in ("/", "/docs", "/problems/malformed", address("imitated"), address("nothing")):
        assert "DEVELOPMENT: NO KEYS" in client.get(path).text, path
    assert "NOT PRIVATE" in client.get("/").text
    assert "NOT PRIVATE.</strong> The noise is simulated" in client.get(address("imitated")).text


def test_the_statement_can_be_printed_and_signed(site):
    """With the style that it has within, allowed by its hash, and nothing else."""
    site.add(NASTY, domain=sv.domains.Hypersimplex(LABELS, k=2))
    page = site.reader().get(address(NASTY) + "/statement")
    assert "Signature" in page.text
    assert "epsilon = 1, pure differential privacy" in page.text
    policy = page.headers["content-security-policy"]
    assert "script-src 'none'" in policy
    assert re.search(r"style-src 'sha256-[A-Za-z0-9+/=]{44}'", policy)
    assert not Tags(page.text).found & {"script", "img"}


def test_every_endpoint_and_every_problem_has_its_place(site):
    client = site.reader()
    document, page = client.get("/openapi.json").json(), client.get("/docs").text
    assert len(document["paths"]) > 8
    for path, ways in document["paths"].items():
        assert f'<span class="path">{path}</span>' in page, path
        for one in ways.values():
            problems = [answer["description"] for status, answer in one["responses"].items() if status >= "300"]
            assert all(words in page for words in problems)
    assert "Idempotency-Key" in page
    assert "of a key that may ask or tell or read" in page
    stranger = site.client()
    for kind in KINDS.values():
        page = stranger.get(f"/problems/{kind.name}")
        assert (page.status_code, str(kind.status) in page.text) == (200, True)
    assert stranger.get("/problems/none-of-these").status_code == 404


# ---------------------------------------------------------------------- again and again


def test_an_unchanged_page_costs_little_and_is_drawn_once_for_each_round(site, monkeypatch):
    drawn, look = [], shown.look_learned
    monkeypatch.setattr(shown, "look_learned", lambda study: drawn.append(1) or look(study))
    study = site.add("spring")
    play(study, 3)
    client = site.reader()
    for path in ("/", address("spring")):
        first = client.get(path)
        again = client.get(path, headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        play(study, 1)
        later = client.get(path, headers={"If-None-Match": first.headers["etag"]})
        assert later.status_code == 200
        assert later.headers["etag"] != first.headers["etag"]
    assert len(drawn) == 2


def test_what_changes_between_two_rounds_is_shown(site):
    """A new set of decisions, and that people are counted: the page that was drawn before says neither."""
    study, client = site.add("spring"), site.reader()
    page = client.get(address("spring")).text
    assert "contributions are the caller" in page
    study.ask(person="customer 4711")
    study.change(domain=sv.domains.Hypersimplex([f"new {one}" for one in DRINKS], k=3))
    page = client.get(address("spring")).text
    assert "contributions are enforced" in page
    assert "contributions are the caller" not in page
    assert re.search("new mate.*What is promised.*new tea", page, re.DOTALL)


def test_headers_of_every_page(site):
    site.add("spring")
    client = site.reader("admin")
    pages = every_page(client, "spring")
    pages |= {path: client.get(path) for path in ("/problems/malformed", address("nothing"))}
    for path, page in pages.items():
        policy = dict(one.strip().split(" ", 1) for one in page.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'", path
        if not path.endswith("/statement"):  # its style is within
            assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert page.headers["x-content-type-options"] == "nosniff"
        assert page.headers["referrer-policy"] == "no-referrer"
        assert page.headers["cache-control"] == "no-store", path
        assert "unsafe" not in page.headers["content-security-policy"]
    for path in re.findall(r'"(/dashboard/static/[^"]+)"', pages["/"].text):
        assert (client.get(path).status_code, "?v=" in path) == (200, True)
    for name in ("..%2Froutes.py", "nothing.js"):
        assert client.get(f"/dashboard/static/{name}").status_code == 404


# ---------------------------------------------------------------------- alarms and forecasts


def test_alarms_are_raised_where_they_should_be(site, monkeypatch):
    """Of a model that is plainly wrong, of one that may be, and of a world that changed; and of nothing else."""
    client = site.reader()
    play(site.add("calm"), 3)
    page = client.get(address("calm")).text
    assert "No change was noticed" in page
    assert "The model fits." in page
    assert "model does not fit" not in page
    for name, fit_check in (("wrong", FitCheck(90.0, 10.0, 1e-9)), ("doubtful", FitCheck(30.0, 10.0, 0.002))):
        study = site.add(name)
        play(study, 3)
        history = study.history()
        known = replace(study.recommend(), fit_check=fit_check, caution=fit_check.caution)
        status = replace(study.status(), fit_check=fit_check)
        changed = replace(history, changes=2, changed_at=int(history.ends[1]))
        with monkeypatch.context() as patched:
            patched.setattr(sv.Study, "recommend", lambda *_, known=known, **__: known)
            patched.setattr(sv.Study, "status", lambda *_, status=status: status)
            patched.setattr(sv.Study, "history", lambda *_, changed=changed, **__: changed)
            page = client.get(address(name)).text
        assert "The world changed." in page
        assert f"forgotten 2 times, last after {history.ends[1]:,} events" in page
        assert "the world changed" in page.split('id="rounds"')[1]  # in the chart, too
        assert ("The model does not fit." in page) == (name == "wrong")
        assert ("model does not fit" in page) == (name == "wrong")
        assert ("The model may not fit." in page) == (name == "doubtful")


def test_a_forecast_is_shown(site):
    drinks = sv.domains.Hypersimplex(8, 3)
    plan = sv.plan(drinks, 20_000, (0.0, 1.0), sv.PureDP(1.0), losses="linear", rehearse=0.02)
    play(site.add("one", domain=drinks, plan=plan), 12)
    play(site.add("other", domain=drinks), 2)
    client = site.reader()
    page = client.get(address("one")).text
    assert plan.forecast.learned.words(lambda one: f"{one:.0%}") in page
    assert "created without a forecast" in client.get(address("other")).text


def test_under_local_privacy_pages_speak_of_reports(site):
    study = site.add("local", privacy=sv.LocalDP(1.0))
    actions = study.ask(20)
    study.tell(actions.ids[:5], report=sv.local.privatise(np.full(5, 0.5), study.channel))
    page = site.reader().get(address("local")).text.split('id="now"')[1].split("<nav")[0]
    assert "Waiting for reports" in page
    assert not re.search(r"\bloss(es)?\b", page)
