/** sottovoce in a page: ask a service for a decision, and tell what came of it. */

/** What a service refuses, or cannot do. */
export class SottovoceError extends Error {
  constructor(words: string, kind?: string, status?: number);
  /** The kind of its problem document, such as "round-closed"; empty if there is none. */
  kind: string;
  /** The HTTP status; 0 if there is none. */
  status: number;
}

/** The service could not be reached. Whether it has recorded the call is open; repeating is harmless. */
export class ServiceAway extends SottovoceError {
  /** Seconds for which the service wants to be left alone, if it has said so. */
  retryAfter: number;
}

/** A channel as a service describes it. */
export interface PlainChannel {
  kind: "one-bit";
  loss_range: [number, number];
  epsilon: number;
}

/** +1 or -1. */
export type Report = 1 | -1;

/** One bit for each loss, with probabilities that differ by a factor of e^epsilon at most. */
export class OneBitChannel {
  constructor(lossRange: readonly [number, number], epsilon: number);
  readonly kind: "one-bit";
  readonly lossRange: readonly [number, number];
  readonly epsilon: number;
  /** How many of the 2^64 random words make the report +1. Private: never show it. */
  threshold(loss: number): bigint;
  /** The report of a loss. Send one report per loss, once. */
  privatise(loss: number): Report;
  toJSON(): PlainChannel;
}

/** The channel that a service has described, if its reports spend no more than `epsilon`. */
export function channelFrom(plain: PlainChannel, epsilon: number): OneBitChannel;

/** The report of a loss, on its owner's side. */
export function privatise(loss: number, channel: OneBitChannel): Report;

/** A finite loss as a JSON number that takes as much room as any other. */
export function lossText(loss: number): string;

// Begin of what follows from the OpenAPI document.
export namespace Wire {
  /** What is asked for: one action, or a block of `size`; `x` says how their numbers are written. */
  interface Ask {
    size?: number | null;
    x?: "dense" | "sparse" | "none";
    round?: boolean;
    segment?: string | number | readonly (string | number)[] | { readonly [name: string]: string | number } | null;
    segments?: readonly (string | number | readonly (string | number)[] | { readonly [name: string]: string | number })[] | null;
    person?: string | null;
    people?: readonly string[] | null;
  }
  /** A loss for an action, or one for each of a block of them; under local privacy reports instead. */
  interface Tell {
    id?: string | null;
    loss?: number | readonly (number | null)[] | { readonly [name: string]: number } | null;
    report?: number | null;
    ids?: readonly string[] | null;
    losses?: readonly number[] | readonly (readonly (number | null)[] | { readonly [name: string]: number })[] | null;
    reports?: readonly number[] | null;
    late?: "error" | "drop";
  }
  /** Actions whose loss will never come. */
  interface Forget {
    ids: readonly string[];
  }
  /** A decision to carry out: `chosen` in the names of the set, `x` its numbers. */
  interface Action {
    id: string;
    chosen: unknown;
    x: readonly number[] | Sparse | null;
    wants_loss: boolean;
    items?: readonly unknown[] | null;
  }
  /** Numbers that are not 0, and where; `dimension` counts zeros as well. */
  interface Sparse {
    dimension: number;
    index: readonly number[];
    value: readonly number[];
  }
  /** A block of decisions. */
  interface Actions {
    actions: readonly Action[];
  }
  /** What became of losses: recorded, on record before, and too late or not wanted. */
  interface Told {
    recorded: number;
    already: number;
    dropped: number;
  }
  /** How many actions were closed without a loss. */
  interface Closed {
    closed: number;
  }
  /** How owners privatise their losses. */
  interface Channel {
    kind: string;
    loss_range: readonly number[];
    epsilon: number;
  }
  /** What went wrong: `type` is the address of a page that explains it, `detail` what to do. */
  interface Problem {
    type: string;
    title: string;
    status: number;
    detail: string;
  }
}
// End of what follows from the OpenAPI document.

/** Numbers that are not 0, and where. */
export type Sparse = Wire.Sparse;

/** What became of a tell. */
export type Told = Wire.Told;

/** Whom a decision is for, of a study with segments: a name, or a level of each factor, in their order or by name. */
export type Segment = NonNullable<Wire.Ask["segment"]>;

/** A decision to carry out. */
export interface Action {
  id: string;
  /** What it is in the names of the study's set: a list of names, or numbers by name. */
  chosen: unknown;
  x: number[] | Sparse | null;
  /** Whether its loss is of any use. */
  wantsLoss: boolean;
  /** With feedback by item: the names of its items, in the order in which their losses are told. */
  items?: readonly unknown[];
}

/** A loss; or with feedback by item those of its items, by name, or in the order of `items` with null for none. */
export type Loss = number | readonly (number | null)[] | Readonly<Record<string, number>> | ReadonlyMap<unknown, number>;

export interface TellOptions {
  /** "error" (the default) refuses losses that come too late, "drop" drops them. */
  late?: "error" | "drop";
}

export interface Retries {
  /** How often a call is made in all; tells are repeated for as long as the page lives. */
  attempts?: number;
  /** Seconds: the longest first wait. */
  first?: number;
  /** Seconds: the longest wait. */
  longest?: number;
  /** Seconds to wait for an answer. */
  timeout?: number;
}

/** What the service may have. There is no default: it is for the page to say, and never for the service. */
export type Accepted =
  | {
      /**
       * The most that a report may spend, above 0 and at most 8. Nothing is told to a study that wants raw losses, or
       * whose reports spend more, whatever the service says.
       */
      epsilon: number;
      rawLosses?: false;
    }
  | {
      /** The service may see the losses themselves, of a study without local privacy. */
      rawLosses: true;
      epsilon?: undefined;
    };

export type ConnectOptions = Accepted & {
  /** The name of the study. */
  study: string;
  /** What `sottovoce serve key create` has shown. In a public page everybody can read it: let it ask and tell only. */
  key?: string;
  retries?: Retries;
  /** Losses that may wait in memory; 1000 unless told. */
  most?: number;
  /** Whether http:// to another machine is fine, on a network that nobody else can read. */
  insecure?: boolean;
  /** In place of the platform's. */
  fetch?: typeof fetch;
};

/** A study that a service holds. */
export class RemoteStudy {
  private constructor();
  readonly name: string;
  /** How many losses wait in memory to be sent. */
  readonly waiting: number;
  ask(options?: { x?: "dense" | "sparse" | "none"; segment?: Segment; person?: string }): Promise<Action>;
  ask(options: { size: number; x?: "dense" | "sparse" | "none"; segment?: Segment }): Promise<Action[]>;
  ask(options: { segments: readonly Segment[]; people?: readonly string[]; x?: "dense" | "sparse" | "none" }): Promise<Action[]>;
  /** Where people are counted: one for each action. */
  ask(options: { people: readonly string[]; segment?: Segment; x?: "dense" | "sparse" | "none" }): Promise<Action[]>;
  /** Resolves once it is acknowledged. Under local privacy the loss is privatised first, once. */
  tell(id: string, loss: Loss, options?: TellOptions): Promise<Told>;
  tell(ids: readonly string[], losses: readonly Loss[], options?: TellOptions): Promise<Told>;
  tellReport(id: string, report: Report, options?: TellOptions): Promise<Told>;
  tellReport(ids: readonly string[], reports: readonly Report[], options?: TellOptions): Promise<Told>;
  /** Close actions whose loss will never come. */
  forget(ids: string | readonly string[]): Promise<number>;
  /** Change the set of decisions, from the next round on, or how long rounds wait; for keys that administer. */
  change(changes: {
    /** As it is written on the command line, such as "hypersimplex:4,2"; with names, or labels beside it. */
    domain?: string | Record<string, unknown>;
    labels?: readonly string[];
    features?: readonly (readonly number[])[];
    patience?: number | "auto" | null;
    deadline?: number | null;
  }): Promise<Record<string, unknown>>;
  /** The channel of a study with local privacy; null of one that wants the losses themselves. */
  channel(): Promise<OneBitChannel | null>;
  recommend(options?: { segment?: Segment }): Promise<Record<string, unknown>>;
  status(): Promise<Record<string, unknown>>;
  /** Send no more; what waits is dropped. */
  close(): void;
}

/** Connect to a study of a service. */
export function connect(url: string | URL, options: ConnectOptions): RemoteStudy;
