package dataset

import (
	"math/rand/v2"
	"strings"
	"testing"

	"dyad/engine/dataset/source"
	"dyad/internal/must"
)

// lookAlikes are pairs of ids of one person that exports and keyboards make.
var lookAlikes = map[string][2]string{
	"case":                        {"Anna", "anna"},
	"composed and decomposed":     {"ren\u00e9", "rene\u0301"},
	"no-break space":              {"anna b", "anna\u00a0b"},
	"no-break space at the end":   {"anna", "anna\u00a0"},
	"zero-width space":            {"anna", "an\u200bna"},
	"zero-width joiner":           {"anna", "an\u200dna"},
	"byte order mark":             {"anna", "\ufeffanna"},
	"full-width letter":           {"p7", "\uff507"},
	"full-width digit":            {"p7", "p\uff17"},
	"quotes":                      {"fritz", `"fritz"`},
	"printed quotes":              {"fritz", "\u201cfritz\u201d"},
	"carriage return":             {"fritz", "fritz\r"},
	"tab inside":                  {"fritz k", "fritz\tk"},
	"two spaces":                  {"fritz k", "fritz  k"},
	"soft hyphen":                 {"fritz", "fri\u00adtz"},
	"right-to-left mark":          {"fritz", "fritz\u200f"},
	"variation selector":          {"fritz", "fritz\ufe0f"},
	"sharp s":                     {"Strauss", "Strau\u00df"},
	"ligature":                    {"fink", "\ufb01nk"},
	"final sigma":                 {"\u03c3\u03b1\u03c3", "\u03a3\u0391\u03c2"},
	"Kelvin sign":                 {"k1", "\u212a1"},
	"marks in another order":      {"q\u0307\u0323", "q\u0323\u0307"},
	"iota subscript and its mark": {"\u1fb3", "\u03b1\u0345"},
	"control character":           {"fritz", "fritz\x00"},
}

// notAlike are ids that are taken for different individuals: no rule of Unicode says that
// they are one.
var notAlike = map[string][2]string{
	"Cyrillic a": {"anna", "\u0430nna"}, "leading zeros": {"7", "007"}, "accent": {"rene", "ren\u00e9"}, "hyphen": {"anna-b", "anna b"},
	"inner quote": {"obrien", "o'brien"}, "different": {"anna", "ben"},
}

// TestLookAlikeIDs: every kind is refused by default, with records and no ids, and is taken
// for different individuals if that is asked for.
func TestLookAlikeIDs(t *testing.T) {
	for name, pair := range lookAlikes {
		ids := []string{"somebody else", pair[0], pair[1]}
		_, err := readPairs("missing.csv", ids, "people.csv", "who", likeness)
		wantRule(t, err, source.ParseError{File: "people.csv", Column: "who", Rule: "records 2 and 3"}, name)
		must.FailDo(t, err, "allow", name)
		if strings.Contains(err.Error(), pair[0]) || strings.Contains(err.Error(), pair[1]) {
			t.Errorf("%s: the error shows an id: %v", name, err)
		}
		must.CheckDo(t, CheckIDs(ids, "people.csv", "who", AllowLookAlikes), name, ", allowed")
	}
	for name, pair := range notAlike {
		must.CheckDo(t, CheckIDs(pair[:], "people.csv", "who", "refuse"), name)
	}
	must.ErrDo(t, CheckIDs([]string{"a", "b", "a"}, "people.csv", "who", AllowLookAlikes), "equal ids were allowed")
	must.ErrDo(t, CheckIDs([]string{"a"}, "people.csv", "who", "perhaps"), "an unknown choice was accepted")
}

// TestIDKey: the key of a key is itself, and every text has one.
func TestIDKey(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	letters := []rune("aAbéÉ\u0301\u0323\u0345\u200b\u00a0 \"'\r\tßςΣﬁ７ı\u0130İ\ufe0f\u00ad\u1e9e\u1fb3\u0344가\u1100\u1161")
	for range 20000 {
		var b strings.Builder
		for range 1 + rng.IntN(8) {
			if rng.IntN(4) == 0 {
				b.WriteRune(rune(rng.IntN(0xd800)))
			} else {
				b.WriteRune(letters[rng.IntN(len(letters))])
			}
		}
		id := b.String()
		if key := IDKey(id); IDKey(key) != key {
			t.Fatalf("the key of %+q is %+q, and of that %+q", id, key, IDKey(key))
		}
	}
	if IDKey("broken \xff utf-8") == "" {
		t.Error("an id that is not UTF-8 has no key")
	}
}
