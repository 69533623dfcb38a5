/**
 * sottovoce in a page: ask a service for a decision, and tell what came of it. One file, no dependency; browsers and
 * Node from version 18.
 *
 * Under local privacy a loss is privatised here, by the device's cryptographic generator, before anything leaves; the
 * service sees one random bit. Thresholds are those of the Python channel (privacy/local/one_bit.py) to the last bit:
 * whole numbers of 64 bits, reckoned with BigInt. Proof and sensitivity stand there.
 *
 * Four rules that this file keeps:
 * - How much a report may spend is for the page to say, never for the service: there is no default, and a service that
 *   wants more gets nothing.
 * - A raw loss is never sent to a study with local privacy, and to no study at all unless the page has said in words
 *   (`rawLosses: true`) that the service may have it. That the service says so is not enough.
 * - A loss is privatised once. Whoever repeats a call sends the same report: a second one would cost its owner the
 *   budget a second time, and a service that swallows answers could ask for as many as it likes.
 * - What waits to be sent waits in memory, never in localStorage or the like: losses must not lie about on devices that
 *   people share. What cannot be sent before the page is gone is lost, and counts as the middle of the range.
 *
 * sendBeacon is not used: it cannot carry the key in a header, and a key in an address ends up in logs. Tells are sent
 * with fetch and `keepalive`, which outlives the page as well.
 */

const RANDOM_BITS = 64n;
const WORDS = 1n << RANDOM_BITS; // as many words can be drawn
const LOSS_BITS = 53; // all that a number holds
const EXPONENTIAL_BITS = 128n;
const LARGEST_EPSILON = 8; // then a report is right in 2,981 of 2,982 cases: beyond it nothing is hidden

const KEPT = 10_000; // reports, and items of actions
const LONGEST_KEPT_ALIVE = 60_000; // browsers allow 64 kB after the page is gone
const AGAIN = [429, 502, 503, 504];
const NO_CHANNEL = "no-channel";

/** What a service refuses, or cannot do: `kind` is the kind of its problem document, `status` the HTTP status. */
export class SottovoceError extends Error {
  constructor(words, kind = "", status = 0) {
    super(words);
    this.name = new.target.name;
    this.kind = kind;
    this.status = status;
  }
}

/** The service could not be reached. Whether it has recorded the call is open; repeating is harmless. */
export class ServiceAway extends SottovoceError {
  /** Seconds for which the service wants to be left alone, if it has said so. */
  retryAfter = 0;
}

// ---------------------------------------------------------------------- local privacy

/** One bit for each loss: +1 or -1, with probabilities that differ by a factor of e^epsilon at most. */
export class OneBitChannel {
  #least;

  constructor([low, high], epsilon) {
    if (!(low < high && Number.isFinite(high - low))) {
      throw new RangeError("loss_range must be [low, high], finite, with low < high");
    }
    this.kind = "one-bit";
    this.lossRange = Object.freeze([low, high]);
    this.epsilon = checkedEpsilon(epsilon);
    this.#least = leastThreshold(epsilon);
    if (2n * this.#least >= WORDS) {
      throw new RangeError("epsilon is too small: the report would not depend on the loss at all");
    }
    Object.freeze(this);
  }

  /** How many of the 2^64 random words make the report +1, as a BigInt. Private: never show it. */
  threshold(loss) {
    const [low, high] = this.lossRange;
    const fraction = (Math.min(Math.max(finite(loss), low), high) - low) / (high - low);
    const spread = WORDS - 2n * this.#least;
    return this.#least + ((spread * BigInt(Math.trunc(fraction * 2 ** LOSS_BITS))) >> BigInt(LOSS_BITS));
  }

  /** The report of a loss: all that may leave its owner's hands. Send one report per loss, once. */
  privatise(loss) {
    const threshold = this.threshold(loss);
    return randomWord() < threshold ? 1 : -1;
  }

  toJSON() {
    return { kind: this.kind, loss_range: [...this.lossRange], epsilon: this.epsilon };
  }
}

/** The channel that a service has described, if its reports spend no more than `epsilon`. */
export function channelFrom(plain, epsilon) {
  if (plain?.kind !== "one-bit") {
    throw new SottovoceError("this study's channel is not the one of one bit, and no other is known here");
  }
  if (!Array.isArray(plain.loss_range) || plain.loss_range.length !== 2) {
    throw new SottovoceError("the service's answer is not a channel");
  }
  if (!(plain.epsilon <= checkedEpsilon(epsilon))) throw disagreed();
  return new OneBitChannel(plain.loss_range, plain.epsilon);
}

/** The report of a loss, on its owner's side. */
export function privatise(loss, channel) {
  if (!(channel instanceof OneBitChannel)) {
    throw new TypeError("channel must be a OneBitChannel: channelFrom(what the service says, epsilon) makes one");
  }
  return channel.privatise(loss);
}

function checkedEpsilon(epsilon) {
  if (typeof epsilon !== "number" || !(epsilon > 0 && epsilon <= LARGEST_EPSILON)) {
    throw new RangeError(`epsilon must be above 0 and at most ${LARGEST_EPSILON}`);
  }
  return epsilon;
}

function disagreed() {
  const words = "the study does not keep the local privacy that was agreed on; nothing was told";
  return new SottovoceError(words, "configuration-mismatch");
}

/** Smallest whole m with (2^64 - m)/m at most (a lower bound of) e^epsilon: rounded inward. */
function leastThreshold(epsilon) {
  const one = 1n << EXPONENTIAL_BITS;
  const all = one + exponentialBelow(epsilon);
  return (one * WORDS + all - 1n) / all;
}

/** e^epsilon in units of 2^-128, from below: Taylor's terms are positive, and each is rounded down. */
function exponentialBelow(epsilon) {
  const [numerator, denominator] = ratio(epsilon);
  let term = 1n << EXPONENTIAL_BITS;
  let total = term;
  for (let order = 1n; term; order += 1n) {
    term = (term * numerator) / (denominator * order);
    total += term;
  }
  return total;
}

/** A positive number as numerator and denominator, exactly. */
function ratio(value) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & ((1n << 52n) - 1n);
  const mantissa = exponent ? fraction | (1n << 52n) : fraction;
  const shift = (exponent || 1) - 1075;
  return shift >= 0 ? [mantissa << BigInt(shift), 1n] : [mantissa, 1n << BigInt(-shift)];
}

// Node 18 keeps its generator in a module; this line does nothing elsewhere.
const generator = () => globalThis.crypto ?? fallback;
const fallback = globalThis.crypto ? undefined : (await import("node:crypto")).webcrypto;

function randomWord() {
  return generator().getRandomValues(new BigUint64Array(1))[0];
}

function randomName() {
  const bytes = generator().getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (one) => one.toString(16).padStart(2, "0")).join("");
}

function finite(loss) {
  if (typeof loss !== "number" || !Number.isFinite(loss)) {
    throw new TypeError("the loss is not a finite number; nothing was sent. Fix it, and tell again");
  }
  return loss;
}

// ---------------------------------------------------------------------- what travels

/**
 * A finite loss as a JSON number that takes as much room as any other, and is read back to the last bit: the length of
 * an encrypted request says nothing about it.
 */
export function lossText(loss) {
  if (Array.isArray(loss)) return `[${loss.map(lossText).join(", ")}]`; // of the items of one decision
  if (loss === null) return "null".padStart(25); // an item that was not told takes as much room as one that was
  const [mantissa, exponent] = Math.abs(loss).toExponential(17).split("e");
  return `${loss < 0 ? "-" : " "}${mantissa}e${exponent[0]}${exponent.slice(1).padStart(3, "0")}`;
}

function tellBody({ ids, kind, values, late }) {
  const write = kind === "loss" ? lossText : (report) => String(report).padStart(20);
  const rest = `, "late": ${JSON.stringify(late)}}`;
  if (ids.length === 1) {
    return `{"id": ${JSON.stringify(ids[0])}, "${kind}": ${write(values[0])}${rest}`;
  }
  const plural = kind === "loss" ? "losses" : "reports";
  return `{"ids": ${JSON.stringify(ids)}, "${plural}": [${values.map(write).join(", ")}]${rest}`;
}

const DEFAULTS = Object.freeze({ attempts: 6, first: 0.1, longest: 20, timeout: 30 });

const reportsSent = new Map(); // by service, study and id: of all that this page has connected to

/** Keep a value under a key, and let go of the oldest. */
function keep(map, key, value) {
  map.set(key, value);
  if (map.size > KEPT) map.delete(map.keys().next().value);
}

/** Calls of one service, repeated while it is away. */
class Service {
  #base;
  #key;
  #retries;
  #fetch;

  constructor(url, { key, retries, insecure = false, fetch = globalThis.fetch }) {
    this.#base = checkedAddress(url, insecure);
    if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
      throw new TypeError("key must be the text that `sottovoce serve key create` has shown; what was passed is not");
    }
    this.#key = key;
    this.#retries = { ...DEFAULTS, ...retries };
    this.#fetch = (...request) => fetch(...request); // a browser's own insists on being called without `this`
  }

  get base() {
    return this.#base;
  }

  /** Return the answer to a call that may be repeated; `attempts` overrides how often. */
  async call(method, path, { body, headers = {}, keepalive = false, attempts = this.#retries.attempts } = {}) {
    for (let attempt = 0; ; attempt += 1) {
      const found = await this.#attempt(method, path, body, headers, keepalive);
      if (!found.away) {
        if (found.error) throw found.error;
        return found.plain;
      }
      if (attempt + 1 >= attempts || found.away.retryAfter > this.#retries.longest) throw found.away;
      await this.pause(attempt, found.away.retryAfter);
    }
  }

  /** Wait after an attempt that failed: twice as long each time, cut at random, and as long as the service says. */
  pause(attempt, told = 0) {
    const longest = Math.min(this.#retries.longest, this.#retries.first * 2 ** Math.min(attempt, 60));
    const share = Number(randomWord() >> 11n) / 2 ** 53;
    return new Promise((go) => setTimeout(go, 1000 * (told + share * longest)));
  }

  async #attempt(method, path, body, headers, keepalive) {
    const sent = { Accept: "application/json", ...headers };
    if (this.#key !== undefined) sent.Authorization = `Bearer ${this.#key}`;
    if (body !== undefined) sent["Content-Type"] = "application/json";
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), 1000 * this.#retries.timeout);
    try {
      const response = await this.#fetch(this.#base + path, {
        method,
        body,
        headers: sent,
        keepalive: keepalive && (body?.length ?? 0) < LONGEST_KEPT_ALIVE,
        signal: stop.signal,
        credentials: "omit",
        cache: "no-store",
        redirect: "error", // it may lead to where losses must not go
        referrerPolicy: "no-referrer",
      });
      return await this.#read(response);
    } catch {
      return { away: new ServiceAway(`${this.#base} could not be reached; repeat the call: nothing is counted twice`) };
    } finally {
      clearTimeout(timer);
    }
  }

  async #read(response) {
    const plain = await response.json().catch(() => null);
    if (response.ok && plain !== null && typeof plain === "object" && !Array.isArray(plain)) return { plain };
    const error = problem(response.status, plain);
    if (!AGAIN.includes(response.status)) return { error };
    const away = new ServiceAway(error.message, error.kind, error.status);
    away.retryAfter = Math.max(0, Number.parseInt(response.headers.get("Retry-After") ?? "", 10) || 0);
    return { away };
  }
}

function problem(status, plain) {
  const [, kind] = /\/problems\/([a-z0-9-]+)$/.exec(typeof plain?.type === "string" ? plain.type : "") ?? [];
  if (kind === undefined) {
    const words = `what answered with status ${status} is no sottovoce service: check the address`;
    return new SottovoceError(words, "", status);
  }
  const words = [plain.detail, plain.title, kind].find((one) => typeof one === "string" && one);
  return new SottovoceError(words, kind, status);
}

function checkedAddress(url, insecure) {
  let parts;
  try {
    parts = new URL(url, globalThis.location?.href);
  } catch {
    throw new TypeError("url must be like https://decide.example"); // without the one that was passed
  }
  if (parts.protocol !== "https:" && parts.protocol !== "http:") {
    throw new TypeError("url must be like https://decide.example");
  }
  if (parts.username || parts.password || parts.search || parts.hash) {
    throw new TypeError("url must hold neither a user nor a password, and neither ? nor #: pass the key as { key }");
  }
  const local = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(parts.hostname);
  if (parts.protocol === "http:" && !local && !insecure) {
    throw new TypeError(`http://${parts.hostname} would carry losses and the key in clear: use https://`);
  }
  return parts.origin + parts.pathname.replace(/\/+$/, "");
}

// ---------------------------------------------------------------------- a study

/** A segment as a query names it: "phone"; or levels of its factors, "phone,it" or "device=phone,country=it". */
function segmentText(segment) {
  if (Array.isArray(segment)) return segment.join(",");
  if (typeof segment !== "object" || segment === null) return String(segment);
  return Object.entries(segment)
    .map(([name, level]) => `${name}=${level}`)
    .join(",");
}

/** A study that a service holds: made by `connect`. */
export class RemoteStudy {
  #service;
  #study;
  #path;
  #epsilon; // the most that a report may spend
  #rawLosses; // whether the page has said that losses may be sent as they are
  #most;
  #channel; // undefined: not known yet; null: the study wants raw losses
  #asking; // of the channel
  #items = new Map(); // names of the items of an action, by its id, in the order of their losses
  #waiting = []; // tells that are not acknowledged, the oldest first
  #sending = false;
  #closed = false;
  #leaving = () => this.#sendAll();
  #hiding = () => globalThis.document?.visibilityState === "hidden" && this.#sendAll();

  constructor(service, { study, epsilon, rawLosses = false, most = 1000 }) {
    if (typeof study !== "string" || !study || study === "." || study === "..") {
      throw new TypeError("study must be the name of a study");
    }
    if ((epsilon === undefined) !== (rawLosses === true)) {
      throw new TypeError(
        "say what the service may have: epsilon, the most that a report of a loss may spend, under local privacy; " +
          "or rawLosses: true, if it may see the losses themselves. One of the two",
      );
    }
    this.#service = service;
    this.#study = study;
    this.#path = `/studies/${encodeURIComponent(study)}`;
    this.#rawLosses = rawLosses === true;
    this.#epsilon = this.#rawLosses ? LARGEST_EPSILON : checkedEpsilon(epsilon);
    this.#most = most;
    globalThis.addEventListener?.("pagehide", this.#leaving);
    globalThis.document?.addEventListener?.("visibilitychange", this.#hiding);
  }

  get name() {
    return this.#study;
  }

  /** How many losses wait in memory to be sent. */
  get waiting() {
    return this.#waiting.reduce((sum, one) => sum + one.ids.length, 0);
  }

  /**
   * The next action; with `size` a list of so many. A call that is repeated gets the same ones. Of a study with segments,
   * `segment` says whom all of it is for; or `segments`, one for each action. Where people are counted, `person` says who it
   * is, by any text that is theirs alone; or `people`, one for each action.
   */
  async ask({ size, x = "dense", segment, segments, person, people } = {}) {
    const body = JSON.stringify({ size, x, segment, segments, person, people }); // what is undefined is left out
    // By the time that there is something to tell, it is known how: a page may be gone soon.
    const known = this.#wants().catch(() => undefined);
    const plain = await this.#service.call("POST", `${this.#path}/ask`, {
      body,
      headers: { "Idempotency-Key": randomName() },
    });
    await known;
    const actions = (plain.actions ?? [plain]).map(action);
    for (const one of actions) if (one.items) keep(this.#items, one.id, one.items.map(String));
    return plain.actions === undefined ? actions[0] : actions;
  }

  /**
   * Tell the loss of an action, or of a list of them; resolves once it is acknowledged. Under local privacy it is
   * privatised first, once, and only the report is sent. While the service is away it waits in memory. With feedback by
   * item a loss is an object (or a Map) by name, or a list in the order of `items`; what is sent is as long either way.
   */
  tell(ids, losses, { late = "error" } = {}) {
    return this.#tell(ids, losses, "loss", late);
  }

  /** Tell a report that was made with `privatise`. Keep it: one loss must not be privatised twice. */
  tellReport(ids, reports, { late = "error" } = {}) {
    return this.#tell(ids, reports, "report", late);
  }

  /** Losses of items as a list, null for those that are not told: a name that is sent is a click that is seen. */
  #inOrder(id, told) {
    const items = this.#items.get(id);
    if (Array.isArray(told)) {
      if (items && items.length !== told.length) throw new TypeError(`there must be ${items.length} losses, or names`);
      return told.map((loss) => (loss === null ? null : finite(loss)));
    }
    if (!items) throw new TypeError("items are known where they were asked for: elsewhere tell a list, in their order");
    const entries = told instanceof Map ? [...told] : Object.entries(told);
    const losses = new Map(entries.map(([name, loss]) => [String(name), finite(loss)]));
    if (![...losses.keys()].every((name) => items.includes(name))) {
      throw new TypeError("a loss was told of an item that its decision did not choose; nothing was sent");
    }
    return items.map((name) => losses.get(name) ?? null);
  }

  async #tell(given, numbers, kind, late) {
    if (this.#closed) throw new SottovoceError("this connection is closed: connect again");
    const several = Array.isArray(given);
    const ids = several ? [...given] : [given];
    const told = several && Array.isArray(numbers) ? numbers : [numbers];
    if (ids.length !== told.length || !ids.every((one) => typeof one === "string")) {
      throw new TypeError("there must be a loss for each id, and ids are texts");
    }
    const byItem = (loss) => typeof loss === "object" && loss !== null;
    const values = told.map((loss, i) => (byItem(loss) ? this.#inOrder(ids[i], loss) : finite(loss)));
    if (!ids.length) return { recorded: 0, already: 0, dropped: 0 };
    if (this.waiting + ids.length > this.#most) {
      throw new SottovoceError(`${this.#most} losses wait to be sent already; this one is dropped`, "queue-full");
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ids, values, kind, late, body: undefined, resolve, reject });
      this.#send();
      if (globalThis.document?.visibilityState === "hidden") this.#sendAll();
    });
  }

  /** Close actions whose loss will never come; resolves to how many were closed. */
  async forget(ids) {
    const body = JSON.stringify({ ids: Array.isArray(ids) ? ids : [ids] });
    return (await this.#service.call("POST", `${this.#path}/forget`, { body })).closed;
  }

  /** Change the set of decisions, from the next round on: { domain, labels, features, patience, deadline }. */
  change(changes) {
    return this.#service.call("POST", `${this.#path}/change`, { body: JSON.stringify(changes) });
  }

  /** The channel of a study with local privacy; null of one that wants the losses themselves. */
  channel() {
    return this.#wants();
  }

  recommend({ segment } = {}) {
    const whose = segment === undefined ? "" : `?segment=${encodeURIComponent(segmentText(segment))}`;
    return this.#service.call("GET", `${this.#path}/recommend${whose}`);
  }

  status() {
    return this.#service.call("GET", `${this.#path}/status`);
  }

  /** Send no more; what waits is dropped. */
  close() {
    this.#closed = true;
    globalThis.removeEventListener?.("pagehide", this.#leaving);
    globalThis.document?.removeEventListener?.("visibilitychange", this.#hiding);
    for (const one of this.#waiting.splice(0)) one.reject(new ServiceAway("closed before it was acknowledged"));
  }

  // -------------------------------------------------------------------- what the study wants

  #wants() {
    if (this.#channel !== undefined) return Promise.resolve(this.#channel);
    this.#asking ??= this.#findOut().finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  async #findOut() {
    let found;
    try {
      found = channelFrom(await this.#service.call("GET", `${this.#path}/channel`), this.#epsilon);
    } catch (error) {
      if (error.kind !== NO_CHANNEL) throw error; // no other refusal may set raw losses free
      if (!this.#rawLosses) throw disagreed(); // nor does this one: the page has to
      found = null;
    }
    this.#channel = found;
    return found;
  }

  // -------------------------------------------------------------------- sending

  /** Write the request of a tell, once: under local privacy the raw losses are gone with that. */
  #prepare(one, channel) {
    if (one.body !== undefined) return;
    if (channel === null && one.kind === "report") {
      throw new SottovoceError("reports are for local privacy; this study wants the loss itself", "wrong-report");
    }
    if (channel !== null && one.kind === "loss") {
      one.values.forEach(finite); // losses of items have no channel
      one.values = one.ids.map((id, i) => this.#reportOf(id, one.values[i], channel));
      one.kind = "report";
    }
    if (one.kind === "report" && !one.values.every((report) => report === 1 || report === -1)) {
      throw new SottovoceError("a report is not one that the channel sends. Is it a raw loss?", "invalid-loss");
    }
    one.body = tellBody(one);
    one.values = undefined;
  }

  #reportOf(id, loss, channel) {
    const name = JSON.stringify([this.#service.base, this.#study, id]);
    let report = reportsSent.get(name);
    if (report === undefined) {
      report = channel.privatise(loss);
      keep(reportsSent, name, report);
    }
    return report;
  }

  async #send() {
    if (this.#sending) return;
    this.#sending = true;
    for (let attempt = 0; this.#waiting.length && !this.#closed; ) {
      const [one] = this.#waiting;
      let away = null;
      try {
        this.#prepare(one, await this.#wants());
        one.resolve(counts(await this.#post(one), one.ids.length));
      } catch (error) {
        if (error instanceof ServiceAway) away = error;
        else one.reject(error);
      }
      if (away && !this.#closed) {
        await this.#service.pause(attempt, away.retryAfter);
        attempt += 1;
      } else if (!away) {
        attempt = 0;
        this.#waiting.splice(this.#waiting.indexOf(one), this.#waiting.includes(one) ? 1 : 0);
      }
    }
    this.#sending = false;
  }

  #post(one) {
    return this.#service.call("POST", `${this.#path}/tell`, { body: one.body, keepalive: true, attempts: 1 });
  }

  /** The page may be gone in a moment: send everything now. What was sent already is sent again, and counts once. */
  #sendAll() {
    if (this.#channel === undefined) return; // it is not known what may be sent
    for (const one of this.#waiting) {
      try {
        this.#prepare(one, this.#channel);
        this.#post(one).catch(() => undefined);
      } catch {
        // the sender says so
      }
    }
  }
}

function action(plain) {
  const { id, chosen, x, wants_loss: wantsLoss, items } = plain;
  return items ? { id, chosen, x, wantsLoss, items } : { id, chosen, x, wantsLoss };
}

function counts(plain, size) {
  const { recorded = 0, already = 0, dropped = 0 } = plain;
  if (recorded + already + dropped !== size) {
    throw new SottovoceError("the service has acknowledged another number of losses than were sent");
  }
  return { recorded, already, dropped };
}

/**
 * Connect to a study of a service: `connect("https://decide.example", { study: "spring", key, epsilon: 1 })`. `epsilon` is
 * the most that a report may spend; a study that wants more, or raw losses, is told nothing. For a study without local
 * privacy, whose service may see the losses, pass `rawLosses: true` in its place.
 */
export function connect(url, { study, key, epsilon, rawLosses, retries, insecure, most, fetch } = {}) {
  return new RemoteStudy(new Service(url, { key, retries, insecure, fetch }), { study, epsilon, rawLosses, most });
}
