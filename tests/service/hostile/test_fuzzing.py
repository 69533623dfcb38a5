"""Fuzzing from the OpenAPI document, with schemathesis: no failure of the service, and nothing that is not documented.

The service runs in a process of its own: what is tested is what a client meets, the parser of HTTP included.
"""

import json
import warnings
from urllib.parse import quote

import pytest
from hostility import Served, new_key, small_study
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

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

NAMES = ("spring", "a/b", "100 %25 ü/ask", "?#[]@!$&'()*+,;=", "n" * 200, "📈 \u202e", "a//b", " ")
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
DOMAINS = ("simplex:4", "hypersimplex:5,2", "ball:3", "permutahedron:3")
PACE = settings(
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
        sv.Study.open(url, name=name, **small_study(horizon=2000)).close()
    sv.Study.open(url, name="local", **small_study(privacy=sv.LocalDP(1.0))).close()
    with sv.Study.open(url, name="spring") as study:
        ids = study.ask(200).ids.tolist()
    served = Served(url, folder, largest_block=300)
    served.ids = ids
    served.key = new_key(url, ["admin"])[1]
    try:
        yield served.start()
    finally:
        served.kill()


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    app = create_app(Settings(storage=f"sqlite:///{tmp_path_factory.mktemp('document') / 'study.db'}", dev=True))
    return json.loads(json.dumps(app.openapi()))


@pytest.mark.long
def test_what_the_document_describes_is_what_happens(service, document):
    schema = schemathesis.openapi.from_dict(document)
    seen = set()
    for operation in (found.ok() for found in schema.get_all_operations()):
        for mode in GenerationMode.POSITIVE, GenerationMode.NEGATIVE:
            try:
                often = 12 if operation.method == "post" else 6
                if operation.label.endswith("/ask"):  # most bodies name segments, which few studies have
                    often *= 4
                statuses = fuzz(service, operation.as_strategy(generation_mode=mode), often)
            except Unsatisfiable:  # it takes nothing that could be wrong
                assert mode is GenerationMode.NEGATIVE
                continue
            seen |= {(operation.label, status) for status in statuses}
    # Both what is taken and what is refused was reached; of losses, hardly ever one of an id that was handed out.
    for call, reached in (("ask", {2, 4}), ("tell", {4}), ("status", {2, 4})):
        assert {status // 100 for label, status in seen if label.endswith(f"/{call}")} >= reached, call


VALID = {
    "name": "made",
    "domain": "hypersimplex:4,2",
    "horizon": 500,
    "privacy": {"epsilon": 1.0},
    "labels": ["a", "b", "c", "d"],
    "loss_range": [0.0, 1.0],
    "losses": "linear",
    "integral": True,
    "patience": 100,
    "seed": 1,
}
OTHERS = ("choices", "play", "lipschitz", "plan", "exploration", "mechanism", "deadline")
MARK = "qzKxR7v"  # whatever is refused, it is not repeated
NUMBERS = (True, -1, 0, 1, 2, 0.5, -0.0, 1e308, 5e-324, 2**31, 2**63, 10**30, 10**400, 1e-300)
DOMAIN_TEXTS = ("simplex:0", "simplex:-1", "simplex:1e9", "simplex:999999", "birkhoff:31", f"ball:{MARK}", "box:1")
TEXTS = ("", MARK, "\x00", "\u202e", "𝒳" * 201, MARK * 3000, "product", "plan", "worst-case", "paper", "designs")
LISTS = ([], {}, [MARK], {MARK: MARK}, [[0.0, 1.0]], [1.0, 0.0], [0.0, 0.0], [0, 1e308], ["a", "a", "a", "a"], [1, 2])
PROMISES = ({"epsilon": 0}, {"epsilon": 1e308}, {"epsilon": 1, "delta": 2}, {"rho": -1}, {"none": True})
PROMISES += ({"epsilon": 1.0, "local": True}, {"epsilon": 1.0, "rho": 1.0}, {"epsilon": 1.0, "contributions": 10**18})
MADE = (
    [MARK, "Box", {}],
    ["domains", MARK, {}],
    ["domains", "Box", {MARK: 1}],
    ["domains", "Hypersimplex", {"n": 2, "k": MARK}],
    ["domains", "Hypersimplex", {"n": 2, "k": 1, "labels": {"tuple": [MARK, MARK]}}],
    ["domains", "Paths", {"graph": [{"tuple": ["s", "t"]}], "source": MARK, "target": "t"}],
    ["domains", "Product", {"parts": [MARK, {"made": ["domains", MARK, {}]}]}],
    ["domains", "Permutahedron", {"weights": {"array": MARK}}],
    ["domains", "Box", {"low": [0, MARK], "high": [1, 1e999]}],
    ["privacy", "PureDP", {"epsilon": 1.0}],
)
OBJECTS = ({"restored": True}, {"ledger": MARK}, {"repeat": "ignore"}, {"url": MARK}, {"probes": 10**30}, {"made": []})
ODD = (None, *NUMBERS, *DOMAIN_TEXTS, *TEXTS, *LISTS, *PROMISES, *({"made": one} for one in MADE), *OBJECTS)


@pytest.mark.long
def test_a_study_is_created_or_refused_whatever_is_asked_for(service):
    """Each member of a creation replaced by each of many oddities: never a failure of the service, never an echo."""
    statuses, failed = set(), []
    with service.client(service.key) as client:
        for member in (*VALID, *OTHERS, MARK):
            for number, odd in enumerate(ODD):
                wish = VALID | {"name": f"{member} {number}", member: odd}
                answer = client.post("/studies", content=json.dumps(wish))
                statuses.add(answer.status_code)
                if answer.status_code >= 500 or (answer.status_code >= 400 and MARK in answer.text):
                    failed.append((member, odd, answer.text))
    assert not failed
    assert statuses >= {201, 422}


def fuzz(service, strategy, examples):
    statuses = set()

    @settings(PACE, max_examples=examples)
    @given(strategy, st.sampled_from(("spring", "local", *NAMES)), st.booleans(), st.data())
    def calls(case, name, likely, data):
        if likely:
            _make_likely(case, name, service.ids, data)
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {service.key}"}
        response = case.call(base_url=service.base, timeout=600)
        statuses.add(response.status_code)
        case.validate_response(response, checks=CHECKS)

    calls()
    return statuses


def _make_likely(case, name, ids, data):
    """Put in what there is: names of studies, ids that were handed out, domains that can be built."""
    with_ids = isinstance(case.body, dict) and case.body.keys() & {"id", "ids"}
    if case.path_parameters and "name" in case.path_parameters:
        case.path_parameters["name"] = "spring" if with_ids else quote(name, safe="")
    if isinstance(case.body, dict):
        real = st.sampled_from(ids)
        likely = {"id": real, "ids": st.lists(real, min_size=1, max_size=3), "domain": st.sampled_from(DOMAINS)}
        for member in likely.keys() & case.body.keys():
            case.body[member] = data.draw(likely[member])
        for member in ("losses", "reports"):
            if isinstance(case.body.get(member), list) and isinstance(case.body.get("ids"), list):
                case.body[member] = (case.body[member] + [0, 0, 0])[: len(case.body["ids"])]
