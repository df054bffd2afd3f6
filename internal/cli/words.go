package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Words are an error's words on stderr, without those of Go's own packages.
func Words(err error) string {
	lost := (*url.Error)(nil)
	path := (*fs.PathError)(nil)
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.As(err, &lost):
		return "the hub at " + hostOf(lost.URL) + " does not answer: " + causeOf(lost.Err)
	case errors.Is(err, context.DeadlineExceeded):
		return "there was no answer in time"
	case errors.As(err, &path) && err == error(path):
		return path.Path + ": " + causeOf(path.Err)
	}
	return err.Error()
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + u.Host
}

// causeOf are the words of the reason for a failed request, file or command.
func causeOf(err error) string {
	system := syscall.Errno(0)
	lookup := (*net.DNSError)(nil)
	slow, isSlow := err.(interface{ Timeout() bool })
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "there is no such file"
	case errors.As(err, &system):
		return system.Error()
	case errors.As(err, &lookup):
		return "its name is not known"
	case isSlow && slow.Timeout():
		return "no answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended"
	}
	return err.Error()
}

// FlagError is the error of a flag as a usage error.
func FlagError(cmd *cobra.Command, err error) error {
	words := err.Error()
	if wrong := (*pflag.InvalidValueError)(nil); errors.As(err, &wrong) {
		words = fmt.Sprintf("--%s %s: that is not %s", wrong.GetFlag().Name, wrong.GetValue(), kindOf(wrong.GetFlag().Value.Type()))
	}
	return Usagef("%s (see `%s --help`)", words, cmd.CommandPath())
}

func kindOf(flag string) string {
	switch flag {
	case "int", "int64":
		return "a whole number"
	case "float64":
		return "a number"
	case "duration":
		return "a time such as 90s, 10m or 12h"
	case "bool":
		return "true or false"
	}
	return "a value of it"
}

// Arguments checks the number of arguments. Its errors are usage errors, which name the
// arguments.
func Arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil {
			return nil
		}
		if cmd.HasAvailableSubCommands() && len(args) > 0 && strings.HasPrefix(err.Error(), "unknown command") {
			return Known(cmd, args[0])
		}
		words := strings.Fields(cmd.Use)[1:]
		wants := slices.DeleteFunc(slices.Clone(words), func(w string) bool {
			return strings.Trim(w, "[].|…-") == "" || w[0] == '[' || strings.HasSuffix(w, "]") || w == "flags"
		})
		usage := strings.TrimSpace(cmd.CommandPath() + " " + strings.Join(words, " "))
		text := err.Error()
		switch counts := strings.Contains(text, "arg(s)") || strings.HasPrefix(text, "unknown command"); {
		case counts && len(args) < len(wants):
			text = wants[len(args)] + " is missing"
		case counts:
			text = fmt.Sprintf("%q is one argument too many", args[len(args)-1])
		}
		return Usagef("%s (usage: %s; see `%s --help`)", text, usage, cmd.CommandPath())
	}
}

// Known refuses the name of a command or topic that root does not have.
func Known(root *cobra.Command, name string) error {
	root.SuggestionsMinimumDistance = 2
	also := ""
	if like := root.SuggestionsFor(name); len(like) > 0 {
		also = fmt.Sprintf("; did you mean `%s %s`?", root.CommandPath(), strings.Join(like, "` or `"+root.CommandPath()+" "))
	}
	return Usagef("unknown command %q%s (`%s --help` lists them)", name, also, root.CommandPath())
}
