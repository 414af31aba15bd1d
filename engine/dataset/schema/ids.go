package schema

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"dyad/engine/dataset/source"
)

// LookAlikes is the treatment of ids that differ only in how they are written.
type LookAlikes string

const (
	// refuseLookAlikes is the default, and the empty text has the same meaning. Two different ids with the
	// same IDKey are an error, because they probably belong to one person. A guarantee for each id would
	// then protect this person only half as well.
	refuseLookAlikes LookAlikes = "refuse"
	// AllowLookAlikes treats ids as different individuals if their bytes differ.
	AllowLookAlikes LookAlikes = "allow"
)

// IDKey returns an id without the differences that keyboards, spreadsheets and exports introduce. IDKey applies
// compatibility normalisation (NFKC) and full case folding. It removes control, format and other invisible
// characters, surrounding white space and quotation marks, and repeated white space inside. See Unicode
// Standard Annex 15, and NFKC_Casefold in chapter 3.13 of the standard.
//
// IDKey does not detect letters of different alphabets that look alike (Latin and Cyrillic a), and it does not
// treat 007 and 7 as the same number.
func IDKey(id string) string {
	visible := func(s string) string {
		return strings.Map(func(r rune) rune {
			switch {
			case unicode.IsSpace(r):
				return ' '
			case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
				return -1
			}
			return r
		}, s)
	}
	// Folding may produce characters that a second round changes. After two rounds the text is stable (Unicode
	// Standard, definition D147: toNFKC_Casefold is idempotent after one round on NFD text).
	for range 2 {
		id = visible(norm.NFKC.String(cases.Fold().String(norm.NFD.String(visible(id)))))
	}
	id = strings.TrimFunc(id, func(r rune) bool {
		return r == ' ' || strings.ContainsRune("\"'`", r) || unicode.In(r, unicode.Pi, unicode.Pf)
	})
	return strings.Join(strings.Fields(id), " ")
}

// CheckIDs returns an error if an id is empty, if two ids are equal, or if two ids have the same IDKey and
// look-alikes are not allowed. ids are in the order of the records. The error contains the numbers of the
// records and never an id. file and column are the file and the column of the *ParseError.
func CheckIDs(ids []string, file, column string, alike LookAlikes) error {
	refuse := func(rule string, numbers ...any) error {
		return &source.ParseError{File: file, Column: column, Rule: fmt.Sprintf(rule, numbers...)}
	}
	if alike != "" && alike != refuseLookAlikes && alike != AllowLookAlikes {
		return fmt.Errorf("dataset: the value for look-alike ids is %q, want %s or %s",
			string(alike), refuseLookAlikes, AllowLookAlikes)
	}
	at := make(map[string]int, len(ids))
	for _, rule := range []string{ruleRecordSameID, ruleRecordAlike} {
		for i, key := range ids {
			if key == "" {
				return refuse(ruleRecordNoID, i+1)
			}
			if rule == ruleRecordAlike {
				key = IDKey(key)
			}
			if before, twice := at[key]; twice {
				return refuse(rule, before+1, i+1)
			}
			at[key] = i
		}
		if alike == AllowLookAlikes {
			return nil
		}
		clear(at)
	}
	return nil
}

// The rules of ids.
const (
	ruleRecordNoID   = "the id of record %d is missing; pairs need the id of every record"
	ruleRecordSameID = "records %d and %d have the same id; pairs need one record for each id"
	ruleRecordAlike  = "records %d and %d have ids that look alike; correct them, or for two individuals, use " +
		"--look-alike-ids allow"
)
