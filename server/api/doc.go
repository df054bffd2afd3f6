package api

import (
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

func docReady() doc {
	return doc{summary: "Whether the hub is ready. Needs no credential.", out: wire.Ready{}, status: 200}
}

func docHealth() doc {
	return doc{summary: "How the hub is, and whether the credential is good: what a client asks after a dial that failed. Lists the sessions with which something is wrong.", out: wire.Health{}, status: 200}
}

func docPair() doc {
	return doc{summary: "Spend a pairing code; the answer sets the device's cookie and has its first page token. Needs the page's own Origin and no credential.", in: wire.Pair{}, out: wire.Paired{}, status: 200}
}

func docPairing() doc {
	return doc{summary: "Make a link that pairs one more browser, once, within two minutes. Only a paired browser of the owner may, not a token.", in: wire.NewPairing{}, out: wire.PairingLink{}, status: 201}
}

func docPage() doc {
	return doc{summary: "Exchange a signed challenge, which a 401 to a device's cookie carries, for a page token: the header Abide-Page, which each request with the cookie needs. Needs the page's own Origin and the cookie.", in: wire.PageProof{}, out: wire.PageToken{}, status: 200}
}

func docDevices() doc {
	return doc{summary: "Paired browsers and tokens.", out: wire.Devices{}, status: 200}
}

func docRename() doc {
	return doc{summary: "Give a device or a token another name, of at most 64 characters: lists show it, and what is done with it from now on.", in: wire.DevicePatch{}, out: wire.Device{}, status: 200}
}

func docSeen() doc {
	return doc{summary: "The owner has seen the devices and tokens made until then: no device shows them as new any more.", in: wire.SeenDevices{}, status: 204}
}

func docRevoke() doc {
	return doc{summary: "End a device's or a token's access. Its sockets are closed within a second.", status: 204}
}

func docAudit() doc {
	return doc{
		summary: "What was granted, answered, deleted and refused, oldest first, at most 1000 records. The oldest records may have been removed.",
		query:   []param{{"after", "the seq of the last record that is known; 0 is from the start", int64(0)}},
		out:     wire.AuditPage{}, status: 200,
	}
}

func docPush() doc {
	return doc{summary: "The hub's VAPID key, made at the first call, and the push subscriptions of the credential with the outcome of their latest deliveries.", out: wire.PushState{}, status: 200}
}

func docSubscribe() doc {
	return doc{summary: "Send a browser notifications of the sessions that the credential may read: endpoint and keys are the browser's PushSubscription. A known endpoint changes its events. No events means all of them.", in: wire.NewSubscription{}, out: wire.Made{}, status: 201}
}

func docUnsubscribe() doc {
	return doc{summary: "End a push subscription of the credential.", status: 204}
}

func docTestPush() doc {
	return doc{summary: "Send a message to a push subscription of the credential. The outcome is in GET /api/push.", status: 204}
}

func docTokenAnswer() doc {
	return doc{summary: "Answer the question of a notification by its token, a single-use token that expires with the question. Needs the page's own Origin and no credential. 404 for a token that is not good, or not any more.", in: wire.TokenAnswer{}, out: wire.PermissionResolved{}, status: 200}
}

func docChannels() doc {
	return doc{summary: "The configured channels, with their events and their latest deliveries.", out: wire.Channels{}, status: 200}
}

func docChannelChange() doc {
	return doc{summary: "Set a channel's events, in place of the configuration.", in: wire.NotifyChoice{}, status: 204}
}

func docTestChannel() doc {
	return doc{summary: "Send a message to a channel. The outcome is in GET /api/channels.", status: 204}
}

func docAgents() doc {
	return doc{summary: "Agents and folders for a new session.", out: wire.Agents{}, status: 200}
}

func docList() doc {
	return doc{
		summary: "The sessions, newest first.", out: wire.SessionPage{}, status: 200,
		query: []param{
			{"status", "idle, running, needs_you, failed, interrupted, ended, damaged; archived for those put away; all for everything", ""},
			{"project", "a project root or workspace", ""},
			{"q", "words that occur in the name, the last line, the agent, the workspace or the id", ""},
			{"limit", "from 1 to 200; 30 when absent", 0},
			{"cursor", "next_cursor of the page before", ""},
		},
	}
}

func docCreate() doc {
	return doc{
		summary: "Make a session. Its agent is started by the first prompt. With recorder the caller records it, and the answer is {session_id, epoch, recorder_id, max_seq}.", in: wire.NewSession{}, out: wire.SessionInfo{}, status: 201,
		headers: []param{{"Idempotency-Key", "the client's name for this request, at most 128 printable bytes, and the prompt's id: sent again it is answered with the session it made, and asks nothing twice; with another body it is 409", ""}},
	}
}

func docSession() doc { return doc{summary: "One session.", out: wire.SessionInfo{}, status: 200} }

func docUpdate() doc {
	return doc{summary: "Rename, pin or archive a session.", in: wire.SessionPatch{}, out: wire.SessionInfo{}, status: 200}
}

func docDelete() doc {
	return doc{summary: "Stop a session's agent and remove everything of it.", status: 204}
}

func docEvents() doc {
	return doc{
		summary: "A page of events, the newest when neither seq is given; or, for Accept: text/event-stream, a live stream: first events_loaded with the verdict, then an unnamed message for each event, its id epoch:seq.",
		out:     wire.EventsLoaded{}, status: 200, stream: "text/event-stream",
		query: []param{
			{"after_seq", "events after this one, oldest first", event.Seq(0)},
			{"before_seq", "events before this one", event.Seq(0)},
			{"epoch", "the epoch the seq belongs to", ""},
			{"limit", "from 1 to 500; 50 when absent", 0},
			{"merge", "join runs of chunks of one message", false},
		},
		headers: []param{{"Last-Event-ID", "continue the stream after epoch:seq", ""}},
	}
}

func docBlobAddress() doc {
	return doc{summary: "An address of a blob that a browser may fetch with the device's cookie and no page token, for images and downloads. It is good for ten minutes.", out: wire.SignedAddress{}, status: 200}
}

func docBlob() doc {
	return doc{
		summary: "A value that was too large for the log.", status: 200, stream: "application/octet-stream",
		query: []param{{"preview", "of a large picture, one of at most 480 pixels a side", false}},
	}
}

func docPrompt() doc {
	return doc{
		summary: "Ask the agent. The same prompt_id again gets the latest outcome and changes nothing. 202 while it waits.",
		in:      wire.NewPrompt{}, out: wire.PromptAnswer{}, status: 200,
		headers: []param{{"Idempotency-Key", "the prompt's id, where the body has none", ""}},
	}
}

func docCancel() doc { return doc{summary: "Ask the agent to end its turn.", status: 204} }

func docForceReset() doc {
	return doc{summary: "Free a turn whose agent does not answer: the agent is stopped.", status: 204}
}

func docInterruption() doc {
	return doc{summary: "The interrupted turn, and how it can be resumed. 404 when there is none.", out: wire.Offer{}, status: 200}
}

func docResume() doc {
	return doc{
		summary: "Resume the interrupted turn. way is auto, server, local or segmented; the last tells a new agent session all of this one, and state.restore says how far it is. The first to settle it wins, others get 409 " +
			"already_resolved with the winner. 409 conflict with needs lists what confirm must name, " +
			"or drift: then drift says apply (the recorded settings) or keep (the current ones), which takes access to manage " +
			"the session where one allows more.",
		in: wire.Resume{}, out: wire.Resumed{}, status: 202,
	}
}

func docDismiss() doc {
	return doc{summary: "Dismiss an interruption. Queued prompts continue.", in: wire.Dismiss{}, status: 204}
}

func docPermission() doc {
	return doc{
		summary: "Settle a permission request. The first answer wins; a later other one is 409 with the winner.",
		in:      wire.PermissionChoice{}, out: wire.PermissionResolved{}, status: 200,
	}
}

func docRestart() doc {
	return doc{summary: "Stop the agent and start it again; a turn it was given is closed as interrupted. The state says what became of it.", status: 202}
}

func docReopen() doc {
	return doc{
		summary: "Bring back a session whose log accepts no more events after an error of the device, or which could not be opened. Its agent is stopped; screens come back by themselves. 503 while it still cannot be.",
		out:     wire.SessionInfo{}, status: 200,
	}
}

func docRecord() doc {
	return doc{
		summary: "Write a batch of events that the session's recorder reports after after_seq, all or nothing. The same batch after the same seq again writes nothing twice; another one there is 409. An empty batch says that the recorder is there; after 30 s of silence the session is closed.",
		in:      wire.RecordBatch{}, out: wire.RecordedTo{}, status: 200,
	}
}

func docRecordEnd() doc {
	return doc{summary: "End a recording: what is open is closed, session_end is written. The same again changes nothing.", in: wire.EndRecording{}, out: wire.SessionInfo{}, status: 200}
}

func docEnd() doc {
	return doc{
		summary: "Say that the session's work is done: session_end is written, the status is ended, the agent is stopped. A later prompt makes it live again. 409 while a turn is open.",
		in:      wire.EndSession{}, out: wire.SessionInfo{}, status: 200,
	}
}

func docAuthenticate() doc {
	return doc{summary: "Log the agent in by one of the methods its state names. Answers when the agent is ready.", in: wire.Login{}, out: struct{}{}, status: 200}
}

func docAttach() doc {
	return doc{
		raw:     true,
		summary: "Store the body as a file that prompts of this session may name: at most 25 MiB, its media type as Content-Type. The name in the answer is the server's.",
		out:     event.Attachment{}, status: 201,
		query: []param{{"name", "the file's own name", ""}},
	}
}

func docFolders() doc {
	return doc{
		summary: "A folder and the folders in it, for a new session. 404 outside of the folders that sessions may run in.",
		query:   []param{{"path", "absolute, or below ~; empty is the first folder that sessions may run in", ""}},
		out:     wire.FolderContent{}, status: 200,
	}
}

func docFolderMake() doc {
	return doc{summary: "Make a folder in one that exists.", in: wire.NewFolder{}, out: wire.Folder{}, status: 201}
}

func docFolderPlace() doc {
	return doc{
		summary: "Whether sessions may run in a folder, why not, and whether it may be allowed.",
		query:   []param{{"path", "absolute, or below ~", ""}},
		out:     wire.FolderPlace{}, status: 200,
	}
}

func docFolderAllow() doc {
	return doc{
		summary: "Let sessions run in a folder and below: write it into the configuration, and apply that. 403 for a folder that is not fit, 409 with the lines to add for a configuration that cannot be written.",
		in:      wire.NewFolder{}, out: wire.FolderPlace{}, status: 200,
	}
}

func docFiles() doc {
	return doc{
		summary: "A folder of the session's workspace: folders first, at most 2,000 entries. .git and the hub's own files are left out.",
		query:   []param{{"path", "relative to the workspace; empty is the workspace", ""}},
		out:     wire.FileList{}, status: 200,
	}
}

func docFile() doc {
	return doc{
		summary: "A file of the session's workspace. An answer has at most 2 MiB: a larger file takes Range, and a longer range is cut.",
		query:   []param{{"path", "relative to the workspace", ""}},
		headers: []param{{"Range", "one range of bytes", ""}},
		status:  200, stream: "application/octet-stream",
	}
}

func docComplete() doc {
	return doc{
		summary: "Paths of the workspace that match what was typed, the best first, at most 50. Files that .gitignore names are left out.",
		query:   []param{{"q", "letters of the path in their order", ""}},
		out:     wire.Completions{}, status: 200,
	}
}

func docChanges() doc {
	return doc{summary: "Where the workspace's git repository stands, and at most 1,000 changed files.", out: wire.Changes{}, status: 200}
}

func docChange() doc {
	return doc{
		summary: "A file of the session's workspace in the commit and as it is now, each side a text of at most 2 MiB. A side without the file is absent; unknown says why the texts are left out.",
		query:   []param{{"path", "relative to the workspace", ""}},
		out:     wire.FileChange{}, status: 200,
	}
}

func docRules() doc {
	return doc{summary: "The permission rules that answer in this session: its own, then those of its agent.", out: wire.Rules{}, status: 200}
}

func docRuleAdd() doc {
	return doc{
		summary: "Make a permission rule. One with scope agent answers in every session of the agent and takes access to all of them.",
		in:      wire.NewRule{}, out: wire.Rule{}, status: 201,
	}
}

func docRuleRevoke() doc {
	return doc{summary: "Take a permission rule back. It stops counting at once.", status: 204}
}

func docQueue() doc {
	return doc{summary: "The prompts that wait, in order.", out: wire.Queue{}, status: 200}
}

func docQueueAdd() doc {
	d := docPrompt()
	d.summary, d.status = "Put a prompt into the queue. A full queue is 409. 200 when it did not have to wait.", 202
	return d
}

func docQueueClear() doc { return doc{summary: "Empty the queue.", status: 204} }

func docQueueItem() doc {
	return doc{summary: "One waiting prompt.", out: wire.QueueItem{}, status: 200}
}

func docQueuePatch() doc {
	return doc{summary: "Change a waiting prompt's text, place or time.", in: wire.QueuePatch{}, out: wire.Queue{}, status: 200}
}

func docQueueRemove() doc { return doc{summary: "Take a prompt out of the queue.", status: 204} }

func docSocket() doc {
	return doc{summary: "Upgrade to a WebSocket, subprotocol " + wire.Subprotocol + "; docs/protocol.md has its frames.", status: 101}
}

func docSessionSocket() doc {
	return doc{
		summary: "The same socket with this session followed from the start.", status: 101,
		query: []param{
			{"after_seq", "follow after this event", event.Seq(0)},
			{"epoch", "the epoch after_seq belongs to", ""},
			{"tail", "begin with this many of the newest events; 50 when after_seq is absent", 0},
			{"merge", "join runs of chunks of one message while catching up", false},
		},
	}
}
