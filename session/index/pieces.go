package index

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/search"
)

// errPieces says that stored pieces cannot be read.
var errPieces = errors.New("the pieces of a passage are damaged")

// encodePieces writes the pieces of a passage: of each the place, seq and time in
// microseconds, as what they are more than the ones before.
func encodePieces(pieces []search.Piece) []byte {
	var data []byte
	var at, seq, micros int64
	for _, p := range pieces {
		data = binary.AppendVarint(data, int64(p.At)-at)
		data = binary.AppendVarint(data, int64(p.Seq)-seq)
		data = binary.AppendVarint(data, p.Time.UnixMicro()-micros)
		at, seq, micros = int64(p.At), int64(p.Seq), p.Time.UnixMicro()
	}
	return data
}

// decodePieces reads them for a text of so many bytes.
func decodePieces(data []byte, length int) ([]search.Piece, error) {
	var pieces []search.Piece
	var of [3]int64 // at, seq, micros
	for len(data) > 0 {
		for i := range of {
			more, n := binary.Varint(data)
			if n <= 0 {
				return nil, errPieces
			}
			of[i] += more
			data = data[n:]
		}
		if of[0] < 0 || of[0] > int64(length) || len(pieces) > 0 && of[0] < int64(pieces[len(pieces)-1].At) {
			return nil, errPieces
		}
		pieces = append(pieces, search.Piece{At: int(of[0]), Seq: event.Seq(of[1]), Time: time.UnixMicro(of[2]).UTC()})
	}
	if len(pieces) == 0 || pieces[0].At != 0 {
		return nil, errPieces
	}
	return pieces, nil
}
