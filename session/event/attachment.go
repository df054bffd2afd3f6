package event

// Attachment is a file attached to a prompt; its bytes are a blob.
type Attachment struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	Bytes     int64  `json:"bytes"`
	SHA256    string `json:"sha256"`
}
