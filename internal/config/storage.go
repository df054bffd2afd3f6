package config

// Storage says what becomes of sessions that are not needed any more.
type Storage struct {
	// TrashDays is for how many days a deleted session can be restored; 0 deletes it at
	// once.
	TrashDays int
	// ExpiredDays is for how many days nothing happens in an idle session until it is
	// expired; 0 is never.
	ExpiredDays int
}

type fileStorage struct {
	TrashDays   *float64 `yaml:"trash_days"`
	ExpiredDays *float64 `yaml:"expired_days"`
}
