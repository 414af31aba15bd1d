package command

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/algorithms/local/serve"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

const (
	recordHeader = "age,sex,bmi,systolic,glucose,hba1c,cholesterol,hdl,creatinine,smoker,outcome\n"
	goodRecord   = "40,female,23.7,115,81,4.9,132,73,0.71,former,0\n"
)

// malformed are files whose record cannot be used, and what the user is told of it.
var malformed = []struct{ name, row, says string }{
	{"missing value", "40,female,,115,81,4.9,132,73,0.71,former,0\n", "value is missing"},
	{"unknown category", "40,other,23.7,115,81,4.9,132,73,0.71,former,0\n", "category is not in the schema"},
	{"NaN", "NaN,female,23.7,115,81,4.9,132,73,0.71,former,0\n", "value is missing"},
	{"infinity", "40,female,inf,115,81,4.9,132,73,0.71,former,1\n", "not a "},
	{"1e400", "40,female,1e400,115,81,4.9,132,73,0.71,former,1\n", "not a "},
	{"text", "forty,female,23.7,115,81,4.9,132,73,0.71,former,1\n", "not a number"},
	{"another label", "40,female,23.7,115,81,4.9,132,73,0.71,former,2\n", "label is neither"},
	{"empty label", "40,female,23.7,115,81,4.9,132,73,0.71,former,\n", "label is missing"},
	{"no label", "40,female,23.7,115,81,4.9,132,73,0.71,former\n", "fields, want 11"},
	{"too many fields", "40,female,23.7,115,81,4.9,132,73,0.71,former,0,1\n", "fields, want 11"},
	{"open quote", "40,\"female,23.7,115,81,4.9,132,73,0.71,former,0\n", "quote"},
}

// An enrolled user whose record cannot be used is not silent: each kind gives one message
// an epoch with exit code 0, as a good record does, and only the user's terminal says more.
func TestUnusableRecordsAreAnsweredFor(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 60)
	users := len(malformed) + 1
	address, stop := localServer(t, dir, "--dir", "study", "-n", fmt.Sprint(users), "--schema", "patients.yaml", "--epochs", "2", "--epsilon", "1")
	defer stop()
	answer := func(user, row string) (code int, out localAnswer, errs string) {
		write(t, dir, user+".csv", recordHeader+row)
		code, text, errs := dyad(t, dir, "local", "client", "--json", "--server", address, "--data", user+".csv", "--schema", "patients.yaml",
			"--user", user, "--memory", user+".json", "--max-epsilon", "2")
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Errorf("%v: %s%s", err, text, errs)
		}
		return code, out, errs
	}
	for epoch := 1; epoch <= 2; epoch++ {
		code, out, errs := answer("good", goodRecord)
		if code != exitOK || out.Unusable != "" || strings.Contains(errs, "cannot be used") {
			t.Fatalf("a good record: exit %d, %+v: %s", code, out, errs)
		}
		for i, c := range malformed {
			user := fmt.Sprint("u", i)
			code, out, errs := answer(user, c.row)
			if code != exitOK || out.Outcome != serve.Accepted || out.Epoch != epoch {
				t.Errorf("epoch %d, %s: exit %d, %+v: %s", epoch, c.name, code, out, errs)
			}
			if !strings.Contains(errs, c.says) || !strings.Contains(out.Unusable, c.says) {
				t.Errorf("%s: the user is told %q and %q, want %q", c.name, errs, out.Unusable, c.says)
			}
		}
		st, err := serve.Remote{URL: address}.State(context.Background())
		if err != nil || st.Visits != int64(epoch*users) {
			t.Errorf("epoch %d: %d visits, %v, want %d", epoch, st.Visits, err, epoch*users)
		}
	}
	// What the server has in its log: the same fields, of the same form, for all.
	text, err := os.ReadFile(filepath.Join(dir, "good.json"))
	for i := range malformed {
		other, e := os.ReadFile(filepath.Join(dir, fmt.Sprint("u", i, ".json")))
		if err != nil || e != nil {
			t.Fatal(err, e)
		}
		if a, b := sentForms(t, text), sentForms(t, other); a != b {
			t.Errorf("%s: messages %s, those of a good record %s", malformed[i].name, b, a)
		}
	}
}

// sentForms are the forms of the messages in a memory: fields, and what is in them but
// seed and choice.
func sentForms(t *testing.T, text []byte) (forms string) {
	t.Helper()
	var memory memoryFile
	must.Do(t, json.Unmarshal(text, &memory))
	for _, a := range memory.Answers {
		seed, err := base64.StdEncoding.DecodeString(a.Message.Seed)
		if err != nil || a.Message.Choice > 1 {
			t.Errorf("%+v: %v", a.Message, err)
		}
		forms += fmt.Sprintf("epoch %d %d takes %v seed %d features %v label %v accepted %v epsilon %v\n", a.Epoch, a.Message.Epoch, a.Message.Takes, len(seed),
			a.Message.Features, a.Message.Label, a.Accepted, a.Epsilon)
	}
	return forms
}

// prestige-label sends the features in clear, as they are, when the label is another one;
// and rows that the schema leaves out by their label are answered for.
func TestUnusableLabelsAreAnsweredFor(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 60)
	for args, method := range map[string]string{"label.json": "prestige-label", "participation.json": "prestige-participation"} {
		mustRun(t, dir, "local", "plan", "-n", "60", "--schema", "patients.yaml", "--epochs", "1", "--method", method, "--out", args)
	}
	n := 0
	sent := func(schema, protocol, rows string, more ...string) (serve.Submission, string) {
		t.Helper()
		n++
		write(t, dir, "one.csv", recordHeader+rows)
		code, text, errs := dyad(t, dir, append([]string{"local", "client", "--json", "--protocol", protocol, "--data", "one.csv", "--schema", schema,
			"--user", "u", "--memory", fmt.Sprintf("m%d.json", n), "--max-epsilon", "2", "--public-features"}, more...)...)
		var out localAnswer
		if err := json.Unmarshal([]byte(text), &out); err != nil || code != exitOK || out.Message == nil {
			t.Fatalf("exit %d, %v: %s%s", code, err, text, errs)
		}
		return *out.Message, errs
	}
	good, _ := sent("patients.yaml", "label.json", goodRecord)
	other, errs := sent("patients.yaml", "label.json", strings.Replace(goodRecord, ",0\n", ",9\n", 1))
	if fmt.Sprint(good.Features) != fmt.Sprint(other.Features) || other.Label*other.Label != 1 || !strings.Contains(errs, "label is neither") {
		t.Errorf("another label: %+v, want the features of %+v: %s", other, good, errs)
	}
	if bad, _ := sent("patients.yaml", "label.json", strings.Replace(goodRecord, "female", "other", 1)); len(bad.Features) != len(good.Features) || bad.Label*bad.Label != 1 {
		t.Errorf("an unknown category: %+v", bad)
	}
	text := must.Get(os.ReadFile(filepath.Join(dir, "patients.yaml")))(t)
	write(t, dir, "drop.yaml", strings.Replace(string(text), `negative: "0"`, `negative: "0", others: drop`, 1))
	dropped := strings.Replace(goodRecord, ",0\n", ",9\n", 1)
	for _, more := range [][]string{nil, {"--row", "2"}} {
		if _, errs := sent("drop.yaml", "participation.json", dropped+strings.Repeat(goodRecord, len(more)/2), more...); !strings.Contains(errs, "leaves this record out because of its label") {
			t.Errorf("a record that the schema leaves out %v: %s", more, errs)
		}
	}
	// An earlier row that cannot be read does not silence a later record; a later one is
	// not looked at.
	if _, errs := sent("patients.yaml", "participation.json", malformed[1].row+goodRecord, "--row", "2"); !strings.Contains(errs, "category") {
		t.Errorf("an earlier row: %s", errs)
	}
	if _, errs := sent("patients.yaml", "participation.json", goodRecord+malformed[1].row); strings.Contains(errs, "cannot be used") {
		t.Errorf("a later row: %s", errs)
	}
	// What the record does not decide is an error before anything is drawn.
	for _, c := range map[string]struct{ header, says string }{
		"a column less": {strings.Replace(recordHeader, "bmi,", "", 1), "lacks this column"}, "no label column": {strings.Replace(recordHeader, ",outcome", "", 1), "lacks the label"},
		"another file": {"a,b,c\n", "none of the column names of the schema"}, "no rows": {"", "no rows"},
	} {
		rows := c.header + goodRecord
		if c.header == "" {
			rows = recordHeader
		}
		write(t, dir, "one.csv", rows)
		ran(t, dir, "local", "client", "--protocol", "participation.json", "--data", "one.csv", "--schema", "patients.yaml", "--user", "u", "--memory", "none.json", "--max-epsilon", "2").exits(exitInput).says(c.says)
	}
	must.Err(os.Stat(filepath.Join(dir, "none.json")))(t, "something was drawn for a file of another schema")
}

// The record may come from standard input, and is read again for its features.
func TestUnusableRecordFromStandardInput(t *testing.T) {
	dir := clinic(t, 60)
	mustRun(t, dir, "local", "plan", "-n", "60", "--schema", "patients.yaml", "--epochs", "1", "--method", "prestige-label", "--out", "p.json")
	t.Chdir(dir)
	features := map[string]string{}
	for name, row := range map[string]string{"good": goodRecord, "other": strings.Replace(goodRecord, ",0\n", ",9\n", 1)} {
		var out, errs strings.Builder
		code := run(context.Background(), []string{"--json", "local", "client", "--protocol", "p.json", "--data", "-", "--schema", "patients.yaml", "--user", "u", "--memory", name + ".json", "--max-epsilon", "2", "--public-features"},
			strings.NewReader(recordHeader+row), &out, &errs)
		var answer localAnswer
		if err := json.Unmarshal([]byte(out.String()), &answer); err != nil || code != exitOK {
			t.Fatalf("%s: exit %d, %v: %s", name, code, err, errs.String())
		}
		features[name] = fmt.Sprint(answer.Message.Features)
	}
	must.Equal(t, features["good"], features["other"], "features %v", features)
}
