// Generated from the Go structs in session/event and server/wire by `make generate`. Do not edit.

/** An event's number in its session: from 1, without gaps, never reused. */
export type Seq = number

export interface Git {
  commit?: string
  branch?: string
  dirty?: boolean
}

export interface AgentSettings {
  mode?: string
  model?: string
  options?: Record<string, unknown>
  mcp_servers: string[]
  rules: string[]
  command?: string
}

export type Unattended = 'wait' | 'deny'

export interface Policy {
  unattended: Unattended
  wait_limit_ms?: number
  configured?: boolean
}

export interface Forked {
  session_id: string
  seq: Seq
}

export interface Adopted {
  agent_session_id: string
}

export interface Worktree {
  folder: string
  branch?: string
  base?: string
  commit: string
  of: string
  setup?: boolean
}

export interface Attachment {
  name: string
  media_type: string
  bytes: number
  sha256: string
}

export type JobPreset = 'read' | 'edit' | 'edit_test'

export type ToolKind = 'read' | 'edit' | 'delete' | 'move' | 'search' | 'execute' | 'think' | 'fetch' | 'switch_mode' | 'other'

export interface Allowed {
  kind: ToolKind
  path?: string
  command?: string
}

export type Outside = 'deny' | 'park'

export interface JobPolicy {
  preset?: JobPreset
  allow: Allowed[]
  outside?: Outside
}

export interface JobCaps {
  wall_s?: number
  round_s?: number
  rounds?: number
  tokens?: number
  cost?: number
  events?: number
  output_bytes?: number
}

export type JobResume = 'ask' | 'auto'

export type JobRetention = '24h' | '168h' | 'forever'

export interface Job {
  task: string
  files?: string[]
  attachments?: Attachment[]
  mode?: string
  model?: string
  options?: Record<string, unknown>
  delegated_by?: string
  tell?: boolean
  schedule_id?: string
  retry_of?: string
  attempts?: number
  attempt_of?: string
  policy: JobPolicy
  caps: JobCaps
  resume?: JobResume
  priority?: number
  auditor?: string
  retention?: JobRetention
}

export interface SessionStartData {
  format: number
  session_id: string
  epoch: string
  agent: string
  workspace: string
  project_root?: string
  git?: Git
  created_by?: string
  created_by_id?: string
  request_key?: string
  request_hash?: string
  settings?: AgentSettings
  policy?: Policy
  forked_from?: Forked
  adopted?: Adopted
  worktree?: Worktree
  job?: Job
}

export interface Blob {
  sha256: string
  bytes: number
  media_type: string
}

export interface BlobRef {
  blob: Blob
  head: string
}

export interface UserPromptData {
  prompt_id: string
  text: string | BlobRef
  attachments?: Attachment[]
  actor?: string
  by_id?: string
  queued_at?: string
  original_hash?: string
  author?: string
  author_id?: string
}

export interface TurnStartData {
  prompt_id: string
  files?: string
  no_undo?: string
}

export type InterruptReason = 'hub_restart' | 'hub_stop' | 'agent_exit' | 'agent_restart' | 'provider_error' | 'agent_cancelled' | 'paused' | 'person_paused'

export type TurnPhase = 'streaming_llm' | 'executing_tools' | 'delegating'

export interface Checkpoint {
  from_seq: Seq
  to_seq: Seq
}

export interface TurnInterruptedData {
  interruption_id: string
  turn: number
  prompt_id: string
  reason: InterruptReason
  phase: TurnPhase
  checkpoint: Checkpoint
  last_at?: string
}

export type StopReason = 'end_turn' | 'max_tokens' | 'max_turn_requests' | 'refusal' | 'cancelled' | 'interrupted' | 'hub_restart' | 'agent_exit'

export interface Failure {
  code: string
  message: string
}

export interface TurnEndData {
  prompt_id: string
  stop_reason: StopReason
  by?: string
  by_id?: string
  usage?: unknown
  error?: Failure
  raw?: unknown
}

export type SettledAs = 'resumed' | 'dismissed' | 'superseded'

export type ResumeWay = 'server' | 'local' | 'segmented'

export interface InterruptionSettledData {
  interruption_id: string
  outcome: SettledAs
  way?: ResumeWay
  prompt_id?: string
  by: string
  by_id?: string
}

export interface SessionPausedData {
  by: string
  by_id?: string
}

export interface SessionResumableData {
  resumable: boolean
  by: string
  by_id?: string
}

export interface SessionResumedData {
  way?: ResumeWay
  by: string
  by_id?: string
}

export interface WorkspaceSeenData {
  folder: string
  root?: string
  remote?: string
  branch?: string
  commit?: string
  repository?: boolean
  changed?: string[]
  more?: number
}

export interface AgentMessageData {
  message_id: string
  text?: string | BlobRef
  content?: unknown
  raw?: unknown
}

export interface AgentThoughtData {
  message_id: string
  text?: string | BlobRef
  content?: unknown
  raw?: unknown
}

export type ToolStatus = 'pending' | 'in_progress' | 'completed' | 'failed'

export interface Location {
  path: string
  line?: number
}

export interface Grown {
  added: string
  member?: string
  cut?: number
}

export interface ToolCallData {
  tool_call_id: string
  title?: string
  kind?: ToolKind
  status?: ToolStatus
  content?: unknown
  content_cut?: number
  content_added?: string | BlobRef
  locations?: Location[]
  raw_input?: unknown
  raw_output?: unknown
  output_grown?: Grown
  synthetic?: boolean
  raw?: unknown
}

export interface ToolCallUpdateData {
  tool_call_id: string
  title?: string
  kind?: ToolKind
  status?: ToolStatus
  content?: unknown
  content_cut?: number
  content_added?: string | BlobRef
  locations?: Location[]
  raw_input?: unknown
  raw_output?: unknown
  output_grown?: Grown
  synthetic?: boolean
  raw?: unknown
}

export type PlanPriority = 'high' | 'medium' | 'low'

export type PlanStatus = 'pending' | 'in_progress' | 'completed'

export interface PlanEntry {
  content: string
  priority: PlanPriority
  status: PlanStatus
}

export interface PlanData {
  entries: PlanEntry[]
  raw?: unknown
}

export type PermissionKind = 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always'

export interface PermissionOption {
  option_id: string
  name: string
  kind: PermissionKind
}

export interface PermissionRequestData {
  permission_id: string
  tool_call_id?: string
  title: string
  options: PermissionOption[]
  tool_call?: unknown
  form?: unknown
  url?: string
  raw?: unknown
}

export type Outcome = 'selected' | 'cancelled'

export interface PermissionOutcomeData {
  permission_id: string
  outcome: Outcome
  option_id?: string
  content?: unknown
  by: string
  by_id?: string
  rule?: string
  reason?: string
}

export interface FileReadData {
  path: string
  bytes: number
  lines?: number
}

export interface FileWriteData {
  path: string
  bytes: number
  lines?: number
  sha256?: string
}

export interface ModeOption {
  id: string
  name: string
  description?: string
}

export interface ModeData {
  mode_id: string
  modes?: ModeOption[]
  by?: string
  by_id?: string
  raw?: unknown
}

export interface ConfigData {
  options: unknown
  by?: string
  by_id?: string
  raw?: unknown
}

export interface Command {
  name: string
  description?: string
  hint?: string
}

export interface CommandsData {
  commands: Command[]
  raw?: unknown
}

export interface Cost {
  amount: number
  currency: string
}

export interface UsageData {
  used: number
  size: number
  cost?: Cost
  raw?: unknown
}

export interface TitleData {
  title: string
  raw?: unknown
}

export type Resumption = 'resume' | 'load'

export interface AgentStartedData {
  agent: string
  pid: number
  name?: string
  version?: string
  agent_session_id?: string
  resumed?: Resumption
  context_lost?: boolean
  settings?: AgentSettings
  raw?: unknown
}

export interface AgentExitData {
  code?: number
  signal?: string
  reason: string
  stderr_tail?: string
}

export interface AgentStalledData {
  silent_ms: number
}

export interface TerminalExit {
  code?: number
  signal?: string
}

export interface TerminalOutputData {
  terminal_id: string
  tool_call_id?: string
  data: string | BlobRef
  exit?: TerminalExit
}

export interface ErrorData {
  code: string
  message: string
  detail?: string
}

export interface NoteData {
  method: string
  from?: string
  text?: string | BlobRef
  raw?: unknown
  by?: string
  by_id?: string
}

export interface SessionEndData {
  reason: string
  by?: string
  by_id?: string
  result?: unknown
}

export interface EpochData {
  epoch: string
  reason: string
}

export interface LogTruncatedData {
  from: Seq
  to: Seq
}

export interface SegmentStartData {
  format: number
  session_id: string
  epoch: string
  first_seq: Seq
  prev?: string
  agent?: string
  workspace?: string
  project_root?: string
  created_by?: string
  created_by_id?: string
  request_key?: string
  request_hash?: string
  created_at?: string
  policy?: Policy
  forked_from?: Forked
  adopted?: Adopted
  worktree?: Worktree
  job?: Job
}

export interface CorruptData {
  reason: string
}

export type EventType = 'session_start' | 'user_prompt' | 'turn_start' | 'turn_interrupted' | 'turn_end' | 'interruption_settled' | 'session_paused' | 'session_resumable' | 'session_resumed' | 'workspace_seen' | 'agent_message' | 'agent_thought' | 'tool_call' | 'tool_call_update' | 'plan' | 'permission_request' | 'permission_outcome' | 'file_read' | 'file_write' | 'mode' | 'config' | 'commands' | 'usage' | 'title' | 'agent_started' | 'agent_exit' | 'agent_stalled' | 'terminal_output' | 'error' | 'note' | 'session_end' | 'epoch' | 'log_truncated' | 'segment_start' | 'corrupt'

export const eventTypes: readonly EventType[] = ['session_start', 'user_prompt', 'turn_start', 'turn_interrupted', 'turn_end', 'interruption_settled', 'session_paused', 'session_resumable', 'session_resumed', 'workspace_seen', 'agent_message', 'agent_thought', 'tool_call', 'tool_call_update', 'plan', 'permission_request', 'permission_outcome', 'file_read', 'file_write', 'mode', 'config', 'commands', 'usage', 'title', 'agent_started', 'agent_exit', 'agent_stalled', 'terminal_output', 'error', 'note', 'session_end', 'epoch', 'log_truncated', 'segment_start', 'corrupt']

interface EventHead {
  seq: Seq
  time: string
  turn?: number
  /** Set on a merged run of chunks, which covers first_seq..seq. */
  first_seq?: Seq
  /** The line on disk failed its checksum but still reads. */
  unverified?: boolean
}

/** One durable fact of a session, told apart by its type. */
export type AbideEvent =
  | (EventHead & { type: 'session_start'; data: SessionStartData })
  | (EventHead & { type: 'user_prompt'; data: UserPromptData })
  | (EventHead & { type: 'turn_start'; data: TurnStartData })
  | (EventHead & { type: 'turn_interrupted'; data: TurnInterruptedData })
  | (EventHead & { type: 'turn_end'; data: TurnEndData })
  | (EventHead & { type: 'interruption_settled'; data: InterruptionSettledData })
  | (EventHead & { type: 'session_paused'; data: SessionPausedData })
  | (EventHead & { type: 'session_resumable'; data: SessionResumableData })
  | (EventHead & { type: 'session_resumed'; data: SessionResumedData })
  | (EventHead & { type: 'workspace_seen'; data: WorkspaceSeenData })
  | (EventHead & { type: 'agent_message'; data: AgentMessageData })
  | (EventHead & { type: 'agent_thought'; data: AgentThoughtData })
  | (EventHead & { type: 'tool_call'; data: ToolCallData })
  | (EventHead & { type: 'tool_call_update'; data: ToolCallUpdateData })
  | (EventHead & { type: 'plan'; data: PlanData })
  | (EventHead & { type: 'permission_request'; data: PermissionRequestData })
  | (EventHead & { type: 'permission_outcome'; data: PermissionOutcomeData })
  | (EventHead & { type: 'file_read'; data: FileReadData })
  | (EventHead & { type: 'file_write'; data: FileWriteData })
  | (EventHead & { type: 'mode'; data: ModeData })
  | (EventHead & { type: 'config'; data: ConfigData })
  | (EventHead & { type: 'commands'; data: CommandsData })
  | (EventHead & { type: 'usage'; data: UsageData })
  | (EventHead & { type: 'title'; data: TitleData })
  | (EventHead & { type: 'agent_started'; data: AgentStartedData })
  | (EventHead & { type: 'agent_exit'; data: AgentExitData })
  | (EventHead & { type: 'agent_stalled'; data: AgentStalledData })
  | (EventHead & { type: 'terminal_output'; data: TerminalOutputData })
  | (EventHead & { type: 'error'; data: ErrorData })
  | (EventHead & { type: 'note'; data: NoteData })
  | (EventHead & { type: 'session_end'; data: SessionEndData })
  | (EventHead & { type: 'epoch'; data: EpochData })
  | (EventHead & { type: 'log_truncated'; data: LogTruncatedData })
  | (EventHead & { type: 'segment_start'; data: SegmentStartData })
  | (EventHead & { type: 'corrupt'; data: CorruptData })

export interface ObserveMessage {
  type: 'observe'
  request_id: string
  session_id: string
  after_seq?: Seq
  epoch?: string
  tail?: number
  merge?: boolean
}

export interface UnobserveMessage {
  type: 'unobserve'
  session_id: string
}

export interface LoadEventsMessage {
  type: 'load_events'
  request_id: string
  session_id: string
  epoch?: string
  after_seq?: Seq
  before_seq?: Seq
  limit?: number
  merge?: boolean
}

export type When = 'auto' | 'queue' | 'now'

export interface PromptMessage {
  type: 'prompt'
  request_id: string
  session_id: string
  prompt_id: string
  text: string
  attachments?: Attachment[]
  when?: When
  scheduled_at?: string
}

export interface CancelMessage {
  type: 'cancel'
  request_id?: string
  session_id: string
}

export interface ForceResetMessage {
  type: 'force_reset'
  request_id?: string
  session_id: string
}

export interface ResumeTurnMessage {
  type: 'resume'
  request_id?: string
  session_id: string
  interruption_id?: string
  way?: string
  prompt?: string
  drift?: string
  confirm?: string[]
  without_setup?: boolean
}

export interface DismissTurnMessage {
  type: 'dismiss'
  request_id?: string
  session_id: string
  interruption_id: string
}

export interface RestartAgentMessage {
  type: 'restart_agent'
  request_id?: string
  session_id: string
}

export interface AuthenticateMessage {
  type: 'authenticate'
  request_id?: string
  session_id: string
  method_id: string
}

export type RuleScope = 'session' | 'agent'

export interface PermissionAnswerMessage {
  type: 'permission_answer'
  request_id: string
  session_id: string
  permission_id: string
  option_id: string
  content?: unknown
  seen_seq?: Seq
  remember?: RuleScope
}

export interface QueueEditMessage {
  type: 'queue_edit'
  request_id?: string
  session_id: string
  prompt_id: string
  text: string
}

export interface QueueMoveMessage {
  type: 'queue_move'
  request_id?: string
  session_id: string
  prompt_id: string
  position: number
}

export interface QueueRemoveMessage {
  type: 'queue_remove'
  request_id?: string
  session_id: string
  prompt_id: string
}

export interface QueueClearMessage {
  type: 'queue_clear'
  request_id?: string
  session_id: string
}

export interface SetModeMessage {
  type: 'set_mode'
  request_id?: string
  session_id: string
  mode_id: string
}

export interface SetConfigOptionMessage {
  type: 'set_config_option'
  request_id?: string
  session_id: string
  config_id: string
  value: unknown
}

export interface AckMessage {
  type: 'ack'
  session_id: string
  epoch?: string
  seq: Seq
  visible: boolean
}

export type Activity = 'viewing' | 'typing' | 'away'

export interface PresenceMessage {
  type: 'presence'
  session_id: string
  activity: Activity
}

export interface PingMessage {
  type: 'ping'
  nonce: string
}

export type ClientMessage = ObserveMessage | UnobserveMessage | LoadEventsMessage | PromptMessage | CancelMessage | ForceResetMessage | ResumeTurnMessage | DismissTurnMessage | RestartAgentMessage | AuthenticateMessage | PermissionAnswerMessage | QueueEditMessage | QueueMoveMessage | QueueRemoveMessage | QueueClearMessage | SetModeMessage | SetConfigOptionMessage | AckMessage | PresenceMessage | PingMessage

export interface Limits {
  max_frame: number
  max_page: number
  max_queue: number
  max_attachment: number
  trash_days: number
}

export interface ConnectedMessage {
  type: 'connected'
  protocol: number
  version: string
  hub_id: string
  client_id: string
  heartbeat_ms: number
  limits: Limits
  scope: string
  time: string
}

export interface EventsMessage {
  type: 'events'
  session_id: string
  epoch: string
  first_seq: Seq
  last_seq: Seq
  max_seq: Seq
  events: AbideEvent[]
}

export type Verdict = 'ok' | 'reset'

export type ResetReason = 'epoch' | 'ahead' | 'min_seq'

export interface EventsLoadedMessage {
  type: 'events_loaded'
  request_id?: string
  session_id: string
  verdict: Verdict
  reason?: ResetReason
  epoch: string
  first_seq: Seq
  last_seq: Seq
  min_seq: Seq
  max_seq: Seq
  has_more: boolean
  prepend: boolean
  events: AbideEvent[]
}

export type TurnState = 'idle' | 'starting' | 'prompting' | 'cancelling' | 'blocked'

export interface Turn {
  state: TurnState
  number?: number
  prompt_id?: string
  since?: string
  force_reset?: boolean
}

export type AgentStatus = 'absent' | 'starting' | 'ready' | 'stopping' | 'failed'

export interface AuthMethod {
  method_id: string
  name: string
  description?: string
  command?: string[]
  configured?: boolean
}

export interface PromptCapabilities {
  image: boolean
  audio: boolean
  embedded_context: boolean
}

export interface Agent {
  name: string
  status: AgentStatus
  version?: string
  message?: string
  restart_at?: string
  auth_methods?: AuthMethod[]
  prompt_capabilities?: PromptCapabilities
}

export interface Interruption {
  interruption_id: string
  turn: number
  reason: InterruptReason
  phase: TurnPhase
  at_seq: Seq
  at: string
  held: boolean
}

export interface Paused {
  by: string
  by_id?: string
  at: string
}

export interface Restore {
  way: ResumeWay
  done: number
  total: number
  tokens: number
  percent: number
}

export interface Observer {
  client_id: string
  actor: string
  activity: Activity
  seq: Seq
}

export interface QueueItem {
  prompt_id: string
  text: string
  title?: string
  attachments?: Attachment[]
  actor?: string
  by_id?: string
  queued_at: string
  scheduled_at?: string
  author?: string
  author_id?: string
}

export interface StateMessage {
  type: 'state'
  session_id: string
  at_seq: Seq
  turn: Turn
  pending_permissions: string[]
  mode?: ModeData
  config?: ConfigData
  commands?: CommandsData
  usage?: UsageData
  agent: Agent
  interruption?: Interruption
  paused?: Paused
  suggestions?: string[]
  restore?: Restore
  observers: Observer[]
  queue: QueueItem[]
}

export interface ReadingMessage {
  type: 'reading'
  session_id: string
  at_seq: Seq
  max_seq: Seq
}

export type SessionStatus = 'idle' | 'running' | 'needs_you' | 'failed' | 'interrupted' | 'paused' | 'ended' | 'imported' | 'damaged'

export type Lifecycle = 'active' | 'paused' | 'completed' | 'failed' | 'expired'

export type JobStatus = 'queued' | 'running' | 'stopping' | 'parked' | 'completed' | 'failed' | 'cancelled'

export interface JobLine {
  status: JobStatus
  title: string
  reason?: string
  priority?: number
  retention?: JobRetention
  delegated_by?: string
  schedule_id?: string
  attempts?: number
  attempt_of?: string
  requested_by?: string
  started_at?: string
  finished_at?: string
  rounds?: number
  last?: string
}

export type MachineState = 'connected' | 'away'

export interface Machine {
  id: string
  name: string
  state: MachineState
  since?: string
}

export interface Preview {
  last_task?: string
  files_count: number
  outputs_count: number
  state_size_bytes: number
}

export interface SessionInfo {
  session_id: string
  name: string
  agent: string
  workspace: string
  project_root?: string
  created_at: string
  updated_at: string
  status: SessionStatus
  lifecycle: Lifecycle
  event_count: number
  min_seq: Seq
  max_seq: Seq
  epoch: string
  archived: boolean
  pinned: boolean
  tags?: string[]
  imported?: boolean
  forked_from?: Forked
  forks?: Forked[]
  adopted?: Adopted
  worktree?: Worktree
  job?: JobLine
  last_line?: string
  resumable?: boolean
  resume_count?: number
  last_resumed_at?: string
  agent_session_id?: string
  machine?: Machine
  read_seq?: Seq
  continue?: string
  preview?: Preview
}

export interface SessionMessage {
  type: 'session'
  session: SessionInfo
}

export interface SessionGoneMessage {
  type: 'session_gone'
  request_id?: string
  session_id: string
}

export interface PromptReceivedMessage {
  type: 'prompt_received'
  request_id?: string
  session_id: string
  prompt_id: string
  seq: Seq
}

export interface PromptQueuedMessage {
  type: 'prompt_queued'
  request_id?: string
  session_id: string
  prompt_id: string
  position: number
}

export interface PromptRemovedMessage {
  type: 'prompt_removed'
  request_id?: string
  session_id: string
  prompt_id: string
}

export interface PromptInterruptedMessage {
  type: 'prompt_interrupted'
  request_id?: string
  session_id: string
  prompt_id: string
  seq: Seq
}

export interface PermissionResolvedMessage {
  type: 'permission_resolved'
  request_id?: string
  session_id: string
  permission_id: string
  outcome: Outcome
  option_id?: string
  by: string
  by_id?: string
}

export interface CommentsMessage {
  type: 'comments'
  session_id: string
  version: number
  count: number
  open: number
}

export interface Grant {
  id: string
  kind: string
  name: string
  scope: string
  session_id?: string
  created_at: string
}

export interface GrantedMessage {
  type: 'granted'
  grants: Grant[]
}

export interface PongMessage {
  type: 'pong'
  nonce: string
  time: string
  max_seq: Record<string, Seq>
}

export interface HeartbeatMessage {
  type: 'heartbeat'
  max_seq: Record<string, Seq>
}

export type Code = 'invalid' | 'not_found' | 'conflict' | 'already_resolved' | 'unauthorized' | 'forbidden' | 'too_large' | 'busy' | 'unavailable' | 'internal'

export interface Winner {
  session_id?: string
  permission_id?: string
  outcome: string
  option_id?: string
  by: string
  by_id?: string
  at?: string
}

export interface ErrorMessage {
  type: 'error'
  request_id?: string
  session_id?: string
  code: Code
  message: string
  retry_after_ms?: number
  winner?: Winner
  needs?: string[]
}

export interface GoodbyeMessage {
  type: 'goodbye'
  reason: string
  retry_after_ms: number
}

export type ServerMessage = ConnectedMessage | EventsMessage | EventsLoadedMessage | StateMessage | ReadingMessage | SessionMessage | SessionGoneMessage | PromptReceivedMessage | PromptQueuedMessage | PromptRemovedMessage | PromptInterruptedMessage | PermissionResolvedMessage | CommentsMessage | GrantedMessage | PongMessage | HeartbeatMessage | ErrorMessage | GoodbyeMessage

export interface SessionPage {
  sessions: SessionInfo[]
  next_cursor?: string
  total?: number
}

export interface NewWorktree {
  branch?: string
  base?: string
  folder?: string
}

export interface NewSession {
  machine?: string
  agent?: string
  workspace?: string
  name?: string
  prompt?: string
  mode?: string
  model?: string
  options?: Record<string, unknown>
  recorder?: boolean
  worktree?: NewWorktree
}

export interface SessionPatch {
  name?: string
  pinned?: boolean
  archived?: boolean
  tags?: string[]
  resumable?: boolean
}

export interface EndSession {
  reason?: string
  result?: unknown
  drop_queue?: boolean
}

export interface NewFork {
  seq: Seq
  workspace?: string
  worktree?: NewWorktree
  files?: string
  agent?: string
}

export interface AgentChoice {
  name: string
  description?: string
  modes?: ModeOption[]
  models?: ModeOption[]
  mode?: string
  model?: string
}

export interface Agents {
  agents: AgentChoice[]
  workspaces: string[]
  default_workspace: string
  auditors?: string[]
  auditor?: string
  machines?: Machine[]
}

export interface ConfiguredAgent {
  name: string
  title?: string
  command: string
  built_in?: boolean
  missing?: string
  sign_in?: string
}

export interface KnownAgent {
  name: string
  title: string
  command: string[]
  program?: string
  install: string
  sign_in?: string
  configured?: boolean
}

export interface AgentSetup {
  configured: ConfiguredAgent[]
  known: KnownAgent[]
  file: string
}

export interface NewAgent {
  name: string
  unchecked?: boolean
}

export interface AgentCheck {
  state: string
  title?: string
  version?: string
  mode?: string
  asks_nothing?: boolean
  methods?: AuthMethod[]
  logs_out?: boolean
  answer?: string
  error?: string
  stderr?: string
}

export interface AddedAgent {
  name: string
  lines?: string
  check?: AgentCheck
}

export interface CheckAgent {
  prompt?: string
}

export interface AgentLogin {
  method_id: string
  command?: string[]
  text: string
  size: number
  ended?: boolean
  error?: string
}

export interface ChosenMode {
  mode_id: string
}

export interface ChosenOption {
  config_id: string
  value: unknown
}

export interface LoginInput {
  text: string
}

export interface Login {
  method_id: string
  command?: string[]
}

export interface PastSession {
  agent_session_id: string
  folder?: string
  title?: string
  updated_at?: string
  session_id?: string
  refused?: string
}

export interface PastSessions {
  sessions: PastSession[]
  next_cursor?: string
  left_out?: number
}

export interface Adopt {
  agent_session_id: string
  workspace?: string
}

export interface JobPlace {
  branch?: string
  base?: string
  folder?: string
  here?: boolean
}

export interface NewJob {
  machine?: string
  session_id?: string
  tell?: boolean
  agent?: string
  workspace?: string
  mode?: string
  model?: string
  options?: Record<string, unknown>
  task: string
  files?: string[]
  policy?: JobPolicy
  caps?: JobCaps
  worktree?: JobPlace
  resume?: JobResume
  priority?: number
  auditor?: string
  retention?: JobRetention
  attempts?: number
  agents?: string[]
  models?: string[]
}

export interface JobUsage {
  rounds: number
  tokens?: number
  cost?: number
  events: number
  output_bytes: number
}

export interface JobCommand {
  command: string
  failed?: boolean
}

export interface JobLock {
  repository: string
  branch?: string
  commit?: string
}

export interface JobVerdict {
  auditor: string
  turn?: number
  accepted: boolean
  reason?: string
}

export interface JobInfo {
  job_id: string
  machine?: Machine
  session_id?: string
  schedule_id?: string
  attempts?: number
  attempt_of?: string
  repo: string
  branch?: string
  requested_by?: string
  agent: string
  title: string
  status: JobStatus
  error?: string
  waits?: string
  priority?: number
  retention?: JobRetention
  created_at: string
  started_at?: string
  finished_at?: string
  rounds?: number
  last?: string
  input?: Job
  result_summary?: string
  usage?: JobUsage
  changed_files?: string[]
  changed?: number
  diff?: string
  diff_cut?: boolean
  no_diff?: string
  refused?: number
  failed_commands?: string[]
  tests?: JobCommand[]
  lock?: JobLock
  unheld?: string[]
  verdicts?: JobVerdict[]
}

export interface Jobs {
  jobs: JobInfo[]
  next_cursor?: string
}

export type ScheduleOverlap = 'skip' | 'queue'

export interface NewSchedule {
  job: NewJob
  cron?: string
  every?: string
  until?: string
  zone?: string
  overlap?: ScheduleOverlap
}

export type ScheduleStatus = 'active' | 'paused' | 'ended'

export type ScheduleRun = 'started' | 'skipped' | 'refused'

export interface ScheduleOutcome {
  due: string
  at: string
  outcome: ScheduleRun
  job_id?: string
  job_status?: JobStatus
  error?: string
}

export interface Schedule {
  schedule_id: string
  job: NewJob
  cron?: string
  every?: string
  until?: string
  zone?: string
  overlap?: ScheduleOverlap
  status: ScheduleStatus
  reason?: string
  requested_by: string
  created_at: string
  next_at?: string
  outcomes: ScheduleOutcome[]
}

export interface ScheduleList {
  schedules: Schedule[]
}

export interface Recording {
  session_id: string
  epoch: string
  recorder_id: string
  max_seq: Seq
}

export interface Recorded {
  type: string
  data: unknown
}

export interface RecordBatch {
  recorder_id: string
  after_seq?: Seq
  events?: Recorded[]
}

export interface RecordedTo {
  max_seq: Seq
}

export interface EndRecording {
  recorder_id: string
  reason?: string
}

export interface NewPrompt {
  prompt_id?: string
  text: string
  attachments?: Attachment[]
  when?: When
  scheduled_at?: string
}

export type Fate = 'received' | 'queued' | 'removed' | 'interrupted'

export interface PromptAnswer {
  prompt_id: string
  outcome: Fate
  seq?: Seq
  position?: number
}

export interface PermissionChoice {
  option_id: string
  content?: unknown
  seen_seq?: Seq
  remember?: RuleScope
}

export interface TokenAnswer {
  token: string
  option_id: string
}

export interface Queue {
  queue: QueueItem[]
}

export interface QueuePatch {
  text?: string
  position?: number
  scheduled_at?: string | null
}

export interface Drift {
  field: string
  recorded: string
  current: string
  allows_more: boolean
}

export interface Setup {
  command: string[]
  failed: string
}

export interface LostQuestion {
  permission_id: string
  title: string
  options: PermissionOption[]
}

export interface Way {
  way: ResumeWay
  available: boolean
  why?: string
  tokens?: number
  segments?: number
}

export interface Offer {
  interruption_id: string
  turn: number
  reason: InterruptReason
  phase: TurnPhase
  at_seq: Seq
  at: string
  held: boolean
  age_s: number
  stale: boolean
  mismatch: string[]
  drift: Drift[]
  setup?: Setup
  lost_question?: LostQuestion
  prompt: string
  ways: Way[]
}

export interface Resume {
  interruption_id?: string
  way?: string
  prompt?: string
  drift?: string
  confirm?: string[]
  without_setup?: boolean
}

export interface Resumed {
  prompt_id?: string
  way: ResumeWay
}

export interface Dismiss {
  interruption_id: string
}

export interface Undo {
  turn: number
  what?: string
  confirm?: string[]
}

export interface Redo {
  confirm?: string[]
}

export interface UndoLeft {
  path: string
  why: string
}

export interface Undone {
  turn: number
  what: string
  redo?: boolean
  files: number
  left: UndoLeft[]
}

export interface TurnFile {
  path: string
  change: string
}

export interface UndoTurn {
  turn: number
  seq: Seq
  prompt: string
  no_files?: string
  changed?: number
  changed_files?: TurnFile[]
}

export interface UndoFile {
  path: string
  change: string
  edited?: boolean
  session_id?: string
}

export interface UndoPlan {
  turn: number
  what: string
  redo?: boolean
  files: UndoFile[]
  total: number
  no_files?: string
  needs: string[]
  prompts: number
}

export interface Undoable {
  turns?: UndoTurn[]
  redo?: Undone
  plan?: UndoPlan
}

export interface JoinedMachine {
  id: string
  name: string
  state: string
  since?: string
  allow: string
  version?: string
  joined_at: string
  sessions: number
  refused?: number
  problem?: string
}

export interface Home {
  url: string
  name: string
  allow: string
  state: string
  since?: string
  problem?: string
}

export interface Machines {
  machines: JoinedMachine[]
  home?: Home
}

export interface MachinePatch {
  name: string
}

export interface NewMachineLink {
}

export interface MachineLink {
  url: string
  loopback?: boolean
  expires_at: string
  expires_in: number
  qr: string[]
}

export interface Join {
  code: string
  id: string
  name: string
  version?: string
  allow: string
}

export interface Joined {
  secret: string
}

export interface NewHome {
  link?: string
  name?: string
  allow?: string
  ca?: string
}

export interface Device {
  id: string
  kind: string
  name: string
  scope: string
  session_id?: string
  created_at: string
  last_used?: string
  expires_at?: string
  asked_by?: string
  current?: boolean
}

export interface Devices {
  devices: Device[]
}

export interface DevicePatch {
  name: string
}

export interface SeenDevices {
  until: string
}

export interface NewPairing {
}

export interface PairingLink {
  url: string
  expires_at: string
  expires_in: number
  loopback: boolean
  qr: string[]
}

export interface Pair {
  code: string
  device?: string
  page_key: string
}

export interface PageToken {
  token: string
  expires_at: string
}

export interface Paired {
  id: string
  kind: string
  name: string
  scope: string
  session_id?: string
  created_at: string
  last_used?: string
  expires_at?: string
  asked_by?: string
  current?: boolean
  page: PageToken
}

export interface PageProof {
  challenge: string
  signature: string
}

export interface SignedAddress {
  address: string
  expires_at: string
}

export interface Comment {
  comment_id: string
  from_seq: Seq
  to_seq: Seq
  path?: string
  line?: number
  end_line?: number
  side?: string
  quote?: string
  text: string
  by: string
  by_id?: string
  at: string
  resolved: boolean
  resolved_by?: string
  resolved_by_id?: string
  edited_at?: string
  author?: string
  author_id?: string
}

export interface CommentList {
  version: number
  comments: Comment[]
}

export interface NewComment {
  from_seq: Seq
  to_seq?: Seq
  path?: string
  line?: number
  end_line?: number
  side?: string
  quote?: string
  text: string
}

export interface CommentPatch {
  text?: string
  resolved?: boolean
}

export interface ByTime {
  bucket_ms: number
  events: number[]
}

export interface ByEvent {
  bucket_events: number
  at_ms: number[]
  played_ms: number[]
}

export type MarkKind = 'prompt' | 'edit' | 'command' | 'question' | 'error' | 'interruption'

export interface Mark {
  seq: Seq
  kind: MarkKind
  turn?: number
  label?: string
}

export interface ChangedLines {
  path: string
  added: number
  removed: number
  uncounted?: boolean
}

export interface TurnLine {
  turn: number
  seq: Seq
  end_seq?: Seq
  at: string
  ms?: number
  prompt: string
  actor?: string
  stop_reason?: StopReason
  interrupted?: boolean
  error?: string
  files: ChangedLines[]
  files_left_out?: number
  compared?: boolean
  added: number
  removed: number
  tools: number
  commands: number
  commands_failed: number
  questions: number
  tokens?: number
}

export interface Overview {
  epoch: string
  min_seq: Seq
  at_seq: Seq
  from: string
  to: string
  time: ByTime
  order: ByEvent
  marks: Mark[]
  marks_left_out?: number
  turns: TurnLine[]
  turns_left_out?: number
}

export type Role = 'user' | 'assistant'

export interface Said {
  role: Role
  content: string
  cut?: boolean
  timestamp: string
  seq: Seq
  turn: number
  message_id?: string
}

export interface SnapshotContext {
  conversation_history: Said[]
  current_task?: string
  completed_tasks: string[]
  suggestions: string[]
}

export interface SnapshotFile {
  path: string
  hash?: string
  size?: number
  last_modified: string
  seq: Seq
  content?: string
  blob?: string
}

export type OutputType = 'command' | 'stdout'

export interface SnapshotOutput {
  type: OutputType
  content: string
  cut?: boolean
  timestamp: string
  seq: Seq
  of?: string
}

export interface SnapshotMetadata {
  duration_ms: number
  token_usage: number
  tool_calls: number
  error_count: number
  context?: UsageData
  costs?: Cost[]
}

export interface SnapshotLeftOut {
  conversation?: number
  rests?: number
  outputs?: number
  files?: number
  contents?: number
}

export interface Snapshot {
  version: number
  timestamp: string
  epoch: string
  at_seq: Seq
  agent_context: SnapshotContext
  files: SnapshotFile[]
  outputs: SnapshotOutput[]
  metadata: SnapshotMetadata
  left_out?: SnapshotLeftOut
  notice?: string
  state_size_bytes: number
  stored_bytes: number
  compression_ratio: number
}

export interface ExportPlace {
  seq: Seq
  what: string
  count: number
}

export interface ExportPreview {
  events: number
  secrets: number
  paths: number
  images: number
  thoughts: number
  outputs: number
  places: ExportPlace[]
}

export type RuleEffect = 'allow' | 'reject'

export interface Rule {
  id: string
  scope: RuleScope
  effect: RuleEffect
  agent?: string
  kind?: ToolKind
  subject?: string
  title?: string
  agent_told?: boolean
  created_by: string
  created_by_id?: string
  created_at: string
  suspended?: boolean
}

export interface Rules {
  rules: Rule[]
}

export interface NewRule {
  scope: RuleScope
  effect: RuleEffect
  kind?: ToolKind
  subject?: string
  permission_id?: string
  title?: string
}

export interface Folder {
  name: string
  path: string
  branch?: string
  repository: boolean
}

export interface FolderContent {
  name: string
  path: string
  branch?: string
  repository: boolean
  parent?: string
  folders: Folder[]
  left_out?: number
}

export interface NewFolder {
  path: string
}

export interface FolderPlace {
  path: string
  shown: string
  allowed: boolean
  repository?: boolean
  may_allow?: boolean
  why?: string
}

export type FileKind = 'folder' | 'file' | 'link' | 'other'

export interface FileEntry {
  name: string
  kind: FileKind
  size: number
  unreadable?: boolean
}

export interface FileList {
  path: string
  entries: FileEntry[]
  left_out?: number
}

export interface Completions {
  paths: string[]
}

export interface ChangedFile {
  path: string
  code: string
}

export interface Changes {
  repository: boolean
  branch?: string
  commit?: string
  files: ChangedFile[]
  left_out?: number
  unknown?: string
  new_pull_request?: string
}

export interface BranchPush {
  remote: string
  pushed: boolean
  allowed: boolean
  pull_requests?: string
  command?: string
}

export interface Branch {
  repository: boolean
  branch?: string
  commit?: string
  base?: string
  base_commit?: string
  compared: boolean
  ahead: number
  behind: number
  merged?: boolean
  uncommitted: number
  conflicts: string[]
  conflicts_left_out?: number
  conflicts_unknown?: string
  remote?: string
  web?: string
  new_pull_request?: string
  push?: BranchPush
  worktree?: Worktree
  unknown?: string
  signing?: string
  acts: string[]
  draft?: string
  checked_at?: string
}

export interface CommitBranch {
  files?: string[]
  message: string
  confirm?: string[]
}

export interface UpdateBranch {
  method: string
  confirm?: string[]
}

export interface MergeBranch {
  method: string
  message?: string
  confirm?: string[]
}

export interface PushBranch {
  confirm?: string[]
}

export interface MakePullRequest {
  message?: string
  confirm?: string[]
}

export interface PullRequestPage {
  url: string
  made: boolean
}

export interface DiscardBranch {
  confirm?: string[]
}

export interface BranchAct {
  act: string
  branch: string
  before?: string
  after: string
  from?: string
  remote?: string
  files: number
}

export interface CopyUse {
  session_id: string
  name: string
  over: boolean
  trashed?: boolean
}

export interface WorkingCopy {
  folder: string
  repository?: string
  branch?: string
  base?: string
  sessions: CopyUse[]
  unfinished?: boolean
  gone?: boolean
  bytes: number
  partly?: boolean
  uncommitted: number
  commits: number
  uncommitted_names?: string[]
  unknown?: string
  safe: boolean
  removed?: boolean
}

export interface StatesSize {
  session_id: string
  states: number
  bytes: number
}

export interface Worktrees {
  worktrees: WorkingCopy[]
  states: StatesSize[]
}

export interface RemoveWorktree {
  folder: string
  discard?: boolean
  confirm?: string[]
}

export interface FileChange {
  before?: string
  after?: string
  unknown?: string
}

export interface TrashedSession {
  session_id: string
  name: string
  agent: string
  workspace: string
  project_root?: string
  last_line?: string
  event_count: number
  created_at: string
  updated_at: string
  deleted_at: string
  removed_at: string
  bytes: number
}

export interface Trash {
  sessions: TrashedSession[]
  days: number
  bytes: number
}

export interface StoredBytes {
  log: number
  blobs: number
  derived: number
  other: number
  states: number
  copies: number
  trash: number
}

export interface StoredWeek {
  start: string
  sessions: number
  bytes: number
}

export interface StoredSession {
  session_id: string
  name: string
  agent: string
  workspace: string
  project_root?: string
  lifecycle: Lifecycle
  updated_at: string
  bytes: number
  copy_bytes?: number
}

export interface StoredProject {
  folder: string
  sessions: number
  bytes: number
}

export interface CleanRule {
  enabled: boolean
  every: string
  older_than: string
  lifecycles: Lifecycle[]
}

export interface StorageReport {
  sessions: number
  active: number
  resumable: number
  unmeasured?: number
  bytes: StoredBytes
  used: number
  average: number
  trash_sessions: number
  quota: number
  warn_at: number
  warning?: string
  quota_reached?: string
  weeks: StoredWeek[]
  largest: StoredSession[]
  projects: StoredProject[]
  clean: CleanRule
}

export interface CleanStorage {
  dry_run?: boolean
  older_than?: string
  lifecycles?: Lifecycle[]
  project?: string
  session_ids?: string[]
}

export interface CleanedStorage {
  dry_run: boolean
  for_good: boolean
  sessions: StoredSession[]
  count: number
  bytes: number
  stayed: Record<string, number>
}

export interface UsageSum {
  turns: number
  unreported?: number
  tokens: number
  input_tokens: number
  output_tokens: number
  cached_read_tokens: number
  cached_write_tokens: number
  costs: Cost[]
  tool_calls: number
  duration_ms: number
}

export interface UsageRow {
  day?: string
  session_id?: string
  name?: string
  turn?: number
  project?: string
  agent?: string
  at: string
  used: UsageSum
}

export interface UsageBudget {
  project: string
  tokens?: number
  cost?: number
  warn_at: number
  stop?: boolean
  used: UsageSum
  part: number
  until: string
  text: string
}

export interface Usage {
  by: string
  from?: string
  to?: string
  zone: string
  rows: UsageRow[]
  left_out?: number
  total: UsageSum
  behind?: number
  budgets?: UsageBudget[]
}

export type NotifyKind = 'permission' | 'form' | 'turn_over' | 'failed' | 'interrupted' | 'job' | 'withdrawn' | 'test'

export interface QuietHours {
  from: string
  to: string
  zone?: string
}

export interface Delivery {
  id: string
  target: string
  kind: NotifyKind
  session_id?: string
  at: string
  attempts: number
  outcome: string
  detail?: string
}

export interface Subscription {
  id: string
  created_at: string
  events: NotifyKind[]
  muted?: string[]
  quiet?: QuietHours
  outcomes: Delivery[]
}

export interface PushState {
  public_key: string
  subscriptions: Subscription[]
}

export interface PushKeys {
  p256dh: string
  auth: string
}

export interface NewSubscription {
  endpoint: string
  keys: PushKeys
  events: NotifyKind[]
  muted?: string[]
  quiet?: QuietHours
}

export interface NotifyChoice {
  events: NotifyKind[]
  muted?: string[]
  quiet?: QuietHours
}

export interface Made {
  id: string
}

export interface Channel {
  name: string
  type: string
  host: string
  events: NotifyKind[]
  muted?: string[]
  quiet?: QuietHours
  outcomes: Delivery[]
}

export interface Channels {
  channels: Channel[]
}

export interface NotifyCounts {
  sent: number
  delivered: number
  failed: number
  withdrawn: number
}

export interface ResumeCounts {
  interrupted: Record<string, number>
  resumed: Record<string, Record<string, number>>
  dismissed: number
  superseded: number
  succeeded: number
  failed: number
  median_ms: number
}

export interface IndexProgress {
  sessions: number
  behind: number
  problem?: string
  again?: string
}

export interface Derived {
  kind: string
  sessions: number
  events?: number
}

export type ProblemKind = 'unreadable' | 'damaged' | 'frozen' | 'blocked'

export interface SessionProblem {
  session_id: string
  kind: ProblemKind
  what: string
  do: string
}

export interface Health {
  status: string
  protocol: number
  version: string
  hub_id: string
  scope: string
  time: string
  uptime_ms: number
  limits: Limits
  clients?: number
  ignored_messages?: number
  notifications?: NotifyCounts
  interruptions?: ResumeCounts
  schedules?: string
  storage?: string
  snapshots?: string
  budgets?: string[]
  index?: IndexProgress
  derived?: Derived[]
  sessions: SessionProblem[]
}

export interface Ready {
  ready: boolean
}

export interface AuditRecord {
  seq: number
  time: string
  verb: string
  by?: string
  by_id?: string
  peer?: string
  session_id?: string
  detail?: string
}

export interface AuditPage {
  records: AuditRecord[]
}

export interface FoundTitle {
  session_id: string
  name: string
  updated_at: string
}

export interface Hit {
  session_id: string
  name: string
  seq: Seq
  type: string
  time: string
  snippet: string
  ranges?: [number, number][]
}

export interface FoundPage {
  titles?: FoundTitle[]
  hits: Hit[]
  next_cursor?: string
  searched: number
  sessions: number
  sessions_left: number
  skipped?: string[]
  done: boolean
}

export interface Refusal {
  code: Code
  message: string
  field?: string
  retry_after_ms?: number
  winner?: Winner
  needs?: string[]
  challenge?: string
}

export interface Refused {
  error: Refusal
}
