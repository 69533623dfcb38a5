"""sottovoce.js in a real browser: the channel is Python's to the last bit, and no raw loss leaves the page."""

import json
import math

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sampling import every
from sottovoce.client._wire import LOSS_WIDTH, loss_text

RUN = """
const [source, given, done] = arguments;
(async () => {
  const library = await import("/sottovoce.js");
  return await new Function("library", "given", `return (async () => { ${source} })()`)(library, given);
})().then((value) => done({ value }), (error) => done({ error: String(error), name: error.name, kind: error.kind }));
"""
THRESHOLDS = """
return given.map(([epsilon, low, high, loss]) => {
  try { return String(new library.OneBitChannel([low, high], epsilon).threshold(loss)); } catch { return "refused"; }
});
"""
CHANNEL = sv.local.OneBitChannel((0.0, 1.0), epsilon=1.0)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
WIDE = st.floats(-1e300, 1e300)
TINY, HUGE = 5e-324, 1.7976931348623157e308
EPSILONS = (TINY, 2e-19, 2.2e-19, 1e-15, 1e-9, 0.1, 1 / 3, math.log(3), 1.0, math.pi, 7.999999999999999, 8.0, 8.1, 30.0)
RANGES = ((0.0, 1.0), (-1.0, 1.0), (0.1, 0.3), (-1e-300, 1e-300), (0.0, TINY), (-HUGE / 2, HUGE / 2), (1.0, 1 + 2**-52))
SHARES = (-1.0, -0.0, 0.0, 2**-53, 1 / 3, 0.5, 0.9999999999999999, 1.0, 1e9)


@pytest.fixture
def page(browser, stand_in):
    """`page(source, given)`: what the source returns, run in a page of the stand-in's origin."""
    browser.get(f"{stand_in.url}/page")

    def run(source, given=None):
        found = browser.execute_async_script(RUN, source, given)
        if "error" in found:
            raise RuntimeError(json.dumps(found))
        return found["value"]

    return run


@pytest.fixture
def local(stand_in):
    stand_in.channels = {"spring": CHANNEL.to_dict()}


CONNECT = """
const { connect } = library;
const quick = { attempts: 4, first: 0.001, longest: 0.01 };
const study = connect(location.origin, { study: "spring", key: given.key, retries: quick, ...given.options });
"""
RAW, LOCALLY = {"rawLosses": True}, {"epsilon": 1}


def threshold(epsilon, low, high, loss):
    try:
        return str(sv.local.OneBitChannel((low, high), epsilon).threshold(loss))
    except ValueError:
        return "refused"


# ---------------------------------------------------------------------- the channel


def test_thresholds_are_pythons_to_the_last_bit(page):
    @settings(max_examples=8, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(st.lists(st.tuples(st.floats(0, 8), WIDE, WIDE, FINITE), min_size=60, max_size=100))
    def check(cases):
        cases = [(epsilon, min(a, b), max(a, b), loss) for epsilon, a, b, loss in cases]
        cases += [(epsilon, low, high, low + (high - low) * (i / 7)) for i, (epsilon, low, high, _) in enumerate(cases)]
        seen.extend(cases)
        assert page(THRESHOLDS, cases) == [threshold(*case) for case in cases]

    seen = []
    check()
    assert len(seen) > 500
    cases = [
        (epsilon, low, high, loss)
        for epsilon in EPSILONS
        for low, high in RANGES
        for loss in [*(low + share * (high - low) for share in SHARES), HUGE, -HUGE, TINY]
        if math.isfinite(loss)
    ]
    found = page(THRESHOLDS, cases)
    assert found == [threshold(*case) for case in cases]
    assert 100 < found.count("refused") < len(found) / 2


def test_the_same_words_make_the_same_reports(page):
    """Python: +1 for a word below the threshold. The generator is replaced by one that returns what is wanted."""
    losses = [0.0, 0.25, 1 / 3, 1.0]
    words = [
        [loss, str(word % 2**64)]
        for loss in losses
        for word in (0, CHANNEL.threshold(loss) - 1, CHANNEL.threshold(loss), 2**64 - 1)
    ]
    source = """
    const channel = new library.OneBitChannel([0, 1], 1), own = crypto.getRandomValues;
    try {
      return given.map(([loss, word]) => {
        crypto.getRandomValues = (array) => { array[0] = BigInt(word); return array; };
        return channel.privatise(loss);
      });
    } finally { crypto.getRandomValues = own; }
    """
    assert page(source, words) == [1 if int(word) < CHANNEL.threshold(loss) else -1 for loss, word in words]


@every("loss", ["NaN", "Infinity", '"0.5"', "null", "undefined", "[0.5]", "{}", "1n"])
def test_what_is_no_loss_is_refused(page, loss):
    with pytest.raises(RuntimeError, match="not a finite number"):
        page(f"return library.privatise({loss}, new library.OneBitChannel([0, 1], 1));")


def test_losses_travel_as_pythons_do(page):
    losses = [0.25, 1 / 3, -1e-7, 0.0, TINY, -TINY, HUGE, -HUGE, 123456789.125, 2.0**-1022, 1e22, 0.1 + 0.2]
    found = page("return given.map(library.lossText);", losses)
    assert [len(one) for one in found] == [LOSS_WIDTH] * len(losses)
    assert [json.loads(one) for one in found] == losses
    assert found == [loss_text(loss) for loss in losses]


# ---------------------------------------------------------------------- a study


def test_losses_are_told_where_no_local_privacy_is_promised(page, stand_in, key):
    source = """
    const one = await study.ask(), two = await study.ask({ size: 2, x: "none" });
    const told = [await study.tell(one.id, 0.1), await study.tell(two.map((a) => a.id), [1 / 3, 0])];
    return [one, told, await study.tell(one.id, 0.1), await study.channel(), await study.forget(one.id)];
    """
    one, told, again, channel, closed = page(CONNECT + source, {"key": key, "options": RAW})
    assert one == {"id": next(iter(stand_in.asked)), "chosen": ["tea"], "x": [1, 0, 0, 0], "wantsLoss": True}
    assert told == [{"recorded": 1, "already": 0, "dropped": 0}, {"recorded": 2, "already": 0, "dropped": 0}]
    assert again == {"recorded": 0, "already": 1, "dropped": 0}
    assert list(stand_in.told.values()) == [0.1, 1 / 3, 0.0]
    assert (channel, closed) == (None, 0)
    assert len({len(body) for body in stand_in.bodies("tell")[::2]}) == 1


def test_losses_of_items_are_as_long_whatever_was_clicked_and_no_error_names_them(page, stand_in, key):
    stand_in.items = ["tea-777", 5, ["ann", "early"]]
    source = """
    const clicks = [{}, { "tea-777": -1 }, new Map([[["ann", "early"], -0.25], [5, -1e-9]]), [null, -1, 0]];
    for (const one of clicks) await study.tell((await study.ask({ x: "none" })).id, one);
    for (const one of clicks) await study.tell((await study.ask({ size: 2 })).map((a) => a.id), [one, {}]);
    const last = await study.ask(), refused = [];
    const wrong = [{ "cola-778": -1 }, { "tea-777": NaN }, { "tea-777": "milk" }, { "tea-777": null }];
    wrong.push([-0.31415], [NaN, 0, 0]);
    for (const one of wrong) await study.tell(last.id, one).catch((error) => refused.push(String(error)));
    await study.tell("elsewhere", { "tea-777": -1 }).catch((error) => refused.push(String(error)));
    return [last.items, refused];
    """
    items, refused = page(CONNECT + source, {"key": key, "options": RAW})
    bodies = stand_in.bodies("tell")
    plain = [json.loads(body) for body in bodies]
    rows = [[None] * 3, [-1, None, None], [None, -1e-9, -0.25], [None, -1, 0]]
    assert [one["loss"] for one in plain[:4]] == rows
    assert [one["losses"] for one in plain[4:]] == [[row, [None] * 3] for row in rows]
    assert len({len(body) for body in bodies[:4]}) == 1
    assert len({len(body) - len(json.dumps(one["ids"])) for body, one in zip(bodies[4:], plain[4:], strict=True)}) == 1
    assert (items, len(refused)) == (stand_in.items, 7)
    assert not [one for one in ("777", "778", "tea", "milk", "cola", "31415") if one in " ".join(refused)]


def test_a_changed_set_is_the_services_and_every_action_is_told_by_the_items_of_its_own(page, stand_in, key):
    """Of actions that were asked before a change, names of the old set; their losses are as long as ever."""
    stand_in.items = ["tea", "coffee", "cocoa"]
    source = """
    const before = await study.ask({ person: "ada" });
    const answered = await study.change({ domain: "hypersimplex:4,2", labels: ["mate", "juice", "tea", "milk"] });
    const after = await study.ask({ person: "ada" });
    const refused = await study.change({ domain: "hypersimplex:4,2" }).catch((error) => error.kind);
    await study.tell(before.id, { cocoa: -1 });
    await study.tell(after.id, { mate: -1 });
    const gone = await study.tell(after.id, { cocoa: -1 }).catch((error) => String(error));
    return [answered.domain.written, before.items, after.items, refused, gone];
    """
    domain, before, after, refused, gone = page(CONNECT + source, {"key": key, "options": RAW})
    assert (domain, before, after) == ("hypersimplex:4,2", ["tea", "coffee", "cocoa"], ["mate", "juice"])
    assert refused == "invalid-request"
    assert "cocoa" not in gone
    assert [json.loads(body)["loss"] for body in stand_in.bodies("tell")] == [[None, None, -1], [-1, None]]
    changes = [json.loads(body) for body in stand_in.bodies("change")]
    assert changes == [{"domain": "hypersimplex:4,2", "labels": ["mate", "juice", "tea", "milk"]}, changes[1]]


def test_whose_an_action_is_goes_to_the_service_alone(page, stand_in, key):
    source = """
    await study.ask({ person: "ada lovelace" });
    return (await study.ask({ people: ["ada lovelace", "grace"], size: 2 })).length;
    """
    assert page(CONNECT + source, {"key": key, "options": RAW}) == 2
    one, two = map(json.loads, stand_in.bodies("ask"))
    assert (one["person"], two["people"]) == ("ada lovelace", ["ada lovelace", "grace"])
    assert not any("lovelace" in str(address) + str(heads) for _, address, heads, _ in stand_in.requests)


def test_under_local_privacy_only_reports_leave(page, stand_in, local, key):
    source = """
    const actions = await study.ask({ size: 60 });
    await study.tell(actions.map((a) => a.id), actions.map(() => 0.715517155));
    await study.tellReport((await study.ask()).id, library.privatise(0.715517155, await study.channel()));
    return [localStorage.length, sessionStorage.length, (await indexedDB.databases()).length, document.cookie];
    """
    assert page(CONNECT + source, {"key": key, "options": LOCALLY}) == [0, 0, 0, ""]
    assert len(stand_in.told) == 61
    assert set(stand_in.told.values()) == {-1, 1}
    assert not any(b"7155171" in body or b"loss" in body for _, _, _, body in stand_in.requests)


def test_a_loss_is_privatised_once_however_often_it_is_told(page, stand_in, local, key):
    """Failures, later calls with other losses and a second connection all send one report: 40 agree by chance never."""
    source = """
    const actions = await study.ask({ size: 40 }), ids = actions.map((a) => a.id);
    await study.tell(ids, ids.map(() => 0.5));
    await study.tell(ids, ids.map(() => 1));
    const other = connect(location.origin, { study: "spring", key: given.key, epsilon: 2 });
    return await other.tell(ids, ids.map(() => 0));
    """
    channel_and_ask = [None, None]  # these two go out first
    stand_in.faults.extend([*channel_and_ask, "before", "after", 503, (429, {"Retry-After": "0"})])
    assert page(CONNECT + source, {"key": key, "options": LOCALLY}) == {"recorded": 0, "already": 40, "dropped": 0}
    sent = [json.loads(body)["reports"] for body in stand_in.bodies("tell")]
    assert len(sent) == 7
    assert all(one == sent[0] for one in sent)
    assert set(sent[0]) == {-1, 1}


@pytest.mark.parametrize("fault", ["before", "after", 429, 503])
def test_an_ask_is_repeated_and_gets_one_action(page, stand_in, key, fault):
    page(CONNECT + "await study.channel();", {"key": key, "options": RAW})
    stand_in.faults.extend([None, fault, fault])
    page(CONNECT + "await study.channel(); return (await study.ask()).id;", {"key": key, "options": RAW})
    keys = [headers["Idempotency-Key"] for headers in stand_in.heads("ask")]
    assert len(keys) == 3
    assert len(set(keys)) == len(stand_in.asked) == 1


@every(
    "answer",
    [
        (409, {"type": "/problems/study-behind", "detail": "no"}),
        (409, {"type": "/problems/state-refused", "detail": "no"}),
        (404, {"type": "/problems/study-not-found", "detail": "no"}),
        (409, {"detail": "no"}),
        (200, {}),
        (200, {"kind": "laplace", "loss_range": [0, 1], "epsilon": 1, "bits": 16}),
        (200, {"kind": "one-bit", "loss_range": [0, 1], "epsilon": 8.1}),
        (200, {"kind": "one-bit", "loss_range": [0, 1], "epsilon": "1"}),
    ],
)
def test_no_other_answer_sets_raw_losses_free(page, stand_in, key, answer):
    stand_in.on_channel = lambda *_: answer
    with pytest.raises(RuntimeError):
        page(CONNECT + "await study.tell((await study.ask()).id, 0.5);", {"key": key, "options": RAW})
    assert not stand_in.bodies("tell")


WHAT = "say what the service may have"
RANGE = "epsilon must be above 0 and at most 8"
REFUSED = [
    ({}, WHAT),
    ({"rawLosses": False}, WHAT),
    ({"rawLosses": "yes"}, WHAT),
    ({"epsilon": 1, "rawLosses": True}, WHAT),
]


@every(("options", "words"), [*REFUSED, *(({"epsilon": one}, RANGE) for one in (0, -1, 8.1, 30, "1", None))])
def test_a_page_says_itself_what_the_service_may_have(page, stand_in, key, options, words):
    with pytest.raises(RuntimeError, match=words):
        page(CONNECT, {"key": key, "options": options})
    assert not stand_in.requests


def test_what_a_service_says_of_a_channel_is_no_channel(page):
    with pytest.raises(RuntimeError, match="channel must be a OneBitChannel"):
        page("library.privatise(0.5, given);", CHANNEL.to_dict())
    with pytest.raises(RuntimeError, match=RANGE):
        page("library.channelFrom(given);", CHANNEL.to_dict())
    with pytest.raises(RuntimeError, match="the local privacy that was agreed on"):
        page("library.channelFrom(given, 0.9);", CHANNEL.to_dict())


@every("channel", [None, *(CHANNEL.to_dict() | {"epsilon": epsilon} for epsilon in (1.0000001, 1.1, 7.9, 8.1, 30))])
def test_a_service_that_wants_more_than_was_agreed_gets_nothing(page, stand_in, key, channel):
    stand_in.channels = {"spring": channel}
    with pytest.raises(RuntimeError, match="the local privacy that was agreed on"):
        page(CONNECT + "await study.tell((await study.ask()).id, 0.5);", {"key": key, "options": LOCALLY})
    assert not stand_in.bodies("tell")


def test_tells_wait_in_memory_while_the_service_is_away(page, stand_in, local, key):
    source = """
    const actions = await study.ask({ size: 6 }), late = [];
    for (const one of actions) study.tell(one.id, 0.5).then(() => late.push(one.id));
    const waiting = study.waiting, refused = await study.tell("more", 0.5).catch((error) => error.kind);
    while (late.length < 6) await new Promise((go) => setTimeout(go, 5));
    return [waiting, refused, study.waiting, late.join() === actions.map((a) => a.id).join()];
    """
    stand_in.faults.extend([None, None, *["before", 503] * 5])
    assert page(CONNECT + source, {"key": key, "options": LOCALLY | {"most": 6}}) == [6, "queue-full", 0, True]
    assert list(stand_in.told) == list(stand_in.asked)


def test_a_page_that_is_left_sends_what_waits(page, browser, stand_in, local, key):
    source = """
    const actions = await study.ask({ size: 5 });
    for (const one of actions) study.tell(one.id, 0.5).catch(() => undefined);
    setTimeout(() => { location.href = "/elsewhere"; });
    """
    page(CONNECT + source, {"key": key, "options": LOCALLY})
    arrived = stand_in.all_told(5)
    assert arrived.wait(600)
    assert set(stand_in.told.values()) <= {-1, 1}


def test_no_error_holds_a_loss_or_the_key(page, stand_in, key):
    source = """
    const found = [], id = (await study.ask()).id;
    const said = (error) => [String(error), error.message, error.stack, String(error.cause), JSON.stringify(error)];
    const note = (error) => found.push(...said(error));
    for (const wrong of ["715517155", NaN, [715517155, "1"], null]) await study.tell(id, wrong).catch(note);
    await study.tell("other", 0.715517155).catch(note);
    const refuse = (url, options) => { try { connect(url, options); } catch (error) { note(error); } };
    refuse("http://decide.example", { study: "spring", key: given.key, epsilon: 1 });
    refuse("https://sssss:sssss@decide.example", { study: "spring", epsilon: 1 });
    refuse("https://decide.example", { study: "spring", key: "sssss sssss", epsilon: 1 });
    refuse("https://decide.example", { study: "..", key: given.key, epsilon: 1 });
    study.close();
    await study.tell(id, 0.715517155).catch(note);
    return found;
    """
    found = page(CONNECT + source, {"key": key, "options": RAW})
    assert len(found) == 10 * 5
    assert not any(mark in text for text in found for mark in ("7155171", "sssss"))
    assert "would carry losses and the key in clear" in "".join(found)
