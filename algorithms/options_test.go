package algorithms_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/internal/must"
)

// TestWithSetsEveryOption: every exported field of an algorithm is an option, also the fields of the
// releases that it shares with another; nothing is ignored, and the original stays as it is.
func TestWithSetsEveryOption(t *testing.T) {
	count := 0
	for _, a := range algorithms.Catalog() {
		v := reflect.ValueOf(a)
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Type.Kind() == reflect.Struct {
				continue
			}
			value := reflect.New(f.Type).Elem()
			switch f.Type.Kind() {
			case reflect.Int:
				value.SetInt(7)
			case reflect.Float64:
				value.SetFloat(0.25)
			case reflect.String:
				value.SetString("full")
			case reflect.Bool:
				value.SetBool(true)
			case reflect.Slice:
				value.Set(reflect.MakeSlice(f.Type, 2, 2))
			default:
				t.Fatalf("%s.%s has a type that the test does not know", a.Info().Name, f.Name)
			}
			got, err := algorithms.With(a, algorithms.Option{Field: f.Name, Value: value.Interface()})
			if err != nil || !reflect.DeepEqual(reflect.ValueOf(got).Field(i).Interface(), value.Interface()) || !v.Field(i).IsZero() {
				t.Errorf("%s.%s: %v, %+v", a.Info().Name, f.Name, err, got)
			}
			count++
		}
		_, err := algorithms.With(a, algorithms.Option{Field: "Nothing", Value: 1, Name: "--nothing"})
		refusal, ok := errors.AsType[*algorithms.Refusal](err)
		if !ok || refusal.Of != a.Info().Name || errors.Is(err, algorithms.ErrAssumption) || refusal.Why.Error() != " does not take --nothing" {
			t.Errorf("%s: %#v", a.Info().Name, err)
		}
	}
	must.AtLeast(t, count, 30, "%d options were set, the catalogue has more", count)
	nested, err := algorithms.With(algorithms.MomentsDescent{}, algorithms.Option{Field: "ClipRadius", Value: 0.5})
	if err != nil || nested.(algorithms.MomentsDescent).Moments.ClipRadius != 0.5 {
		t.Errorf("%+v, %v", nested, err)
	}
	for _, o := range []algorithms.Option{{Field: "StepShare", Value: 0.5}, {Field: "Steps", Value: 2.0}, {Field: "Steps"}} {
		if a, err := algorithms.With(algorithms.MomentsDescent{}, o); err == nil {
			t.Errorf("%+v gives %+v", o, a)
		}
	}
}

// TestOptionsOverrideTheChoice: what auto chose along with an algorithm gives way to options.
func TestOptionsOverrideTheChoice(t *testing.T) {
	steps := algorithms.Choice{Algorithm: algorithms.Moments{Steps: 2}, Reason: "a reason"}
	c, err := steps.With(algorithms.Option{Field: "Second", Value: "none"})
	if err != nil || c.Algorithm.(algorithms.Moments).Steps != 0 || !strings.Contains(c.Reason, "number of steps to 0") {
		t.Errorf("%+v, %v", c, err)
	}
	few := algorithms.Choice{Algorithm: algorithms.DPGDSC{Steps: 100}, Reason: "a reason"}
	c, err = few.With(algorithms.Option{Field: "TotalStep", Value: 3.0})
	if err != nil || c.Algorithm != (algorithms.DPGDSC{TotalStep: 3}) {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err = few.With(algorithms.Option{Field: "TotalStep", Value: 3.0}, algorithms.Option{Field: "Steps", Value: 5}); err != nil || c.Algorithm != (algorithms.DPGDSC{TotalStep: 3, Steps: 5}) {
		t.Errorf("%+v, %v", c, err)
	}
	named := algorithms.Choice{Algorithm: algorithms.DPGDSC{Steps: 100}}
	if c, err = named.With(algorithms.Option{Field: "TotalStep", Value: 3.0}); err != nil || c.Algorithm != (algorithms.DPGDSC{TotalStep: 3, Steps: 100}) {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err = steps.With(algorithms.Option{Field: "TotalStep", Value: 3.0, Name: "--total-step"}); err == nil || !strings.Contains(err.Error(), "moments does not take --total-step") || !strings.Contains(err.Error(), "chosen by auto: a reason") {
		t.Error(err)
	}
}

// TestOptionsOfStreams: online algorithms are configured by their fields, too.
func TestOptionsOfStreams(t *testing.T) {
	secret := algorithms.Option{Field: "Reading", Value: algorithms.SecretState, Name: "--secret-state"}
	for _, s := range algorithms.StreamCatalog() {
		got, err := algorithms.StreamWith(s, secret)
		switch s.(type) {
		case algorithms.OnPairC:
			if err != nil || got != (algorithms.OnPairC{Reading: algorithms.SecretState}) {
				t.Errorf("%+v, %v", got, err)
			}
		case algorithms.OnPairStrC:
			if err != nil || got != (algorithms.OnPairStrC{Reading: algorithms.SecretState}) {
				t.Errorf("%+v, %v", got, err)
			}
		default:
			if err == nil || !strings.Contains(err.Error(), s.Info().Name+" does not take --secret-state; onpairstrc and onpairc do") {
				t.Errorf("%s: %+v, %v", s.Info().Name, got, err)
			}
		}
	}
}
