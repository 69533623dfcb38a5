"""Write what the service reads and answers into the types of its clients: `python docs/client_types.py`."""

import json
import tempfile
from pathlib import Path
from typing import Any

import sottovoce
from sottovoce.service.app import create_app
from sottovoce.service.settings import Settings

JAVASCRIPT = Path(sottovoce.__path__[0]) / "service" / "static" / "sottovoce.d.ts"
PYTHON = Path(sottovoce.__path__[0]) / "client" / "_types.py"
ANSWERS = ("Sparse", "Action", "Actions", "Told", "Outstanding", "Posterior", "FitCheck", "Definition", "Page")
HEAD = '''"""What a service answers, as its models declare it: written by `python docs/client_types.py`."""

from typing import Any, NotRequired, TypedDict
'''
SCHEMAS = ("Ask", "Tell", "Forget", "Action", "Sparse", "Actions", "Told", "Closed", "Channel", "Problem")
BEGIN, END = (
    "// Begin of what follows from the OpenAPI document.\n",
    "// End of what follows from the OpenAPI document.\n",
)
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def main() -> None:
    """Write the files anew."""
    for file, content in renewed().items():
        file.write_text(content)


def renewed() -> dict[Path, str]:
    """Return the files with what follows from the OpenAPI document as that is now."""
    with tempfile.TemporaryDirectory() as folder:
        schemas = create_app(Settings(f"sqlite:///{folder}/types.db", dev=True)).openapi()["components"]["schemas"]
    text = JAVASCRIPT.read_text()
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    types = "".join(_interface(name, schemas[name]) for name in SCHEMAS)
    classes = "".join(_class(name, schemas[name]) for name in ANSWERS)
    return {
        JAVASCRIPT: f"{before}{BEGIN}export namespace Wire {{\n{types}}}\n{END}{after}",
        PYTHON: f"{HEAD}{classes}",
    }


def _class(name: str, schema: dict[str, Any]) -> str:
    members = "".join(
        f"    {member}: {_python(one) if member in schema.get('required', ()) else f'NotRequired[{_python(one)}]'}\n"
        for member, one in schema["properties"].items()
    )
    words = schema["description"].partition("\n")[0]
    return f'\n\nclass {name}(TypedDict):\n    """{words}"""\n\n{members}'


def _python(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(map(_python, schema["anyOf"])))
    if schema.get("type") == "array":
        return f"list[{_python(schema.get('items', {}))}]"
    if schema.get("type") == "object":
        return "dict[str, Any]"
    kinds = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
    return kinds.get(schema.get("type", ""), "Any")


def _interface(name: str, schema: dict[str, Any]) -> str:
    words = schema["description"].partition("\n")[0]
    members = "".join(
        f"    {member}{'' if member in schema.get('required', ()) else '?'}: {_type(one)};\n"
        for member, one in schema["properties"].items()
    )
    return f"  /** {words} */\n  interface {name} {{\n{members}  }}\n"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(map(_type, schema["anyOf"])))
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    if schema.get("type") == "array":
        inner = _type(schema["items"])
        return f"readonly ({inner})[]" if " " in inner else f"readonly {inner}[]"
    if schema.get("type") == "object":
        return f"{{ readonly [name: string]: {_type(schema.get('additionalProperties', {}))} }}"
    return _PLAIN.get(schema.get("type", ""), "unknown")


if __name__ == "__main__":
    main()
