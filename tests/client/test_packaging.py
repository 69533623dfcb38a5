"""One folder is served, shipped in the wheel and packed for npm: its files agree with each other and the library."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import sottovoce as sv

EXPORT = re.compile(r"^export (?:class|function|declare class) (\w+)", re.MULTILINE)


def test_the_package_is_of_the_librarys_version_and_names_files_that_exist(static):
    package = json.loads((static / "package.json").read_text())
    assert package["version"] == sv.__version__
    assert package["license"] == "Apache-2.0"
    named = {*package["files"], package["main"], package["types"]}
    assert named == {file.name for file in static.iterdir()} - {"package.json"}
    assert "dependencies" not in package


def test_the_types_name_what_the_file_exports(static):
    """Whether they fit as well, `tsc` would say; it is not among what the tests need."""
    script, types = ((static / name).read_text() for name in ("sottovoce.js", "sottovoce.d.ts"))
    assert set(EXPORT.findall(script)) == set(EXPORT.findall(types)) >= {"connect", "privatise", "OneBitChannel"}
    methods = re.compile(r"^  (?:async )?(?:get )?(\w+)\(", re.MULTILINE)
    study = script.split("export class RemoteStudy")[1].split("\n}\n")[0]
    described = types.split("export class RemoteStudy")[1].split("\n}\n")[0]
    for name in set(methods.findall(study)) - {"constructor"}:
        assert re.search(rf"\b{name}\b[(:]", described), name


def test_the_script_needs_and_keeps_nothing(static):
    script = re.sub(r"/\*.*?\*/|//[^\n]*", "", (static / "sottovoce.js").read_text(), flags=re.DOTALL)
    assert not re.search(r"^import\b", script, re.MULTILINE)
    assert re.findall(r"import\((.*?)\)", script) == ['"node:crypto"']  # for Node 18, and nowhere else
    for word in ("localStorage", "sessionStorage", "indexedDB", "cookie", "Math.random", "console", "eval("):
        assert word not in script


def test_pages_that_name_the_bytes_of_the_script_name_those_that_are_shipped(static):
    """After a change of sottovoce.js they need its new hash: the command stands in docs/how-to/service.md."""
    digest = hashlib.sha384((static / "sottovoce.js").read_bytes()).digest()
    root = Path(__file__).parents[2]
    for page, times in (("examples/page/index.html", 1), ("docs/how-to/service.md", 2)):
        found = re.findall(r"sha384-([A-Za-z0-9+/=]{64})", (root / page).read_text())
        assert found == [base64.b64encode(digest).decode()] * times, page


def test_no_page_takes_the_script_from_the_service():
    """Whoever runs the service could send another one."""
    page = Path(__file__).parents[2] / "examples" / "page"
    (policy,) = re.findall(r"script-src ([^;]*);", (page / "index.html").read_text())
    assert policy == "'self'"
    assert re.findall(r"^import .* from (.*);$", (page / "page.js").read_text(), re.MULTILINE) == ['"./sottovoce.js"']
    assert "import(" not in (page / "page.js").read_text()


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_npm_packs_it(static, tmp_path):
    made = subprocess.run(
        ["npm", "pack", "--json", "--offline", f"--pack-destination={tmp_path}", f"--cache={tmp_path / 'cache'}"],
        cwd=static,
        capture_output=True,
        text=True,
        check=True,
    )
    (packed,) = json.loads(made.stdout)
    assert {file["path"] for file in packed["files"]} == {file.name for file in static.iterdir()}
    subprocess.run(["tar", "-xzf", packed["filename"]], cwd=tmp_path, check=True)
    assert (tmp_path / "package" / "sottovoce.js").read_bytes() == (static / "sottovoce.js").read_bytes()


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_node_can_use_it(static, stand_in, key, tmp_path):
    stand_in.channels = {"spring": sv.local.OneBitChannel((0.0, 1.0), epsilon=1.0).to_dict()}
    (tmp_path / "run.mjs").write_text(f"""
    import {{ connect }} from {json.dumps((static / "sottovoce.js").as_uri())};
    const study = connect("{stand_in.url}", {{ study: "spring", key: "{key}", epsilon: 1 }});
    const action = await study.ask();
    console.log(action.chosen[0], JSON.stringify(await study.tell(action.id, 0.25)));
    """)
    done = subprocess.run(["node", tmp_path / "run.mjs"], capture_output=True, text=True, check=True, timeout=600)
    assert done.stdout == 'tea {"recorded":1,"already":0,"dropped":0}\n'
    assert set(stand_in.told.values()) <= {-1, 1}
