package dataset

import (
	"fmt"
	"slices"
	"testing"

	"dyad/internal/must"
)

// A draft shows how it reads each value; where two notations read one, both readings.
func TestDraftShowsRawAndRead(t *testing.T) {
	rows := "Patient;Wert;Leukozyten;Preis;Tag;Haus;Tod\n"
	for k := range 30 {
		rows += fmt.Sprintf("P%d;%d,5;%d.%03d;%d,%d €;%02d.03.2024;%s;%s\n", k/2, k, 1+k%9, 100+k, k, k, 1+k%28, []string{"Süd", "West"}[k%2], []string{"ja", "Ja", "nein"}[k%3])
	}
	rows += "P40;k.A.;9.999;1,5 €;28.03.2024;West;nein\n"
	d := must.Get(Draft(writeFile(t, "shown.csv", rows), DraftOptions{}))(t)
	got := map[string]string{}
	for _, c := range d.Columns {
		for _, s := range c.Samples {
			got[c.Name] += s.Raw + "=" + s.Read + ";"
		}
		if c.MayNamePersons != (c.Name == "Patient") || c.MayNamePersons && c.Persons != 16 {
			t.Errorf("%s names persons: %v, %d of them", c.Name, c.MayNamePersons, c.Persons)
		}
		if c.Name == "Tod" && !slices.Equal(c.Classes, []string{"Ja", "nein"}) {
			t.Errorf("classes %q", c.Classes)
		}
	}
	for name, want := range map[string]string{
		"Wert": "0,5=0.5;1,5=1.5;2,5=2.5;10,5=10.5;", "Leukozyten": "1.100=1100;2.101=2101;3.102=3102;", "Preis": "0,0 €=0;1,1 €=1.1;2,2 €=2.2;10,10 €=10.1;",
		"Tag": "01.03.2024=2024-03-01;02.03.2024=2024-03-02;03.03.2024=2024-03-03;", "Haus": "Süd=Süd;West=West;",
	} {
		must.Equal(t, got[name], want, "%s", name)
	}
	d = must.Get(Draft(writeFile(t, "two.csv", "x;z;y\n1.234;1;0\n12.345;2;1\n3;3;0\n"), DraftOptions{}))(t)
	if c := d.Columns[0]; !c.Asks || fmt.Sprint(c.Samples) != "[{1.234 1.234 or 1234} {12.345 12.345 or 12345} {3 3}]" {
		t.Errorf("two readings: %v %v", c.Asks, c.Samples)
	}
}
