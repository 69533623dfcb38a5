"""The documentation as a site: complete, linked, loading nothing from any network, every public name described."""

import asyncio
import importlib.util
import itertools
import json
import re
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import griffe
import pytest
import yaml
from mkdocs.commands.build import build
from mkdocs.config import load_config
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from sottovoce.service.app import create_app
from sottovoce.service.problem_documents import KINDS
from sottovoce.service.settings import Settings

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}
ADDRESS = re.compile(r"^(?:https?:)?//", re.IGNORECASE)


def listed(entries):
    """Yield the files that the navigation names."""
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            yield from [value] if isinstance(value, str) else listed(value)


def test_every_page_is_in_the_navigation_once_and_every_entry_exists():
    with (ROOT / "mkdocs.yml").open(encoding="utf-8") as file:
        named = list(listed(yaml.safe_load(file)["nav"]))
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.glob("**/*.md")}
    assert not pages - set(named), f"add to nav in mkdocs.yml: {sorted(pages - set(named))}"
    assert not set(named) - pages, f"nav in mkdocs.yml names pages that do not exist: {sorted(set(named) - pages)}"
    assert len(named) == len(set(named))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site as `mkdocs build --strict` does: any warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        config = load_config("mkdocs.yml", strict=True, site_dir=str(folder))
        config.plugins.on_startup(command="build", dirty=False)
        build(config)
    return folder


class Loads(HTMLParser):
    """Collects what a browser fetches to show the page; links that a reader may click are not among them."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag in LOADED and values.get(LOADED[tag]) and values.get("rel") != "canonical":
            self.found.append(values[LOADED[tag]])
        self.found += [part.split()[0] for part in (values.get("srcset") or "").split(",") if part.strip()]


@pytest.mark.long
def test_the_site_loads_nothing_from_a_network(site):
    pages = sorted(site.glob("**/*.html"))
    assert len(pages) > 10
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loads = Loads(text).found
        assert any("search" in one or "bundle" in one for one in loads), page.name  # the parser sees the theme's files
        outside = [one for one in loads if ADDRESS.match(one)]
        assert not outside, f"{page.name} loads {outside}"
        for one in loads:
            if not one.startswith("data:") and page.name != "404.html":  # that one is served from a root
                assert (page.parent / re.split(r"[?#]", one)[0]).exists(), f"{page.name} loads {one}, which is missing"
    for sheet in site.glob("**/*.css"):
        outside = re.findall(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^)'\"]+)", sheet.read_text(encoding="utf-8"))
        assert not outside, f"{sheet.name} loads {outside}"


@pytest.mark.long
def test_a_browser_shows_and_searches_the_site_from_disk_without_a_network(site, start):
    with start() as browser:
        browser.set_window_size(1280, 900)  # on a phone the search is behind a button
        look(site, browser)


def look(site, browser):
    browser.get((site / "tutorials" / "five-minutes.html").as_uri())
    assert browser.find_element(By.TAG_NAME, "h1").text.startswith("Five minutes")
    field = browser.find_element(By.CSS_SELECTOR, "input.md-search__input")
    field.click()
    field.send_keys("ledger")
    found = WebDriverWait(browser, 30).until(
        lambda driver: driver.find_elements(By.CSS_SELECTOR, "a.md-search-result__link")
    )
    assert any("privacy.html" in link.get_attribute("href") for link in found)
    assert not browser.get_log("browser")  # no error on the console
    events = [json.loads(entry["message"])["message"].get("params", {}) for entry in browser.get_log("performance")]
    asked = {event["request"]["url"] for event in events if "url" in event.get("request", {})}
    assert any(url.endswith("five-minutes.html") for url in asked)
    assert not {url for url in asked if url.startswith("http")}


def load(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def reference():
    return load("reference")


@pytest.mark.long
def test_every_public_name_is_in_the_tables_and_has_one_entry(site, reference):
    tables = (site / "reference" / "python" / "index.html").read_text(encoding="utf-8")
    pages = [page.read_text(encoding="utf-8") for page in (site / "reference" / "python").glob("*.html")]
    entries = Counter(itertools.chain.from_iterable(re.findall(r' id="(sottovoce[\w.]+)"', page) for page in pages))
    modules = reference.public_modules()
    assert {"sottovoce", "sottovoce.privacy", "sottovoce.errors"} <= {one.__name__ for one in modules}
    for module in modules:
        begin = tables.index(f'<h2 id="{module.__name__.replace(".", "")}"')
        part = tables[begin : tables.find("<h2 ", begin + 1)]
        missing = [name for name in module.__all__ if f"<code>{name}</code>" not in part]
        assert not missing, f"{module.__name__}: {missing}"
        homeless = [name.name for name in reference.names_of(module.__name__) if entries[name.definition] != 1]
        assert not homeless, f"give {module.__name__} a mark on a page of docs/reference/python: {homeless}"


@pytest.mark.long
def test_the_reference_shows_signatures_and_parameters_and_no_raw_docstring(site):
    page = (site / "reference" / "python" / "optimizer.html").read_text(encoding="utf-8")
    entry = page[page.index('id="sottovoce.learning.private_bandit.PrivateBandit"') :]
    entry = entry[: entry.index('id="sottovoce.learning.private_bandit.PrivateBandit.ask"')]
    signature = unescape(re.sub(r"<[^>]+>", "", entry[: entry.index("<p>")]))
    assert re.search(r"horizon:\s*int \| None,", signature)
    assert re.search(r'losses:\s*str\s*=\s*"convex",', signature)  # one that the source takes as **options
    for words in ("are clipped to it, silently", "Parameters:", "Examples:", "optimizer.remaining"):
        assert words in re.sub(r"<[^>]+>", "", entry), words
    sets = (site / "reference" / "python" / "domains.html").read_text(encoding="utf-8")
    assert "that minimises &lt;cost, x&gt;." in sets  # docstrings are plain words, not HTML
    for page in (site / "reference" / "python").glob("*.html"):
        text = re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8"))
        assert not re.search(r"^ *(Parameters|Returns|Attributes|Notes|Raises|Examples)\n? *-{3,}", text, re.MULTILINE)


@pytest.fixture(scope="module")
def typed():
    return load("commands")


@pytest.mark.long
def test_every_command_has_its_section_with_all_its_options_and_no_other_is_there(site, typed):
    page = (site / "reference" / "command-line.html").read_text(encoding="utf-8")
    sections = dict(re.findall(r"<h2 id=[^>]*>(sottovoce [\w -]+)<a(.*?)(?=<h2 |\Z)", page, re.DOTALL))
    assert set(sections) == set(typed.commands())
    for words, command in typed.commands().items():
        table = "".join(re.findall(r"<table>.*?</table>", sections[words], re.DOTALL))
        options = {option for one in command.params for option in (*one.opts, *one.secondary_opts)} - {"--help"}
        assert {option for option in options if option.startswith("--")} == set(re.findall("<code>(--[a-z-]+)", table))


@pytest.mark.long
def test_every_call_and_problem_of_the_service_is_on_its_page(site, tmp_path):
    page = (site / "reference" / "http.html").read_text(encoding="utf-8")
    app = create_app(Settings(storage=f"sqlite:///{tmp_path}/a.db"))
    there = {f"{method.upper()} {path}" for path, ways in app.openapi()["paths"].items() for method in ways}
    asyncio.run(app.state.context.close())
    shown = set(re.findall(r"<td><code>((?:GET|POST) [^<]+)</code></td>", page))
    assert shown == {one.replace(":path}", "}") for one in there}
    rows = re.findall(r"<td><code>([a-z-]+)</code></td>\s*<td>(\d+)</td>", page)
    assert sorted(rows) == sorted((kind.name, str(kind.status)) for kind in KINDS.values())


# ---------------------------------------------------------------------- docstrings of public names

OPENED = {"sottovoce.studies.study.Study"}  # by `Study.open`


@pytest.fixture(scope="module")
def package():
    """Return the package as the site reads it: from the source, without importing it."""
    extensions = griffe.load_extensions(str(ROOT / "docs" / "docstrings.py"))
    return griffe.load(
        "sottovoce", search_paths=[ROOT / "src"], docstring_parser="numpy", extensions=extensions, resolve_aliases=True
    )


def described(one):
    """Return the names that a docstring describes, in a section of them or in backticks in its words."""
    found = set()
    for section in one.docstring.parsed if one.docstring else ():
        if section.kind.value in ("parameters", "attributes"):
            found |= {name.strip(" *") for entry in section.value for name in entry.name.split(",")}
        elif section.kind.value == "text":
            found |= set(re.findall(r"`\**(\w+)`", section.value))
    return found


def parameters(one):
    names = [entry.name for entry in one.parameters] if one.is_function or one.is_class else []
    fields = list(one.attributes) if one.is_class and "TypedDict" in map(str, one.bases) else []
    return {name for name in (*names, *fields) if name not in ("self", "cls") and name[0] != "_"}


def entries(reference, package):
    """Yield everything that has an entry: (the function, class or method; its class, if it is a method)."""
    for name in [one for names in reference.stands_at().values() for one in names]:
        found = package[name.definition.removeprefix("sottovoce.")]
        yield found, None
        if found.is_class:
            value = getattr(importlib.import_module(name.module), name.name)
            for member in reference.members(value)[0]:
                yield (found.members.get(member) or found.inherited_members[member].final_target), found


def test_every_parameter_of_a_public_name_is_described(reference, package):
    everything = list(entries(reference, package))
    assert len(everything) > 500
    methods = [one for one, of in everything if of is not None and one.is_function]
    # What one class says of a method's parameter holds for others with the same method: sets, channels, mechanisms.
    shared = {(one.name, name) for one in methods for name in described(one) & parameters(one)}
    forgotten = {}
    for one, of in everything:
        above = [described(base) for base in one.mro()] if one.is_class else []
        known = described(one).union(*above) | {
            name for method, name in shared if of is not None and method == one.name
        }
        if one.path not in OPENED and parameters(one) - known:
            forgotten[one.path] = sorted(parameters(one) - known)
    assert not forgotten, "describe these, in a section Parameters or in backticks in the words of the docstring"


def test_single_choices_of_a_plan_are_described_one_by_one(reference, package):
    choices = package["plans.options.PlanChoices"]
    assert {"radius", "probes", "mechanism"} <= parameters(choices) <= described(choices)
    bandit = package["learning.private_bandit.PrivateBandit"]
    assert {"losses", "prior", "choices"} <= parameters(bandit) <= described(bandit)  # not **options


def test_what_is_missing_would_be_seen():
    with griffe.temporary_visited_package(
        "odd", {"__init__.py": 'def ask(size, most):\n    """Return `size` of them."""\n'}
    ) as package:
        assert parameters(package["ask"]) - described(package["ask"]) == {"most"}
