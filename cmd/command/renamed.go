package command

import (
	"slices"
	"strings"
)

// renamed are the commands that had another name: the old one is understood, with a note.
var renamed = map[string]string{
	"audit": "lab audit", "curve": "lab curve", "bench": "lab bench", "reproduce": "lab reproduce",
	"algorithms": "lab algorithms", "losses": "lab losses", "influence": "lab influence",
}

// currentNames are arguments with the name of today of their command, and a note if that is another one.
func currentNames(args []string) (current []string, note string) {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "--config" || a == "--log-format":
			i++ // its value
		case strings.HasPrefix(a, "-"):
		case a == "help":
		case renamed[a] != "":
			return slices.Concat(args[:i], strings.Fields(renamed[a]), args[i+1:]), "dyad " + a + " is now dyad " + renamed[a] + "; the old name works, too"
		default:
			return args, ""
		}
	}
	return args, ""
}
