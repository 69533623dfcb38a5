"""No module reaches into the private parts of another's objects: `thing._part` is for the file that makes the part."""

import ast
from pathlib import Path

import sottovoce

SOURCE = Path(sottovoce.__file__).parent
STANDARD = {"_asdict", "_exit", "_fields", "_make", "_mapping", "_replace"}  # of the standard library
ALLOWED = {
    ("auditing/playing/transcripts.py", "_store"),  # audits see what is released
    ("domains/design.py", "_hull"),
    ("service/study_workers/answers.py", "_items"),  # of actions: in the order in which their losses are told
    ("service/endpoints/_route.py", "_body"),  # of a request: where the framework looks for one that was read
    *(("studies/verifying/_replay.py", name) for name in ("_chunk", "_play")),  # what rounds have played, drawn again
    *(  # the handle of one evaluation, and the book that it is of
        ("evaluations/evaluation.py", f"_{name}") for name in ["assign", "finish", "forget_in", "take_in", "waiting"]
    ),
}


def made_here(tree):
    """Names that a file defines: methods, attributes of self, slots, fields."""
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and is_own(node.value)}
    names |= {node.target.id for node in ast.walk(tree) if isinstance(node, ast.AnnAssign | ast.NamedExpr)
              if isinstance(node.target, ast.Name)}  # fmt: skip
    return names


def is_own(value):
    named = isinstance(value, ast.Name) and value.id in ("self", "cls")
    return named or (isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "super")


def reached(text):
    """Private parts that a file's text reaches for, and does not make."""
    tree = ast.parse(text)
    private = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr.startswith("_"))
    foreign = {node.attr for node in private if not node.attr.endswith("__") and not is_own(node.value)}
    return foreign - made_here(tree) - STANDARD


def test_no_module_reaches_into_anothers_private_parts():
    found = {
        (str(path.relative_to(SOURCE)), name) for path in SOURCE.rglob("*.py") for name in reached(path.read_text())
    }
    assert found == ALLOWED


def test_reaching_is_noticed():
    assert reached("class A:\n    def f(self, other):\n        return self._own, other._own, other._theirs") == {
        "_theirs"
    }
