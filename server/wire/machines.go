package wire

import "time"

// Here is the machine of a hub's own sessions, as a filter of lists.
const Here = "here"

// NewMachineLink is the body of a request for a link to join. It has no fields.
type NewMachineLink struct{}

// MachineLink is a link with which one machine joins this hub, once. QR draws it, as in
// PairingLink.
type MachineLink struct {
	URL       string    `json:"url"`
	Loopback  bool      `json:"loopback,omitempty"`
	ExpiresAt time.Time `json:"expires_at"`
	// ExpiresIn is in seconds.
	ExpiresIn int      `json:"expires_in"`
	QR        []string `json:"qr"`
}

// Join is what a machine sends to join: the link's code, and what it says of itself.
type Join struct {
	Code string `json:"code"`
	// ID is the id of the machine's hub.
	ID      string `json:"id"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Allow is read, act or manage.
	Allow string `json:"allow"`
}

// Joined has the machine's secret at home.
type Joined struct {
	Secret string `json:"secret"`
}

// JoinedMachine is a machine that joined this hub.
type JoinedMachine struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// State is connected or away. Since is from or until when it was connected; absent if
	// it never was.
	State string     `json:"state"`
	Since *time.Time `json:"since,omitempty"`
	// Allow is what it allows this hub: read, act or manage.
	Allow    string    `json:"allow"`
	Version  string    `json:"version,omitempty"`
	JoinedAt time.Time `json:"joined_at"`
	// Sessions counts its sessions in the list. Refused counts its messages that broke the
	// protocol, since this hub started.
	Sessions int `json:"sessions"`
	Refused  int `json:"refused,omitempty"`
	// Problem says what is wrong with it, for a person; absent if nothing is.
	Problem string `json:"problem,omitempty"`
}

// Machines lists the machines that joined this hub, by name, and the home that this hub
// joined.
type Machines struct {
	Machines []JoinedMachine `json:"machines"`
	Home     *Home           `json:"home,omitempty"`
}

// MachinePatch gives a machine another name.
type MachinePatch struct {
	Name string `json:"name"`
}

// NewHome is the body of a request to join a home.
type NewHome struct {
	// Link is what home made for one machine; absent to change what home may do.
	Link string `json:"link,omitempty"`
	// Name is the machine's name there; absent is the computer's.
	Name string `json:"name,omitempty"`
	// Allow is what home may do here: read, act (the default) or manage.
	Allow string `json:"allow,omitempty"`
	// CA is a file on this machine with certificates that home's may be signed by.
	CA string `json:"ca,omitempty"`
}

// Home is the hub whose list has this hub's sessions, too.
type Home struct {
	URL string `json:"url"`
	// Name is what this machine is called there.
	Name  string `json:"name"`
	Allow string `json:"allow"`
	State string `json:"state"`
	// Since is from or until when it was connected; absent if it never was since the start.
	Since *time.Time `json:"since,omitempty"`
	// Problem says for a person why it is not connected.
	Problem string `json:"problem,omitempty"`
}
