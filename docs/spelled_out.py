"""Shows the arguments of an optimizer by name, as `help` does, where the source says ``**options``."""

from typing import Any

import griffe


class SpelledOut(griffe.Extension):
    """Replaces ``**options: Unpack[OptimizerOptions]`` in signatures, once the whole package is loaded."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Go through all functions (called by griffe)."""
        if pkg.name == "sottovoce":
            where = pkg["learning.options"]
            self._spell_out(pkg, where["OptimizerOptions"], where["DecisionFacts"])

    def _spell_out(self, parent: Any, options: griffe.Class, facts: griffe.Class) -> None:
        for one in [member for member in parent.members.values() if not member.is_alias]:
            if one.is_function and str(_rest(one)).endswith("Unpack[OptimizerOptions]") and _says(one, "**choices"):
                _replace(one.parameters, options, facts)
            elif one.is_module or one.is_class:
                self._spell_out(one, options, facts)


def _says(function: griffe.Function, words: str) -> bool:
    """Say whether the docstring of a function, or of the class that it makes, holds these words; others refer to it."""
    described = function.parent if function.name == "__init__" else function
    return words in getattr(getattr(described, "docstring", None), "value", "")


def _rest(function: griffe.Function) -> Any:
    """Return the type of a function's ``**`` argument."""
    return next((one.annotation for one in function.parameters if one.kind is griffe.ParameterKind.var_keyword), None)


def _replace(parameters: griffe.Parameters, options: griffe.Class, facts: griffe.Class) -> None:
    del parameters["options"]
    for name, attribute in options.members.items():  # its own: the choices of plans are inherited
        default = facts.members[name].value if name in facts.members else "'auto'"
        default = "None" if str(default).startswith("field(") else default
        parameters.add(_parameter(name, attribute.annotation, "keyword_only", default))
    parameters.add(_parameter("choices", "PlanChoices", "var_keyword", None))


def _parameter(name: str, annotation: Any, kind: str, default: Any) -> griffe.Parameter:
    return griffe.Parameter(name, annotation=annotation, kind=griffe.ParameterKind[kind], default=default)
