package jsonfile_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/internal/jsonfile"
)

type content struct {
	Format int    `json:"format"`
	Text   string `json:"text"`
}

func file(t *testing.T, rule jsonfile.Rule, log *bytes.Buffer) jsonfile.File[content] {
	return jsonfile.File[content]{
		Files: disk.Folder{Dir: t.TempDir()}, Name: "small.json", Damage: rule, Remedy: "remove it",
		Logger: slog.New(slog.NewTextHandler(log, nil)),
		Check:  func(c content) error { return jsonfile.Format(c.Format, 1) },
	}
}

func pathOf(f jsonfile.File[content]) string {
	return filepath.Join(f.Files.(disk.Folder).Dir, f.Name)
}

func rules() map[string]jsonfile.Rule {
	return map[string]jsonfile.Rule{"refuse": jsonfile.Refuse, "aside": jsonfile.Aside, "forget": jsonfile.Forget}
}

func TestAWrittenFileIsReadUnderEachRule(t *testing.T) {
	for name, rule := range rules() {
		t.Run(name, func(t *testing.T) {
			f := file(t, rule, &bytes.Buffer{})
			_, found, err := f.Read()
			require.NoError(t, err)
			require.False(t, found)
			_, err = f.Load()
			require.ErrorIs(t, err, os.ErrNotExist)
			for _, text := range []string{"one", "two"} {
				require.NoError(t, f.Write(content{1, text}))
				got, found, err := f.Read()
				require.NoError(t, err)
				require.True(t, found)
				require.Equal(t, content{1, text}, got)
			}
			info, err := os.Stat(pathOf(f))
			require.NoError(t, err)
			require.EqualValues(t, 0o600, info.Mode().Perm())
		})
	}
}

func TestADamagedFileIsTreatedByItsRule(t *testing.T) {
	damages := map[string]func(path string) error{
		"torn":         func(path string) error { return os.WriteFile(path, []byte(`{"format":1,"te`), 0o600) },
		"empty":        func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"two values":   func(path string) error { return os.WriteFile(path, []byte(`{"format":1}{}`), 0o600) },
		"no format":    func(path string) error { return os.WriteFile(path, []byte(`{"text":"x"}`), 0o600) },
		"a directory":  func(path string) error { return os.Mkdir(path, 0o700) },
		"a named pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
	}
	for name, damage := range damages {
		for ruleName, rule := range rules() {
			t.Run(name+", "+ruleName, func(t *testing.T) {
				var log bytes.Buffer
				f := file(t, rule, &log)
				require.NoError(t, damage(pathOf(f)))
				_, err := f.Load()
				require.True(t, jsonfile.IsDamaged(err), "%v", err)
				require.ErrorContains(t, err, "small.json is damaged")
				require.ErrorContains(t, err, "; remove it")
				require.NotContains(t, err.Error(), filepath.Dir(pathOf(f)))
				got, found, err := f.Read()
				require.False(t, found)
				require.Zero(t, got, "half of the content was returned")
				_, there := os.Lstat(pathOf(f))
				_, aside := os.Lstat(pathOf(f) + ".damaged")
				if rule == jsonfile.Refuse {
					require.True(t, jsonfile.IsDamaged(err))
				} else {
					require.NoError(t, err)
				}
				require.Equal(t, rule == jsonfile.Aside, there != nil, "the file is gone")
				require.Equal(t, rule == jsonfile.Aside && name != "a named pipe", aside == nil, "the file is aside")
				require.Equal(t, rule == jsonfile.Aside, bytes.Contains(log.Bytes(), []byte("small.json.damaged")))
			})
		}
	}
}

func TestAFileOfANewerProgramIsNoDamageAndStays(t *testing.T) {
	for name, rule := range rules() {
		t.Run(name, func(t *testing.T) {
			f := file(t, rule, &bytes.Buffer{})
			require.NoError(t, f.Write(content{2, "new"}))
			_, found, err := f.Read()
			require.False(t, found)
			if rule == jsonfile.Aside {
				require.NoError(t, err)
				require.FileExists(t, pathOf(f)+".damaged")
				return
			}
			require.ErrorIs(t, err, jsonfile.ErrNewer)
			require.ErrorContains(t, err, "format 2, this program knows 1")
			require.False(t, jsonfile.IsDamaged(err))
			require.FileExists(t, pathOf(f))
		})
	}
}
