package command

import (
	"errors"
	"io/fs"
	"strings"

	"dyad/algorithms/local/serve"
	"dyad/engine/dataset"
)

type localTokenCmd struct {
	Key          string   `private:"key of tokens" required:"" placeholder:"FILE" help:"Key file, for \"dyad local server --tokens\"; made if it is missing. Anyone who has it can make tokens for every user."`
	Protocol     string   `required:"" placeholder:"FILE" help:"File of \"dyad local plan --out\" with the server's flags. Tokens are for this protocol only."`
	LookAlikeIDs string   `name:"look-alike-ids" default:"refuse" enum:"refuse,allow"`
	Users        []string `arg:"" name:"user" help:"Ids of users."`
}

// localToken is one entry of the JSON output of local token.
type localToken struct {
	User  string `json:"user"`
	Token string `json:"token"`
}

// Run prints tokens.
func (c *localTokenCmd) Run(a *app) error {
	if c.LookAlikeIDs != string(dataset.AllowLookAlikes) {
		first := map[string]int{}
		for i, u := range c.Users {
			k := dataset.IDKey(u)
			if j, ok := first[k]; ok && c.Users[j] != u {
				return badInput("users %d and %d have ids that look alike; use one id for one person, or give "+
					"--look-alike-ids allow", j+1, i+1)
			}
			first[k] = i
		}
	}
	protocol, err := readProtocol(c.Protocol)
	if err == nil {
		_, err = protocol.Plan()
	}
	if err != nil {
		return asInput(err)
	}
	key, err := serve.ReadTokenKey(c.Key)
	made := errors.Is(err, fs.ErrNotExist)
	if made {
		key, err = serve.NewTokenKey()
	}
	if err != nil {
		return asInput(err)
	}
	study := key.Study(protocol)
	tokens := make([]localToken, len(c.Users))
	var text strings.Builder
	for i, u := range c.Users {
		t, err := study.Token(u)
		if err != nil {
			return asInput(err)
		}
		tokens[i] = localToken{u, t}
		text.WriteString(t)
		if len(c.Users) > 1 {
			text.WriteString(" " + u)
		}
		text.WriteByte('\n')
	}
	if made {
		if err := key.Create(c.Key); err != nil {
			return asInput(err)
		}
		a.note("dyad: a new random key was written to %s", c.Key)
	}
	return a.emit(tokens, text.String())
}
