package acp

import "encoding/json"

// modelOption is the id of the option as which models without options are shown.
const modelOption = "model"

// models are the models that an agent offers by session/set_model (Gemini).
type models struct {
	Current   string `json:"currentModelId"`
	Available []struct {
		ID          string `json:"modelId"`
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"availableModels"`
}

// modelsOf reads the models in the answer that begins a session; nil if it has none.
func modelsOf(result json.RawMessage) *models {
	var began struct {
		Models *models `json:"models"`
	}
	if json.Unmarshal(result, &began) != nil || began.Models == nil || len(began.Models.Available) == 0 {
		return nil
	}
	return began.Models
}

// asOption returns the models as a set of one config option, so that they are chosen,
// recorded and put back like one.
func (m *models) asOption(current string) json.RawMessage {
	type value struct {
		Value       string `json:"value"`
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
	}
	values := make([]value, 0, len(m.Available))
	for _, of := range m.Available {
		values = append(values, value{of.ID, of.Name, of.Description})
	}
	return mustJSON([]any{map[string]any{
		"id": modelOption, "name": "Model", "category": "model", "type": "select", "currentValue": current, "options": values,
	}})
}
