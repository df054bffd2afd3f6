import type {
  AbideEvent,
  Attachment,
  Blob,
  BlobRef,
  Failure,
  Grown,
  Location,
  PermissionOption,
  PermissionOutcomeData,
  PlanEntry,
  Seq,
  StopReason,
  ToolKind,
  ToolStatus,
} from '../wire/gen'

/** The fields of every item of a feed. An item's place is its first seq. */
interface Head {
  /** Unique in the session and stable for the item's life. */
  key: string
  seq: Seq
  /** The newest event that went into the item. */
  last: Seq
  time: string
  /** Time of the newest event that went into the item. */
  until: string
  /** 0 outside any turn. */
  turn: number
  /** An event of the item failed its checksum on disk but still read. */
  unverified?: boolean
}

export interface PromptItem extends Head {
  kind: 'prompt'
  promptId: string
  text: string
  blobs: readonly Blob[]
  attachments: readonly Attachment[]
  actor: string
  queuedAt?: string
}

export type Role = 'message' | 'thought'

/** The chunks of one message, or of one thought, joined. */
export interface TextItem extends Head {
  kind: 'text'
  role: Role
  messageId: string
  text: string
  /** Chunks too large for the log's line: the text holds only their heads. */
  blobs: readonly Blob[]
}

/** Content of a message that is not text: an image, a resource. */
export interface ContentItem extends Head {
  kind: 'content'
  role: Role
  content: unknown
}

/** A tool call: the upsert of all events with its id. */
export interface ToolItem extends Head {
  kind: 'tool'
  toolCallId: string
  title?: string
  toolKind?: ToolKind
  status?: ToolStatus
  content?: unknown
  /** What became of the last text of the content. */
  grown?: Grown
  /** The diffs of the newest content that had any: agents put a word of success in their place once they are made. */
  diffs?: readonly unknown[]
  locations?: readonly Location[]
  rawInput?: unknown
  rawOutput?: unknown
  /** What became of a text of the raw output. */
  outputGrown?: Grown
  synthetic?: boolean
  /** The call of the sub-agent that made this call. */
  parent?: string
}

export interface PlanItem extends Head {
  kind: 'plan'
  entries: readonly PlanEntry[]
}

export interface PermissionAsk {
  toolCallId?: string
  title: string
  options: readonly PermissionOption[]
  toolCall: unknown
  /** The JSON schema of the values the agent asks for. */
  form?: unknown
  /** A page the agent asks a person to visit. */
  url?: string
}

/** A permission request and, once it is settled, its outcome. */
export interface PermissionItem extends Head {
  kind: 'permission'
  permissionId: string
  /** Absent while only the outcome is loaded. */
  ask?: PermissionAsk
  outcome?: PermissionOutcomeData
}

export interface TerminalItem extends Head {
  kind: 'terminal'
  terminalId: string
  output: string
  exit?: { code?: number; signal?: string }
}

export interface TurnEndItem extends Head {
  kind: 'turn_end'
  promptId: string
  stopReason: StopReason
  /** The actor that stopped it; empty where no person did, and in logs of older hubs. */
  by: string
  usage: unknown
  error?: Failure
}

/** Any other event that is shown, one item each. */
export interface EventItem extends Head {
  kind: 'event'
  event: AbideEvent
}

/** An event of a type this app does not know. */
export interface UnknownItem extends Head {
  kind: 'unknown'
  type: string
  data: unknown
}

export type Item =
  | PromptItem
  | TextItem
  | ContentItem
  | ToolItem
  | PlanItem
  | PermissionItem
  | TerminalItem
  | TurnEndItem
  | EventItem
  | UnknownItem

/** Splits text that may be a reference to a blob into its text and the blob. */
export function textOf(value: string | BlobRef | undefined): { text: string; blobs: readonly Blob[] } {
  if (value === undefined) return { text: '', blobs: [] }
  if (typeof value === 'string') return { text: value, blobs: [] }
  return { text: value.head, blobs: [value.blob] }
}
