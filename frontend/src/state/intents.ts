import type { Start } from './starts'
import type {
  AgentChoice,
  Attachment,
  Device,
  EventsLoadedMessage,
  FoundPage,
  Machine,
  NewJob,
  NewSession,
  Offer,
  Overview,
  Resume,
  Rule,
  RuleScope,
  Seq,
  SessionInfo,
} from '../wire/gen'
import type { Files } from './files'
import type { OutboxFile } from './outboxitem'
import type { Reviews } from './reviews'

/** The agents and folders for a new session. */
export interface Choices {
  agents: readonly AgentChoice[]
  workspaces: readonly string[]
  default_workspace: string
  /** Those on which sessions may be made from here. */
  machines?: readonly Machine[]
}

/**
 * The details of a permission answer: a filled-in form, how far to remember it as a rule, and the
 * last event on screen.
 */
export interface AnswerMore {
  content?: unknown
  remember?: RuleScope
  seenSeq?: Seq
}

/** What a search is narrowed to, as the hub's API names it: kind, from, session, limit. */
export type Narrow = Record<string, string>

/** Everything a person can ask for. The screens know this and no more of the network. */
export interface Intents {
  /** Follows a session from where the app left it, and no other. */
  follow(sessionId: string | null): void
  /**
   * Names the session on screen, once its events are: only from then on does a person read them.
   */
  show(sessionId: string | null): void
  /** Brings a seq on screen, wherever in the log; the events between need not be loaded. */
  seek(sessionId: string, seq: Seq): void
  /** Shows the live run again. */
  live(sessionId: string): void
  /** Asks for the page after a window's newest event; does nothing while one is on its way. */
  newer(sessionId: string): void
  /** Asks for the page before the oldest event on screen; does nothing while one is on its way. */
  older(sessionId: string, limit?: number): void
  /**
   * Asks the agent; with a time (RFC 3339) the prompt waits in the queue until then. Settles once this device
   * keeps it, or is done with it. Of all with one id the hub takes one; without an id it is a prompt of its own.
   * One that stops the turn goes before those that wait.
   */
  prompt(
    sessionId: string,
    text: string,
    files?: readonly OutboxFile[],
    scheduledAt?: string,
    promptId?: string,
    stops?: boolean,
  ): Promise<void>
  answer(sessionId: string, permissionId: string, optionId: string, more?: AnswerMore): void
  /** Sends an outbox item again that failed or grew old; drop gives it up. */
  retry(id: string): void
  drop(id: string): void
  cancel(sessionId: string): void
  forceReset(sessionId: string): void
  /** Starts the agent anew; a turn it was given is closed as interrupted, one it was not waits for the next. */
  restartAgent(sessionId: string): void
  /** Logs the agent in by one of the methods it named. */
  authenticate(sessionId: string, methodId: string): void
  queueEdit(sessionId: string, promptId: string, text: string): void
  queueMove(sessionId: string, promptId: string, position: number): void
  queueRemove(sessionId: string, promptId: string): void
  queueClear(sessionId: string): void
  setMode(sessionId: string, modeId: string): void
  setConfigOption(sessionId: string, configId: string, value: unknown): void
  /** Reports the person's activity at this screen. */
  typing(sessionId: string): void
  /** Ends a notice the person has read. */
  dismissProblem(id: number): void
  dismissReset(sessionId: string): void
  /** Tries the connection now instead of when it is due. */
  reconnect(): void

  refresh(): Promise<void>
  /** One event with everything the agent sent. */
  event(sessionId: string, seq: Seq): Promise<unknown>
  /** The text of a value that was too large for its event; the error's text is for the person. */
  blob(sessionId: string, sha256: string): Promise<string>
  /** Events after a seq, at most 500 of them, runs of chunks merged unless they are wanted as they are. */
  events(
    sessionId: string,
    after: Seq,
    limit: number,
    ended: AbortSignal,
    merge?: boolean,
  ): Promise<EventsLoadedMessage>
  /** The session at a glance: its timeline and its turns. */
  overview(sessionId: string): Promise<Overview>
  /** The requests of a review: comments, forks and exports. */
  review(): Promise<Reviews>
  /** The rules that answer permission requests in a session: its own, then its agent's. */
  rules(sessionId: string): Promise<readonly Rule[]>
  /** One page of the places of a text in sessions, from the cursor of the page before or ''. */
  search(text: string, cursor: string, ended: AbortSignal, narrow?: Narrow): Promise<FoundPage>
  /** Where an image or a download of a blob comes from, for some minutes. */
  blobAddress(sessionId: string, sha256: string): Promise<string>
  choices(): Promise<Choices>
  /** The requests for files and folders; it is loaded when first needed. */
  files(): Promise<Files>
  /** Makes a session and asks its prompt; sent again with the same key it does neither twice. */
  create(request: NewSession, key: string): Promise<SessionInfo>
  /**
   * Has a session or a job made once the hub can be reached; false where the device cannot keep the request.
   * The form of a job is kept with it, to edit it again.
   */
  later(request: NewSession | NewJob, key: string, form?: Start['form']): Promise<boolean>
  startNow(key: string): void
  dropStart(key: string): void
  /** The agents and folders for a new session, as last loaded; null where it never did. */
  lastChoices(): Promise<Choices | null>
  update(
    sessionId: string,
    change: { name?: string; pinned?: boolean; archived?: boolean; tags?: string[] },
  ): Promise<void>
  remove(sessionId: string): Promise<void>
  /**
   * Says that a session's work is done; a later prompt makes it live again. Waiting prompts are removed
   * with dropQueue, and an error without. The error's text is for the person.
   */
  end(sessionId: string, dropQueue: boolean): Promise<void>
  /** The turn of a session that was cut off, and how it can be resumed. */
  interruption(sessionId: string): Promise<Offer>
  /** Resumes it; without a prompt the offered one counts. The error's text is for the person. */
  resume(sessionId: string, how: Resume): Promise<void>
  /** Settles it; the turn does not continue. */
  dismiss(sessionId: string, interruptionId: string): Promise<void>
  /**
   * Opens a session again that the hub could not open, or that was frozen by a failed device; the
   * error's text is for the person.
   */
  reopen(sessionId: string): Promise<void>
  /** Whether the hub answers at all, also while it is slow to open a session. */
  answers(): Promise<boolean>
  /**
   * Asks the hub by HTTP, for parts of the app that are loaded on their own. The request ends with
   * the signal; without one it has the usual time limit.
   */
  ask<T>(
    method: string,
    path: string,
    body?: unknown,
    signal?: AbortSignal,
    headers?: Record<string, string>,
  ): Promise<T>
  /** Stores a file of a prompt or of a job that the session delegates; the same bytes again are the same file. */
  attach(sessionId: string, file: OutboxFile): Promise<Attachment>
  /** The paired browsers and tokens of this hub. */
  devices(): Promise<readonly Device[]>
  /** Exchanges a pairing code for this device's cookie; the error's text is for the person. */
  pair(code: string): Promise<void>
}
