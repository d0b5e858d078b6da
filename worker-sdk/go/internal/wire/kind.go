// Package wire has the frames of the protocol: their header, kinds, chunks and bodies.
package wire

// Version is the protocol's version that is spoken here.
const Version = 1

// A Kind says what a frame is for.
type Kind uint8

// The kinds of chapter 3.
const (
	Call     Kind = 1
	Input    Kind = 2
	InputEnd Kind = 3
	Ping     Kind = 4
	Stop     Kind = 5
	Chunk    Kind = 6
	Release  Kind = 7
	Ready    Kind = 16
	Result   Kind = 17
	Error    Kind = 18
	Item     Kind = 19
	Progress Kind = 20
	Log      Kind = 21
	Pong     Kind = 22
	Attach   Kind = 32
	Hello    Kind = 33
	Welcome  Kind = 34
	Cancel   Kind = 35
	Credit   Kind = 36
)

// A Lane is one of the two connections to the host.
type Lane uint8

// The lanes.
const (
	Data Lane = iota
	Control
)

func (l Lane) String() string { return [...]string{"data", "control"}[l] }

var kindNames = map[Kind]string{
	Call: "CALL", Input: "INPUT", InputEnd: "INPUT_END", Ping: "PING", Stop: "STOP", Chunk: "CHUNK",
	Release: "RELEASE", Ready: "READY", Result: "RESULT", Error: "ERROR", Item: "ITEM", Progress: "PROGRESS",
	Log: "LOG", Pong: "PONG", Attach: "ATTACH", Hello: "HELLO", Welcome: "WELCOME", Cancel: "CANCEL",
	Credit: "CREDIT",
}

// IsKnown tells whether this version has the kind.
func (k Kind) IsKnown() bool {
	return k >= Call && k <= Release || k >= Ready && k <= Pong || k >= Attach && k <= Credit
}

// MayReachWorker tells whether the host may send the kind on a lane (R3).
func (k Kind) MayReachWorker(lane Lane) bool {
	if lane == Data {
		return k >= Call && k <= Release
	}
	return k >= Welcome && k <= Credit
}

func (k Kind) String() string { return kindNames[k] }

// KindOf finds a kind by its name.
func KindOf(name string) Kind {
	for kind, other := range kindNames {
		if other == name {
			return kind
		}
	}
	return 0
}

// Flags are the bits of a frame.
type Flags uint8

// The flags of chapter 2.
const (
	Critical Flags = 0x01
	More     Flags = 0x02
	Shared   Flags = 0x04
	Ahead    Flags = 0x80
	encoding Flags = 0x30
)

// An Encoding says how a payload is encoded: two bits of the flags.
type Encoding uint8

// The encodings; a fourth has no meaning yet.
const (
	MessagePack Encoding = 0x00
	Raw         Encoding = 0x10
	Pickle      Encoding = 0x20
)

// Encoding is that of the payload.
func (f Flags) Encoding() Encoding { return Encoding(f & encoding) }
