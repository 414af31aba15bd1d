package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/dataset"
)

// method is one line of the plan's methods: a baseline, an algorithm or a peer.
type method struct {
	name, options string // as in the rows
	nonPrivate    bool
	baseline      string
	choose        func(algorithms.Question) algorithms.Choice // of a batch algorithm or auto, else nil
	stream        algorithms.Stream                           // of an online one, else nil
	settings      settings
	peer          *Peer
}

// runs reports whether the method runs split s, from 0.
func (m *method) runs(s int) bool { return m.peer == nil || m.peer.Splits <= 0 || s < m.peer.Splits }

// label names the method in summaries and plots.
func (m *method) label() string { return label(m.name, m.options) }

// label is the name of a method with its options, as summaries and plots have it.
func label(name, options string) string { return strings.TrimSpace(name + " " + options) }

// settings are the options that all algorithms have.
type settings struct {
	mode   algorithms.Mode
	l2     *float64
	radius float64
	loss   engine.Loss // nil: the task's
	// unsound is algorithms.Spec.PaperUnsound; data of a plan are public.
	unsound bool
	// curved lets auto use the basis that dyad train uses by default.
	curved bool
}

// The baselines.
const (
	classMeans = "class-means" // the exact difference of the class means
	identity   = "identity"    // the metric that is the identity
	majority   = "majority"    // the larger class of the training records
	zero       = "zero"        // the model 0
)

// listMethods fills p.all.
func (p *Plan) listMethods() error {
	p.all = nil
	for i, name := range p.Baselines {
		place := fmt.Sprintf("baselines[%d]", i)
		if want, ok := map[string]string{classMeans: taskAUC, identity: taskMetric, majority: taskMetric,
			zero: p.Task}[name]; !ok || want != p.Task {
			return p.at(place, "baseline %q is unknown; want class-means or zero for task auc; zero, identity or "+
				"majority for task metric", name)
		}
		if (name == zero) == (p.Measure == "") || p.Measure == measureRegret {
			return p.at(place, "baseline %s does not fit measure %q; baseline zero needs the measure objective or "+
				"excess; leave measure out for the others", name, p.Measure)
		}
		p.all = append(p.all, method{name: name, nonPrivate: true, baseline: name})
	}
	for i, a := range p.Algorithms {
		place := fmt.Sprintf("algorithms[%d]", i)
		for _, options := range expand(a.Options) {
			m := method{name: a.Name, options: optionText(options)}
			if err := m.setAlgorithm(p.Task, options); err != nil {
				var o *optionError
				if errors.As(err, &o) {
					place += ".options." + o.option
				} else {
					place += ".name"
				}
				return p.at(place, "%w", err)
			}
			m.nonPrivate = m.settings.mode == algorithms.NonPrivate
			p.all = append(p.all, m)
		}
	}
	for i := range p.Peers {
		peer, place := &p.Peers[i], fmt.Sprintf("peers[%d]", i)
		if !planName.MatchString(peer.Name) || len(peer.Command) == 0 {
			return p.at(place, "a peer needs a command and a name that consists of letters, digits, dots and dashes")
		}
		limit, err := time.ParseDuration(cmp.Or(peer.Limit, "10m"))
		if err != nil || limit <= 0 {
			return p.at(place+".limit", "limit %q is not a positive duration such as 10m", peer.Limit)
		}
		peer.limit = limit
		p.all = append(p.all, method{name: peer.Name, options: optionText(peer.Options),
			nonPrivate: peer.NonPrivate, peer: peer})
	}
	if len(p.all) == 0 {
		return errors.New("the plan has no algorithms, baselines or peers")
	}
	seen := map[string]bool{}
	for _, m := range p.all {
		if seen[m.label()] {
			return fmt.Errorf("%s is in the plan twice", m.label())
		}
		seen[m.label()] = true
	}
	return nil
}

// setAlgorithm fills in the method of an algorithm of that name, or of auto.
func (m *method) setAlgorithm(task string, options map[string]any) error {
	m.settings.mode = algorithms.Certified
	if m.name == algorithms.AutoName {
		m.choose = algorithms.Choose
		_, err := m.settings.configure(m.name, nil, task, options)
		return err
	}
	if s, err := algorithms.StreamByName(m.name); err == nil {
		m.stream, err = configureMethod(m, s, task, options)
		return err
	}
	a, err := algorithms.ByName(m.name)
	if err != nil {
		return err
	}
	if a, err = configureMethod(m, a, task, options); err != nil {
		return err
	}
	m.choose = func(q algorithms.Question) algorithms.Choice {
		c := algorithms.Choice{Algorithm: a, L2: algorithms.DefaultL2(a, q.Spec.Kernel.Problem().N, task == taskMetric)}
		if q.L2 != nil {
			c.L2 = *q.L2
		}
		return c
	}
	return nil
}

// configureMethod sets the algorithm a with options as the algorithm of the method. The options and modes of a
// set the fields of the method.
func configureMethod[A algorithms.Planner](m *method, a A, task string, options map[string]any) (none A, err error) {
	info := a.Info()
	if !info.Supports(algorithms.Certified) {
		m.settings.mode = info.Modes[0]
	}
	configured, err := m.settings.configure(m.name, a, task, options)
	if err != nil {
		return none, err
	}
	if m.settings.curved {
		return none, &optionError{"basis", fmt.Sprintf("%s cannot choose a basis; use the algorithm auto", m.name)}
	}
	if !info.Supports(m.settings.mode) {
		return none, &optionError{"mode", fmt.Sprintf("%s does not support mode %s", m.name, m.settings.mode)}
	}
	return configured.(A), nil
}

// reference returns the method with which the other methods are compared, or nil if the name is unknown.
func (p *Plan) reference() *method {
	for _, named := range []func(m *method) bool{
		func(m *method) bool { return m.label() == p.Reference },
		func(m *method) bool { return m.name == p.Reference },
		func(m *method) bool { return p.Reference == "" && m.choose != nil && !m.nonPrivate },
		func(*method) bool { return p.Reference == "" },
	} {
		for i := range p.all {
			if named(&p.all[i]) {
				return &p.all[i]
			}
		}
	}
	return nil
}

// expand makes one map of options for every combination of the values in lists.
func expand(options map[string]any) []map[string]any {
	out := []map[string]any{{}}
	for _, key := range slices.Sorted(maps.Keys(options)) {
		values, list := options[key].([]any)
		if !list {
			values = []any{options[key]}
		}
		var next []map[string]any
		for _, o := range out {
			for _, v := range values {
				with := maps.Clone(o)
				with[key] = v
				next = append(next, with)
			}
		}
		out = next
	}
	return out
}

// optionText returns options as the text for a row, by name.
func optionText(options map[string]any) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(options)) {
		parts = append(parts, key+"="+valueText(options[key]))
	}
	return strings.Join(parts, " ")
}

func valueText(v any) string {
	if x, ok := toFloat(v); ok {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

func toFloat(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case uint64:
		return float64(n), true
	case int64:
		return float64(n), true
	case string: // YAML's 1e3, which the library leaves as text
		x, err := strconv.ParseFloat(n, 64)
		return x, err == nil && strings.ContainsAny(n[:1], "+-.0123456789")
	}
	return 0, false
}

// optionError is an error about one option.
type optionError struct{ option, text string }

func (e *optionError) Error() string { return e.text }

// configure reads the options of an algorithm: its own options, by the names of its exported fields
// (algorithms.Algorithm), and the settings. Without an algorithm there are only settings.
func (s *settings) configure(name string, a algorithms.Planner, task string,
	options map[string]any) (algorithms.Planner, error) {
	var fields reflect.Value
	own, names := map[string]reflect.Value{}, []string{}
	if a != nil {
		fields = reflect.New(reflect.TypeOf(a)).Elem()
		fields.Set(reflect.ValueOf(a))
		for i := range fields.NumField() {
			if f := fields.Type().Field(i); f.IsExported() {
				name := snake(f.Name)
				own[name], names = fields.Field(i), append(names, name)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(options)) {
		var err error
		if f, ok := own[key]; ok {
			err = set(f, options[key])
		} else if known, bad := s.set(key, options[key], task); known {
			err = bad
		} else {
			err = fmt.Errorf("unknown, want one of %s",
				strings.Join(append(names, "mode", "l2", "radius", "loss", "basis", "paper_unsound"), ", "))
		}
		if err != nil {
			return nil, &optionError{key, fmt.Sprintf("%s: option %s: %v", name, key, err)}
		}
	}
	if a == nil {
		return nil, nil
	}
	return fields.Interface().(algorithms.Planner), nil
}

// set sets the setting with this name, if there is one.
func (s *settings) set(key string, value any, task string) (known bool, err error) {
	text, isText := value.(string)
	number, isNumber := toFloat(value)
	switch key {
	case "mode":
		s.mode, err = algorithms.ParseMode(text)
	case "loss":
		if !isText {
			return true, errors.New("want a name or a formula")
		}
		var l engine.Definition
		if l, err = engine.Define(text, nil, 0); err == nil {
			s.loss, err = l.Of(task)
		}
	case "l2", "radius":
		if !isNumber || !(number >= 0) || key == "radius" && number == 0 {
			return true, errors.New("want a positive number")
		}
		if key == "l2" {
			s.l2 = &number
		} else {
			s.radius = number
		}
	case "basis":
		if s.curved = text == dataset.BasisAuto; !s.curved {
			return true, errors.New("only auto is allowed; for no basis, remove the option")
		}
	case "paper_unsound":
		var is bool
		if s.unsound, is = value.(bool); !is {
			return true, errors.New("want true or false")
		}
	default:
		return false, nil
	}
	return true, err
}

// set puts a value of YAML into a field.
func set(f reflect.Value, value any) error {
	number, isNumber := toFloat(value)
	switch {
	case f.CanInt() && isNumber && number == float64(int64(number)):
		f.SetInt(int64(number))
	case f.CanFloat() && isNumber:
		f.SetFloat(number)
	case f.Kind() == reflect.Bool || f.Kind() == reflect.String:
		v := reflect.ValueOf(value)
		if !v.IsValid() || v.Kind() != f.Kind() {
			return fmt.Errorf("want a %s", f.Kind())
		}
		f.Set(v.Convert(f.Type()))
	case f.CanInt():
		return errors.New("want a whole number")
	case f.CanFloat():
		return errors.New("want a number")
	default:
		return errors.New("a plan cannot set it")
	}
	return nil
}

// snake converts StepSize to step_size and L2 to l2.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(rune(name[i-1])) ||
			i+1 < len(name) && unicode.IsLower(rune(name[i+1]))) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// loss returns the loss that the method's options name, or the loss of the task.
func (m *method) loss(task string) engine.Loss {
	if m.settings.loss != nil {
		return m.settings.loss
	}
	return taskLoss(task)
}

func taskLoss(task string) engine.Loss {
	if task == taskMetric {
		return engine.MahalanobisLogistic{}
	}
	return engine.Logistic{}
}
