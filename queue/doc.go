// Package queue stores the prompts that wait until an agent is free.
//
// A session's queue is one file, queue.json. It is rewritten before a change is
// acknowledged: a temporary file is synced, renamed over the old one, and the
// directory is synced.
//
//	{"format":1,
//	 "log_seq":41,
//	 "items":[{"prompt_id":"…","text":"…","hash":"…","queued_at":"…"}],
//	 "ledger":[{"prompt_id":"…","hash":"…","outcome":"received","seq":41,"at":"…"}]}
//
// Items are waiting prompts, in the order in which the agent gets them. The ledger
// has the outcomes of the last prompt ids, at least 1,000, and ledger.jsonl those
// of all earlier ones. Each has a hash of the first payload. With it, a resend from
// a client's outbox is answered and does not run again. The session's log is
// authoritative about prompts that ran: log_seq says up to which event the ledger
// is complete, and opening the queue enters later events.
package queue
