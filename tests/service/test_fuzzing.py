"""Fuzzing from the OpenAPI document, with schemathesis: no failure of the service, and nothing that is not documented.

The service runs in a process of its own: what is tested is what a client meets, the parser of HTTP included.
"""

import json
import warnings

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hostility import Served, new_key, small_study

import sottovoce as sv
from sottovoce.service.app import create_app
from sottovoce.service.settings import Settings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.generation import GenerationMode
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

NAMES = ("spring", "a/b", "100 %25 ü/ask", "?#[]@!$&'()*+,;=", "n" * 200, "📈 ‮", "..", "a//b", " ")
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
PACE = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzzing")
    url = f"sqlite:///{folder / 'study.db'}"
    for name in NAMES:
        try:
            sv.Study.open(url, name=name, **small_study(horizon=2000)).close()
        except ValueError:
            assert name in ("..", " ")  # that cannot be created either
    served = Served(url, folder, largest_block=300)
    served.key = new_key(url, ["admin"])[1]
    try:
        yield served.start()
    finally:
        served.kill()


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    app = create_app(Settings(storage=f"sqlite:///{tmp_path_factory.mktemp('document') / 'study.db'}", dev=True))
    return json.loads(json.dumps(app.openapi()))


def test_what_the_document_describes_is_what_happens(service, document):
    schema = schemathesis.openapi.from_dict(document)
    seen = set()
    for operation in (found.ok() for found in schema.get_all_operations()):
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            try:
                strategy = operation.as_strategy(generation_mode=mode)
            except Exception:  # nothing to get wrong
                assert mode is GenerationMode.NEGATIVE
                continue
            for status in fuzz(service, strategy):
                seen.add((operation.label, status))
    found = {label for label, status in seen if status < 300}
    assert found == {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}


def fuzz(service, strategy):
    statuses = set()

    @PACE
    @given(strategy, st.sampled_from(NAMES), st.integers(0, 5))
    def calls(case, name, odds):
        if odds and case.path_parameters and "name" in case.path_parameters:
            case.path_parameters["name"] = name
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {service.key}"}
        response = case.call(base_url=service.base)
        statuses.add(response.status_code)
        case.validate_response(response, checks=CHECKS)

    calls()
    return statuses
