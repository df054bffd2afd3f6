// Package queue keeps the prompts that wait for an agent to be free.
//
// A session's queue is one file, queue.json, written whole before a change is
// acknowledged: a temporary file is synced, renamed over the old one, and the
// directory is synced.
//
//	{"format":1,
//	 "log_seq":41,
//	 "items":[{"prompt_id":"…","text":"…","hash":"…","queued_at":"…"}],
//	 "ledger":[{"prompt_id":"…","hash":"…","outcome":"received","seq":41,"at":"…"}]}
//
// Items are waiting prompts, in the order they will be given to the agent. The
// ledger keeps the outcomes of the last prompt ids, at least 1,000, and
// ledger.jsonl those of all before them, each with a hash of its first payload, so
// that a resend from a client's outbox is answered and runs nothing twice. The
// session's log is the truth about prompts that ran: log_seq says how far into the
// log the ledger is complete, and opening the queue enters what came after it.
package queue
