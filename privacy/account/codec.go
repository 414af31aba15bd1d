package account

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
)

// MaxDepth bounds the nesting of composed events in ledgers and sessions.
const MaxDepth = 64

var errDepth = fmt.Errorf("account: events are nested more than %d deep", MaxDepth)

// UnknownEvent is returned by Decode for an event that this program cannot read exactly.
// No accountant composes it.
type UnknownEvent struct{ Kind string }

// String names the kind.
func (e UnknownEvent) String() string {
	return fmt.Sprintf("event of kind %q, unknown to this version", e.Kind)
}
func (e UnknownEvent) validate() error { return fmt.Errorf("%w: %v", ErrUnsupported, e) }
func (e UnknownEvent) facts() facts    { return facts{event: e} }

// recorded has a method for every kind of event that ledgers record, next to the type of the
// event: all of them are found by reflection, so that an event is one file.
type recorded struct{}

// A kind is how ledgers record events of one type: {"kind":NAME,FIELDS}, with "count" at the
// end for releases that can be repeated and "events" for parts. Names and fields never change.
type kind struct {
	name   string
	event  reflect.Type
	encode func(Event) any             // what has the fields
	decode func([]byte) (Event, error) // nil for containers
	with   func(parts []Event) Event   // of containers
}

// record is the kind of an event whose own fields are recorded.
func record[E Event](name string) kind {
	return recordAs(name, func(e E) E { return e }, func(e E) Event { return e })
}

// recordAs is the kind of an event that is recorded as another type.
func recordAs[E Event, R any](name string, write func(E) R, read func(R) Event) kind {
	return kind{
		name: name, event: reflect.TypeFor[E](),
		encode: func(e Event) any { return write(e.(E)) },
		decode: func(raw []byte) (Event, error) {
			var r R
			err := json.Unmarshal(raw, &r)
			return read(r), err
		},
	}
}

// container is the kind of an event that is nothing but its parts.
func container[E Event](name string, with func(parts []Event) Event) kind {
	return kind{name: name, event: reflect.TypeFor[E](), encode: func(Event) any { return struct{}{} }, with: with}
}

// kinds are all methods of recorded.
var kinds = func() (all []kind) {
	v := reflect.ValueOf(recorded{})
	for i := range v.NumMethod() {
		all = append(all, v.Method(i).Call(nil)[0].Interface().(kind))
	}
	return all
}()

// Encode writes e exactly: encoding/json prints the shortest decimal that
// reads back as the same float64. It fails for events out of range.
func Encode(e Event) (json.RawMessage, error) { return encode(e, 0) }

func encode(e Event, depth int) (json.RawMessage, error) {
	if depth > MaxDepth {
		return nil, errDepth
	}
	f, err := describe(e)
	if err != nil {
		return nil, err
	}
	for _, k := range kinds {
		if k.event == reflect.TypeOf(f.event) {
			return k.append(f, depth)
		}
	}
	return nil, fmt.Errorf("account: no ledger can record an event of type %T", f.event)
}

func (k kind) append(f facts, depth int) ([]byte, error) {
	if f.neighbours() == AddRemove { // records stand for the other one
		return nil, fmt.Errorf("account: ledgers count replaced records, not %v", f.event)
	}
	fields, err := json.Marshal(k.encode(f.event))
	if err != nil {
		return nil, err
	}
	out := append([]byte(`{"kind":"`+k.name+`",`), fields[1:len(fields)-1]...)
	out = bytes.TrimSuffix(out, []byte(","))
	switch {
	case k.with != nil && len(f.parts) == 0:
		return nil, fmt.Errorf("account: a %s event has no parts", k.name)
	case k.with != nil:
		for i, part := range f.parts {
			raw, err := encode(part, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(append(out, [2]string{`,"events":[`, ","}[min(i, 1)]...), raw...)
		}
		out = append(out, ']')
	case f.event.facts().repeatable():
		out = strconv.AppendInt(append(out, `,"count":`...), int64(f.count), 10)
	}
	return append(out, '}'), nil
}

// Decode reads an event. It trusts nothing that it would not have written
// itself: if encoding the result does not give the same bytes (another kind, a
// field added by a later version, a number out of range) the event is unknown.
func Decode(raw []byte) Event {
	if e := decode(raw, 0); e != nil {
		if again, err := Encode(e); err == nil && bytes.Equal(again, raw) {
			return e
		}
	}
	var named struct {
		Kind string `json:"kind"`
	}
	_ = json.Unmarshal(raw, &named) // an unreadable kind stays empty
	return UnknownEvent{Kind: named.Kind}
}

// decode returns nil for what it cannot read.
func decode(raw []byte, depth int) Event {
	var head struct {
		Kind   string            `json:"kind"`
		Count  int               `json:"count"`
		Events []json.RawMessage `json:"events"`
	}
	if depth > MaxDepth || json.Unmarshal(raw, &head) != nil {
		return nil
	}
	for _, k := range kinds {
		if k.name != head.Kind {
			continue
		}
		if k.with != nil {
			parts := make([]Event, len(head.Events))
			for i, p := range head.Events {
				if parts[i] = decode(p, depth+1); parts[i] == nil {
					return nil
				}
			}
			return k.with(parts)
		}
		e, err := k.decode(raw)
		if err != nil {
			return nil
		}
		if e.facts().repeatable() {
			return Repeat(e, head.Count)
		}
		return e
	}
	return nil
}
