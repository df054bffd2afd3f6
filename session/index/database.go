package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
)

// fileName is the database's file; SQLite adds -wal and -shm.
const fileName = "search.db"

// version is that of the tables, of the passages and of how they are folded. A database of
// another is made again.
const version = 1

// schema makes the tables. A passage's id rises with the time at which it was indexed.
const schema = `
create table sessions(key integer primary key, id text not null unique, epoch text not null, seq int not null, open int not null, message text not null);
create table passages(id integer primary key, session int not null, last int not null, type text not null, time int not null, by text not null, by_id text not null, pieces blob not null, text text not null);
create index of_session on passages(session, id);
create virtual table texts using fts5(text, tokenize='trigram case_sensitive 1', content='', contentless_delete=1);
`

// database is the open database. The writer has one connection, readers have their own.
type database struct {
	write, read *sql.DB
	file        os.FileInfo // of the file that is open
}

// readers is how many connections read; a search has one.
const readers = 2

// openDatabase opens the database in a directory, and makes it if it is missing or of no use.
func openDatabase(ctx context.Context, dir string) (*database, error) {
	d, err := tryDatabase(ctx, dir)
	if err == nil || !useless(err) && codeOf(err) != generic {
		return d, err
	}
	if err := removeFiles(dir); err != nil {
		return nil, err
	}
	return tryDatabase(ctx, dir)
}

// errOther says that the database is of another version.
var errOther = errors.New("the index is of another version")

// The codes of SQLite's errors that are told apart.
const (
	generic = 1 // a table is missing
	corrupt = 11
	notADB  = 26
)

// codeOf returns the code of an error of SQLite, 0 of another.
func codeOf(err error) int {
	var of *sqlite.Error
	if errors.As(err, &of) {
		return of.Code() & 0xff
	}
	return 0
}

// useless reports whether an error means that the database must be made again.
func useless(err error) bool {
	code := codeOf(err)
	return code == corrupt || code == notADB || errors.Is(err, errOther) || errors.Is(err, errPieces)
}

// removeFiles removes the database.
func removeFiles(dir string) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(filepath.Join(dir, fileName+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the search index: %w", err)
		}
	}
	return nil
}

func tryDatabase(ctx context.Context, dir string) (_ *database, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, fileName)
	// SQLite gives its other files the mode of this one.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err := errors.Join(err, file.Chmod(0o600), file.Close()); err != nil {
		return nil, err
	}
	d := &database{file: info}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	if d.write, err = connect(path, 1, "_txlock=immediate", "_pragma=journal_mode(wal)", "_pragma=synchronous(normal)", "_pragma=journal_size_limit(16777216)", "_pragma=cache_size(-8192)"); err != nil {
		return nil, err
	}
	if d.read, err = connect(path, readers, "_pragma=query_only(1)", "_pragma=cache_size(-8192)"); err != nil {
		return nil, err
	}
	return d, d.prepare(ctx)
}

// connect opens the database with settings.
func connect(path string, most int, settings ...string) (*sql.DB, error) {
	name := (&url.URL{Scheme: "file", Path: path}).EscapedPath()
	dsn := "file:" + name + "?_pragma=busy_timeout(5000)&_pragma=page_size(8192)&_pragma=secure_delete(fast)"
	for _, s := range settings {
		dsn += "&" + s
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	return db, nil
}

// prepare checks the version, and makes the tables of a new database.
func (d *database) prepare(ctx context.Context) error {
	var has, tables int
	if err := d.write.QueryRowContext(ctx, "pragma user_version").Scan(&has); err != nil {
		return err
	}
	if err := d.write.QueryRowContext(ctx, "select count(*) from sqlite_master").Scan(&tables); err != nil {
		return err
	}
	switch {
	case has == version:
		return nil
	case tables > 0:
		return errOther
	}
	tx, err := d.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	if _, err := tx.ExecContext(ctx, schema+fmt.Sprintf("pragma user_version = %d;", version)); err != nil {
		return err
	}
	return tx.Commit()
}

func (d *database) close() error {
	var errs []error
	for _, db := range []*sql.DB{d.read, d.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}
