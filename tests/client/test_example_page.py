"""The example page in a real browser, against `sottovoce serve`: it asks, a click tells, and no raw loss leaves it."""

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from starlette.staticfiles import StaticFiles

import sottovoce as sv
from in_thread import answering
from sampling import every
from sottovoce.cli import main
from started import started
from storages import free_port

PAGE = Path(__file__).resolve().parents[2] / "examples" / "page"
SERVICE = "http://127.0.0.1:8420"  # as the files of the example have it
ANSWERS = 6
TOLD = re.compile(r'\{"id": "[0-9a-f.]+", "report":  {18}( 1|-1), "late": "drop"\}')


SAID = "return document.getElementById('said').textContent;"


def commands():
    """Return the commands of the page's README: that which copies the script, and the others as lists of words."""
    blocks = re.findall(r"```sh\n(.*?)```", (PAGE / "README.md").read_text(), re.DOTALL)
    copy, *others = "".join(blocks).replace("\\\n", " ").splitlines()
    return copy, *(shlex.split(line.removesuffix("&")) for line in others)


def in_a_shell(command, folder):
    """Run a command where `python` is the one of the tests, with this library."""
    world = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(sv.__file__).parents[1]),
    }
    subprocess.run(["sh", "-c", command], cwd=folder, env=os.environ | world, check=True, timeout=600)


def run(command, capsys):
    """Run a command of the README in this process; return what it has printed."""
    capsys.readouterr()
    with contextlib.suppress(SystemExit):
        main(command[1:])
    return capsys.readouterr().out


def sent(browser):
    """Return the bodies of what the browser has posted since the last look, with the addresses."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    requests = [one["params"]["request"] for one in events if one["method"] == "Network.requestWillBeSent"]
    return [(one["url"], one.get("postData", "")) for one in requests if one["method"] == "POST"]


def shown(browser):
    return [button.text for button in browser.find_elements(By.CSS_SELECTOR, "#slate button")]


def next_slate(browser, before):
    slate = "const s = document.getElementById('slate'); return s.children.length ? s.dataset.action : null;"
    WebDriverWait(browser, 60, 0.02).until(lambda _: browser.execute_script(slate) not in (None, before))
    return browser.execute_script(slate)


def test_the_page_asks_and_a_click_tells_a_report(browser, tmp_path, monkeypatch, capsys):
    folder = shutil.copytree(PAGE, tmp_path / "page")
    monkeypatch.chdir(folder)
    copy, create, serve, _, make_key = commands()
    in_a_shell(copy, folder)
    run(create, capsys)
    key = json.loads(run([*make_key, "--json"], capsys))["key"]
    port, drinks = free_port(), (folder / "drinks.txt").read_text().split("\n")
    url = f"http://127.0.0.1:{port}"
    index = (folder / "index.html").read_text()
    assert 'data-epsilon="1" data-answers="1"' in index  # as the study promises: one report for each person
    index = index.replace('data-answers="1"', f'data-answers="{ANSWERS}"')
    (folder / "index.html").write_text(index.replace(SERVICE, url).replace('data-key=""', f'data-key="{key}"'))
    with answering(StaticFiles(directory=folder, html=True)) as page:
        words = [one.replace("http://127.0.0.1:8000", page) for one in serve if one != "--dev"]
        with started([sys.executable, "-m", *words, "--port", port], port, tmp_path / "log"):
            check_page(browser, page, drinks)
            check_another_origin(browser, page.replace("127.0.0.1", "localhost"))
    with sv.Study.open("sqlite:///drinks.db", name="drinks") as study:
        assert study.status().told == ANSWERS
        assert not study.outstanding()


def check_page(browser, address, drinks):
    browser.get_log("browser")
    sent(browser)
    browser.get(address)
    action = next_slate(browser, None)
    assert len(set(shown(browser))) == 5
    assert set(shown(browser)) <= set(drinks)
    for turn in range(ANSWERS):
        if turn % 2:
            browser.find_element(By.ID, "none").click()
        else:
            browser.find_elements(By.CSS_SELECTOR, "#slate button")[turn % 5].click()
        if turn < ANSWERS - 1:
            action = next_slate(browser, action)
    for _ in range(2):  # one visitor is not asked again, however often the page is loaded
        WebDriverWait(browser, 60, 0.02).until(lambda _: "Thank you" in browser.execute_script(SAID))
        assert shown(browser) == []
        browser.refresh()
    requests = sent(browser)
    told = [body for where, body in requests if where.endswith("/studies/drinks/tell")]
    assert len(told) == ANSWERS
    assert all(TOLD.fullmatch(body) for body in told), "only reports, in a fixed width"
    assert len({len(body) for body in told}) <= 2  # ids grow with their numbers
    assert {where.rpartition("/")[2] for where, _ in requests} == {"ask", "tell"}
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"], "the policy is kept to"


def check_another_origin(browser, address):
    """A page that was not named to the service gets nothing from it."""
    browser.get(address)
    WebDriverWait(browser, 60, 0.02).until(lambda _: "Nothing can be shown" in browser.execute_script(SAID))
    assert shown(browser) == []


def test_a_page_whose_script_was_replaced_does_nothing(browser, tmp_path):
    """As by a service, or whatever lies in between, that wants the losses themselves: browsers check the hash."""
    folder = shutil.copytree(PAGE, tmp_path / "page")
    in_a_shell(commands()[0], folder)
    with open(folder / "sottovoce.js", "a") as script:
        script.write("// and one line more\n")
    with answering(StaticFiles(directory=folder, html=True)) as page:
        browser.get_log("browser")
        sent(browser)
        browser.get(page)
        said = []
        WebDriverWait(browser, 60, 0.02).until(
            lambda _: said.extend(browser.get_log("browser")) or any("integrity" in one["message"] for one in said)
        )
        assert browser.execute_script("return document.readyState;") == "complete"
        assert shown(browser) == sent(browser) == []


@every("name", ["index.html", "page.js"])
def test_the_page_has_no_inline_script(name):
    text = (PAGE / name).read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|<style|\sstyle=|javascript:|innerHTML", text)
    assert "unsafe" not in text
