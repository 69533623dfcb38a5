"""Pages without a browser: what is on them, for whom, under which headers; and that no loss ever is."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import quote

import numpy as np

import sottovoce as sv
from sampling import every
from sottovoce.auditing import findings_record
from sottovoce.auditing.results import Check, Findings
from sottovoce.models import FitCheck
from sottovoce.report.numbers import significant
from sottovoce.service.problem_documents import KINDS

NASTY = "<script>alert('name')</script> & \"co\""
LABELS = ("<img src=x onerror=alert(1)>", '"><script>alert(2)</script>', "a & b", "{{ 7*7 }}", "plain")
PARTS = ("", "/parts/now", "/parts/learned", "/statement")


def address(name):
    return "/dashboard/studies/" + quote(name, safe="")


class Tags(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self):
        super().__init__()
        self.found, self.attributes, self.scripts = set(), set(), []

    def handle_starttag(self, tag, attributes):
        self.found.add(tag)
        self.attributes |= {name for name, _ in attributes}
        if tag == "script":
            self.scripts.append(dict(attributes).get("src", ""))


def every_page(client, name):
    paths = ["/", "/dashboard/parts/studies", "/docs", "/dashboard/keys", *(address(name) + part for part in PARTS)]
    return {path: client.get(path) for path in paths}


# ---------------------------------------------------------------------- losses


def test_losses_of_an_open_round_change_no_byte_of_any_page(make_context, client_of, player, tmp_path):
    """Two worlds that differ in losses that are not released: the strongest form of `they are not shown`."""
    seen = []
    for world, losses in enumerate((0.0, 1.0)):
        url = f"sqlite:///{tmp_path / f'world{world}.db'}"
        sv.Study.open(url, name="first", domain=sv.domains.Simplex(2), horizon=10, loss_range=(0, 1),
                      privacy=sv.PureDP(1.0)).close()  # fmt: skip
        context = make_context(url, dev=True)
        study = context.add("spring", noise=sv.SimulatedNoise(5))
        player(study, 4)
        actions = study.ask(200)
        study.tell(actions.ids[:150], np.full(150, losses))
        found = every_page(client_of(context), "spring")
        assert all(one.status_code == 200 for one in found.values())
        seen.append({path: re.sub(rf"world{world}.db|Made on .*? UTC", "", one.text) for path, one in found.items()})
    assert "Waiting" in seen[0][address("spring")]
    assert seen[0] == seen[1]


def test_planted_losses_are_on_no_page(context, logged_in, player):
    """By their digits, as they were told and as they are stored; released rounds of the same people are shown."""
    study = context.add("spring")
    player(study, 3)
    actions = study.ask_round()
    planted = 0.7318264519 + 1e-4 * np.arange(len(actions) - 1)
    study.tell(actions.ids[1:], planted)
    grid = study.plan.grids((0.0, 1.0))[0]
    traces = {f"{loss:.4f}"[1:] for loss in planted} | {str(one) for one in grid.quantise(planted)}
    client = logged_in(context, ["admin"])
    for path, page in every_page(client, "spring").items():
        text = re.sub(r"[?]v=[0-9a-f]{16}|value=\"[0-9a-f]{64}\"", "", page.text)
        for one in study.history().means.tolist():  # released, in full: its digits may be anything
            text = text.replace(repr(one), "")
        assert not [one for one in traces if one in text], path


# ---------------------------------------------------------------------- what is shown


def test_the_list_opens_no_study(context, logged_in):
    context.add("spring")
    client = logged_in(context)
    context.looks.clear()
    page = client.get("/")
    assert "spring" in page.text
    assert not context.looks


def test_the_page_says_what_the_study_says(context, logged_in, player):
    study = context.add("spring")
    player(study, 6)
    status, found, history = study.status(), study.recommend(), study.history()
    page = logged_in(context).get(address("spring")).text
    assert f"{status.asked:,}" in page
    for name in found.chosen:
        assert f'<span class="what">{name}</span>' in page
    assert significant(float(history.means[-1])) in page  # as the chart of rounds reads it out
    assert "epsilon = 1, pure differential privacy" in page
    assert "None on record" in page


@every(
    ("domain", "kind", "says", "integral"),
    [
        (sv.domains.Paths([("home", "park"), ("home", "mill"), ("park", "work"), ("mill", "work")], source="home",
                          target="work"), "network", "home", True),
        (sv.domains.Birkhoff(["ann", "bob"], ["early", "late"]), "pairs", "early", True),
        (sv.domains.Permutahedron([1.0, 2.0, 3.0], labels=["news", "sport", "film"]), "ranking", "sport", True),
        (sv.domains.Box([0.0, 0.0], [1.0, 1.0], labels=["small", "large"]), "amounts", "small", False),
        (sv.domains.Simplex(["bonds", "cash"]), "shares", "50%", False),
        (sv.domains.Product([sv.domains.Simplex(["tea", "milk"]), sv.domains.Box([0.0], [1.0], labels=["price"])]),
         "parts", "price", False),
    ],
)  # fmt: skip
def test_decisions_are_drawn_as_what_they_are(context, logged_in, domain, kind, says, integral):
    context.add(kind, domain=domain, losses="linear" if integral else "convex", integral=integral, horizon=1_000)
    page = logged_in(context).get(address(kind)).text
    drawn = page.split('id="recommendation"')[1].split("</section>")[0]
    assert f'data-kind="{kind}"' in drawn
    assert says in drawn


def test_names_and_labels_are_inert(context, logged_in, player):
    """Of a study, of its coordinates and of a key: whatever is written there stays text, on every page."""
    study = context.add(NASTY, domain=sv.domains.Hypersimplex(LABELS, k=2))
    context.ring.create(["ask"], NASTY, note="<b onmouseover=alert(3)>note</b>")
    player(study, 3)
    for path, page in every_page(logged_in(context, ["admin"]), NASTY).items():
        assert page.status_code == 200, path
        tags = Tags()
        tags.feed(page.text)
        assert not tags.found & {"img", "b", "iframe"}, path
        assert all(one.startswith("/dashboard/static/") for one in tags.scripts), path
        assert not [one for one in tags.attributes if one.startswith("on") or one == "style"], path
    page = logged_in(context).get(address(NASTY)).text
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    assert "{{ 7*7 }}" in page


def test_simulated_noise_and_development_are_said_loudly(make_context, client_of):
    context = make_context(dev=True)
    context.add("imitated", noise=sv.SimulatedNoise(1))
    client = client_of(context)
    for path in ("/", "/docs", "/dashboard/keys", "/problems/malformed", address("imitated"), address("nothing")):
        assert "DEVELOPMENT: NO KEYS" in client.get(path).text, path
    assert "NOT PRIVATE" in client.get("/").text
    assert "NOT PRIVATE.</strong> The noise is simulated" in client.get(address("imitated")).text
    assert client.get("/login").headers["location"] == "/"


def test_audits_on_record_are_shown(make_context, logged_in, tmp_path):
    folder = tmp_path / "audits"
    (folder / "spring").mkdir(parents=True)
    good = Findings((), (Check("noise", "noise", True, "as it should be", 1, 0.0),), 0.999, True)
    bad = Findings((), (Check("probe sums", "noise", False, "too little noise", 1, 0.0),), 0.999, True)
    (folder / "spring" / "audit.json").write_text(json.dumps(findings_record(good, sottovoce="0.1.0")))
    context = make_context(audits=str(folder))
    context.add("one")
    client = logged_in(context)
    page = client.get(address("one")).text
    assert "nothing was refuted" in page
    assert "None on record" not in page
    (folder / "broken.json").write_text("{")
    (folder / "newer.json").write_text(json.dumps(findings_record(bad, sottovoce="0.1.0")))
    page = client.get(address("one")).text
    assert "REFUTED" in page
    assert "An audit on record refutes" in page
    assert "broken.json" in page


def test_the_statement_can_be_printed_and_signed(context, logged_in):
    """With the style that it has within, allowed by its hash, and nothing else."""
    context.add(NASTY, domain=sv.domains.Hypersimplex(LABELS, k=2))
    page = logged_in(context).get(address(NASTY) + "/statement")
    assert "Signature" in page.text
    assert "epsilon = 1, pure differential privacy" in page.text
    policy = page.headers["content-security-policy"]
    assert "script-src 'none'" in policy
    assert re.search(r"style-src 'sha256-[A-Za-z0-9+/=]{44}'", policy)
    assert "unsafe" not in policy
    tags = Tags()
    tags.feed(page.text)
    assert "script" not in tags.found
    assert "img" not in tags.found


def test_the_manual_holds_what_the_document_holds(context, logged_in):
    page = logged_in(context).get("/docs").text
    assert "/studies/{name}/ask" in page
    assert "curl -X POST http://127.0.0.1:8000/studies/spring/ask" in page
    assert "Bearer $KEY" in page
    assert "list of number or null" in page
    assert "study-not-found: There is no such study" in page
    assert "curl http://127.0.0.1:8000/health</code>" in page


def test_every_kind_of_problem_has_a_page_for_anybody(context, client_of):
    client = client_of(context)
    for kind in KINDS.values():
        page = client.get(f"/problems/{kind.name}")
        assert page.status_code == 200
        assert str(kind.status) in page.text
    assert client.get("/problems/none-of-these").status_code == 404


# ---------------------------------------------------------------------- parts


def test_an_unchanged_part_costs_little_and_a_changed_one_is_sent(context, logged_in, player):
    study = context.add("spring")
    player(study, 3)
    client = logged_in(context)
    for path in ("/dashboard/parts/studies", address("spring") + "/parts/now", address("spring") + "/parts/learned"):
        first = client.get(path)
        again = client.get(path, headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        player(study, 1)
        later = client.get(path, headers={"If-None-Match": first.headers["etag"]})
        assert later.status_code == 200
        assert later.headers["etag"] != first.headers["etag"]


def test_what_was_learned_is_drawn_once_for_each_round(context, logged_in, player):
    study = context.add("spring")
    player(study, 2)
    client = logged_in(context)
    for _ in range(3):
        client.get(address("spring") + "/parts/learned")
    client.get(address("spring"))
    assert context.looks["several"] == 1
    player(study, 1)
    client.get(address("spring") + "/parts/learned")
    assert context.looks["several"] == 2


# ---------------------------------------------------------------------- headers


def test_headers_of_every_page(context, logged_in):
    context.add("spring")
    pages = every_page(logged_in(context, ["admin"]), "spring")
    pages["/problems/malformed"] = logged_in(context).get("/problems/malformed")
    pages["/nothing"] = logged_in(context).get(address("nothing"))
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


def test_files_may_be_kept_by_their_tag_alone(context, client_of):
    client = client_of(context)
    page = client.get("/login").text
    for path in re.findall(r'"(/dashboard/static/[^"]+)"', page):
        found = client.get(path)
        assert found.status_code == 200
        assert "immutable" in found.headers["cache-control"]
        assert client.get(path.partition("?")[0] + "?v=other").headers["cache-control"] == "no-cache"
    assert client.get("/dashboard/static/..%2Froutes.py").status_code == 404
    assert client.get("/dashboard/static/nothing.js").status_code == 404


# ---------------------------------------------------------------------- alarms and forecasts


def test_alarms_are_raised_where_they_should_be(context, logged_in, player, monkeypatch):
    """Of a model that is plainly wrong, of one that may be, and of a world that changed; and of nothing else."""
    client, study = logged_in(context), context.add("calm")
    player(study, 3)
    page = client.get(address("calm")).text
    assert "No change was noticed" in page
    assert "The model fits." in page
    assert "model does not fit" not in page
    for name, fit_check in (("wrong", FitCheck(90.0, 10.0, 1e-9)), ("doubtful", FitCheck(30.0, 10.0, 0.002))):
        study = context.add(name)
        player(study, 3)
        found, history, status = study.recommend(), study.history(), replace(study.status(), fit_check=fit_check)
        known = replace(found, fit_check=fit_check, caution=fit_check.caution)
        monkeypatch.setattr(study, "recommend", lambda known=known: known)
        monkeypatch.setattr(study, "status", lambda status=status: status)
        changed = replace(history, changes=2, changed_at=int(history.ends[1]))
        monkeypatch.setattr(study, "history", lambda earlier, changed=changed: changed)
        page = client.get(address(name)).text
        assert "The world changed." in page
        assert f"forgotten 2 times, last after {history.ends[1]:,} events" in page
        assert "the world changed" in page.split('id="rounds"')[1]  # in the chart, too
        assert ("The model does not fit." in page) == (name == "wrong")
        assert ("model does not fit" in page) == (name == "wrong")
        assert ("The model may not fit." in page) == (name == "doubtful")


def test_a_forecast_is_shown_beside_what_happened(context, logged_in, player):
    drinks = sv.domains.Hypersimplex(8, 3)
    plan = sv.plan(drinks, 20_000, (0.0, 1.0), sv.PureDP(1.0), losses="linear", rehearse=0.02)
    player(context.add("one", domain=drinks, plan=plan), 12)
    player(context.add("other", domain=drinks), 2)
    client = logged_in(context)
    page = client.get(address("one")).text
    assert plan.forecast.learned.words(lambda one: f"{one:.0%}") in page
    assert "on average over all events" in page
    assert "The forecast</h3>" in page
    assert "created without a forecast" in client.get(address("other")).text


def test_under_local_privacy_pages_speak_of_reports(context, logged_in):
    study = context.add("local", privacy=sv.LocalDP(1.0))
    actions = study.ask(20)
    study.tell(actions.ids[:5], report=sv.local.privatise(np.full(5, 0.5), study.channel))
    page = logged_in(context).get(address("local") + "/parts/now").text
    assert "Waiting for reports" in page
    assert not re.search(r"\bloss(es)?\b", page)
    assert "losses" not in dict(study.status().rows)
