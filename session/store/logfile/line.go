package logfile

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
)

// A line is a body, the checksum of the body, and a newline:
//
//	{"seq":5,…,"data":{…}   ,"crc":"9f3a11c0"}   \n
//
// The body and a closing brace are the event as it goes over the wire.
const (
	crcKey    = `,"crc":"`
	crcSuffix = len(crcKey) + 8 + len(`"}`) // fixed width: cut off without parsing
	seqKey    = `{"seq":`

	// maxSeq keeps a seq exact in JavaScript.
	maxSeq = event.Seq(1)<<53 - 1

	// FarSeq is the highest seq that is accepted except on the next line in order,
	// so that a log whose files were edited never runs out of seqs: ten thousand
	// events a second take 892 years to reach it.
	FarSeq = event.Seq(1) << 48
)

// MaxLine is the most bytes a line may have when it is written. Reading has no
// such limit.
const MaxLine = 1 << 20

// castagnoli is the CRC-32C table; processors compute it in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encoder builds lines. One goroutine uses it. The part that a line shares with the
// one before is kept: making it costs more than the rest of an envelope.
type Encoder struct {
	// head is the beginning of the next line except for the microseconds, if that
	// line has the seq, second, type and turn below.
	head   []byte // {"seq":41,"time":"2026-02-21T14:03:07.000000Z","type":"agent_message","turn":2,"data":
	units  int    // where the last digit of the seq is
	micros int    // where the first digit of the microseconds is

	next    event.Seq // zero before the first line
	second  Stamp
	kind    event.Type
	turn    int
	durable bool // kind is

	clock []byte // the second: ,"time":"2026-02-21T14:03:07.
	label []byte // type and turn: Z","type":"agent_message","turn":2,"data":
}

// errTime reports a time that RFC 3339 cannot write.
var errTime = errors.New("time is outside the years 1 to 9999")

// AppendBody appends a line's body: everything before the checksum.
// The draft's data must be one JSON object without a line break.
func (e *Encoder) AppendBody(dst []byte, seq event.Seq, d *event.Draft, at Stamp) []byte {
	if seq != e.next || uint64(at-e.second) >= 1e6 || d.Type != e.kind || d.Turn != e.turn {
		e.begin(seq, d, at)
	}
	start := len(dst)
	dst = append(dst, e.head...)
	// Not into head first: bytes just written are slow to read again.
	digits, micros := dst[start+e.micros:][:6], uint32(at-e.second)
	digits[0], digits[1], digits[2] = byte('0'+micros/100000), byte('0'+micros/10000%10), byte('0'+micros/1000%10)
	digits[3], digits[4], digits[5] = byte('0'+micros/100%10), byte('0'+micros/10%10), byte('0'+micros%10)
	e.count()
	return append(dst, d.Data...)
}

// Durable reports whether the line built last is of a type that is synced before it is
// visible.
func (e *Encoder) Durable() bool { return e.durable }

// count makes head that of the next seq, where it has as many digits.
func (e *Encoder) count() {
	i := e.units
	for ; e.head[i] == '9'; i-- {
		e.head[i] = '0'
	}
	if e.head[i] == ':' {
		e.next = 0
		return
	}
	e.head[i]++
	e.next++
}

// begin rebuilds head.
func (e *Encoder) begin(seq event.Seq, d *event.Draft, at Stamp) {
	if e.next == 0 || uint64(at-e.second) >= 1e6 {
		second := at.Time().Truncate(time.Second)
		e.clock = second.AppendFormat(append(e.clock[:0], `,"time":"`...), "2006-01-02T15:04:05.")
		e.second = Stamp(second.UnixMicro())
	}
	if e.next == 0 || d.Type != e.kind || d.Turn != e.turn {
		e.label = appendLabel(e.label[:0], d.Type, d.Turn)
		e.kind, e.turn, e.durable = d.Type, d.Turn, d.Type.Durable()
	}
	head := strconv.AppendInt(append(e.head[:0], seqKey...), int64(seq), 10)
	e.units = len(head) - 1
	head = append(head, e.clock...)
	e.micros = len(head)
	e.head = append(append(head, "000000"...), e.label...)
	e.next = seq
}

// appendLabel writes the part between an event's time and its data.
func appendLabel(dst []byte, t event.Type, turn int) []byte {
	dst = append(dst, `Z","type":`...)
	dst = appendType(dst, t)
	if turn != 0 {
		dst = append(dst, `,"turn":`...)
		dst = strconv.AppendInt(dst, int64(turn), 10)
	}
	return append(dst, `,"data":`...)
}

// appendType quotes a type. The known ones need no escaping; one from an
// importer may.
func appendType(dst []byte, t event.Type) []byte {
	for i := 0; i < len(t); i++ {
		if c := t[i]; c != '_' && (c < 'a' || c > 'z') {
			quoted, _ := json.Marshal(string(t)) // a string always encodes
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, t...)
	return append(dst, '"')
}

// AppendCRC ends the line whose body is dst[start:], and returns the checksum.
func AppendCRC(dst []byte, start int) ([]byte, uint32) {
	sum := crc32.Checksum(dst[start:], castagnoli)
	dst = appendHex(append(dst, crcKey...), sum)
	return append(dst, "\"}\n"...), sum
}

// Hex writes a checksum as 8 lower-case hex digits.
func Hex(sum uint32) string { return string(appendHex(nil, sum)) }

// ParseHex reads a checksum as Hex wrote it; zero if it is not one.
func ParseHex(s string) uint32 {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != 4 {
		return 0
	}
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

func appendHex(dst []byte, sum uint32) []byte {
	const digits = "0123456789abcdef"
	return append(dst, digits[sum>>28], digits[sum>>24&15], digits[sum>>20&15], digits[sum>>16&15],
		digits[sum>>12&15], digits[sum>>8&15], digits[sum>>4&15], digits[sum&15])
}

// Encode appends one whole line with its newline, and returns its checksum. It is for
// the few places that are not the hot path. A time outside the years 1 to 9999 is an
// error.
func Encode(dst []byte, seq event.Seq, d event.Draft) ([]byte, uint32, error) {
	var e Encoder
	at, err := StampOf(d.Time)
	if err != nil {
		return dst, 0, err
	}
	start := len(dst)
	dst, sum := AppendCRC(e.AppendBody(dst, seq, &d, at), start)
	return dst, sum, nil
}

// Body is the body of one line that Encode built. It shares memory with it.
func Body(line []byte) []byte { return line[:len(line)-crcSuffix-1] }

// Quality says how far a line on disk can be trusted.
type Quality uint8

const (
	// Bad is no line of a log.
	Bad Quality = iota
	// Verified has the right checksum.
	Verified
	// Unverified reads as an event, but its checksum is absent or wrong.
	Unverified
)

// Line is one parsed line. The zero Line is a bad one.
type Line struct {
	// Quality says how far the line can be trusted.
	Quality Quality
	// Seq is that of the event, 1 to 2^53-1.
	Seq event.Seq
	// Body is the event's object without its closing brace. It may point into
	// the line that was parsed.
	Body []byte
	// Sum is the checksum of Body; of an unverified line, that of the line as it was read.
	Sum uint32
}

// Parse reads a line without its newline. A line this program wrote costs
// one checksum and no JSON decoding.
func Parse(line []byte) Line {
	if p, ok := parseVerified(line); ok {
		return p
	}
	return parseDoubtful(line)
}

// parseVerified reads a line whose checksum is right and whose seq comes first.
func parseVerified(line []byte) (Line, bool) {
	body, sum, ok := cutCRC(line)
	if !ok || crc32.Checksum(body, castagnoli) != sum {
		return Line{}, false
	}
	seq, ok := leadingSeq(body)
	if !ok {
		return Line{}, false
	}
	return Line{Quality: Verified, Seq: seq, Body: body, Sum: sum}, true
}

// Intact reports whether a line of a log, without its newline, is byte for byte
// as it was written: its checksum is there and right. Such a line is valid JSON
// of the form the package comment describes.
func Intact(line []byte) bool {
	_, ok := parseVerified(line)
	return ok
}

// cutCRC splits a line into its body and the checksum it claims.
func cutCRC(line []byte) (body []byte, sum uint32, ok bool) {
	at := len(line) - crcSuffix
	if at <= 0 {
		return nil, 0, false
	}
	suffix := line[at:]
	if string(suffix[:len(crcKey)]) != crcKey || suffix[crcSuffix-2] != '"' || suffix[crcSuffix-1] != '}' {
		return nil, 0, false
	}
	for _, c := range suffix[len(crcKey) : len(crcKey)+8] {
		switch {
		case c >= '0' && c <= '9':
			sum = sum<<4 | uint32(c-'0')
		case c >= 'a' && c <= 'f':
			sum = sum<<4 | uint32(c-'a'+10)
		default:
			return nil, 0, false
		}
	}
	return line[:at], sum, true
}

// SumHolds reports whether data ends with the right checksum of the bytes before
// it, as a line does. Line breaks behind the checksum are ignored.
func SumHolds(data []byte) bool {
	body, sum, ok := cutCRC(bytes.TrimRight(data, "\n"))
	return ok && crc32.Checksum(body, castagnoli) == sum
}

// leadingSeq reads the seq that begins a line.
func leadingSeq(line []byte) (event.Seq, bool) {
	if len(line) < len(seqKey)+2 || string(line[:len(seqKey)]) != seqKey {
		return 0, false
	}
	var seq event.Seq
	for i, c := range line[len(seqKey):] {
		if c >= '0' && c <= '9' {
			seq = seq*10 + event.Seq(c-'0')
			if seq > maxSeq {
				return 0, false
			}
			continue
		}
		return seq, i > 0 && seq > 0 && c == ','
	}
	return 0, false
}

// maxGlued bounds how many places of a damaged line are tried as the start of a
// whole one.
const maxGlued = 64

// parseDoubtful reads a line that is not exactly as written: edited, with CRLF,
// damaged, or glued to the remains of another.
func parseDoubtful(line []byte) Line {
	trimmed := bytes.TrimRight(line, "\r \t")
	if p, ok := parseVerified(trimmed); ok {
		return p
	}
	if p := parseLoose(trimmed); p.Quality != Bad {
		return p
	}
	// A lost page or a torn write can leave garbage right before a whole line.
	rest := trimmed
	for range maxGlued {
		if len(rest) == 0 {
			break
		}
		at := bytes.Index(rest[1:], []byte(seqKey))
		if at < 0 {
			break
		}
		rest = rest[1+at:]
		if p, ok := parseVerified(rest); ok {
			return p
		}
	}
	return Line{}
}

// parseLoose reads a line as JSON, whatever its spacing and order of keys.
func parseLoose(line []byte) Line {
	if len(line) == 0 || line[0] != '{' {
		return Line{}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, line); err != nil {
		return Line{}
	}
	text := compact.Bytes()
	if p, ok := parseVerified(text); ok {
		return p // only its white space was touched
	}
	if !utf8.Valid(text) {
		// A flipped bit: a browser would close the socket over it.
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	var e event.Event
	if err := json.Unmarshal(text, &e); err != nil {
		return Line{}
	}
	if e.Seq <= 0 || e.Seq > maxSeq || e.Type == "" || e.Turn < 0 || e.FirstSeq != 0 || len(e.Data) == 0 || e.Data[0] != '{' {
		return Line{}
	}
	at, err := StampOf(e.Time)
	if err != nil {
		return Line{}
	}
	var enc Encoder
	body := enc.AppendBody(nil, e.Seq, &event.Draft{Type: e.Type, Turn: e.Turn, Data: e.Data}, at)
	return Line{
		Quality: Unverified,
		Seq:     e.Seq,
		Body:    append(body, `,"unverified":true`...),
		Sum:     crc32.Checksum(line, castagnoli),
	}
}

// bodyType returns the type in a body of canonical form, without decoding. It
// is empty for a body that is not.
func bodyType(body []byte) event.Type {
	_, rest, ok := bytes.Cut(body[:min(len(body), 160)], []byte(`","type":"`))
	if !ok {
		return ""
	}
	name, _, ok := bytes.Cut(rest, []byte{'"'})
	if !ok {
		return ""
	}
	return event.Type(name)
}

// BodyTime returns the text of the time in a body, or the start of one that has 64 bytes.
// It reports false if the body is not as Parse returns them.
func BodyTime(body []byte) (string, bool) {
	_, rest, ok := bytes.Cut(body[:min(len(body), 64)], []byte(`,"time":"`))
	if !ok || len(rest) < len(event.TimeLayout) {
		return "", false
	}
	return string(rest[:len(event.TimeLayout)]), true
}

// Event decodes a line that is not bad.
func (p Line) Event() (event.Event, error) {
	object := append(append(make([]byte, 0, len(p.Body)+1), p.Body...), '}')
	var e event.Event
	err := json.Unmarshal(object, &e)
	return e, err
}

// Placeholder appends the body shown for an event that cannot be read. It carries
// the time of the event before it, as BodyTime returns it, so every reader sees the
// same. An empty time is that of the year 1.
func Placeholder(dst []byte, seq event.Seq, at string) []byte {
	if at == "" {
		at = "0001-01-01T00:00:00.000000Z"
	}
	dst = append(dst, seqKey...)
	dst = strconv.AppendInt(dst, int64(seq), 10)
	dst = append(dst, `,"time":"`...)
	dst = append(dst, at...)
	dst = append(dst, `","type":"corrupt","data":{"reason":"`...)
	dst = append(dst, reasonUnreadable...)
	return append(dst, `"}`...)
}

// reasonUnreadable is why a placeholder stands where an event was.
const reasonUnreadable = "this event cannot be read from the log"

// IsEpoch reports whether a text is 16 lower-case hex digits, as the epoch of a log is.
func IsEpoch(s string) bool {
	return len(s) == 16 && strings.Trim(s, "0123456789abcdef") == ""
}
