package drafts

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"dyad/engine/dataset/schema"
)

// The code book lists quantities of clinical files: their names in German, French and English files, their usual units,
// and the range of values in each unit. The ranges are wider than what laboratories report and patients survive, and
// they were not computed from a file. The unit of a quantity is found from the name of the column or from the text
// after its numbers, otherwise from the mean of its values. So a suggestion reveals the unit of the data, and a person
// has to confirm it.

// quantity is an entry of the code book.
type quantity struct {
	name  string
	words string // names in lower case, separated by commas; every word of a name must occur in the column's name
	log   bool   // most values are far below the largest
	units []unitRange
}

// unitRange is the range of a quantity in a unit.
type unitRange struct {
	units       string // spellings of the unit, separated by blanks; messages use the first spelling
	lo, hi, mid float64
}

var codeBook = [...]quantity{
	{"age", "age,alter,âge,agejahre", false, []unitRange{{"years jahre jahr j a ans an y yr yrs", 0, 120, 55},
		{"months monate mois", 0, 1440, 660}}},
	{"height", "height,größe,groesse,körpergröße,koerpergroesse,taille", false,
		[]unitRange{{"cm", 30, 250, 170}, {"m", .3, 2.5, 1.7}, {"in inch", 12, 100, 67}}},
	{"weight", "weight,gewicht,körpergewicht,koerpergewicht,poids", false,
		[]unitRange{{"kg", .3, 400, 75}, {"lb lbs", .7, 880, 165}, {"g", 300, 400000, 3300}}},
	{"body mass index", "bmi,imc", false, []unitRange{{"kg/m² kg/m2", 8, 90, 26}}},
	{"systolic blood pressure", "systolic,systolisch,systole,systolique,sbp,rrsys,rr sys,pas", false,
		[]unitRange{{"mmHg", 30, 300, 128}}},
	{"diastolic blood pressure", "diastolic,diastolisch,diastole,diastolique,dbp,rrdia,rr dia,pad", false,
		[]unitRange{{"mmHg", 10, 200, 75}}},
	{"mean arterial pressure", "map,pam,mad", false, []unitRange{{"mmHg", 10, 250, 90}}},
	{"heart rate", "heart rate,pulse,puls,herzfrequenz,hf,fc,fréquence cardiaque,frequence cardiaque,pouls,hr", false,
		[]unitRange{{"/min bpm 1/min", 0, 300, 78}}},
	{"respiratory rate", "respiratory rate,atemfrequenz,fréquence respiratoire,frequence respiratoire,rr resp", false,
		[]unitRange{{"/min 1/min", 0, 80, 17}}},
	{"temperature", "temperature,temp,temperatur,körpertemperatur,température", false,
		[]unitRange{{"°C C", 25, 45, 37}, {"°F F", 77, 113, 98.6}}},
	{"oxygen saturation", "spo2,sao2,sättigung,saettigung,sauerstoffsättigung,saturation", false,
		[]unitRange{{"%", 0, 100, 97}, {"fraction", 0, 1, .97}}},
	{"creatinine", "creatinine,kreatinin,créatinine,créatininémie,creat,krea", true,
		[]unitRange{{"mg/dl", 0, 30, 1}, {"µmol/l umol/l μmol/l", 0, 2700, 90}}},
	{"urea", "urea,harnstoff,urée,uree", true, []unitRange{{"mg/dl", 0, 600, 38}, {"mmol/l", 0, 100, 6.3}}},
	{"glomerular filtration rate", "egfr,gfr,dfg", false, []unitRange{{"ml/min ml/min/1.73m²", 0, 200, 80}}},
	{"C-reactive protein", "crp", true, []unitRange{{"mg/l", 0, 600, 15}, {"mg/dl", 0, 60, 1.5}}},
	{"procalcitonin", "pct,procalcitonin,procalcitonine,prokalzitonin", true, []unitRange{{"ng/ml µg/l", 0, 500, 1}}},
	{"leukocytes", "leukocytes,leukozyten,leukos,leucocytes,wbc,gb,globules blancs", true,
		[]unitRange{{"G/l 10^9/l 10³/µl 10^3/µl tsd/µl /nl", 0, 500, 8}, {"/µl /ul /mm3 /mm³", 0, 500000, 8000}}},
	{"haemoglobin", "haemoglobin,hemoglobin,hämoglobin,haemoglobin,hémoglobine,hemoglobine,hb,hgb", false,
		[]unitRange{{"g/dl", 1, 30, 13.5}, {"mmol/l", .5, 19, 8.4}, {"g/l", 10, 300, 135}}},
	{"haematocrit", "haematocrit,hematocrit,hämatokrit,hématocrite,hkt,hct", false,
		[]unitRange{{"%", 3, 80, 41}, {"l/l", .03, .8, .41}}},
	{"platelets", "platelets,thrombozyten,thrombos,plaquettes,plt,thrombocytes", true,
		[]unitRange{{"G/l 10^9/l 10³/µl 10^3/µl tsd/µl /nl", 0, 3000, 250}, {"/µl /ul /mm3 /mm³", 0, 3000000, 250000}}},
	{"glucose", "glucose,glukose,glycémie,glycemie,blutzucker,bz", true,
		[]unitRange{{"mg/dl", 10, 1500, 110}, {"mmol/l", .5, 85, 6.1}}},
	{"haemoglobin A1c", "hba1c,a1c", false, []unitRange{{"%", 2, 25, 6.2}, {"mmol/mol", 5, 250, 44}}},
	{"sodium", "sodium,natrium,natrémie,natremie", false, []unitRange{{"mmol/l meq/l", 90, 200, 139}}},
	{"potassium", "potassium,kalium,kaliémie,kaliemie", false, []unitRange{{"mmol/l meq/l", 1, 12, 4.2}}},
	{"calcium", "calcium,kalzium,calcémie,calcemie", false, []unitRange{{"mmol/l", .5, 6, 2.3}, {"mg/dl", 2, 24, 9.3}}},
	{"chloride", "chloride,chlorid,chlorure,chlore", false, []unitRange{{"mmol/l meq/l", 50, 170, 103}}},
	{"cholesterol", "cholesterol,cholesterin,cholestérol,chol", false,
		[]unitRange{{"mg/dl", 20, 1000, 195}, {"mmol/l", .5, 26, 5}}},
	{"HDL cholesterol", "hdl,hdl cholesterol,hdl cholesterin,hdl cholestérol", false,
		[]unitRange{{"mg/dl", 1, 200, 52}, {"mmol/l", .02, 5.2, 1.35}}},
	{"LDL cholesterol", "ldl,ldl cholesterol,ldl cholesterin,ldl cholestérol", false,
		[]unitRange{{"mg/dl", 1, 700, 115}, {"mmol/l", .02, 18, 3}}},
	{"triglycerides", "triglycerides,triglyceride,triglyzeride,triglycérides", true,
		[]unitRange{{"mg/dl", 5, 10000, 140}, {"mmol/l", .05, 115, 1.6}}},
	{"bilirubin", "bilirubin,bilirubine", true, []unitRange{{"mg/dl", 0, 80, .8}, {"µmol/l umol/l μmol/l", 0, 1370, 14}}},
	{"albumin", "albumin,albumine", false, []unitRange{{"g/dl", 0, 8, 4}, {"g/l", 0, 80, 40}}},
	{"transaminase", "ast,alt,got,gpt,asat,alat,ggt,gamma gt", true, []unitRange{{"U/l IU/l UI/l", 0, 20000, 35}}},
	{"lactate dehydrogenase", "ldh", true, []unitRange{{"U/l IU/l UI/l", 0, 30000, 230}}},
	{"natriuretic peptide", "bnp,probnp,nt probnp,ntprobnp", true, []unitRange{{"pg/ml ng/l", 0, 100000, 900}}},
	{"troponin", "troponin,troponine,hstnt", true,
		[]unitRange{{"ng/l pg/ml", 0, 100000, 30}, {"ng/ml µg/l", 0, 100, .03}}},
	{"prothrombin ratio", "inr", false, []unitRange{{"", .3, 20, 1.1}}},
	{"lactate", "lactate,laktat", false, []unitRange{{"mmol/l", 0, 40, 1.5}, {"mg/dl", 0, 360, 13.5}}},
	{"ferritin", "ferritin,ferritine", true, []unitRange{{"µg/l ng/ml", 0, 50000, 180}}},
	{"thyrotropin", "tsh", true, []unitRange{{"mU/l mIU/l µU/ml", 0, 200, 2}}},
	{"pH", "ph", false, []unitRange{{"", 6.4, 8, 7.39}}},
	{"Glasgow coma scale", "gcs,glasgow", false, []unitRange{{"", 3, 15, 14}}},
	{"length of stay", "los,liegedauer,verweildauer,length stay,durée séjour,duree sejour", true,
		[]unitRange{{"days tage jours d", 0, 366, 7}}},
	{"previous stays", "previous stays,prior admissions,voraufenthalte,séjours antérieurs,hospitalisations antérieures",
		true, []unitRange{{"", 0, 100, 1}}},
}

// codedTexts lists sets of category texts that are common in data files.
var codedTexts = [...][]string{
	{"ja", "nein"}, {"j", "n"}, {"oui", "non"}, {"o", "n"}, {"yes", "no"}, {"y", "n"}, {"true", "false"},
	{"wahr", "falsch"}, {"vrai", "faux"},
	{"nie", "früher", "ja"}, {"never", "former", "current"}, {"jamais", "ancien", "actuel"},
	{"m", "w", "d"}, {"m", "f", "x"}, {"h", "f"}, {"männlich", "weiblich", "divers"}, {"homme", "femme"},
	{"masculin", "féminin"}, {"male", "female", "other"},
}

var bracketed = regexp.MustCompile(`[(\[]([^)\]]*)[)\]]`)

// nameWords splits a column's name into lower-case words without the part in brackets. unit is the text in
// brackets, or "".
func nameWords(name string) (words []string, unit string) {
	if m := bracketed.FindStringSubmatch(name); m != nil {
		unit = m[1]
	}
	name = bracketed.ReplaceAllString(strings.ToLower(name), " ")
	return strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), unit
}

// findQuantity returns the entry with the longest name whose words all occur in words, or nil.
func findQuantity(words []string) (found *quantity) {
	most := 0
	for i := range codeBook {
		for name := range strings.SplitSeq(codeBook[i].words, ",") {
			parts := strings.Fields(name)
			if len(parts) > most && !slices.ContainsFunc(parts, func(w string) bool { return !slices.Contains(words, w) }) {
				most, found = len(parts), &codeBook[i]
			}
		}
	}
	return found
}

// in returns the range of a quantity in the given unit. If unit is empty, it chooses the unit whose usual value
// is nearest to the mean. It returns nil if unit is not a unit of the quantity.
func (q *quantity) in(unit string, mean float64) (best *unitRange) {
	distance := math.Inf(1)
	for i := range q.units {
		u := &q.units[i]
		if unit != "" {
			if slices.ContainsFunc(strings.Fields(u.units), func(w string) bool { return strings.EqualFold(w, unit) }) {
				return u
			}
			continue
		}
		if d := math.Abs(math.Log(math.Max(mean, 1e-9) / u.mid)); d < distance {
			distance, best = d, u
		}
	}
	return best
}

// suggest looks up a column in the code book.
func suggest(c *draftColumn, s *columnStats) *Suggestion {
	if c.Categories != nil && len(s.nominal) == 0 {
		return suggestTexts(c.Categories)
	}
	words, unit := nameWords(c.Name)
	q := findQuantity(words)
	if q == nil || !s.isNumeric() {
		return nil
	}
	if s.units.suffix != "" {
		unit = s.units.suffix
	}
	u := q.in(unit, s.sum/float64(s.numbers))
	if u == nil {
		return nil
	}
	shown, _, _ := strings.Cut(u.units, " ")
	out := &Suggestion{Quantity: q.name, Unit: shown, Answer: schema.Answer{Range: []float64{u.lo, u.hi}}}
	if q.log {
		out.Answer.Transform = schema.TransformLog1p
	}
	return out
}

// suggestTexts returns the list of codedTexts that contains all given texts, in the spelling of those texts, or nil.
func suggestTexts(texts []string) *Suggestion {
	title := func(w string) string {
		r := []rune(w)
		return strings.ToUpper(string(r[0])) + string(r[1:])
	}
	for _, list := range codedTexts {
		for _, write := range []func(string) string{strings.ToLower, strings.ToUpper, title} {
			written := make([]string, len(list))
			for i, w := range list {
				written[i] = write(w)
			}
			if !slices.ContainsFunc(texts, func(t string) bool { return !slices.Contains(written, t) }) {
				return &Suggestion{Quantity: "texts", Answer: schema.Answer{Categories: written, Unknown: schema.UnknownOther}}
			}
		}
	}
	return nil
}
