package command

import (
	"strings"
	"testing"
)

// Budgets are decimals and add up exactly: five visits of 0.2 are 1, and what is really
// more is refused.
func TestLocalClientDecimalBudgets(t *testing.T) {
	dir := clinic(t, 60)
	answer := func(epsilon, epochs, most string) (int, string) {
		name := "p" + epsilon + ".json"
		mustRun(t, dir, "local", "plan", "-n", "60", "--schema", "patients.yaml", "--epochs", epochs, "--epsilon", epsilon, "--out", name, "--force")
		code, out, errs := dyad(t, dir, "local", "client", "--protocol", name, "--data", "patients.csv", "--schema", "patients.yaml", "--user", "u", "--memory", "m"+epsilon+".json", "--max-epsilon", most)
		return code, out + errs
	}
	for _, c := range []struct{ epsilon, epochs, most, total string }{{"0.2", "5", "1", "1"}, {"0.1", "3", "0.3", "0.3"}, {"0.7", "7", "4.9", "4.9"}, {"1.1", "3", "3.3", "3.3"}} {
		if code, says := answer(c.epsilon, c.epochs, c.most); code != exitOK || !strings.Contains(says, "protocol: "+c.total+"-locally") {
			t.Errorf("%s epochs of %s at --max-epsilon %s: exit %d: %s", c.epochs, c.epsilon, c.most, code, says)
		}
	}
	for _, c := range [][3]string{{"0.2000001", "5", "1"}, {"0.20000000000000004", "5", "1"}, {"0.1", "3", "0.29999999999999993"}, {"1", "2", "1.9999999999999998"}} {
		if code, says := answer(c[0], c[1], c[2]); code != exitResource || !strings.Contains(says, "--max-epsilon") {
			t.Errorf("%s epochs of %s at --max-epsilon %s: exit %d: %s", c[1], c[0], c[2], code, says)
		}
	}
	// Messages of other protocols in the memory: 0.1 + 0.2 is 0.3, and 4 x 0.2 more is 1.1.
	for _, c := range []struct {
		epsilon, most string
		code          int
	}{{"0.1", "0.1", exitOK}, {"0.2", "0.3", exitOK}, {"0.3", "0.6", exitOK}, {"0.4", "0.9999999999", exitResource}, {"0.4", "1", exitOK}} {
		name := "q" + c.epsilon + ".json"
		mustRun(t, dir, "local", "plan", "-n", "60", "--schema", "patients.yaml", "--epochs", "1", "--epsilon", c.epsilon, "--out", name, "--force")
		ran(t, dir, "local", "client", "--protocol", name, "--data", "patients.csv", "--schema", "patients.yaml", "--user", "u", "--memory", "all.json", "--max-epsilon", c.most).exits(c.code)
	}
}
