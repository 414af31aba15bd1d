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

// UnknownEvent is the result of Decode for an event that this program cannot read exactly. Every
// accountant refuses an UnknownEvent.
type UnknownEvent struct{ Kind string }

// String returns a text with the kind of the event.
func (e UnknownEvent) String() string {
	return fmt.Sprintf("an event of the kind %q, unknown to this version", e.Kind)
}
func (e UnknownEvent) validate() error { return fmt.Errorf("%w: %v", ErrUnsupported, e) }
func (e UnknownEvent) facts() facts    { return facts{event: e} }

// recorded has one method for every kind of event that ledgers record. Each method is next to the type of its
// event, so that all code of an event is in one file. The methods are found by reflection.
type recorded struct{}

// A kind defines how ledgers record events of one type: as {"kind":NAME,FIELDS}, with "count" at the end for
// releases that can be repeated and "events" for the parts of a composition. Names and fields never change.
type kind struct {
	name   string
	event  reflect.Type
	encode func(Event) any             // returns the value that has the fields
	decode func([]byte) (Event, error) // nil for containers
	with   func(parts []Event) Event   // for containers
}

// record returns the kind of an event whose own fields are recorded.
func record[E Event](name string) kind {
	return recordAs(name, func(e E) E { return e }, func(e E) Event { return e })
}

// recordAs returns the kind of an event that is recorded by the fields of another type.
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

// container returns the kind of an event that consists of its parts only.
func container[E Event](name string, with func(parts []Event) Event) kind {
	return kind{name: name, event: reflect.TypeFor[E](), encode: func(Event) any { return struct{}{} }, with: with}
}

// kinds lists the kinds of all methods of recorded.
var kinds = func() (all []kind) {
	v := reflect.ValueOf(recorded{})
	for i := range v.NumMethod() {
		all = append(all, v.Method(i).Call(nil)[0].Interface().(kind))
	}
	return all
}()

// Encode returns the JSON encoding of e. The encoding is exact, because encoding/json writes the shortest
// decimal that reads back as the same float64. Encode returns an error for events with numbers out of range.
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
	if f.neighbours() == AddRemove { // ledger records stand for ReplaceOne
		return nil, fmt.Errorf("account: a ledger takes only events for replaced records, not %v",
			f.event)
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

// Decode reads an event. It accepts only input that Encode would have written: if the encoding of the result
// differs from raw in any byte, it returns an UnknownEvent. This happens, for example, if the event is of an
// unknown kind, has a field that a later version added, or has a number out of range.
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

// decode returns nil for input that it cannot read.
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
