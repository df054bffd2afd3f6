package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
)

func (p *Program) queue() *cobra.Command {
	cmd := p.onSession(&cobra.Command{
		Use:   "queue ID [add TEXT | edit ITEM TEXT | move ITEM PLACE | rm ITEM]",
		Short: "List the prompts that wait in a session, or change them",
		Long: "List the prompts that wait in a session, or change them. ITEM is a number of the list, from 1 on, or a prompt's id;\n" +
			"PLACE is a number of the list. A text of - is read from stdin.",
		Example: "abide queue -\nabide queue - add 'then run the tests'\nabide queue - move 3 1",
		Args:    queueArgs,
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, args []string) error {
		if err := p.changeQueue(ctx, hub, s.SessionID, args); err != nil {
			return err
		}
		if len(args) > 0 && !p.json {
			return nil
		}
		list, err := hub.Queue(ctx, s.SessionID)
		if err != nil || p.json {
			return p.orJSON(wire.Queue{Queue: append([]wire.QueueItem{}, list...)}, err)
		}
		var rows [][]string
		for i, item := range list {
			rows = append(rows, []string{strconv.Itoa(i + 1), plain.Line(item.Actor), plain.Line(item.Text)})
		}
		return p.table(rows)
	})
	p.JSONFlag(cmd)
	return cmd
}

func queueArgs(_ *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	want := map[string]int{"add": 3, "edit": 4, "move": 4, "rm": 3}
	if len(args) == 0 || want[args[1]] != len(args) {
		return fmt.Errorf("queue takes a session, then nothing, add TEXT, edit ITEM TEXT, move ITEM PLACE or rm ITEM")
	}
	return nil
}

func (p *Program) changeQueue(ctx context.Context, hub *client.Hub, id string, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if args[0] == "add" {
		text, err := p.words(args[1])
		if err != nil {
			return err
		}
		ask := wire.NewPrompt{PromptID: client.NewKey(), Text: text, When: wire.WhenQueue}
		_, err = client.Again(ctx, func() (wire.PromptAnswer, error) { return hub.Ask(ctx, id, ask) })
		return err
	}
	list, err := hub.Queue(ctx, id)
	if err != nil {
		return err
	}
	prompt, err := queued(list, args[1])
	if err != nil {
		return err
	}
	switch args[0] {
	case "edit":
		text, err := p.words(args[2])
		if err != nil {
			return err
		}
		_, err = hub.Requeue(ctx, id, prompt, wire.QueuePatch{Text: &text})
		return err
	case "move":
		place, err := strconv.Atoi(args[2])
		if err != nil || place < 1 || place > len(list) {
			return Usagef("%q is not a place in the queue, from 1 to %d", args[2], len(list))
		}
		place--
		_, err = hub.Requeue(ctx, id, prompt, wire.QueuePatch{Position: &place})
		return err
	}
	return hub.Unqueue(ctx, id, prompt)
}

// queued returns the id of a waiting prompt, named by it or by its number.
func queued(list []wire.QueueItem, name string) (string, error) {
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(list) {
		return list[n-1].PromptID, nil
	}
	for _, item := range list {
		if item.PromptID == name {
			return name, nil
		}
	}
	return "", withCode(ExitNotFound, "no prompt %q waits (`abide queue ID` lists them)", name)
}
