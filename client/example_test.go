package client_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

var errDone = errors.New("done")

// A script gives an agent something to do and prints its answer. The key makes it safe to
// do the same again after a lost answer.
func Example() {
	ctx := context.Background()
	hub, err := client.New(os.Getenv("ABIDE_HUB"), os.Getenv("ABIDE_TOKEN"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hub.Close()
	s, err := hub.Create(ctx, wire.NewSession{Agent: "demo", Workspace: os.Getenv("PROJECT"), Prompt: "/plan"}, "plan-of-monday")
	if err != nil {
		fmt.Println(err)
		return
	}
	var said strings.Builder
	err = client.NewWatch(hub, s.SessionID, client.Cursor{Epoch: s.Epoch}).Run(ctx, func(u client.Update) error {
		for _, e := range u.Events {
			p, err := e.Payload()
			if err != nil {
				return err
			}
			switch p := p.(type) {
			case event.AgentMessage:
				said.WriteString(string(p.Text))
			case event.TurnEnd:
				fmt.Println(p.StopReason)
				return errDone
			}
		}
		return nil
	})
	if !errors.Is(err, errDone) {
		fmt.Println(err)
	}
	fmt.Println(said.String())
	// Output:
	// end_turn
	// The plan is done.
}

// A watch that answers each question of the agent with the first option that allows it
// once.
func ExampleHub_Settle() {
	ctx := context.Background()
	hub, err := client.New(os.Getenv("ABIDE_HUB"), os.Getenv("ABIDE_TOKEN"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hub.Close()
	s, err := hub.Create(ctx, wire.NewSession{Agent: "demo", Workspace: os.Getenv("PROJECT"), Prompt: "/ask"}, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	err = client.NewWatch(hub, s.SessionID, client.Cursor{Epoch: s.Epoch}).Run(ctx, func(u client.Update) error {
		for _, e := range u.Events {
			p, err := e.Payload()
			if err != nil {
				return err
			}
			switch p := p.(type) {
			case event.PermissionRequest:
				fmt.Println("May it:", p.Title)
				for _, o := range p.Options {
					if o.Kind != event.AllowOnce {
						continue
					}
					if _, err := hub.Settle(ctx, s.SessionID, p.PermissionID, wire.PermissionChoice{OptionID: o.OptionID, SeenSeq: e.Seq}); err != nil {
						return err
					}
				}
			case event.TurnEnd:
				fmt.Println(p.StopReason)
				return errDone
			}
		}
		return nil
	})
	if !errors.Is(err, errDone) {
		fmt.Println(err)
	}
	// Output:
	// May it: echo hello
	// end_turn
}

// A program that starts again reads on where it was: it keeps the cursor, and asks for the
// events behind it, a page at a time.
func ExampleHub_EventsAfter() {
	ctx := context.Background()
	hub, err := client.New(os.Getenv("ABIDE_HUB"), os.Getenv("ABIDE_TOKEN"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hub.Close()
	s, err := hub.Create(ctx, wire.NewSession{Agent: "demo", Workspace: os.Getenv("PROJECT")}, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	cursor := client.Cursor{Epoch: s.Epoch}
	for {
		page, err := hub.EventsAfter(ctx, s.SessionID, cursor.Seq, 100)
		if err != nil {
			fmt.Println(err)
			return
		}
		if page.Epoch != cursor.Epoch {
			cursor = client.Cursor{Epoch: page.Epoch} // another log: read it from its beginning
			continue
		}
		if len(page.Events) == 0 {
			return
		}
		for _, e := range page.Events {
			if e.Seq != cursor.Seq+1 {
				fmt.Println("an event is missing")
			}
			if e.Type == event.TypeSessionStart {
				fmt.Println(e.Seq, e.Type)
			}
			cursor.Seq = e.Seq
		}
	}
	// Output:
	// 1 session_start
}
