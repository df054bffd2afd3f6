// Package form checks a person's answer against the form of an agent's question.
package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/abidehub/abide/session/state"
)

// formURL identifies an agent's form in the validator; it is never fetched.
const formURL = "abide:form"

// Check checks a filled-in form against its schema, so that the person learns
// of a mistake while the request stays open. The error names the field. With an
// invalid schema the agent must check the answer itself.
func Check(form, content json.RawMessage) error {
	schema, err := compile(form)
	if err != nil {
		return nil
	}
	if len(content) == 0 {
		content = json.RawMessage("{}")
	}
	filled, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("%w: content is not valid JSON", state.ErrInvalid)
	}
	var wrong *jsonschema.ValidationError
	if err := schema.Validate(filled); errors.As(err, &wrong) {
		return fmt.Errorf("%w: the form's answer does not fit: %s", state.ErrInvalid, fault(wrong))
	}
	return nil
}

func compile(form json.RawMessage) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(form))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(nowhere{})
	if err := compiler.AddResource(formURL, document); err != nil {
		return nil, err
	}
	return compiler.Compile(formURL)
}

// nowhere loads nothing: a form must not make the hub read files.
type nowhere struct{}

// Load implements jsonschema.URLLoader.
func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("a form refers to %q", url)
}

// fault returns the first violation and its field.
func fault(wrong *jsonschema.ValidationError) string {
	for len(wrong.Causes) > 0 && len(wrong.InstanceLocation) == 0 {
		wrong = wrong.Causes[0]
	}
	field := strings.Join(wrong.InstanceLocation, ".")
	if missing, ok := wrong.ErrorKind.(*kind.Required); ok {
		return strings.TrimPrefix(field+".", ".") + strings.Join(missing.Missing, ", ") + " is missing"
	}
	for len(wrong.Causes) > 0 { // such as the first one in a list
		wrong = wrong.Causes[0]
	}
	words := wrong.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	if field == "" {
		return words
	}
	return field + ": " + words
}
