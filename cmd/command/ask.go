package command

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// asker asks a person questions at the terminal, line by line. An interrupt ends a question.
type asker struct {
	a     *app
	lines *bufio.Reader
}

func (a *app) asker() *asker {
	return &asker{a, bufio.NewReader(&liveReader{ctx: a.ctx, r: a.stdin})}
}

// ask returns the answer without surrounding spaces. At the end of the input the error is io.EOF. After an interrupt it
// is the error of the context.
func (q *asker) ask(format string, args ...any) (string, error) {
	fmt.Fprintf(q.a.stderr, format, args...)
	q.a.unfinished(true)
	answer, err := q.lines.ReadString('\n')
	q.a.unfinished(err != nil) // the answer has ended the line
	if err == io.EOF && answer != "" {
		err = nil
	}
	return strings.TrimSpace(answer), err
}
