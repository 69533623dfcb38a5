"""A real Chromium without a window, driven by chromedriver; tests/system.py says what happens where there is none."""

import contextlib

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

WIDE = """
const wide = document.documentElement.clientWidth;
const boxed = e => { for (let p = e.parentElement; p; p = p.parentElement)
  if (["auto", "scroll", "hidden"].includes(getComputedStyle(p).overflowX)) return true; return false; };
return [document.documentElement.scrollWidth - wide,
  Array.from(document.querySelectorAll("body *")).filter(e => e.getClientRects().length && !boxed(e) &&
    !e.matches(".skip, .unseen, .unseen *") && e.getBoundingClientRect().right > wide + 1)
  .map(e => e.outerHTML.slice(0, 90))];
"""


def too_wide(browser):
    """Return by how much a page is wider than its window, and what of it sticks out."""
    return browser.execute_script(WIDE)


def drain(browser):
    """Read what was logged so far."""
    for kind in ("browser", "performance"):
        browser.get_log(kind)


@pytest.fixture(scope="session")
def programs(system_program):
    return system_program("chromium"), system_program("chromedriver")


@pytest.fixture(scope="session")
def start(programs, tmp_path_factory):
    """`with start() as browser`: a fresh Chromium with a fresh profile."""

    @contextlib.contextmanager
    def begin(*, script=True):
        chromium, driver = programs
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        if not script:
            options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
        browser = webdriver.Chrome(options=options, service=Service(driver))
        try:
            browser.set_page_load_timeout(60)
            yield browser
        finally:
            browser.quit()

    return begin


@pytest.fixture(scope="session")
def browser(start):
    with start() as running:
        yield running


@pytest.fixture(scope="session")
def show():
    """Open a page, by its path or its address, in a window of a width, under light or dark system colours."""

    def open_page(browser, page, *, width=1280, scheme="light"):
        media = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(page if isinstance(page, str) else page.as_uri())

    return open_page
