"""What people get wrong at first is answered with the argument, the value, and what to do."""

import pytest

import sottovoce as sv
from sampling import every

BALL = sv.domains.Ball(3)
SETTINGS = {"horizon": 100, "loss_range": (0, 1), "privacy": sv.PureDP(1.0)}


def opened(tmp_path, **changes):
    return sv.Study.open(f"sqlite:///{tmp_path / 'one.db'}", name="one", domain=BALL, **{**SETTINGS, **changes})


def makers(tmp_path):
    """Return everything that takes the arguments of an optimizer, by name."""
    return {
        "PrivateBandit": lambda **changes: sv.PrivateBandit(BALL, **{**SETTINGS, **changes}),
        "plan": lambda **changes: sv.plan(BALL, **{**SETTINGS, **changes}),
        "minimize": lambda **changes: sv.minimize(lambda x: 0.0, BALL, **{**SETTINGS, **changes}),
        "Study.open": lambda **changes: opened(tmp_path, **changes),
    }


def small_bandit(**options):
    return sv.PrivateBandit(sv.domains.Simplex(3), **SETTINGS | options)


def tell_nothing(optimizer):
    optimizer.tell(optimizer.ask().id)


@every(
    ("call", "answer"),
    [
        (lambda: sv.PrivateBandit(BALL, integral="yes", **SETTINGS), "integral must be True or False, got 'yes'"),
        (lambda: sv.PrivateBandit(BALL, ledger="a.ledger", **SETTINGS), r"ledger must be a ledger, .*'a.ledger'\)"),
        (lambda: sv.PrivateBandit(BALL, segments=["a", "a"], losses="linear", **SETTINGS), "'a' is there twice"),
        (lambda: sv.PrivateBandit(BALL, **SETTINGS | {"horizon": "1M"}), "such as 1_000_000, got the text '1M'"),
        (lambda: sv.local.privatise(0.5, "one-bit"), "channel must be that of the optimizer.* got 'one-bit'"),
        (lambda: sv.audit(3), "subject must be a function of a seed .* got 3"),
        (lambda: tell_nothing(small_bandit()), r"tell\(action.id, 0.5\)"),
        (lambda: small_bandit().tell("abc", 0.5), "got texts"),
        (lambda: sv.minimize(5, BALL, **SETTINGS), "loss must be a function from an action to its loss, got 5"),
    ],
)
def test_what_is_no_such_thing_is_named_with_what_is(call, answer):
    with pytest.raises((TypeError, ValueError, sv.errors.SottovoceError), match=answer):
        call()


MISTAKEN = [
    ({"epsilon": 1.0}, r"unknown argument epsilon; did you mean privacy=sv.PureDP\(epsilon=1.0\)\?"),
    ({"delta": 1e-6}, r"did you mean privacy=sv.ApproxDP\(epsilon=..., delta=1e-06\)\?"),
    ({"rho": 0.5}, r"did you mean privacy=sv.ZCDP\(rho=0.5\)\?"),
    ({"horizn": 3}, "unknown argument horizn; did you mean horizon"),
    ({"lossrange": (0, 1)}, "did you mean loss_range"),
    ({"loses": "linear"}, "did you mean losses"),
    ({"loss_range": (0, 1e-300)}, "too narrow"),
    ({"loss_range": (0, 1e300)}, "too wide"),
    ({"loss_range": (1e70, 1.1e70)}, "too wide|too far out"),
    ({"loss_range": ("0", "1")}, r"loss_range\[0\] must be a number, got '0'"),
    ({"loss_range": (False, True)}, r"loss_range\[0\] must be a number, got False"),
    *(({"noise": one}, r"noise must be sv.SecureNoise\(\) or, for simulations") for one in (5, "simulated")),
    *(({"noise": one}, r"noise must be sv.SecureNoise\(\) or, for simulations") for one in (sv.SecureNoise, lambda: 5)),
]


@pytest.mark.parametrize("maker", makers(None))
def test_mistaken_arguments_are_pointed_to_by_whatever_takes_them(maker, tmp_path):
    for given, answer in MISTAKEN:
        if maker == "plan" and "noise" in given:
            continue  # it draws none
        with pytest.raises((TypeError, ValueError), match=answer):
            makers(tmp_path)[maker](**given)


@every(
    "url",
    ["mysql://me:hush@host/db", "oracle+cx://u:hush@h?password=hush", "mysql:u:hush", "hush@host/db", "password=hush"],
)
def test_a_storage_of_another_kind_is_named_without_its_password(url):
    with pytest.raises(ValueError, match="url must be like") as caught:
        sv.Study.open(url, name="one", domain=BALL, **SETTINGS)
    assert "hush" not in str(caught.value)
    if "://" in url:
        assert f"one of kind {url.strip().partition(':')[0]!r}, which is not supported" in str(caught.value)
