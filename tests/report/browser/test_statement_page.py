"""The page that is signed, in a real browser: one sheet of A4, readable on a phone, in light and dark colours."""

import base64
import re

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.report import statement_page

PAPER = {"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": True, "printBackground": True}


@pytest.fixture(scope="module")
def stated(tmp_path_factory):
    """A usual study: named items, a ledger with other charges, verified; and one with the longest name there may be."""
    folder = tmp_path_factory.mktemp("statement")
    ledger = sv.Ledger(sv.PureDP(3.0))
    items = [f"item number {i}" for i in range(40)]
    pages = {}
    for name in ("the front page in spring", "<b>" + "w" * 190):
        study = sv.Study.open(
            f"sqlite:///{folder / 'studies.db'}",
            name=name,
            domain=sv.domains.Hypersimplex(items, 5),
            horizon=20_000,
            loss_range=(0.0, 1.0),
            privacy=sv.PureDP(1.0, contributions=3),
            losses="linear",
            integral=True,
            ledger=ledger,
        )
        block = study.ask_round()
        study.tell(block.ids, np.full(len(block), 0.5))
        pages[name] = statement_page(folder / f"{len(pages)}.html", study.statement(verify=True), ledger=ledger)
        study.close()
    return list(pages.values())


def test_it_prints_on_one_sheet(browser, show, stated):
    show(browser, stated[0], scheme="dark")
    printed = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", PAPER)["data"])
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_loads_nothing(browser, show, stated, scheme):
    for page in stated:
        browser.get_log("browser")
        show(browser, page, width=400, scheme=scheme)
        assert browser.execute_script("return document.documentElement.scrollWidth") == 400
        assert browser.execute_script("return document.scripts.length") == 0
        assert browser.get_log("browser") == []
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(250, 249, 246)", "dark": "rgb(20, 22, 27)"}[scheme]
