"""How the reference reads docstrings: as plain words with code in backticks, arguments of an optimizer by name.

Docstrings are written for people and terminals. Their <cost, x> and x* are no Markdown; and where the source says
``**options``, `help` spells them out.
"""

import re
from typing import Any

import griffe

_NAMES = re.compile(r"\s*\*{0,2}\w+(, (\*{0,2}\w+|\.\.\.))*( : .*)?")  # a line that says which parameters follow


class Docstrings(griffe.Extension):
    """Prepares a package's docstrings and signatures once all of it is loaded."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Go through everything (called by griffe)."""
        if pkg.name == "sottovoce":
            where = pkg["plans.options"]
            self._visit(pkg, where["OptimizerOptions"], where["DecisionFacts"])

    def _visit(self, one: Any, options: griffe.Class, facts: griffe.Class) -> None:
        if one.is_function and str(_rest(one)).endswith("Unpack[OptimizerOptions]") and _says(one, "**choices"):
            _spell_out(one.parameters, options, facts)
        if one.docstring:
            one.docstring.value = plain(one.docstring.value)
        for member in [inner for inner in one.members.values() if not inner.is_alias]:
            self._visit(member, options, facts)


# ---------------------------------------------------------------------- words


def plain(text: str) -> str:
    r"""Return words that Markdown shows as they are, except for what stands between backticks, and examples.

    >>> plain("argmin <cost, x> of `a*b` over x_t*")
    'argmin &lt;cost, x> of `a*b` over x\\_t\\*'
    """
    return "\n\n".join(paragraph if ">>>" in paragraph else _plain(paragraph) for paragraph in text.split("\n\n"))


def _plain(paragraph: str) -> str:
    done, in_code = [], False
    for line in paragraph.split("\n"):
        pieces = line.split("`")
        if not _NAMES.fullmatch(line):
            pieces = [piece if (at + in_code) % 2 else _escaped(piece) for at, piece in enumerate(pieces)]
        in_code ^= len(pieces) % 2 == 0  # code may go on in the next line
        done.append("`".join(pieces))
    return "\n".join(done)


def _escaped(words: str) -> str:
    return re.sub(r"([*_])", r"\\\1", words).replace("<", "&lt;")


# ---------------------------------------------------------------------- signatures


def _says(function: griffe.Function, words: str) -> bool:
    """Say whether the docstring of a function, or of the class that it makes, holds these words; others refer to it."""
    described = function.parent if function.name == "__init__" else function
    return words in getattr(getattr(described, "docstring", None), "value", "")


def _rest(function: griffe.Function) -> Any:
    """Return the type of a function's ``**`` argument."""
    return next((one.annotation for one in function.parameters if one.kind is griffe.ParameterKind.var_keyword), None)


def _spell_out(parameters: griffe.Parameters, options: griffe.Class, facts: griffe.Class) -> None:
    del parameters["options"]
    for name, attribute in options.members.items():  # its own: the choices of plans are inherited
        default = facts.members[name].value if name in facts.members else "'auto'"
        default = "None" if str(default).startswith("field(") else default
        parameters.add(_parameter(name, attribute.annotation, "keyword_only", default))
    parameters.add(_parameter("choices", "PlanChoices", "var_keyword", None))


def _parameter(name: str, annotation: Any, kind: str, default: Any) -> griffe.Parameter:
    return griffe.Parameter(name, annotation=annotation, kind=griffe.ParameterKind[kind], default=default)
